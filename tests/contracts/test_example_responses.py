"""Example responses of the published documents, by the schemas that are declared for them.

Each is given to all who read such schemas: OpenAI's Responses API, Google ADK (with Gemini's
declarations), Pydantic-AI and an MCP client, which refuses a result that contradicts its schema.
"""

import json
from collections import Counter
from types import SimpleNamespace

import corpus
import httpx
import pytest
from document_examples import example_responses
from jsonschema import Draft202012Validator
from tools.handlers import load_with_handler

from openapi_tools.configuration.tool_shape import ToolShape
from openapi_tools.model import AnswerShape
from openapi_tools.testing import sample

pytestmark = [pytest.mark.long, pytest.mark.untraced, pytest.mark.filterwarnings("ignore")]

LEAST = 1_900
"""So many examples are in the documents at hand."""
FEW = 5
"""Of so many tools one is read in other shapes."""
NOT_RETURNED = {"create_booking_payment"}
"""Tools whose example shows a property that is `writeOnly`, thus none of a response."""
NEXT = {"link": '</next?page=2>; rel="next"'}
WHOLE = "as documented"
SHAPES = {
    WHOLE: {},
    "without URLs, ids and nulls": {"drop": ("*_url", "*id"), "nulls": False},
    "cut": {"max_items": 1},
    "selected": {},
}


def select_fields(value):
    """Return an expression that selects from a response."""
    if isinstance(value, list):
        inner = select_fields(value[0]) if value else "@"
        return f"[].{inner}" if inner.startswith("{") else "[0:5]"
    names = [name for name in value if name.isidentifier()] if isinstance(value, dict) else []
    return "{" + ", ".join(f"{name}: {name}" for name in names[:3]) + "}" if names else "@"


class Readers:
    """All who read a response by a schema."""

    def __init__(self, toolset, mcp_client, listed):
        adk = pytest.importorskip("openapi_tools.contracts.google_adk")
        pydantic_ai = pytest.importorskip("openapi_tools.contracts.pydantic_ai")
        self.toolset, self.mcp_client = toolset, mcp_client
        self.adk = {tool.name: tool for tool in adk.to_tools(toolset)}
        self.pydantic_ai = {tool.name: tool for tool in pydantic_ai.to_tools(toolset)}
        self.gemini = {each["name"]: each for each in toolset.definitions("gemini")}
        self.openai = {each["name"]: each for each in toolset.definitions("openai_responses")}
        self.mcp = {tool.name: tool.output_schema for tool in listed}

    async def read(self, name, arguments):
        """Yield each reader's schema of a tool, and what it reads."""
        item = {"type": "function_call", "call_id": "1", "name": name,
                "arguments": json.dumps(arguments)}  # fmt: skip
        (output,) = await self.toolset.run_function_calls([item])
        yield self.openai[name]["output_schema"], json.loads(output["output"])

        context = SimpleNamespace(function_call_id="1")
        response = await self.adk[name].run_async(args=arguments, tool_context=context)
        declared = self.adk[name]._get_declaration().response_json_schema
        assert declared == self.gemini[name]["response_json_schema"]
        yield declared, response

        tool = self.pydantic_ai[name]
        run = SimpleNamespace(tool_call_approved=False, tool_call_id="1")
        returned = await tool.function(run, **arguments)
        yield tool.function_schema.return_schema, returned.return_value

        # The client raises for a result that contradicts the schema.
        result = await self.mcp_client.call_tool(name, arguments)
        assert not result.is_error
        yield self.mcp[name], result.structured_content


async def read_examples(entry, shape):
    """Yield (example, tool, schema, value) of each example of a document and each reader."""
    mcp = pytest.importorskip("mcp")
    create_server = pytest.importorskip("openapi_tools.contracts.mcp").create_server
    current = []

    def respond(_):
        example = current[-1]
        headers = {"content-type": example.media_type}
        headers |= NEXT if isinstance(example.value, list) else {}
        content = json.dumps(example.value).encode()
        return httpx.Response(example.status, content=content, headers=headers)

    settings = {"anonymous": True, "response_schemas": True, **SHAPES[shape]}
    toolset, _ = load_with_handler(entry.file, respond, settings=settings)
    tools = corpus.tools_by_place(toolset)
    examples = {}
    for example in example_responses(toolset.document, entry.version):
        if tool := tools.get((example.method, example.path)):
            examples.setdefault(tool.name, []).append(example)
    chosen = [tool for tool in toolset if tool.name in examples]
    chosen = chosen if shape == WHOLE else chosen[::FEW]
    if shape == "selected":
        chosen = [
            tool.with_shape(ToolShape(answer=AnswerShape(fields=select_fields(first.value))))
            for tool in chosen
            for first in examples[tool.name][:1]
        ]
    part = toolset.with_tools(chosen)
    async with mcp.Client(create_server(part)) as client:
        readers = Readers(part, client, (await client.list_tools()).tools)
        for tool in part:
            for example in examples[tool.name]:
                current.append(example)
                arguments = sample(tool.input_schema, tool.input_schema)
                async for schema, value in readers.read(tool.name, arguments):
                    yield example, tool, schema, value


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_reader_accepts_every_example_response(shape, capsys):
    if not corpus.entries():
        pytest.skip(corpus.ABSENT)
    refused, wrong, counts, before = [], [], Counter(), None
    for entry in corpus.entries():
        async for example, tool, schema, value in read_examples(entry, shape):
            counts["read"] += 1
            place = (entry.path, tool.name)
            if not Draft202012Validator(schema).is_valid(value):
                refused.append(place)
            is_new, before = (place, example) != before, (place, example)
            if is_new and example.is_valid and "anyOf" in schema:
                documented = {**schema["anyOf"][0], "$defs": schema.get("$defs", {})}
                fits = Draft202012Validator(documented).is_valid(value)
                counts["documented" if fits else "undocumented"] += 1
                if not fits and tool.name not in NOT_RETURNED:
                    wrong.append(place)

    with capsys.disabled():
        print(f"\n{shape}: {dict(counts)}")
    assert refused == []
    assert counts["read"] >= 4 * (LEAST if shape == WHOLE else LEAST // (2 * FEW))
    # A sentence in a cut list says how many items are missing: the list fits no documented schema.
    assert wrong == [] or shape == "cut"
