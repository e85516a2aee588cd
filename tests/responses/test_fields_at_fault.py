"""On a 4xx the arguments that the API names are told, in the names of the tool."""

import httpx
import pytest
from documents import document
from tools.handlers import load_with_handler

STRING = {"type": "string"}
ITEM = {"type": "object", "properties": {"price": {"type": "number"}}}
BODY = {
    "type": "object",
    "properties": {"price": {"type": "number"}, "tableName": STRING, "id": STRING,
                   "items": {"type": "array", "items": ITEM}},
}  # fmt: skip
PLACES = {"in": "path", "name": "id", "required": True, "schema": STRING}
QUERY = {"in": "query", "name": "page[size]", "schema": STRING}
OPERATION = {
    "operationId": "change",
    "parameters": [PLACES, QUERY],
    "requestBody": {"content": {"application/json": {"schema": BODY}}},
    "responses": {"200": {"description": ""}},
}
SPEC = document({"/things/{id}": {"patch": OPERATION}})


async def refuse_call(response, status=422, **settings):
    toolset, sent = load_with_handler(
        SPEC, lambda _: httpx.Response(status, json=response), settings=settings
    )
    arguments = {"id": "7", "body": {}} if settings else {"id_path": "7"}
    result = await toolset["change"].execute(arguments)
    assert len(sent) == 1
    return result


VIOLATION = {"field": "item.items[0].price", "description": "must be positive"}
GOOGLE = {"error": {"message": "Invalid", "details": [{"fieldViolations": [VIOLATION]}]}}
DISCORD = {"items": {"0": {"price": {"_errors": [{"message": "Too low"}]}}}}
AWS = "Value null at 'tableName' failed to satisfy constraint: Member must not be 'null'"


@pytest.mark.parametrize(
    ("response", "fields", "line"),
    [
        ({"title": "Bad", "errors": [{"detail": "low", "pointer": "#/price"}]}, ["/price"],
         "Look at /price."),
        ({"title": "Bad", "invalid-params": [{"name": "table_name", "reason": "x"}]},
         ["/tableName"], "Look at /tableName."),
        ({"detail": [{"loc": ["body", "items", 0, "price"], "msg": "low"}]}, ["/items/0/price"],
         "Look at /items/0/price."),
        ({"detail": [{"loc": ["body", "id"], "msg": "x"}, {"loc": ["path", "id"], "msg": "x"}]},
         ["/id_body", "/id_path"], "Look at /id_body and /id_path."),
        ({"detail": [{"loc": ["query", "page[size]"], "msg": "x"}]}, ["/page_size"],
         "Look at /page_size."),
        ({"errors": [{"source": {"pointer": "/data/attributes/price"}, "detail": "low"}]},
         ["/price"], "Look at /price."),
        (GOOGLE, ["/items/0/price"], "Look at /items/0/price."),
        ({"message": "Failed", "errors": [{"code": "low", "field": "price"}]}, ["/price"], ""),
        ({"errors": {"price": ["is low", "is odd"], "base": ["x"]}}, ["/price"], ""),
        ({"error": {"message": "Too low.", "param": "price"}}, ["/price"], "Look at /price."),
        ({"error": {"message": "The price is low.", "param": "price"}}, ["/price"], ""),
        ({"errors": DISCORD, "message": "Invalid"}, ["/items/0/price"], "Look at /items/0/price."),
        ({"__type": "X", "message": AWS}, ["/tableName"], ""),
        ({"details": {"name": "id", "causes": [{"field": "items[1]", "message": "x"}]}},
         ["/items/1"], "Look at /items/1."),
        ({"message": "no such 'thing'"}, None, ""),
        ({"name": "ValidationError", "message": "x", "path": "/things/7"}, None, ""),
    ],
    ids=["RFC 9457", "RFC 7807", "FastAPI", "renamed", "query", "JSON:API", "Google", "GitHub",
         "Rails", "Stripe", "Stripe, named", "Discord", "AWS", "Kubernetes", "none", "Spring"],
)  # fmt: skip
async def test_the_argument_at_fault_is_reported_once(response, fields, line):
    result = await refuse_call(response)

    assert result.error.get("fields") == fields
    assert "".join(text for text in str(result).split("\n") if "Look at" in text) == line


async def test_fields_of_a_body_that_is_one_argument_lead_into_it():
    result = await refuse_call({"errors": [{"field": "price", "code": "low"}]}, body="nested")

    assert result.error["fields"] == ["/body/price"]
    assert str(result).endswith("price: low\nLook at /body/price.")


@pytest.mark.parametrize("status", [401, 403, 429, 500])
async def test_other_failures_name_no_arguments(status):
    result = await refuse_call({"errors": {"price": ["is low"]}}, status)

    assert "fields" not in result.error


@pytest.mark.parametrize(
    "response",
    [
        {"errors": [{"field": f"items[{n}].price"} for n in range(99)]},
        {"errors": {"price" + "x" * 500: {}, "price": None, "": [], "a.b": {"c": {"d": {}}}}},
        {"error": {"error": {"error": [[[[{"field": {"pointer": []}}]]]]}}, "errors": [[None]]},
        {"message": "'" * 300 + "'price'" * 100},
        {"detail": [{"loc": ["body", None, {}, "price", 1.5], "msg": 7}]},
        ["price", {"loc": "price"}, 5],
    ],
    ids=["many", "odd names", "nested", "quotes", "odd steps", "list"],
)
async def test_odd_bodies_have_a_short_message(response):
    result = await refuse_call(response, 400)

    assert len(result.error.get("fields", [])) <= 10
    assert len(str(result)) < 2_000
