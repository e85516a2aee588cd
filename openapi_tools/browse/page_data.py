"""The data that the page displays, as JSON-native data; requests also as curl and Python code."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.tool_facts import describe_tool_facts
from openapi_tools.common.json_values import select_attributes
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.providers.definitions import PROFILES, define_tool
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.requests import preview_request
from openapi_tools.search import costs
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.requests import Preview
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_SKIPPED = ("method", "path", "pointer", "reason")
# Headers that each client sets by itself.
_CLIENT_HEADERS = frozenset(
    {"host", "content-length", "connection", "accept-encoding", "user-agent"}
)
# Characters that a terminal interprets when they are pasted: one may end a quoted line.
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(eq=False)
class PageData:
    """The data of a page about a toolset."""

    toolset: Toolset
    changes: list[dict[str, Any]] | None = None  # since an older document
    counting: tuple[str, costs.Count] = field(default_factory=costs.token_counter)

    def __post_init__(self) -> None:
        self._memories = {profile: Memory() for profile in PROFILES}
        self._definition = cache(self._make_definition)  # a large one takes a second

    def index(self) -> dict[str, Any]:
        """Return the data for the list of tools and for the page about the document."""
        document = self.toolset.document
        info = document.get("info") if isinstance(document, dict) else None
        info = info if isinstance(info, dict) else {}
        return {
            "title": str(info.get("title") or "Tools"),
            "version": str(info.get("version") or ""),
            "tools": [_row(tool) for tool in self.toolset],
            "skipped": [select_attributes(entry, _SKIPPED) for entry in self.toolset.skipped],
            "warnings": list(self.toolset.warnings),
            "changes": self.changes,
            "profiles": list(PROFILES),
            "tokens": self.counting[0],
        }

    def costs(self, profile: str) -> list[tuple[int, int] | None]:
        """Return bytes and tokens of each tool's definition, in order; None for none."""
        definitions = (self._definition(tool, profile) for tool in self.toolset)
        return [
            (each["bytes"], each["tokens"]) if "value" in each else None for each in definitions
        ]

    def details(self, tool: OperationTool) -> dict[str, Any]:
        """Return everything about one tool."""
        arguments = example_arguments(tool)
        return {
            **describe_tool_facts(tool, self.toolset),
            **_row(tool),
            "answer_schema": tool.answer_schema,
            "example": arguments,
            "preview": describe_request(tool, arguments),
            "definitions": {profile: self._definition(tool, profile) for profile in PROFILES},
        }

    def _make_definition(self, tool: OperationTool, profile: str) -> dict[str, Any]:
        try:
            definition = define_tool(tool, profile, self._memories[profile], loosely=True)
        except CannotExpress as error:
            return {"reason": str(error)}
        size, tokens = costs.definition_cost(definition.value, self.counting[1])
        notes = list(definition.notes)
        return {"value": definition.value, "notes": notes, "bytes": size, "tokens": tokens}


def describe_request(tool: OperationTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the exact request of a call as text and as code, or the reason why there is none.

    In code, `***` stands for a credential. A body that the preview has cut is read from a file
    `body`; for curl also a body with control characters.
    """
    try:
        request = tool.preview(arguments)
    except OpenAPIToolsError as error:
        return {"error": str(error)}
    excerpt = preview_request(request, tool.name, arguments)
    whole = excerpt.body is None or len(excerpt.body.encode()) == len(request.content)
    return {
        "http": str(excerpt),
        "curl": " \\\n  ".join(_curl_lines(excerpt, whole=whole)),
        "httpx": "\n".join(_httpx_lines(excerpt, whole=whole)),
    }


def _shown_headers(preview: Preview) -> list[tuple[str, str]]:
    return [(name, value) for name, value in preview.headers if name.lower() not in _CLIENT_HEADERS]


def _curl_lines(preview: Preview, *, whole: bool) -> Iterator[str]:
    # With `-X HEAD`, curl waits for a body. Without `--globoff`, brackets are patterns.
    method = "--head" if preview.method == "HEAD" else f"-X {shlex.quote(preview.method)}"
    yield f"curl --globoff --path-as-is {method} {shlex.quote(preview.url)}"
    for name, value in _shown_headers(preview):
        # curl does not send `name:`; it sends an empty header for `name;`.
        yield f"-H {shlex.quote(f'{name}: {value}' if value else f'{name};')}"
    if preview.body is not None:
        is_shown = whole and not _STEERING.search(preview.body)
        yield f"--data-raw {shlex.quote(preview.body)}" if is_shown else "--data-binary @body"


def _httpx_lines(preview: Preview, *, whole: bool) -> Iterator[str]:
    yield "import httpx\n"
    yield "response = httpx.request("
    yield f"    {preview.method!r},"
    yield f"    {preview.url!r},"
    if headers := _shown_headers(preview):
        yield "    headers=["
        yield from (f"        ({name!r}, {value!r})," for name, value in headers)
        yield "    ],"
    if preview.body is not None:
        content = f"{preview.body!r}.encode()" if whole else 'open("body", "rb").read()'
        yield f"    content={content},"
    yield ")"


def example_arguments(tool: OperationTool) -> dict[str, Any]:
    """Return example values of the required arguments."""
    schema = tool.input_schema
    properties, required = schema.get("properties", {}), schema.get("required", ())
    needed = {name: properties[name] for name in required if name in properties}
    example = sample({**schema, "properties": needed}, schema)
    return example if isinstance(example, dict) else {}


def _row(tool: OperationTool) -> dict[str, Any]:
    return {
        **select_attributes(tool, ("name", "method", "path", "deprecated")),
        "tags": list(tool.tags),
        "summary": tool.description.partition("\n")[0],
        "safety": tool.safety,
    }
