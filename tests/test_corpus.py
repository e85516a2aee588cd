"""All published documents at hand: what loads, and what its tools look like."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, NamedTuple

import corpus
import document_examples
import jsonschema_rs
import pytest

from openapi_tools import model

pytestmark = pytest.mark.untraced

ENTRIES = corpus.entries()
REAL = [entry for entry in ENTRIES if entry.is_real]
TOOL_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
ARGUMENT_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
RESERVED = {"self", "config", "run_manager"}
IGNORED_HEADERS = {"accept", "content-type", "authorization"}
LARGEST_SCHEMA = 256_000
LONGEST_DESCRIPTION = 1024
_HUGE = re.compile(r"\{\d*,?\d{6,}\}")
"""In a sound regular expression that needs more room than engines without backtracking give it."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


@pytest.fixture(scope="module", params=corpus.parameters(ENTRIES))
def entry(request):
    return request.param


@pytest.fixture(scope="module")
def toolset(entry):
    return corpus.toolset_of(entry)


def test_every_operation_becomes_a_tool_or_is_listed_as_skipped(entry, toolset):
    assert len(toolset) + len(toolset.skipped) == entry.operations
    assert all(skipped.reason and skipped.pointer for skipped in toolset.skipped)


def test_tool_names_are_portable(toolset):
    assert [tool.name for tool in toolset if not TOOL_NAME.fullmatch(tool.name)] == []


def test_descriptions_are_plain_text_of_bounded_length(toolset):
    odd = [
        tool.name
        for tool in toolset
        if not tool.description.strip()
        or len(tool.description) > LONGEST_DESCRIPTION
        or _CONTROL.search(tool.description)
    ]

    assert odd == []


def test_input_schemas_are_closed_objects(toolset):
    assert _faults(toolset, _shape_faults) == []


def test_input_schemas_are_small_plain_json(toolset):
    assert _faults(toolset, _json_faults) == []


def test_input_schemas_hold_exactly_the_definitions_that_they_reach(toolset):
    assert _faults(toolset, _definition_faults) == []


def test_input_schemas_are_valid_and_compile(toolset):
    assert _faults(toolset, _validity_faults) == []


def test_no_argument_is_a_credential_or_belongs_to_the_message(entry, toolset):
    keys = set(_api_keys(toolset.document, entry.version))

    offered = {
        (tool.name, parameter.location, parameter.name)
        for tool in toolset
        for parameter in tool.operation.parameters
        if _place(parameter.location, parameter.name) in keys
        or (parameter.location == "header" and parameter.name.lower() in IGNORED_HEADERS)
    }

    assert offered == set()


def test_members_that_only_the_server_writes_are_no_arguments(entry, toolset):
    tools = corpus.tools_by_place(toolset)
    offered = []
    for method, path, schema in _body_schemas(toolset.document, entry.version):
        tool = tools.get((method, path))
        if tool is not None and tool.operation.body is not None:
            sent = {item.name for item in tool.operation.body.properties}
            offered += [(tool.name, name) for name in _read_only(toolset.document, schema) & sent]

    assert offered == []


def test_every_argument_travels_to_exactly_one_place(toolset):
    astray = [
        (tool.name, places, arguments)
        for tool in toolset
        if (places := Counter(_destinations(tool.operation)))
        != (arguments := Counter(tool.input_schema["properties"].keys()))
    ]

    assert astray == []


def test_the_repr_of_an_operation_is_its_value(toolset):
    names = vars(model)

    differing = [
        tool.name for tool in toolset if eval(repr(tool.operation), dict(names)) != tool.operation
    ]

    assert differing == []


@pytest.fixture(scope="module")
def judged():
    if not ENTRIES:
        pytest.skip(corpus.ABSENT)
    return {entry.path: _judged(entry) for entry in ENTRIES}


def test_nearly_all_operations_of_real_documents_become_tools(judged):
    skipped = {entry.path: judged[entry.path].skipped for entry in REAL}
    total = sum(entry.operations for entry in REAL)
    lost = sum(map(len, skipped.values()))

    assert len(REAL) == 57
    assert lost <= 0.01 * total, (
        f"{total - lost} of {total} became tools; skipped: "
        f"{ {path: reasons[:3] for path, reasons in skipped.items() if reasons} }"
    )


def test_examples_of_json_bodies_fit_the_input_schema(judged):
    tallies = {path: found.examples for path, found in judged.items()}
    fitting = sum(tally["fits"] for tally in tallies.values())
    total = fitting + sum(tally["refused"] for tally in tallies.values())
    refused = {path: tally["refused"] for path, tally in tallies.items() if tally["refused"]}

    assert total > 400
    assert fitting >= 0.95 * total, f"{fitting} of {total} fit; refused: {refused}"


def _faults(toolset, find):
    """Return (tool, fault) for the input schemas of all tools."""
    return [(tool.name, fault) for tool in toolset for fault in find(tool)]


def _shape_faults(tool):
    schema = tool.input_schema
    unknown = schema.keys() - {"type", "properties", "required", "additionalProperties", "$defs"}
    if schema["type"] != "object" or schema["additionalProperties"] is not False or unknown:
        yield f"the root is {schema.keys()}"
    names = schema["properties"].keys()
    yield from (name for name in names if not ARGUMENT_NAME.fullmatch(name) or name in RESERVED)
    if not set(schema.get("required", ())) <= names:
        yield f"{schema['required']} are required, {names} are offered"


def _json_faults(tool):
    data = json.dumps(tool.input_schema, allow_nan=False, ensure_ascii=False).encode()
    if len(data) > LARGEST_SCHEMA:
        yield f"{len(data)} bytes"
    for node in _schemas_in(tool.input_schema):
        if not isinstance(node, dict):
            continue
        if _CONTROL.search(node.get("description", "")):
            yield f"control characters in {node['description']!r:.100}"


def _definition_faults(tool):
    definitions = tool.input_schema.get("$defs", {})
    waiting: list[Any] = [{k: v for k, v in tool.input_schema.items() if k != "$defs"}]
    reached: set[str] = set()
    while waiting:
        for node in _schemas_in(waiting.pop()):
            if not isinstance(node, dict) or "$ref" not in node:
                continue
            name = node["$ref"].removeprefix("#/$defs/")
            if name not in definitions or node["$ref"] == name:
                yield f"{node['$ref']} leads nowhere"
            elif name not in reached:
                reached.add(name)
                waiting.append(definitions[name])
    if reached != definitions.keys():
        yield f"definitions that nothing refers to: {definitions.keys() - reached}"


def _validity_faults(tool):
    schema = tool.input_schema
    patterns = {n["pattern"] for n in _schemas_in(schema) if isinstance(n, dict) and "pattern" in n}
    for huge in filter(_HUGE.search, patterns):
        schema = json.loads(json.dumps(schema).replace(json.dumps(huge), '""'))
    try:
        jsonschema_rs.meta.validate(schema)
        jsonschema_rs.Draft202012Validator(schema)
    except (jsonschema_rs.ValidationError, ValueError) as error:
        yield f"{error!s:.300}"


def _schemas_in(schema):
    """Yield a schema and all schemas inside it, definitions too; no literals."""
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, dict):
            continue
        for key, value in node.items():
            if key in ("properties", "patternProperties", "dependentSchemas", "$defs"):
                waiting += value.values()
            elif key in ("allOf", "anyOf", "oneOf", "prefixItems"):
                waiting += value
            elif isinstance(value, dict) and key not in ("default", "const", "dependentRequired"):
                waiting.append(value)


def _destinations(operation):
    """Yield the arguments that feed something, once for each place that they feed."""
    yield from (parameter.argument for parameter in operation.parameters)
    if operation.body is not None:
        yield from filter(None, [operation.body.argument])
        yield from (item.argument for item in operation.body.properties)
        for encoding in operation.body.encodings:
            yield from (header.argument for header in encoding.headers)


def _place(location, name):
    return location, name.lower() if location == "header" else name


def _api_keys(root, version):
    """Yield where the document's API keys go, read from the document itself."""
    swagger = version == "2.0"
    holder = root if swagger else root.get("components") or {}
    schemes = holder.get("securityDefinitions" if swagger else "securitySchemes") or {}
    for scheme in schemes.values():
        found = corpus.follow(root, scheme)
        if isinstance(found, dict) and found.get("type") == "apiKey":
            yield _place(found["in"], found["name"])


def _body_schemas(root, version):
    """Yield (method, path, schema) of all JSON bodies, read from the document itself."""
    for method, path, _, _, schema, _ in document_examples.json_bodies(root, version):
        yield method, path, schema


def _read_only(root, schema, depth=0):
    """Return the members that a body's schema calls `readOnly`, through references and `allOf`."""
    found = corpus.follow(root, schema)
    if not isinstance(found, dict) or depth > 8:
        return set()
    names = {
        name
        for name, member in (found.get("properties") or {}).items()
        if isinstance(member, dict) and member.get("readOnly") is True
    }
    return names.union(*(_read_only(root, part, depth + 1) for part in found.get("allOf") or ()))


class Judged(NamedTuple):
    """What became of one document.

    Attributes:
        skipped: The reasons for which operations were left out.
        examples: How many of its own examples of JSON bodies fit (`fits`) or not (`refused`), and
            how many its own schemas do not accept either (`invalid`).
    """

    skipped: list[str]
    examples: Counter[str]


def _judged(entry):
    toolset = corpus.toolset_of(entry)
    tools = corpus.tools_by_place(toolset)
    tally: Counter[str] = Counter()
    for example in document_examples.examples(toolset.document, entry.version):
        tool = tools.get((example.method, example.path))
        body = tool.operation.body if tool is not None else None
        if body is None or body.media_type != example.media_type:
            tally["not sent"] += 1
        elif not example.is_valid:
            tally["invalid"] += 1
        else:
            schema = document_examples.of_body(tool.input_schema, body)
            given = document_examples.as_arguments(example.value, body)
            fits = jsonschema_rs.Draft202012Validator(schema).is_valid(given)
            tally["fits" if fits else "refused"] += 1
    return Judged([each.reason for each in toolset.skipped], tally)
