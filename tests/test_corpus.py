"""All published documents at hand: what loads, and what its tools look like."""

import json
import re
from collections import Counter

import corpus
import document_examples
import jsonschema_rs
import pytest
import tool_rules

from openapi_tools import load_tools, model
from openapi_tools.common.visible_text import short_name

pytestmark = pytest.mark.untraced

ENTRIES = corpus.entries()
IGNORED_HEADERS = {"accept", "content-type", "authorization"}
_HUGE = re.compile(r"\{\d*,?\d{6,}\}")
"""In a sound regular expression that needs more room than engines without backtracking give it."""


PAGED = {
    "github/api.github.com.json": {"page": 244, "cursor": 3, "link": 18, "limit": 15},
    "stripe/stripe-old.yaml": {"cursor": 88, "limit": 3},
    "kubernetes/swagger.json": {"cursor": 121},
    "discord/openapi.json": {"limit": 15},
    "slack/slack_web_openapi_v2.json": {"cursor": 9, "page": 5},
    "spotify/fixed-spotify-open-api.yml": {"offset": 15, "cursor": 1},
    "paypal/invoicing_v2.json": {"page": 2},
    "twilio/twilio_api_v2010.json": {"cursor": 60, "page": 1},
    "figma/openapi.yaml": {"cursor": 3},
    "openai/openapi.yaml": {"cursor": 62},
    "apache.org/airflow/v1.yaml": {"offset": 19},
    "telegram/telegram_bot_api.json": {},
    "swagger-petstore/openapi.yaml": {},
    "trello.com/swagger.yaml": {"page": 6},
}
"""Operations by style, each list looked through by hand."""


@pytest.fixture(scope="module", params=corpus.parameters(ENTRIES))
def entry(request):
    return request.param


@pytest.fixture(scope="module")
def toolset(entry):
    return corpus.toolset_of(entry)


def test_every_operation_becomes_a_tool_or_is_listed_as_skipped(entry, toolset):
    assert len(toolset) + len(toolset.skipped) == entry.operations
    assert all(skipped.reason and skipped.pointer for skipped in toolset.skipped)


def test_every_tool_keeps_the_rules(toolset):
    assert [(tool.name, fault) for tool in toolset for fault in tool_rules.faults(tool)] == []


def test_input_schemas_compile(toolset):
    for tool in toolset:
        schema = tool.input_schema
        nodes = [node for _, node in tool_rules.walk(schema)]
        patterns = {node["pattern"] for node in nodes if "pattern" in node}
        for huge in filter(_HUGE.search, patterns):
            schema = json.loads(json.dumps(schema).replace(json.dumps(huge), '""'))
        jsonschema_rs.Draft202012Validator(schema)


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


def test_properties_that_only_the_server_writes_are_no_arguments(entry, toolset):
    tools = corpus.tools_by_place(toolset)
    offered = []
    root = toolset.document
    for method, path, _, _, schema, _ in document_examples.json_bodies(root, entry.version):
        tool = tools.get((method, path))
        if tool is not None and tool.operation.body is not None:
            sent = {item.name for item in tool.operation.body.properties}
            offered += [(tool.name, name) for name in _read_only(root, schema) & sent]

    assert offered == []


def test_the_repr_of_an_operation_is_its_value(toolset):
    names = vars(model)

    differing = [
        tool.name for tool in toolset if eval(repr(tool.operation), dict(names)) != tool.operation
    ]

    assert differing == []


def test_the_lists_of_published_documents_are_recognised(entry, toolset):
    if entry.path in PAGED:
        styles = Counter(tool.operation.paging.style for tool in toolset if tool.operation.paging)
        assert styles == PAGED[entry.path]


def test_only_the_names_of_fastapi_are_made_short(entry, toolset):
    short = set()
    for tool in toolset:
        parts = tool.operation.operation_id, tool.method, tool.path
        if parts[0].endswith(f"_{tool.method.lower()}") and short_name(*parts) == tool.name:
            short.add(tool.name)

    if "baseline_openapi" in entry.path:
        assert {"upload_file", "token_with_cookie", "json_body"} <= short
    else:
        assert short == set()


@pytest.fixture(scope="module")
def judged():
    """The reasons for skips, and what became of examples, of each document."""
    if not ENTRIES:
        pytest.skip(corpus.ABSENT)
    return {entry: _judge(load_tools(entry.file), entry.version) for entry in ENTRIES}


def test_nearly_all_operations_of_real_documents_become_tools(judged):
    skipped = {entry: judged[entry][0] for entry in ENTRIES if entry.is_real}
    total = sum(entry.operations for entry in skipped)
    lost = sum(map(len, skipped.values()))

    assert len(skipped) == 57
    assert lost <= 0.01 * total, (
        f"{total - lost} of {total} became tools; skipped: "
        f"{ {entry.path: reasons[:3] for entry, reasons in skipped.items() if reasons} }"
    )


def test_examples_of_json_bodies_fit_the_input_schema(judged):
    fitting = sum(verdicts["fits"] for _, verdicts in judged.values())
    refused = {entry.path: verdicts["refused"] for entry, (_, verdicts) in judged.items()}
    total = fitting + sum(refused.values())

    assert total > 400
    assert fitting >= 0.95 * total, f"{fitting} of {total} fit; refused: {refused}"


def _place(location, name):
    return location, name.lower() if location == "header" else name


def _api_keys(root, version):
    """Yield where the document's API keys go, read from the document itself."""
    swagger = version == "2.0"
    holder = root if swagger else root.get("components") or {}
    schemes = holder.get("securityDefinitions" if swagger else "securitySchemes") or {}
    for scheme in schemes.values():
        node = corpus.follow(root, scheme)
        if isinstance(node, dict) and node.get("type") == "apiKey":
            yield _place(node["in"], node["name"])


def _read_only(root, schema, depth=0):
    """Return the `readOnly` properties of a body's schema, through references and `allOf`."""
    node = corpus.follow(root, schema)
    if not isinstance(node, dict) or depth > 8:
        return set()
    names = {
        name
        for name, property_schema in (node.get("properties") or {}).items()
        if isinstance(property_schema, dict) and property_schema.get("readOnly") is True
    }
    return names.union(*(_read_only(root, part, depth + 1) for part in node.get("allOf") or ()))


def _judge(toolset, version):
    return [skipped.reason for skipped in toolset.skipped], Counter(_verdicts(toolset, version))


def _verdicts(toolset, version):
    """Yield what becomes of a document's examples of JSON bodies that its own schemas accept."""
    tools = corpus.tools_by_place(toolset)
    for example in document_examples.examples(toolset.document, version):
        tool = tools.get((example.method, example.path))
        body = tool.operation.body if tool is not None else None
        if body is not None and body.media_type == example.media_type and example.is_valid:
            schema = document_examples.of_body(tool.input_schema, body)
            arguments = document_examples.as_arguments(example.value, body)
            fits = jsonschema_rs.Draft202012Validator(schema).is_valid(arguments)
            yield "fits" if fits else "refused"
