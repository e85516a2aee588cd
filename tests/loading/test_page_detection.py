"""Documents that tell how their pages are asked for, and those that do not."""

import pytest

from openapi_tools import load_tools
from openapi_tools.model import Paging

ITEMS = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}}}
NUMBER, TEXT, FLAG = {"type": "integer"}, {"type": "string"}, {"type": "boolean"}


def thing(**properties):
    return {"type": "object", "properties": properties}


def paging_of(arguments, response=ITEMS, *, method="get", path="/things", headers=None, **fields):
    """Return what is recognised of an operation, given its arguments' schemas by name."""
    ok = {"description": "…", "content": {"application/json": {"schema": response}}}
    node = {"responses": {"200": ok if response else {"description": "…"}}, **fields}
    if headers:
        ok["headers"] = headers
    if method == "post":
        content = {"application/json": {"schema": thing(**arguments)}}
        node["requestBody"] = {"content": content}
    else:
        places = ({"name": n, "in": "query", "schema": s} for n, s in arguments.items())
        node["parameters"] = list(places)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": "https://api.example.com"}],
        "paths": {path: {method: node}},
    }
    (tool,) = load_tools(document)
    return tool.operation.paging


LINK = {"Link": {"schema": TEXT}}
HAL = thing(_embedded=thing(things=ITEMS), _links=thing(next=thing(href=TEXT)))
JSON_API = thing(data=ITEMS, links=thing(next={"type": ["string", "null"]}))
ODATA = thing(value=ITEMS, **{"@odata.nextLink": TEXT})
SLACK = thing(ok=FLAG, things=ITEMS, response_metadata=thing(next_cursor=TEXT))
KUBERNETES = thing(items=ITEMS, metadata=thing(**{"continue": TEXT}))

RECOGNISED = {
    "page": ({"page": NUMBER, "per_page": NUMBER}, ITEMS, ("page", "page", "per_page")),
    "page-in-braces": ({"page[number]": NUMBER, "page[size]": NUMBER}, JSON_API,
                       ("page", "page_number", "page_size", "data", "links.next")),
    "page-cursor": ({"page[cursor]": TEXT}, JSON_API,
                    ("cursor", "page_cursor", "", "data", "links.next")),
    "page-of-text": ({"page": TEXT, "limit": NUMBER}, thing(data=ITEMS, next_page=TEXT),
                     ("cursor", "page", "limit", "data", "next_page")),
    "nullable-page": ({"page": {"anyOf": [NUMBER, {"type": "null"}]}}, ITEMS, ("page", "page")),
    "offset": ({"offset": NUMBER, "limit": NUMBER}, thing(total=NUMBER, things=ITEMS),
               ("offset", "offset", "limit", "things")),
    "the-only-items-with-a-type": ({"cursor": TEXT, "limit": NUMBER},
                                   thing(next_cursor=TEXT, rows=ITEMS,
                                         others={"type": "array", "items": {}}),
                                   ("cursor", "cursor", "limit", "rows", "next_cursor")),
    "no-items-with-a-type": ({"cursor": TEXT, "limit": NUMBER},
                             thing(items={"type": "array", "items": {"type": "string"}},
                                   response_metadata={"type": "array"}, next_cursor=TEXT),
                             ("cursor", "cursor", "limit", "items", "next_cursor")),
    "items-without-a-type": ({"offset": NUMBER, "limit": NUMBER},
                             thing(links=ITEMS, records={"type": "array", "items": {}}),
                             ("offset", "offset", "limit", "records")),
    "odata-skip": ({"$skip": NUMBER, "$top": NUMBER}, thing(value=ITEMS),
                   ("offset", "skip", "top", "value")),
    "scim": ({"startIndex": NUMBER, "count": NUMBER}, thing(Resources=ITEMS),
             ("offset", "startIndex", "count", "Resources")),
    "start": ({"start": NUMBER, "rows": NUMBER}, thing(docs=ITEMS),
              ("offset", "start", "rows", "docs")),
    "cursor": ({"cursor": TEXT, "limit": NUMBER}, SLACK,
               ("cursor", "cursor", "limit", "things", "response_metadata.next_cursor")),
    "cursor-alone": ({"cursor": TEXT}, ITEMS, ("cursor", "cursor")),
    "token": ({"pageToken": TEXT, "maxResults": NUMBER}, thing(items=ITEMS, nextPageToken=TEXT),
              ("cursor", "pageToken", "maxResults", "items", "nextPageToken")),
    "continue": ({"continue": TEXT, "limit": NUMBER}, KUBERNETES,
                 ("cursor", "continue", "limit", "items", "metadata.continue")),
    "last-id": ({"starting_after": TEXT, "limit": NUMBER}, thing(data=ITEMS, has_more=FLAG),
                ("cursor", "starting_after", "limit", "data", "data[-1].id")),
    "relay": ({"after": TEXT, "first": NUMBER},
              thing(nodes=ITEMS, pageInfo=thing(endCursor=TEXT, hasNextPage=FLAG)),
              ("cursor", "after", "first", "nodes", "pageInfo.endCursor")),
    "hal": ({}, HAL, ("link", "", "", "_embedded.things", "_links.next.href")),
    "odata-link": ({}, ODATA, ("link", "", "", "value", '"@odata.nextLink"')),
    "limit": ({"limit": NUMBER}, ITEMS, ("limit", "limit")),
    "numbers as strings": ({"page": TEXT, "pageSize": TEXT}, ITEMS, ("page", "page", "pageSize")),
    "offset as a string": ({"offset": TEXT}, ITEMS, ("offset", "offset")),
    "limit as a string": ({"limit": TEXT}, ITEMS, ("limit", "limit")),
    "inside one argument": (
        {"q": thing(page=NUMBER, page_size=NUMBER, columns={"type": "array", "items": TEXT})},
        thing(count=NUMBER, ids={"type": "array", "items": TEXT}, result=ITEMS,
              label_columns={"type": "array", "items": TEXT}),
        ("page", "q.page", "q.page_size", "result")),
    "the only list of objects": (
        {"page": NUMBER}, thing(warnings={"type": "array", "items": TEXT}, rows=ITEMS),
        ("page", "page", "", "rows")),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "response", "expected"), RECOGNISED.values(), ids=RECOGNISED)
def test_paging_is_recognised(arguments, response, expected):
    assert paging_of(arguments, response) == Paging(*expected)


def test_a_link_header_that_is_documented_is_paging():
    assert paging_of({}, headers=LINK) == Paging("link")
    assert paging_of({"page": NUMBER}, headers=LINK) == Paging("page", "page")


def test_x_ms_pageable_is_read():
    extension = {"nextLinkName": "nextLink", "itemName": "things"}
    paging = paging_of({}, thing(things=ITEMS), **{"x-ms-pageable": extension})

    assert paging == Paging("link", items="things", next="nextLink")
    assert paging_of({}, thing(value=ITEMS), **{"x-ms-pageable": {"nextLinkName": None}}) is None


def test_a_search_by_post_counts_with_a_cursor_that_its_response_continues():
    response = thing(results=ITEMS, next_cursor=TEXT)

    paging = paging_of({"query": TEXT, "cursor": TEXT}, response, method="post")

    assert paging == Paging("cursor", "cursor", "", "results", "next_cursor")
    assert paging_of({"name": TEXT, "page": NUMBER}, ITEMS, method="post") is None
    assert paging_of({"cursor": TEXT}, thing(id=TEXT), method="post") is None


NOT_PAGED = {
    "a single resource": ({"page": NUMBER}, thing(id=TEXT, name=TEXT)),
    "no argument": ({}, ITEMS),
    "a date": ({"start": {"type": "string", "format": "date"}, "q": TEXT}, ITEMS),
    "a sender": ({"from": TEXT, "to": TEXT}, thing(messages=ITEMS)),
    "a time": ({"after": {"type": "string", "format": "date-time"}}, thing(things=ITEMS)),
    "a list beside others": ({"limit": NUMBER}, thing(files=ITEMS, parents=ITEMS)),
    "a text": ({"page": TEXT}, {"type": "string"}),
}


@pytest.mark.parametrize(("arguments", "response"), NOT_PAGED.values(), ids=NOT_PAGED)
def test_other_operations_have_no_paging(arguments, response):
    assert paging_of(arguments, response) is None


def test_a_link_on_a_single_resource_with_a_list_is_not_paging():
    assert paging_of({}, thing(options=ITEMS), path="/fields/{id}", headers=LINK) is None


@pytest.mark.parametrize(
    "broken",
    [
        {"$ref": "#/nowhere"},
        {"type": ["array", {}], "items": 3},
        {"properties": [1], "allOf": 3, "anyOf": [{}, 7]},
        {"allOf": [{"$ref": "#/components/schemas/Loop"}]},
    ],
    ids=repr,
)
def test_a_broken_response_spoils_nothing(broken):
    document = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/things": {"get": {
            "parameters": [{"name": "page", "in": "query", "schema": NUMBER}],
            "x-ms-pageable": 7,
            "responses": {"200": {"content": {"application/json": {"schema": broken}}}, "2XX": 4},
        }}},
        "components": {"schemas": {"Loop": {"allOf": [{"$ref": "#/components/schemas/Loop"}]}}},
    }  # fmt: skip
    (tool,) = load_tools(document)

    assert tool.operation.method == "GET"


def test_names_and_descriptions_do_not_look_for_pages(monkeypatch):
    from openapi_tools.loading import page_detection

    monkeypatch.setattr(page_detection, "detect_paging", None)
    (*_, tool) = load_tools("specs/museum.yaml")

    assert tool.name
    assert tool.description
    assert tool.input_schema
