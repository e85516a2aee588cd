from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest
from documents import document, operation
from pydantic import SecretStr

from openapi_tools import CredentialsError, Settings, load_tools

SCHEMES = {
    "header": {"type": "apiKey", "in": "header", "name": "X-Key"},
    "query": {"type": "apiKey", "in": "query", "name": "api key"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "sid"},
    "basic": {"type": "http", "scheme": "Basic"},
    "bearer": {"type": "http", "scheme": "bearer"},
    "oauth": {"type": "oauth2", "flows": {}},
    "digest": {"type": "http", "scheme": "digest"},
    "nowhere": {"type": "apiKey", "in": "path", "name": "k"},
}
SECRET = "s3cr3t-value"
BASIC = "Basic " + base64.b64encode(b"me:s3cr3t-value").decode()


def loaded(security: Any, credentials: dict[str, Any]) -> Any:
    root = document(
        {"/x": {"get": operation(security=security)}}, components={"securitySchemes": SCHEMES}
    )
    settings = Settings(base_url="http://127.0.0.1:1")
    (tool,) = load_tools(root, credentials=credentials, settings=settings)
    return tool


def sent(recorder_url: str, security: Any, credentials: dict[str, Any]) -> Any:
    root = document(
        {"/x": {"get": operation(security=security)}}, components={"securitySchemes": SCHEMES}
    )
    return load_tools(root, credentials=credentials, settings=Settings(base_url=recorder_url))


TRAVELS = [
    ("header", SECRET, ("X-Key", SECRET)),
    ("basic", ("me", SECRET), ("Authorization", BASIC)),
    ("basic", f"me:{SECRET}", ("Authorization", BASIC)),
    ("bearer", SecretStr(SECRET), ("Authorization", f"Bearer {SECRET}")),
    ("oauth", SECRET, ("Authorization", f"Bearer {SECRET}")),
    ("cookie", SECRET, ("Cookie", f"sid={SECRET}")),
]


@pytest.mark.parametrize(("scheme", "value", "header"), TRAVELS, ids=[str(r[0]) for r in TRAVELS])
async def test_a_credential_travels_in_its_header(
    scheme: str, value: Any, header: tuple[str, str], recorder: Any
) -> None:
    async with sent(recorder.url, [{scheme: []}], {scheme: value}) as toolset:
        result = await toolset["get_x"].execute({})

    assert result.success
    assert header in recorder.requests[-1].headers


async def test_a_key_travels_in_the_query_encoded(recorder: Any) -> None:
    async with sent(recorder.url, [{"query": []}], {"query": "a&b=c"}) as toolset:
        await toolset["get_x"].execute({})

    assert recorder.requests[-1].target == "/x?api%20key=a%26b%3Dc"


async def test_all_schemes_of_the_first_requirement_that_can_be_met_are_used(recorder: Any) -> None:
    security = [{"basic": []}, {"header": [], "query": []}, {"bearer": []}]
    given = {"header": "h", "query": "q", "bearer": "b"}
    async with sent(recorder.url, security, given) as toolset:
        await toolset["get_x"].execute({})

    request = recorder.requests[-1]
    assert request.target == "/x?api%20key=q"
    assert ("X-Key", "h") in request.headers
    assert "authorization" not in {name.lower() for name, _ in request.headers}


@pytest.mark.parametrize(
    "security", [[{}, {"header": []}], [{"header": []}, {}]], ids=["before", "after"]
)
async def test_a_credential_is_sent_where_it_is_optional(security: Any, recorder: Any) -> None:
    async with sent(recorder.url, security, {"header": SECRET}) as toolset:
        await toolset["get_x"].execute({})
    async with sent(recorder.url, security, {}) as toolset:
        await toolset["get_x"].execute({})

    with_key, without = recorder.requests[-2:]
    assert ("X-Key", SECRET) in with_key.headers
    assert "x-key" not in {name.lower() for name, _ in without.headers}


MISSING = [
    ([{"header": []}], {}, "no credential was given for 'header'"),
    ([{"header": []}, {"basic": []}], {}, "no credential was given for 'header' or 'basic'"),
    ([{"header": [], "query": []}], {"header": SECRET}, "no credential was given for 'query'"),
    ([{}, {"header": []}], {}, "no credential was given for 'header'"),
    ([{"header": []}, {"basic": []}], {"basic": f"me:{SECRET}"}, ""),
    ([{}], {}, ""),
    ([], {}, ""),
]


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize(
    ("security", "credentials", "told"), MISSING, ids=[repr(row[0]) for row in MISSING]
)
async def test_a_refusal_names_the_schemes_that_lack_a_credential(
    security: Any, credentials: dict[str, Any], told: str, status: int
) -> None:
    answer = httpx.Response(status, json={"detail": "who are you?"}, headers={"Retry-After": "3"})
    root = document(
        {"/x": {"get": operation(security=security)}}, components={"securitySchemes": SCHEMES}
    )
    client = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: answer))
    settings = Settings(base_url="http://api.test")
    toolset = load_tools(root, credentials=credentials, settings=settings, client=client)

    result = await toolset["get_x"].execute({})

    assert result.error is not None
    assert result.error["type"] == "auth"
    assert result.error["status"] == result.metadata["status"] == status
    assert result.error["retry_after"] == 3
    assert result.error["message"] == str(result)
    assert "who are you?" in str(result)
    assert str(result).endswith(f" ({told})") if told else "credential" not in str(result)
    assert SECRET not in str(result)


@pytest.mark.parametrize("security", [[], [{}], [{"basic": []}]], ids=["none", "optional", "other"])
async def test_a_credential_is_not_sent_where_nothing_asks_for_it(
    security: Any, recorder: Any
) -> None:
    async with sent(recorder.url, security, {"header": SECRET}) as toolset:
        await toolset["get_x"].execute({})

    assert SECRET not in recorder.requests[-1].raw.decode("latin-1")


WRONG = [
    ("header", "a\r\nX-Evil: 1"),
    ("header", ""),
    ("header", 3),
    ("header", None),
    ("basic", "no colon"),
    ("basic", ("a", "b", "c")),
    ("bearer", ["x"]),
    ("digest", SECRET),
    ("nowhere", SECRET),
    ("unknown", SECRET),
]


@pytest.mark.parametrize(("scheme", "value"), WRONG, ids=repr)
def test_a_credential_of_the_wrong_kind_is_refused_without_showing_it(
    scheme: str, value: Any
) -> None:
    with pytest.raises(CredentialsError) as caught:
        loaded([], {scheme: value})

    assert caught.value.scheme == scheme
    assert repr(scheme) in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "Evil" not in str(caught.value)


def test_a_line_end_behind_a_key_is_stripped() -> None:
    tool = loaded([{"header": []}], {"header": f"{SECRET}\n"})

    assert tool.preview({}).headers["X-Key"] == "***"


@pytest.mark.parametrize("scheme", ["header", "query", "cookie", "basic", "bearer"])
def test_a_preview_and_every_repr_mask_the_credential(scheme: str) -> None:
    tool = loaded([{scheme: []}], {scheme: f"me:{SECRET}"})

    request = tool.preview({})
    shown = [
        repr(request),
        str(request.url),
        repr(request.headers.raw),
        repr(tool),
        repr(tool._session),
    ]
    shown += [
        repr(
            vars(tool._session.credentials)
            if hasattr(tool._session.credentials, "__dict__")
            else ""
        )
    ]
    text = " ".join(shown)
    assert "***" in text or "%2A%2A%2A" in text
    assert SECRET not in text
    assert base64.b64encode(f"me:{SECRET}".encode()).decode() not in text
