"""A read that can ask for another method is a write, and no argument sets what routes a request."""

import pytest
from documents import document, operation, tools
from servers.recorder import CannedResponse, Recorder

from openapi_tools import Context, Settings, load_tools, require_approval

TEXT = {"type": "string"}


def parameter(name, location="header", **fields):
    return {"name": name, "in": location, "schema": TEXT, **fields}


def with_form(kind):
    schema = {"type": "object", "properties": {"_method": TEXT, "a": TEXT}}
    return {"requestBody": {"content": {kind: {"schema": schema}}}}


FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")


def document_at(home, item, path="/x", **fields):
    return document({path: item}, servers=[{"url": home.url}], **fields)


HEADERS = ("X-HTTP-Method-Override", "x_http_method_override", "X-HTTP-Method", "X-METHOD-Override")


@pytest.mark.parametrize(
    ("path", "listed"),
    [
        *(("/x", [parameter(name)]) for name in HEADERS),
        ("/x", [parameter("_method", "query")]),
        ("/x?_method=delete", []),
    ],
    ids=[*HEADERS, "_method in the query", "_method in the path's own query"],
)
async def test_a_read_that_can_ask_for_another_method_is_a_write_and_asked_about(
    path, listed, recorder
):
    source = document_at(recorder, {"get": operation(parameters=listed)}, path)
    asked = []
    settings = Settings(approve=lambda seen: asked.append(seen) or False)
    async with load_tools(source, settings=settings) as toolset:
        (tool,) = toolset
        refused = await tool.execute({})
    async with load_tools(source) as toolset:
        (guarded,) = toolset
        guarded.add_input_guardrails([require_approval()])
        denied = await guarded.execute({}, context=Context(approve=lambda call: False))

    assert (tool.read_only, tool.destructive, tool.idempotent) == (False, True, False)
    assert not tool.parallel_safe
    hints = ("readOnlyHint", "destructiveHint", "idempotentHint")
    assert [tool.annotations[hint] for hint in hints] == [False, True, False]
    assert len(asked) == 1
    assert {refused.error["type"], denied.error["type"]} == {"denied"}
    assert recorder.requests == []


@pytest.mark.parametrize("kind", [*FORMS, "application/json"])
def test_a_form_that_can_ask_for_another_method_may_delete(kind):
    (tool,) = tools({"/x": {"post": operation(**with_form(kind))}})

    assert tool.destructive is (kind in FORMS)
    assert tool.safety == ("destructive" if kind in FORMS else "additive")
    assert tool.annotations["destructiveHint"] is tool.destructive


@pytest.mark.parametrize("kind", FORMS)
def test_a_query_with_a_form_that_can_ask_for_another_method_is_a_write(kind):
    (tool,) = tools({"/x": {"query": operation(**with_form(kind))}}, openapi="3.2.0")

    assert not tool.read_only


def test_other_reads_stay_reads():
    listed = [parameter(name) for name in ("method", "X-HTTP-Methods", "X-Method")]
    listed += [parameter("method", "query"), parameter("_method", "cookie")]
    (tool,) = tools({"/x": {"get": operation(parameters=listed)}})

    assert tool.read_only
    assert tool.idempotent


FREE = {"type": "object", "additionalProperties": TEXT}


@pytest.mark.parametrize(
    ("place", "arguments"),
    [
        (parameter("filter", "query", schema=FREE), {"filter": {"_method": "DELETE"}}),
        ({"name": "q", "in": "querystring", "content": {FORMS[0]: {"schema": FREE}}},
         {"q": {"_METHOD": "DELETE", "a": "b"}}),
    ],
    ids=["an object", "a whole query"],
)  # fmt: skip
async def test_a_query_of_free_names_cannot_ask_for_another_method(place, arguments, recorder):
    source = document_at(recorder, {"get": operation(parameters=[place])}, openapi="3.2.0")
    async with load_tools(source) as toolset:
        (tool,) = toolset
        result = await tool.execute(arguments)

    assert result.error["type"] == "invalid_input"
    assert "_method" in str(result)
    assert recorder.requests == []


@pytest.mark.parametrize("name", ["X_HTTP_Method_Override", "_method"])
@pytest.mark.parametrize("override", [False, True])
async def test_what_asks_for_another_method_is_neither_tried_again_nor_redirected(override, name):
    listed = [parameter("X-HTTP-Method-Override"), parameter("_method", "query")]
    async with Recorder(CannedResponse(503)) as home:
        source = document_at(home, {"get": operation(parameters=listed)})
        async with load_tools(source, settings=Settings(retries=1)) as toolset:
            (tool,) = toolset
            await tool.execute({name: "DELETE"} if override else {})
            tried = len(home.requests)
            home.responses.append(CannedResponse(302, [("Location", "/y")]))
            await tool.execute({name: "DELETE"} if override else {})

    assert (tried, len(home.requests) - tried) == ((1, 1) if override else (2, 3))


RESERVED = (
    *("X-Original-URL", "X-Rewrite-URL", "x_original_url", "Content_Length", "Transfer_Encoding"),
    *("Proxy_Authorization", "HOST", "X-Api-Key", "X_Api_Key", "x-api_key"),
)


@pytest.mark.parametrize("name", RESERVED)
def test_what_routes_frames_or_authorises_a_request_is_no_argument(name):
    schemes = {"key": {"type": "apiKey", "in": "header", "name": "X-API-Key"}}
    listed = [parameter(name), parameter("X-Other")]

    (tool,) = tools(
        {"/x": {"get": operation(parameters=listed)}}, components={"securitySchemes": schemes}
    )

    assert list(tool.input_schema["properties"]) == ["X_Other"]


async def test_an_argument_does_not_repeat_a_credential_by_another_spelling(recorder):
    source = document_at(recorder, {"get": operation(parameters=[parameter("X_Own_Key")])})
    credential = {"in": "header", "name": "X-Own-Key", "value": "secret-of-the-user"}
    async with load_tools(source, credentials={"own": credential}) as toolset:
        (tool,) = toolset
        result = await tool.execute({"X_Own_Key": "mine"})

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []
