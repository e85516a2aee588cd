"""Hostile documents are refused with a place, or give tools of bounded size: never a crash."""

import json
import time

import pytest
from documents import document, operation, tools, with_body
from trust.promises import (
    BASE,
    MOST_BYTES,
    an_object,
    component,
    definition,
    load_quietly,
    refusal,
    secured_document,
    unseen_in,
    use_tools,
    with_component,
    with_parameter,
)

from openapi_tools import OpenAPIToolsError, Select, generate_package, load_tools


def nest_schema(levels, kind="array"):
    """Return a schema with so many schemas inside one another."""
    schema = {"type": "string"}
    for _ in range(levels):
        inner = {"items": schema} if kind == "array" else {"properties": {"p": schema}}
        schema = {"type": kind, **inner}
    return schema


def nested_document(levels):
    """Return a JSON document with a deep schema as text, as `json.dumps` could not write it."""
    schema = '{"type": "array", "items": ' * levels + '{"type": "string"}' + "}" * levels
    return json.dumps(with_component("HERE")).replace('"HERE"', schema)


@pytest.mark.parametrize("source", [with_component(nest_schema(900)), nested_document(900)])
def test_a_schema_nested_900_levels_is_refused_at_load_and_at_generation(source, tmp_path):
    assert "nested deeper than 201 levels" in refusal(source)
    with pytest.raises(OpenAPIToolsError, match="nested deeper than 201 levels"):
        generate_package(source, tmp_path / "out", name="deep")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "source",
    [
        with_component(nest_schema(185)),
        with_component(nest_schema(90, "object")),
        nested_document(185),
        with_component(an_object({"a": nest_schema(180)})),
    ],
    ids=["arrays", "objects", "text", "member"],
)
async def test_a_schema_as_deep_as_may_be_is_loaded_shown_called_and_generated(source, tmp_path):
    outcomes = await use_tools(source)
    report = generate_package(source, tmp_path / "out", name="deep")

    assert set(outcomes) <= {"success", "invalid_input"}
    assert report.tools == ("x",)


LONG = "x" * 1_000_000
NAME = LONG[:100_000]


def body_with(**schema):
    """Return a document whose body has a property of a schema."""
    return with_component(an_object({"a": schema}))


def query(*names, **schema):
    """Return a document whose query has a parameter of a schema for each name, or `q`."""
    parameters = [{"name": name, "in": "query", "schema": schema} for name in names or "q"]
    return document({"/x": {"get": operation(parameters=parameters)}})


def union(**discriminator):
    return with_component({"anyOf": [{"type": "object"}], "discriminator": discriminator})


HUGE = {
    "enum of 60,000": lambda: query(enum=[f"value {n}" for n in range(60_000)]),
    "fifty enums": lambda: with_parameter(
        an_object({f"p{n}": {"enum": ["y" * 600 + str(m) for m in range(50)]} for n in range(50)})
    ),
    "description": lambda: with_parameter({"description": LONG * 2}, description=LONG * 2),
    "name of a property": lambda: with_component(an_object({NAME: {}, "a": {}})),
    "name of a required property": lambda: body_with(properties={NAME: {}}, required=[NAME, "b"]),
    "name of a parameter": lambda: query(NAME),
    "default": lambda: query(type="string", default=LONG),
    "default of many members": lambda: query(default={"a": ["x"] * 100_000}),
    "const": lambda: body_with(const=LONG),
    "example": lambda: with_parameter({}, example=LONG),
    "examples": lambda: query(examples=[LONG]),
    "pattern": lambda: query(type="string", pattern=LONG),
    "title and format": lambda: query(title=LONG, format=LONG, type="string"),
    "50,000 required names": lambda: body_with(required=[f"r{n}" for n in range(50_000)]),
    "dependent names": lambda: with_component(
        {"type": "object", "dependentRequired": {f"r{n}": ["a" * 50] for n in range(20_000)}}
    ),
    "5,000 alternatives": lambda: query(oneOf=[{"const": f"c{n}"} for n in range(5_000)]),
    "discriminator": lambda: union(propertyName="t", mapping={LONG + n: "x" for n in "ab"}),
    "name of a discriminator": lambda: union(propertyName=LONG),
    "name of a component": lambda: with_component(
        {"properties": {f"p{n}": component(NAME) for n in range(9)}}, **{NAME: {"type": "string"}}
    ),
    "4,500 parameters": lambda: query(*(f"p{n}{'y' * 50}" for n in range(4_500))),
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
    (path,) = with_body(an_object({name: component(name) for name in names})).values()
    components = {"schemas": dict.fromkeys(names, large)}

    one, other = tools({"/a": path, "/b": path}, components=components)

    assert one.input_schema == other.input_schema
    assert len(definition(one)) <= MOST_BYTES


@pytest.mark.parametrize("openapi", ["3.1.0", "2.0"])
def test_lists_that_all_operations_share_are_cut_and_not_rebuilt_for_each(openapi):
    kinds = [f"a/b{n}" for n in range(20_000)]
    content = {"content": {kind: {} for kind in kinds}}
    response, body = {"R": {"description": "ok", **content}}, {"B": content}
    shared = {
        "servers": [{"url": f"https://a{n}.example.com"} for n in range(20_000)],
        "security": [{f"k{n}": []} for n in range(20_000)],
        **dict.fromkeys(("produces", "consumes"), kinds),
        "components": {"responses": response, "requestBodies": body},
    }
    body = {"requestBody": reference("requestBodies", "B")}
    if openapi == "2.0":
        body = {"parameters": [{"in": "body", "name": "body", "schema": {}}]}
    operation_fields = {"responses": {"200": reference("responses", "R")}}
    one, *_, other = tools(
        {f"/{n}": {"post": {**operation_fields, **body}} for n in range(100)},
        openapi=openapi,
        **shared,
    )

    first, last = one.operation, other.operation

    assert first.servers is last.servers or openapi == "2.0"
    assert first.security is last.security
    lists = (first.servers, first.security, first.accept, first.body.alternatives)
    assert all(len(listed) <= 100 for listed in lists)
    assert first.accept[0] == "a/b0"


def test_a_large_part_that_all_operations_share_is_read_once():
    large = "x" * 3_000_000
    body = {"content": {"application/json": {"schema": {"type": "string"}, "example": large}}}
    part = {"type": "string", "example": large}

    def operation_beside(number):
        """An operation whose body has the large property, as an alias does, and one of its own."""
        schema = {"type": "object", "properties": {"m": part, f"p{number}": {"type": "string"}}}
        content = {"application/json": {"schema": schema}}
        return operation(requestBody={"required": True, "content": content})

    broken = {"get": operation(parameters=[5, {"name": "q", "in": "query", "example": large}])}
    paths = {
        f"/a{n}": {"post": {"requestBody": reference("requestBodies", "B")}} for n in range(2000)
    }
    paths |= {f"/c{n}": {"put": operation_beside(n)} for n in range(2000)}
    paths |= {"/z": broken} | {f"/b{n}": {"$ref": "#/paths/~1z"} for n in range(10_000)}
    started = time.process_time()

    toolset = tools(paths, components={"requestBodies": {"B": body}})

    assert len({str(tool.input_schema) for tool in toolset}) == 2001
    assert (len(toolset), len(toolset.skipped)) == (4000, 10_001)
    assert time.process_time() - started < 10


@pytest.mark.long
@pytest.mark.parametrize("variable", ["{{;{}*}}", "{{{}}}", "{{x{}}}"])
def test_thousands_of_variables_in_a_path_are_matched_in_time_with_few_warnings(variable):
    names = [f"v{number}" for number in range(8_000)]
    declared = [{"name": name, "in": "path", "required": True, "schema": {}} for name in names]
    path = "/" + "/".join(variable.format(name) for name in names)
    started = time.process_time()

    (tool,) = toolset = tools({path: {"get": operation(parameters=declared)}})

    assert len(tool.operation.parameters) == len(names)
    assert len(definition(tool)) <= MOST_BYTES
    assert sum(map(len, toolset.warnings)) < 50_000
    assert time.process_time() - started < 20


def chain(count, link):
    """Return components that each lead to the next one."""
    return {f"S{n}": link(component(f"S{n + 1}"), n) for n in range(count)}


REFERENCES = {
    "allOf of three, 14 times": chain(
        14, lambda to, n: {"allOf": [to] * 3 + [{"properties": {f"p{n}": {}}}]}
    ),
    "chain of 3,000 members": chain(3000, lambda to, _: an_object({"next": to})),
    "everything in everything": {
        f"S{n}": an_object({f"p{k}": component(f"S{(n * 31 + k * 7) % 400}") for k in range(40)})
        for n in range(400)
    },
    "4,000 branches of allOf": {
        "S0": an_object({"a": {"allOf": [
            {"properties": {f"p{n}": {"type": "string"}}, "required": [f"p{n}"]}
            for n in range(4_000)
        ]}})
    },
}  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("name", REFERENCES)
async def test_references_that_multiply_or_are_cycles_give_a_bounded_definition(name):
    schemas = REFERENCES[name]
    last = an_object({"end": {"type": "string"}})
    started = time.process_time()

    outcomes = await use_tools(with_component(**schemas, **{f"S{len(schemas)}": last}))

    assert set(outcomes) <= {"success", "invalid_input"}
    assert outcomes
    assert time.process_time() - started < 10


@pytest.mark.parametrize(
    "schemas",
    [
        {"S0": component("S0")},
        {"S0": component("S1"), "S1": component("S0")},
        chain(3000, lambda to, _: to) | {"S3000": {"type": "string"}},
    ],
    ids=["A to A", "A to B to A", "3,000 references"],
)
def test_references_without_content_skip_their_operation_and_name_themselves(schemas):
    (skipped,) = load_tools(with_component(**schemas)).skipped

    assert "S0" in skipped.reason
    assert "more than 64 references, or a cycle" in skipped.reason


def reference(kind, name):
    return {"$ref": f"#/components/{kind}/{name}"}


@pytest.mark.parametrize(
    ("kind", "names"),
    [("parameters", "P"), ("parameters", "PQ"), ("pathItems", "I"), ("requestBodies", "B")],
)
def test_a_cycle_of_parameters_path_items_or_bodies_skips_its_operation_by_name(kind, names):
    cycle = {
        name: reference(kind, after)
        for name, after in zip(names, names[1:] + names[0], strict=True)
    }
    first = reference(kind, names[0])
    item = {
        "parameters": {"get": operation(parameters=[first])},
        "pathItems": first,
        "requestBodies": {"post": operation(requestBody=first)},
    }[kind]

    toolset = tools({"/x": item, "/y": {"get": operation()}}, components={kind: cycle})

    assert [tool.path for tool in toolset] == ["/y"]
    assert first["$ref"] in toolset.skipped[0].reason
    assert "or a cycle" in toolset.skipped[0].reason


@pytest.mark.parametrize(
    "schemas",
    [
        {"S0": {"allOf": [component("S0"), an_object({"a": {}})]}},
        {"S0": {"allOf": [component("S9"), {"type": "object"}]},
         "S9": {"allOf": [component("S0"), {"properties": {"a": {"type": "string"}}}]}},
        {"S0": {"allOf": [{"required": ["a"], "allOf": [component("S9")]}, component("S9")],
                "type": "object"},
         "S9": component("S0")},
    ],
    ids=["itself", "each other", "twice by another name"],
)  # fmt: skip
async def test_a_cyclic_all_of_is_merged_without_the_cycle(schemas):
    toolset, sent = load_quietly(with_component(**schemas))

    good = await toolset["x"].execute({"body": {"a": "x"}})
    bad = await toolset["x"].execute({"body": []})

    assert not good.is_error, good.output
    assert bad.error["type"] == "invalid_input"
    assert len(sent) == 1


def test_a_legitimate_recursive_schema_takes_a_tree_of_three_levels():
    kids = {"type": "array", "items": component("S0")}
    tree = {**an_object({"v": {"type": "string"}, "kids": kids}), "required": ["v"]}
    (tool,) = load_quietly(with_component(tree))[0]
    value = {"v": "a", "kids": [{"v": "b", "kids": [{"v": "c"}]}]}

    assert list(tool.input_schema["$defs"]) == ["S0"]
    assert json.loads(tool.preview({"body": value}).content) == value
    value["kids"][0]["kids"][0]["v"] = 1
    with pytest.raises(OpenAPIToolsError, match="/body/kids/0/kids/0"):
        tool.preview({"body": value})


@pytest.mark.parametrize("keyword", ["minimum", "maximum", "multipleOf", "maxLength", "minItems"])
def test_an_integer_beyond_every_float_is_left_out_as_a_limit(keyword):
    (tool,) = load_tools(with_parameter({"type": "integer", keyword: 10**4000, "title": "t"}))

    assert tool.input_schema["properties"]["q"] == {"type": "integer", "title": "t"}


UNSEEN = "a\ud800\x00\x07\x1b[31m\x9b31m\x7fb"
HIDING = {
    "id": document({"/x": {"get": operation(operationId=UNSEEN, summary=UNSEEN)}}),
    "tag": document({"/x": {"get": operation(tags=[UNSEEN], description=UNSEEN)}}),
    "words": query(title=UNSEEN, description=UNSEEN, format=UNSEEN),
    "values": query(default=UNSEEN, examples=[UNSEEN], const={UNSEEN: 1}),
    "choices": with_parameter({"enum": [UNSEEN, "plain"], "pattern": UNSEEN}, example=UNSEEN),
    "nested name": body_with(properties={UNSEEN: {}}, required=[UNSEEN]),
    "name": with_component({**an_object({UNSEEN: {}}), "required": [UNSEEN]}),
    "component": with_component(
        an_object({"a": component(UNSEEN)}), **{UNSEEN: {"type": "string"}}
    ),
    "keys": with_component({"patternProperties": {UNSEEN: {}}, "dependentSchemas": {UNSEEN: {}}}),
    "discriminator": union(propertyName="t", mapping={UNSEEN: "x"}),
}


@pytest.mark.parametrize("name", HIDING)
def test_control_characters_and_lone_surrogates_reach_no_definition(name):
    (tool,) = load_tools(HIDING[name])

    assert unseen_in(tool) == []
    assert definition(tool)


def test_3_000_operations_load_and_can_be_selected():
    path = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    paths = {f"/x{n}/{{id}}": {"get": operation(parameters=[path])} for n in range(3000)}
    started = time.process_time()

    toolset = load_tools(json.dumps(document(paths)))

    assert len(toolset) == 3000
    assert len(toolset.select(Select(paths="/x7/*"))) == 1
    assert time.process_time() - started < 30


ELSEWHERE = "http://127.0.0.1:1/x.json"
THERE = {"$ref": ELSEWHERE}


@pytest.mark.parametrize(
    "node",
    [
        {"$id": ELSEWHERE, "type": "string"},
        {"$schema": ELSEWHERE, "type": "string"},
        {"$id": ELSEWHERE, "$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}},
        {"$dynamicRef": ELSEWHERE, "type": "string"},
        {"$recursiveRef": ELSEWHERE, "type": "string"},
        {"$vocabulary": {ELSEWHERE: True}, "type": "string"},
        {"const": THERE},
        {"default": {"$ref": "file:///etc/passwd"}, "enum": [THERE]},
        {"items": {"$schema": ELSEWHERE, "$id": "file:///etc/passwd", **THERE}},
        {"allOf": [THERE]},
        {"contentSchema": THERE},
    ],
    ids=lambda node: next(iter(node)),
)
async def test_no_word_of_a_schema_makes_loading_or_validation_open_a_connection(node, no_network):
    elsewhere = {"openapi": "3.2.0", "jsonSchemaDialect": ELSEWHERE, "$self": ELSEWHERE}
    toolset, _ = load_quietly(with_parameter(node) | elsewhere)

    for tool in toolset:
        for arguments in ({}, {"q": "x"}, {"q": []}, {"q": {"a": 1}}):
            result = await tool.execute(arguments)
            assert result.error is None or result.error["type"] == "invalid_input"

    assert no_network == []
    assert "root:" not in repr([tool.input_schema for tool in toolset])


def test_urls_that_are_documentation_only_are_never_fetched(no_network):
    docs = {"externalDocs": {"url": ELSEWHERE}}
    response = {
        "description": "ok",
        "links": {"a": {"operationRef": f"{ELSEWHERE}#/paths"}},
        "content": {"application/json": {"examples": {"a": {"externalValue": ELSEWHERE}}}},
    }
    flows = {"clientCredentials": {"tokenUrl": ELSEWHERE, "scopes": {}}}
    schemes = {
        "o": {"type": "openIdConnect", "openIdConnectUrl": ELSEWHERE},
        "f": {"type": "oauth2", "flows": flows},
    }
    source = with_parameter({"type": "object", "discriminator": {"propertyName": "a"}, **docs})
    source["paths"]["/x"]["get"] |= {**docs, "responses": {"200": response}}
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
    toolset, sent = load_quietly(document({path: {"get": operation()}}), base_url=f"{BASE}/v1")

    for tool in toolset:
        await tool.execute(dict.fromkeys(tool.input_schema["properties"], "value"))

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
    toolset, _ = load_quietly(with_parameter({"type": "string", "pattern": pattern}))
    started = time.process_time()

    result = await toolset["x"].execute({"q": "a" * 40 + "!"})

    schema = toolset["x"].input_schema["properties"]["q"]
    assert pattern in (schema.get("pattern") or schema["description"])
    assert result.error is None or result.error["type"] == "invalid_input"
    assert time.process_time() - started < 2


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
    "nowhere": reference("securitySchemes", "gone"),
}


@pytest.mark.parametrize("name", BROKEN_SCHEMES)
async def test_a_broken_security_scheme_loads_and_a_call_says_what_is_missing(name):
    toolset, sent = load_quietly(secured_document(BROKEN_SCHEMES[name]))

    result = await toolset["x"].execute({})

    assert sent == []
    assert result.error["type"] == "credentials"
    assert "'k'" in result.error["message"]


def test_server_variables_are_no_arguments_and_neither_are_unknown_methods():
    servers = [{"url": "https://{region}.example.com", "variables": {"region": {"default": "eu"}}}]
    paths = {"/x": {"get": operation(), "GET": operation(), "foo": operation(), "servers": servers}}

    toolset = tools(paths, servers=servers)

    assert [(tool.method, tool.input_schema["properties"]) for tool in toolset] == [("GET", {})]
