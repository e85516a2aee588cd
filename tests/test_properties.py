"""What holds for any input: drawn by hypothesis, the same in every run.

The draws are derandomised: hypothesis derives them from the test itself, so there is no seed to
note, and a failure comes again. From each document at hand 20 inputs are drawn, 1,500 more from one
that has every style; what a server received is read back by the `wire_…` modules, which know only
the standard. Where two inputs look alike on the wire, they say why (`losses`), and where a request
cannot carry an input at all, `wire_refusals` does.
"""

import asyncio
import copy
import json
import re
import unicodedata
from collections import Counter
from contextlib import contextmanager

import corpus
import pytest
import tool_rules
import wire_requests
from documents import operation, tools
from fuzz import seeds
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from schema_pairs import VALUES, pairs
from servers.recorder import CannedResponse, Recorder
from strategies import TEXT, inputs
from wire_refusals import reasons

from openapi_tools import Settings, ToolResult, load_tools
from openapi_tools.common.visible_text import argument_names, plain_text, tool_names

pytestmark = pytest.mark.untraced

ENTRIES = [entry for entry in corpus.entries() if entry.operations]
BASE = "/base/path"
SLOW = (HealthCheck.data_too_large, HealthCheck.filter_too_much, HealthCheck.too_slow)
REPEATABLE = settings(
    max_examples=20, deadline=None, database=None, derandomize=True, suppress_health_check=SLOW
)
CONTRADICTION = re.compile(
    r"enforced\.|are accepted\.|are read as|closed object|no value can match"
)
OFTEN = settings(REPEATABLE, max_examples=200)


class Line:
    """Calls tools against a recording server, both in one event loop of their own."""

    def __init__(self, runner, recorder):
        self.runner, self.recorder = runner, recorder

    @contextmanager
    def tools(self, source):
        """Give the tools of a document, and close their connections."""
        settings = Settings(base_url=self.recorder.url + BASE, anonymous=True)
        toolset = load_tools(source, settings=settings)
        yield toolset
        self.runner.run(toolset.aclose())

    def call(self, tool, handed):
        """Return the result, and what the server received."""
        self.recorder.requests.clear()
        result = self.runner.run(tool.execute(handed))
        return result, list(self.recorder.requests)

    def read_back(self, tool, arguments):
        """Return what a comparison of the request found; None where none can carry the input."""
        handed = copy.deepcopy(arguments)
        result, received = self.call(tool, handed)
        assert isinstance(result, ToolResult)
        assert handed == arguments
        if not result.success:
            assert received == []
            assert result.error["type"] == "invalid_input"
            assert list(reasons(tool.operation, arguments)), result.error
            return None
        (request,) = received
        comparison = wire_requests.compare(tool.operation, arguments, request, BASE)
        assert comparison.faults == []
        return comparison


@pytest.fixture(scope="module")
def line():
    with asyncio.Runner() as runner:
        recorder = Recorder(CannedResponse(raw=b"HTTP/1.1 204 No Content\r\n\r\n"))
        runner.run(recorder.__aenter__())
        yield Line(runner, recorder)
        runner.run(recorder.__aexit__())


@pytest.mark.long
@pytest.mark.parametrize("entry", corpus.parameters(ENTRIES))
def test_what_a_server_receives_says_what_the_input_said(entry, line):
    tally = Counter()

    @REPEATABLE
    @given(st.data())
    def check(data):
        tool = data.draw(st.sampled_from(tools))
        if comparison := line.read_back(tool, data.draw(inputs(tool.input_schema))):
            tally.update(compared=comparison.compared, untold=len(comparison.untold))

    with line.tools(entry.file) as toolset:
        tools = list(toolset)
        check()

    assert tally["untold"] <= 0.25 * tally["compared"], f"too little can be compared: {tally}"


@pytest.mark.parametrize("examples", [150, pytest.param(1500, marks=pytest.mark.long)])
def test_every_style_and_kind_of_body_reads_back(every_style, line, examples):
    @settings(REPEATABLE, max_examples=examples)
    @given(st.data())
    def check(data):
        kind = data.draw(st.sampled_from([*seeds.STYLES, "application", "multipart", "text"]))
        fitting = [tool for tool in every_style if tool.path.startswith(f"/{kind}/")]
        tool = data.draw(st.sampled_from(fitting))
        line.read_back(tool, data.draw(inputs(tool.input_schema)))

    check()


@pytest.fixture(scope="module")
def every_style(line):
    with line.tools(seeds.every_style()) as toolset:
        assert not toolset.skipped
        yield toolset


IDS = ["", "getPets", "get_pets", "get-pets", "GETpets", "a" * 70, "é", "_", "1"]
METHODS, PATHS = st.sampled_from(["GET", "POST"]), TEXT.map("/{}".format)
CANDIDATES = st.lists(
    st.tuples(st.sampled_from(IDS) | TEXT, METHODS, PATHS),
    unique_by=lambda candidate: candidate[1:],
    max_size=8,
)


@OFTEN
@given(CANDIDATES, st.sampled_from(["", "api_", "x" * 39]))
def test_tool_names_are_portable_and_distinct_and_those_of_one_alone_unless_shared(each, prefix):
    names = tool_names(each, prefix)

    assert len(set(names)) == len(each)
    assert all(map(tool_rules.TOOL_NAME.fullmatch, names))
    assert all(name.startswith(prefix) for name in names)
    separate = [tool_names([candidate], prefix)[0] for candidate in each]
    assert names == separate or len(set(separate)) < len(separate)


PLACES = st.sampled_from(["path", "query", "header", "cookie", "body"])
WIRES = st.sampled_from(["id", "id_path", "id-path", "id path", "self", "é", "x" * 70]) | TEXT


@OFTEN
@given(st.lists(st.tuples(PLACES, WIRES), unique=True, max_size=8))
def test_argument_names_are_portable_and_distinct(wires):
    names = argument_names(wires)

    assert len(set(names)) == len(wires)
    assert all(map(tool_rules.ARGUMENT_NAME.fullmatch, names))
    assert not tool_rules.RESERVED & set(names)


MARKS = [
    *("<p>", "</p>", "<br/>", "&lt;b&gt;", "&#27;", "&#xd800;", "[a](b)", "\x1b[31m", "\r\n"),
    *("\n\n\n", " \n", "\u202e", "\u2028", "word ", "**bold** ", "&#0;"),
]
MARKUP = st.lists(TEXT | st.text(max_size=20) | st.sampled_from(MARKS), max_size=30).map("".join)


@pytest.mark.long
@OFTEN
@given(MARKUP, st.integers(16, 200))
def test_plain_text_is_short_and_has_no_control_characters(text, limit):
    plain = plain_text(text, limit)

    assert len(plain) <= limit
    assert plain == plain.strip()
    assert {c for c in plain if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n", "\t"}
    assert not set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u200b\ufeff") & set(plain)
    assert plain.encode().decode() == plain


def _in_document(node):
    """Return a schema as a document has it, with one union in a place at most."""
    if isinstance(node, list | tuple):
        return [_in_document(part) for part in node]
    if isinstance(node, str):
        return node.replace("#/$defs/", "#/components/schemas/")
    if not isinstance(node, dict):
        return node
    left_out = {"$defs", *(["oneOf"] if "anyOf" in node else [])}
    return {key: _in_document(value) for key, value in node.items() if key not in left_out}


def _schemas_in(schema, components):
    """Yield each object within a schema and its components, as a schema that stands alone."""
    waiting = [schema, *components.values()]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield {**part, "components": {"schemas": components}}
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


def _fits_any_value(schema):
    return any(map(Draft202012Validator(schema).is_valid, VALUES))


@pytest.mark.long
@settings(REPEATABLE, max_examples=600)
@given(pairs())
def test_a_merged_all_of_accepts_what_the_original_accepts(parts):
    component, inline = map(_in_document, parts)
    original = {"allOf": [{"$ref": "#/components/schemas/Part"}, inline]}
    definitions = {name: _in_document(part) for name, part in parts[0]["$defs"].items()}
    components = {"schemas": {"Part": component, **definitions}}
    text = json.dumps({**original, "components": components})
    before = Draft202012Validator(json.loads(text.replace('"oneOf"', '"anyOf"')))

    parameter = {"name": "q", "in": "query", "schema": original}
    toolset = tools({"/x": {"get": operation(parameters=[parameter])}}, components=components)

    # What contradicts itself is read as what was meant, and a list of values decides over a type.
    assume(not any(map(CONTRADICTION.search, toolset.warnings)))
    assume(all(map(_fits_any_value, _schemas_in(original, components["schemas"]))))
    assume('"type"' not in text or not any(word in text for word in ('"enum"', '"const"')))
    (tool,) = toolset
    schema = tool.input_schema
    after = Draft202012Validator(schema)
    for value in VALUES:
        assert after.is_valid({"q": value}) == before.is_valid(value), (value, schema)
