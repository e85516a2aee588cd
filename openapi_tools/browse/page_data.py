"""The facts that the page shows, as JSON-native data; with requests as curl and Python code."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.tool_facts import facts_of
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.json_values import select_attributes
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
    from openapi_tools.tools.toolset import Toolset

_SKIPPED = ("method", "path", "pointer", "reason")
_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "user-agent"})
"""Headers that each client writes by itself."""
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that a terminal acts on where they are pasted: one may end the line in quotes."""


@dataclass(eq=False)
class PageData:
    """The data of a page about a toolset."""

    toolset: Toolset
    changes: list[dict[str, Any]] | None = None  # since an older document
    counting: tuple[str, costs.Count] = field(default_factory=costs.token_counter)

    def __post_init__(self) -> None:
        self._memories = {profile: Memory() for profile in PROFILES}
        self._definition = cache(self._made)  # a large one takes a second

    def index(self) -> dict[str, Any]:
        """Return what the list of tools and the page about the document need."""
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
        """Return bytes and tokens of each tool's definition, in order; None for one without."""
        found = (self._definition(tool, profile) for tool in self.toolset)
        return [(each["bytes"], each["tokens"]) if "value" in each else None for each in found]

    def details(self, tool: OperationTool) -> dict[str, Any]:
        """Return everything about one tool."""
        arguments = example_of(tool)
        return {
            **facts_of(tool, self.toolset),
            **_row(tool),
            "answer_schema": tool.answer_schema,
            "example": arguments,
            "preview": preview(tool, arguments),
            "definitions": {profile: self._definition(tool, profile) for profile in PROFILES},
        }

    def _made(self, tool: OperationTool, profile: str) -> dict[str, Any]:
        """Return a tool as a profile's model gets it, or the reason why it does not."""
        try:
            made = define_tool(tool, profile, self._memories[profile], loosely=True)
        except CannotExpress as error:
            return {"reason": str(error)}
        size, tokens = costs.definition_cost(made.value, self.counting[1])
        return {"value": made.value, "notes": list(made.notes), "bytes": size, "tokens": tokens}


def preview(tool: OperationTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the exact request of a call as text and as code, or the reason why there is none.

    In code, `***` is where a credential belongs. A body that the preview does not have as a whole
    text is read from a file `body`; by curl one with control characters, too.
    """
    try:
        request = tool.preview(arguments)
    except OpenAPIToolsError as error:
        return {"error": str(error)}
    made = preview_request(request, tool.name, arguments)
    whole = made.body is None or len(made.body.encode()) == len(request.content)
    return {
        "http": str(made),
        "curl": " \\\n  ".join(_curl(made, whole=whole)),
        "httpx": "\n".join(_httpx(made, whole=whole)),
    }


def _headers(preview: Preview) -> list[tuple[str, str]]:
    return [(name, value) for name, value in preview.headers if name.lower() not in _OWN]


def _curl(preview: Preview, *, whole: bool) -> Iterator[str]:
    # With `-X HEAD`, curl would wait for a body. Without `--globoff`, brackets are patterns.
    method = "--head" if preview.method == "HEAD" else f"-X {shlex.quote(preview.method)}"
    yield f"curl --globoff --path-as-is {method} {shlex.quote(preview.url)}"
    for name, value in _headers(preview):
        # curl does not send `name:`; it sends an empty header for `name;`.
        yield f"-H {shlex.quote(f'{name}: {value}' if value else f'{name};')}"
    if preview.body is not None:
        is_shown = whole and not _STEERING.search(preview.body)
        yield f"--data-raw {shlex.quote(preview.body)}" if is_shown else "--data-binary @body"


def _httpx(preview: Preview, *, whole: bool) -> Iterator[str]:
    yield "import httpx\n"
    yield "response = httpx.request("
    yield f"    {preview.method!r},"
    yield f"    {preview.url!r},"
    if headers := _headers(preview):
        yield "    headers=["
        yield from (f"        ({name!r}, {value!r})," for name, value in headers)
        yield "    ],"
    if preview.body is not None:
        content = f"{preview.body!r}.encode()" if whole else 'open("body", "rb").read()'
        yield f"    content={content},"
    yield ")"


def example_of(tool: OperationTool) -> dict[str, Any]:
    """Return example values of the required arguments."""
    schema = tool.input_schema
    known, required = schema.get("properties", {}), schema.get("required", ())
    wanted = {name: known[name] for name in required if name in known}
    made = sample({**schema, "properties": wanted}, schema)
    return made if isinstance(made, dict) else {}


def _row(tool: OperationTool) -> dict[str, Any]:
    return {
        **select_attributes(tool, ("name", "method", "path", "deprecated")),
        "tags": list(tool.tags),
        "summary": tool.description.partition("\n")[0],
        "safety": tool.safety,
    }
