"""Hostile documents are refused with a place, or give tools of bounded size: never a crash."""

from __future__ import annotations

import json
import socket
import time
import tracemalloc
from typing import Any

import pytest
from documents import document, operation, tools
from trust.promises import (
    BASE,
    HEAD,
    MOST_BYTES,
    an_object,
    component,
    definition,
    quiet,
    refusal,
    unseen_in,
    used,
    with_component,
    with_parameter,
)

from openapi_tools import OpenAPIToolsError, Select, Settings, generate_package, load_tools

_BODY = "{content: {application/json: {schema: *a11}}}"
_ANSWERS = 'responses: {"200": {description: ok}}'
_MIB = 1024 * 1024


def alias_bomb(last):
    """Return nine aliases of nine aliases, twelve levels deep, and what stands behind them."""
    levels = [
        f"x-{level}: &a{level} {{{', '.join(f'p{n}: *a{level - 1}' for n in range(9))}}}"
        for level in range(1, 12)
    ]
    return "\n".join([f"{HEAD}x-0: &a0 {{type: string}}", *levels, last, ""])


def merge_bomb():
    """Return mappings that merge nine others each, twelve levels deep."""
    levels = [
        f"x-{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}], k{level}: 1}}"
        for level in range(1, 12)
    ]
    return "\n".join([f"{HEAD}x-0: &a0 {{k: v}}", *levels, "paths: {}", ""])


def measured(source):
    """Return how a document is refused and how much memory that takes."""
    tracemalloc.start()
    try:
        return refusal(source), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    "last",
    ["paths: {}", f"paths: {{/x: {{post: {{requestBody: {_BODY}, {_ANSWERS}}}}}}}"],
    ids=["ignored extension", "used schema"],
)
def test_a_yaml_alias_bomb_is_refused_with_its_place_in_bounded_memory(last):
    message, peak = measured(alias_bomb(last))

    assert "aliases write out to far more than the document holds" in message
    assert "line " in message
    assert peak < 64 * _MIB


def test_a_yaml_merge_key_bomb_is_refused_with_its_place_in_bounded_memory():
    message, peak = measured(merge_bomb())

    assert "aliases write out to far more than the document holds" in message
    assert peak < 64 * _MIB


def test_a_yaml_self_alias_in_a_schema_is_refused_by_its_name():
    schema = "&s {type: object, properties: {a: *s}}"
    body = f"{{content: {{application/json: {{schema: {schema}}}}}}}"

    message = refusal(f"{HEAD}paths: {{/x: {{post: {{requestBody: {body}, {_ANSWERS}}}}}}}\n")

    assert "'s' contains itself; use '$ref'" in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{HEAD}paths: {{}}\n---\n{HEAD}", "line 4, column 1: a second YAML document begins"),
        (f"---\n{HEAD}paths: {{}}\n...\n---\na: 1\n", "a second YAML document begins"),
        (f"%YAML 3.0\n---\n{HEAD}paths: {{}}\n", "line 1, column 1: found incompatible"),
        (f"%TAG ! tag:evil.example,2000:\n---\n{HEAD}paths: !x {{}}\n", "tag"),
    ],
    ids=["second", "after an end", "version", "tag prefix"],
)
def test_several_yaml_documents_and_odd_directives_are_refused(text, reason):
    assert reason in refusal(text)


@pytest.mark.parametrize(
    "source",
    [
        "[" * 10_000 + "]" * 10_000,
        '{"openapi": "3.1.0", "paths": {}, "x": ' + "[" * 10_000 + "]" * 10_000 + "}",
        f"{HEAD}paths: {{}}\nx-a: {'[' * 5000}{']' * 5000}\n",
        f"{HEAD}paths: {{}}\nx-a:\n {'- ' * 5000}1\n",
        f"{HEAD}paths: {{}}\nx-a: {'{a: ' * 5000}1{'}' * 5000}\n",
    ],
    ids=["whole document", "JSON extension", "YAML flow", "YAML block", "YAML mappings"],
)
def test_10_000_nested_arrays_are_refused_with_line_and_column(source):
    started = time.monotonic()

    message = refusal(source)

    assert "nested deeper than 201 levels" in message
    assert "line " in message
    assert time.monotonic() - started < 5


def nested(levels, kind):
    """Return a schema with so many schemas inside one another."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        inner = {"items": schema} if kind == "array" else {"properties": {"p": schema}}
        schema = {"type": kind, **inner}
    return schema


def written(levels):
    """Return a JSON document with a deep schema as text, as `json.dumps` could not write it."""
    text = json.dumps(with_component("HERE"))
    schema = '{"type": "array", "items": ' * levels + '{"type": "string"}' + "}" * levels
    return text.replace('"HERE"', schema)


@pytest.mark.parametrize("source", [with_component(nested(900, "array")), written(900)])
def test_a_schema_nested_900_levels_is_refused_at_load_and_at_generation(source, tmp_path):
    assert "nested deeper than 201 levels" in refusal(source)
    with pytest.raises(OpenAPIToolsError, match="nested deeper than 201 levels"):
        generate_package(source, tmp_path / "out", name="deep")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "source",
    [
        with_component(nested(185, "array")),
        with_component(nested(90, "object")),
        written(185),
        with_component(an_object({"a": nested(180, "array")})),
    ],
    ids=["arrays", "objects", "text", "member"],
)
async def test_a_schema_as_deep_as_may_be_is_loaded_shown_called_and_generated(source, tmp_path):
    outcomes = await used(source)
    report = generate_package(source, tmp_path / "out", name="deep")

    assert set(outcomes) <= {"success", "invalid_input"}
    assert report.tools == ("x",)


LONG = "x" * 1_000_000
HUGE = {
    "enum of 60,000": lambda: with_parameter({"enum": [f"value {n}" for n in range(60_000)]}),
    "fifty enums": lambda: with_parameter(
        an_object({f"p{n}": {"enum": ["y" * 600 + str(m) for m in range(50)]} for n in range(50)})
    ),
    "description": lambda: with_parameter({"description": LONG * 2}, description=LONG * 2),
    "name of a property": lambda: with_component(an_object({LONG[:100_000]: {}, "a": {}})),
    "name of a required property": lambda: with_component(
        an_object({"a": {"properties": {LONG[:100_000]: {}}, "required": [LONG[:100_000], "b"]}})
    ),
    "name of a parameter": lambda: with_parameter({}, name=LONG[:100_000]),
    "default": lambda: with_parameter({"type": "string", "default": LONG}),
    "default of many members": lambda: with_parameter({"default": {"a": ["x"] * 100_000}}),
    "const": lambda: with_component(an_object({"a": {"const": LONG}})),
    "example": lambda: with_parameter({}, example=LONG),
    "examples": lambda: with_parameter({"examples": [LONG]}),
    "pattern": lambda: with_parameter({"type": "string", "pattern": LONG}),
    "title and format": lambda: with_parameter({"title": LONG, "format": LONG, "type": "string"}),
    "50,000 required names": lambda: with_component(
        an_object({"a": {"required": [f"r{n}" for n in range(50_000)]}})
    ),
    "dependent names": lambda: with_component(
        {"type": "object", "dependentRequired": {f"r{n}": ["a" * 50] for n in range(20_000)}}
    ),
    "5,000 alternatives": lambda: with_parameter(
        {"oneOf": [{"const": f"c{n}"} for n in range(5_000)]}
    ),
    "discriminator": lambda: with_component(
        {
            "anyOf": [{"type": "object"}],
            "discriminator": {"propertyName": "t", "mapping": {LONG + str(n): "x" for n in "ab"}},
        }
    ),
    "name of a discriminator": lambda: with_component(
        {"anyOf": [{"type": "object"}], "discriminator": {"propertyName": LONG}}
    ),
    "name of a component": lambda: with_component(
        {"properties": {f"p{n}": component(LONG[:100_000]) for n in range(9)}},
        **{LONG[:100_000]: {"type": "string"}},
    ),
    "4,500 parameters": lambda: document(
        {
            "/x": {
                "get": operation(
                    operationId="x",
                    parameters=[
                        {"name": f"p{n}{'y' * 50}", "in": "query", "schema": {}}
                        for n in range(4_500)
                    ],
                )
            }
        }
    ),
    "id of an operation": lambda: document({"/x": {"get": operation(operationId="o" * 1_000_000)}}),
    "path": lambda: document({f"/{LONG}": {"get": operation()}}),
}


@pytest.mark.parametrize("name", HUGE)
def test_a_huge_value_is_shortened_or_left_out_and_the_definition_stays_below_256_kb(name):
    (tool,) = load_tools(HUGE[name]())

    assert len(definition(tool)) <= MOST_BYTES
    assert tool.operation


def test_the_size_of_a_definition_does_not_depend_on_what_was_looked_at_before():
    large = an_object({f"p{n}": {"type": "string", "description": "d " * 400} for n in range(30)})
    names = [f"S{n}" for n in range(50)]
    body = an_object({name: component(name) for name in names})
    content = {"content": {"application/json": {"schema": body}}}
    toolset = tools(
        {f"/{name}": {"post": operation(requestBody=content)} for name in "ab"},
        components={"schemas": dict.fromkeys(names, large)},
    )

    schemas = [tool.input_schema for tool in toolset]

    assert schemas[0] == schemas[1]
    assert all(len(definition(tool)) <= MOST_BYTES for tool in toolset)


@pytest.mark.parametrize("openapi", ["3.1.0", "2.0"])
def test_lists_that_all_operations_share_are_cut_and_not_made_anew_for_each(openapi):
    many = range(20_000)
    kinds = [f"a/b{n}" for n in many]
    shared = {
        "servers": [{"url": f"https://a{n}.example.com"} for n in many],
        "security": [{f"k{n}": []} for n in many],
        "produces": kinds,
        "consumes": kinds,
        "components": {
            "responses": {"R": {"description": "ok", "content": {kind: {} for kind in kinds}}},
            "requestBodies": {"B": {"content": {kind: {} for kind in kinds}}},
        },
    }
    body: dict[str, Any] = {"requestBody": {"$ref": "#/components/requestBodies/B"}}
    if openapi == "2.0":
        body = {"parameters": [{"in": "body", "name": "body", "schema": {}}]}
    answers = {"responses": {"200": {"$ref": "#/components/responses/R"}}}
    one, *_, other = tools(
        {f"/{n}": {"post": {**answers, **body}} for n in range(100)}, openapi=openapi, **shared
    )

    first, last = one.operation, other.operation

    assert first.servers is last.servers or openapi == "2.0"
    assert first.security is last.security
    lists = (first.servers, first.security, first.accept, first.body.alternatives)
    assert all(len(listed) <= 100 for listed in lists)
    assert first.accept[0] == "a/b0"


@pytest.mark.long
@pytest.mark.parametrize("variable", ["{{;{}*}}", "{{{}}}", "{{x{}}}"])
def test_thousands_of_variables_in_a_path_are_matched_in_time_with_few_warnings(variable):
    names = [f"v{number}" for number in range(8_000)]
    declared = [{"name": name, "in": "path", "required": True, "schema": {}} for name in names]
    path = "/" + "/".join(variable.format(name) for name in names)
    started = time.monotonic()

    (tool,) = toolset = tools({path: {"get": operation(parameters=declared)}})

    assert len(tool.operation.parameters) == len(names)
    assert len(definition(tool)) <= MOST_BYTES
    assert sum(map(len, toolset.warnings)) < 50_000
    assert time.monotonic() - started < 20


def test_thousands_of_branches_of_all_of_are_merged_as_far_as_the_budget_goes():
    branches = [
        {"properties": {f"p{n}": {"type": "string"}}, "required": [f"p{n}"]} for n in range(4_000)
    ]
    source = with_component(an_object({"a": {"allOf": branches}}))
    started = time.monotonic()

    (tool,) = load_tools(source)

    assert len(definition(tool)) <= MOST_BYTES
    assert time.monotonic() - started < 20


REFERENCES = {
    "doubles 40 times": {
        f"S{n}": an_object({k: component(f"S{n + 1}") for k in "ab"}) for n in range(40)
    },
    "allOf of three, 14 times": {
        f"S{n}": {"allOf": [component(f"S{n + 1}")] * 3 + [{"properties": {f"p{n}": {}}}]}
        for n in range(14)
    },
    "chain of 3,000 members": {
        f"S{n}": an_object({"next": component(f"S{n + 1}")}) for n in range(3000)
    },
    "everything in everything": {
        f"S{n}": an_object({f"p{k}": component(f"S{(n * 31 + k * 7) % 400}") for k in range(40)})
        for n in range(400)
    },
}


@pytest.mark.parametrize("schemas", REFERENCES.values(), ids=REFERENCES.keys())
async def test_references_that_multiply_or_go_in_circles_give_a_bounded_definition(schemas):
    last = an_object({"end": {"type": "string"}})
    others = {f"S{len(schemas)}": last, **schemas}
    started = time.monotonic()

    outcomes = await used(with_component(others.pop("S0"), **others))

    assert set(outcomes) <= {"success", "invalid_input"}
    assert outcomes
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "schemas",
    [
        {"S0": component("S0")},
        {"S0": component("S1"), "S1": component("S0")},
        {f"S{n}": component(f"S{n + 1}") for n in range(3000)} | {"S3000": {"type": "string"}},
    ],
    ids=["A to A", "A to B to A", "3,000 references"],
)
def test_references_without_content_skip_their_operation_and_name_themselves(schemas):
    toolset = load_tools(with_component(schemas.pop("S0"), **schemas))

    (skipped,) = toolset.skipped
    assert "S0" in skipped.reason
    assert "more than 64 references without content" in skipped.reason


@pytest.mark.parametrize(
    "components",
    [
        {"parameters": {"P": {"$ref": "#/components/parameters/P"}}},
        {
            "parameters": {
                "P": {"$ref": "#/components/parameters/Q"},
                "Q": {"$ref": "#/components/parameters/P"},
            }
        },
        {"pathItems": {"I": {"$ref": "#/components/pathItems/I"}}},
        {"requestBodies": {"B": {"$ref": "#/components/requestBodies/B"}}},
    ],
    ids=["parameter", "two parameters", "path item", "body"],
)
def test_a_circle_of_parameters_path_items_or_bodies_skips_its_operation_by_name(components):
    (kind, members), *_ = components.items()
    reference = {"$ref": f"#/components/{kind}/{next(iter(members))}"}
    item = {
        "parameters": {"get": operation(parameters=[reference])},
        "pathItems": reference,
        "requestBodies": {"post": operation(requestBody=reference)},
    }[kind]

    toolset = tools({"/x": item, "/y": {"get": operation()}}, components=components)

    assert [tool.path for tool in toolset] == ["/y"]
    assert reference["$ref"] in toolset.skipped[0].reason
    assert "in a circle" in toolset.skipped[0].reason


@pytest.mark.parametrize(
    "schemas",
    [
        {"S0": {"allOf": [component("S0"), an_object({"a": {}})]}},
        {"S0": {"allOf": [component("S9"), {"type": "object"}]},
         "S9": {"allOf": [component("S0"), {"properties": {"a": {"type": "string"}}}]}},
    ],
    ids=["itself", "each other"],
)  # fmt: skip
async def test_a_cyclic_all_of_is_merged_without_the_circle(schemas):
    source = with_component(schemas["S0"], **{n: s for n, s in schemas.items() if n != "S0"})
    toolset, sent = quiet(source)

    good = await toolset["x"].execute({"body": {"a": "x"}})
    bad = await toolset["x"].execute({"body": []})

    assert not good.is_error, good.output
    assert bad.error["type"] == "invalid_input"
    assert len(sent) == 1


def test_a_legitimate_recursive_schema_takes_a_tree_of_three_levels():
    tree = {
        "type": "object",
        "properties": {
            "v": {"type": "string"},
            "kids": {"type": "array", "items": component("S0")},
        },
        "required": ["v"],
    }
    (tool,) = quiet(with_component(tree))[0]
    value = {"v": "a", "kids": [{"v": "b", "kids": [{"v": "c"}]}]}

    assert list(tool.input_schema["$defs"]) == ["S0"]
    assert json.loads(tool.preview({"body": value}).content) == value
    with pytest.raises(OpenAPIToolsError, match="/body/kids/0/kids/0"):
        tool.preview({"body": {"v": "a", "kids": [{"v": "b", "kids": [{"v": 1}]}]}})


@pytest.mark.parametrize("keyword", ["minimum", "maximum", "multipleOf", "maxLength", "minItems"])
def test_an_integer_beyond_every_float_is_left_out_as_a_limit(keyword):
    (tool,) = load_tools(with_parameter({"type": "integer", keyword: 10**4000, "title": "t"}))

    assert tool.input_schema["properties"]["q"] == {"type": "integer", "title": "t"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "9" * 5000])
@pytest.mark.parametrize("keyword", ["default", "maximum", "enum"])
def test_numbers_that_json_does_not_have_are_refused_with_their_place(number, keyword):
    text = json.dumps(with_parameter({keyword: ["HERE"] if keyword == "enum" else "HERE"}))

    message = refusal(text.replace('"HERE"', number))

    assert "line 1, column " in message or f"/schema/{keyword}" in message


UNSEEN = "a\ud800\x00\x07\x1b[31m\x9b31m\x7fb"


@pytest.mark.parametrize(
    "source",
    [
        document({"/x": {"get": operation(operationId=UNSEEN, summary=UNSEEN)}}),
        document({"/x": {"get": operation(tags=[UNSEEN], description=UNSEEN)}}),
        with_parameter({"title": UNSEEN, "description": UNSEEN, "format": UNSEEN}),
        with_parameter({"default": UNSEEN, "examples": [UNSEEN], "const": {UNSEEN: 1}}),
        with_parameter({"enum": [UNSEEN, "plain"], "pattern": UNSEEN}, example=UNSEEN),
        with_component({"properties": {"a": {"properties": {UNSEEN: {}}, "required": [UNSEEN]}}}),
        with_component({"type": "object", "properties": {UNSEEN: {}}, "required": [UNSEEN]}),
        with_component({"properties": {"a": component(UNSEEN)}}, **{UNSEEN: {"type": "string"}}),
        with_component({"patternProperties": {UNSEEN: {}}, "dependentSchemas": {UNSEEN: {}}}),
        with_component(
            {
                "anyOf": [{"type": "object"}],
                "discriminator": {"propertyName": "t", "mapping": {UNSEEN: "x"}},
            }
        ),
    ],
    ids=[
        *("id", "tag", "words", "values", "choices", "nested name", "name", "component"),
        *("keys", "discriminator"),
    ],
)
def test_control_characters_and_half_characters_reach_no_definition(source):
    (tool,) = load_tools(source)

    assert unseen_in(tool) == []
    assert definition(tool)


def test_3_000_operations_load_and_can_be_selected():
    path = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {f"/x{n}/{{id}}": {"get": operation(parameters=[path])} for n in range(3000)}
    started = time.monotonic()

    toolset = load_tools(json.dumps(document(paths)))

    assert len(toolset) == 3000
    assert len(toolset.select(Select(paths="/x7/*"))) == 1
    assert time.monotonic() - started < 30


@pytest.fixture
def no_network(monkeypatch):
    """Refuse every connection and every look-up of a name, and count them."""
    tried: list[Any] = []

    def refuse(*given: Any, **_: Any) -> None:
        tried.append(given)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


ELSEWHERE = "http://127.0.0.1:1/x.json"


@pytest.mark.parametrize(
    "node",
    [
        {"$id": ELSEWHERE, "type": "string"},
        {"$schema": ELSEWHERE, "type": "string"},
        {"$id": ELSEWHERE, "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$dynamicRef": ELSEWHERE, "type": "string"},
        {"$recursiveRef": ELSEWHERE, "type": "string"},
        {"$vocabulary": {ELSEWHERE: True}, "type": "string"},
        {"const": {"$ref": ELSEWHERE}},
        {"default": {"$ref": "file:///etc/passwd"}, "enum": [{"$ref": ELSEWHERE}]},
        {"items": {"$schema": ELSEWHERE, "$id": "file:///etc/passwd", "$ref": ELSEWHERE}},
        {"allOf": [{"$ref": ELSEWHERE}]},
        {"contentSchema": {"$ref": ELSEWHERE}},
    ],
    ids=lambda node: next(iter(node)),
)
async def test_no_word_of_a_schema_makes_loading_or_validation_open_a_connection(node, no_network):
    source = with_parameter(node)
    source |= {"jsonSchemaDialect": ELSEWHERE, "$self": ELSEWHERE}
    toolset, _ = quiet(source | {"openapi": "3.2.0"})

    for tool in toolset:
        for given in ({}, {"q": "x"}, {"q": []}, {"q": {"a": 1}}):
            result = await tool.execute(given)
            assert result.error is None or result.error["type"] == "invalid_input"

    assert no_network == []
    assert "root:" not in repr([tool.input_schema for tool in toolset])


def test_urls_that_are_documentation_only_are_never_fetched(no_network):
    docs = {"externalDocs": {"url": ELSEWHERE}}
    answer = {
        "description": "ok",
        "links": {"a": {"operationRef": f"{ELSEWHERE}#/paths"}},
        "content": {"application/json": {"examples": {"a": {"externalValue": ELSEWHERE}}}},
    }
    schemes = {
        "o": {"type": "openIdConnect", "openIdConnectUrl": ELSEWHERE},
        "f": {
            "type": "oauth2",
            "flows": {"clientCredentials": {"tokenUrl": ELSEWHERE, "scopes": {}}},
        },
    }
    source = with_parameter({"type": "object", "discriminator": {"propertyName": "a"}, **docs})
    source["paths"]["/x"]["get"] |= {**docs, "responses": {"200": answer}}
    source |= {**docs, "components": {"securitySchemes": schemes}}
    source["info"] |= {"termsOfService": ELSEWHERE, "license": {"name": "x", "url": ELSEWHERE}}

    (tool,) = load_tools(source)

    assert tool.input_schema
    assert tool.operation
    assert no_network == []


@pytest.mark.parametrize(
    "path",
    [
        *("//evil.example/x", "http://evil.example/x", "https:evil.example", "/a?b=1", "/a#b"),
        *("/a\r\nHost: evil.example", "/a b", "/{undeclared}", "/{a}{b}", "x", ""),
        *("@evil.example/", "/..", "/a/../../b", "/%2e%2e/x", "\\\\evil.example\\x", "/a\\..\\b"),
        ":8080/x",
    ],
)
async def test_a_hostile_path_is_skipped_or_stays_below_the_base_url(path):
    toolset, sent = quiet(document({path: {"get": operation()}}), base_url=f"{BASE}/v1")

    for tool in toolset:
        names = tool.input_schema["properties"]
        await tool.execute(dict.fromkeys(names, "value"))

    for request in sent:
        assert request.url.copy_with(path="/", query=None, fragment=None) == f"{BASE}/"
        assert request.url.raw_path.startswith(b"/v1/")
        assert b".." not in request.url.raw_path
        assert request.headers["host"] == "api.example"
    assert len(toolset) + len(toolset.skipped) == 1


@pytest.mark.parametrize(
    "pattern",
    ["(", "[", "(?<name>a)\\k<name>", "\\p{Lu}+", "(?<=a)b", "(a+)+$", "^(([a-z])+.)+[A-Z]$", "\\"],
)
async def test_a_regex_that_is_broken_foreign_or_catastrophic_loads_and_never_hangs(pattern):
    toolset, _ = quiet(with_parameter({"type": "string", "pattern": pattern}))
    started = time.monotonic()

    result = await toolset["x"].execute({"q": "a" * 40 + "!"})

    assert toolset["x"].input_schema["properties"]["q"]["pattern"] == pattern
    assert result.error is None or result.error["type"] == "invalid_input"
    assert time.monotonic() - started < 2


BROKEN_SCHEMES = {
    "unknown": {"type": "moon"},
    "number": {"type": 7},
    "list": [],
    "empty": {},
    "place": {"type": "apiKey", "in": "moon", "name": "k"},
    "host": {"type": "apiKey", "in": "header", "name": "Host"},
    "line end": {"type": "apiKey", "in": "header", "name": "X\r\nX-Evil"},
    "length": {"type": "apiKey", "in": "header", "name": "Content-Length"},
    "cookie": {"type": "apiKey", "in": "cookie", "name": "a; b"},
    "no name": {"type": "apiKey", "in": "query"},
    "scheme": {"type": "http", "scheme": "moon"},
    "flows": {"type": "oauth2", "flows": {"moon": 7}},
    "nowhere": {"$ref": "#/components/securitySchemes/gone"},
}


@pytest.mark.parametrize("node", BROKEN_SCHEMES.values(), ids=BROKEN_SCHEMES.keys())
async def test_a_broken_security_scheme_loads_and_a_call_says_what_is_missing(node, recorder):
    paths = {"/x": {"get": operation(operationId="x", security=[{"k": []}])}}
    source = document(paths, components={"securitySchemes": {"k": node}})

    async with load_tools(source, settings=Settings(base_url=recorder.url)) as toolset:
        result = await toolset["x"].execute({})

    assert recorder.requests == []
    assert result.error["type"] == "credentials"
    assert "'k'" in result.error["message"]


def test_server_variables_are_no_arguments_and_neither_are_unknown_methods():
    servers = [{"url": "https://{region}.example.com", "variables": {"region": {"default": "eu"}}}]
    paths = {"/x": {"get": operation(), "GET": operation(), "foo": operation(), "servers": servers}}

    toolset = tools(paths, servers=servers)

    assert [(tool.method, tool.input_schema["properties"]) for tool in toolset] == [("GET", {})]
