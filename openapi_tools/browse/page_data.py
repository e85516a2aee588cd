"""The data that the page displays, as JSON-native data; requests also as curl and Python code."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openapi_tools.browse.tool_facts import describe_tool_facts
from openapi_tools.common.json_values import (
    as_dict,
    as_list,
    escape_controls,
    select_attributes,
)
from openapi_tools.common.visible_text import strip_markup
from openapi_tools.conformance.argument_words import find_unclear_arguments
from openapi_tools.conformance.confusable_tools import find_confusions
from openapi_tools.errors import CallError, OpenAPIToolsError
from openapi_tools.providers.definitions import (
    MOST_TOOLS,
    PROFILES,
    DefinitionLimits,
    define_tool,
    limits_of,
)
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.requests import document_server_url, preview_request
from openapi_tools.search import costs
from openapi_tools.search.producers import SHOWN, Producers
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.requests import Preview
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_LONGEST_TEXT = 40_000  # characters of a description
_WITHOUT_LIMIT = DefinitionLimits("full", 0)
_SKIPPED = ("method", "path", "pointer", "reason")
# Headers that each client sets by itself.
_CLIENT_HEADERS = frozenset(
    {"host", "content-length", "connection", "accept-encoding", "user-agent"}
)
# Characters that a terminal interprets when they are pasted: one may end a quoted line.
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(eq=False)
class PageData:
    """The data of a page about a toolset.

    Attributes:
        toolset: The tools.
        changes: Since an older document; None without one.
        is_mock: The toolset calls a mock, so that requests to the real server are displayed, too.
        counting: How tokens are counted, in words and as a function.
    """

    toolset: Toolset
    changes: list[dict[str, Any]] | None = None
    is_mock: bool = False
    counting: tuple[str, costs.Count] = field(default_factory=costs.token_counter)

    def __post_init__(self) -> None:
        self._memories = {profile: Memory() for profile in PROFILES}
        self._definition = cache(self._make_definition)  # a large one takes a second

    @cached_property
    def _document(self) -> dict[str, Any]:
        return as_dict(self.toolset.document)

    @cached_property
    def _producers(self) -> Producers:
        return Producers(list(self.toolset))

    def index(self) -> dict[str, Any]:
        """Return the data for the list of tools and for the page about the document."""
        info = as_dict(self._document.get("info"))
        limits = limits_of(next(iter(self.toolset), None))
        return {
            "title": _read_text(info.get("title")) or "Tools",
            "version": _read_text(info.get("version")),
            "description": _read_text(info.get("description")),
            "tags": _describe_tags(self._document),
            "tools": [_row(tool) for tool in self.toolset],
            "skipped": [select_attributes(entry, _SKIPPED) for entry in self.toolset.skipped],
            "warnings": list(self.toolset.warnings),
            "changes": self.changes,
            "mock": self.is_mock,
            "profiles": list(PROFILES),
            "tokens": self.counting[0],
            "limits": {
                "bytes": limits.max_bytes,
                "tokens": costs.MOST_TOKENS,
                "tools": min(MOST_TOOLS.values()),
            },
        }

    def costs(self, profile: str) -> list[tuple[int, int, int, int] | None]:
        """Return the costs of each tool's definition, in order; None where there is none.

        They are its bytes and tokens, and those of the complete definition without a limit.
        """
        definitions = (self._definition(tool, profile) for tool in self.toolset)
        return [
            (each["bytes"], each["tokens"], each["full_bytes"], each["full_tokens"])
            if "value" in each
            else None
            for each in definitions
        ]

    def needs(self) -> list[dict[str, list[int]]]:
        """Return which tools yield what each tool requires: their places by argument.

        A variable of the path that no tool yields has an empty list.
        """
        return [
            {argument: [] for argument in _path_arguments(tool)}
            | {name: places[:SHOWN] for name, places in self._producers.places(place).items()}
            for place, tool in enumerate(self.toolset)
        ]

    def words(self) -> dict[str, list[Any]]:
        """Return where the words of tools mislead a reader, with the places of the tools.

        `confusable` has groups of tools that cannot be told apart, `unreachable` the tools that a
        search for their own words does not find, `unclear` pairs of a tool and its arguments of
        which no word says what they take.
        """
        places = {tool.name: place for place, tool in enumerate(self.toolset)}
        confusions = find_confusions(self.toolset)
        unclear = ((place, find_unclear_arguments(t)) for place, t in enumerate(self.toolset))
        return {
            "confusable": [
                [places[name] for name in group] for group in confusions.group_confusable()
            ],
            "unreachable": [places[name] for name in confusions.unreachable],
            "unclear": [[place, names] for place, names in unclear if names],
        }

    def details(self, tool: OperationTool) -> dict[str, Any]:
        """Return everything about one tool."""
        arguments = example_arguments(tool)
        return {
            **describe_tool_facts(tool, self.toolset),
            **_row(tool),
            **({"servers": _documented_servers(tool)} if _is_at_mock_address(tool) else {}),
            "documented": self._documented_texts(tool),
            "answer_schema": tool.answer_schema,
            "example": arguments,
            "preview": describe_request(tool, arguments, is_mock=self.is_mock),
            "definitions": {profile: self._definition(tool, profile) for profile in PROFILES},
        }

    def _documented_texts(self, tool: OperationTool) -> dict[str, str]:
        # The document's own words; a tool's description has fewer, and no URLs of links.
        path = as_dict(as_dict(self._document.get("paths")).get(tool.path))
        operation = as_dict(path.get(tool.method.lower()))
        return {key: _read_text(operation.get(key)) for key in ("summary", "description")}

    def _make_definition(self, tool: OperationTool, profile: str) -> dict[str, Any]:
        memory, count = self._memories[profile], self.counting[1]
        try:
            definition = define_tool(tool, profile, memory, loosely=True)
            full = define_tool(tool, profile, memory, loosely=True, limits=_WITHOUT_LIMIT)
        except CannotExpress as error:
            return {"reason": str(error)}
        size, tokens = costs.definition_cost(definition.value, count)
        full_size, full_tokens = costs.definition_cost(full.value, count)
        return {
            "value": definition.value,
            "notes": list(definition.notes),
            "bytes": size,
            "tokens": tokens,
            "full_bytes": full_size,
            "full_tokens": full_tokens,
        }


def _read_text(value: Any) -> str:
    return strip_markup(value[:_LONGEST_TEXT]) if isinstance(value, str) else ""


def _describe_tags(document: dict[str, Any]) -> dict[str, str]:
    tags = map(as_dict, as_list(document.get("tags")))
    return {
        escape_controls(str(tag.get("name"))): _read_text(tag.get("description")) for tag in tags
    }


def _documented_servers(tool: OperationTool) -> list[str]:
    # The address of a mock is of no use to a reader.
    return [server.url for server in tool.operation.servers]


def _path_arguments(tool: OperationTool) -> list[str]:
    parameters = tool.operation.parameters
    return [p.argument for p in parameters if p.location == "path" and p.argument]


def describe_request(
    tool: OperationTool, arguments: dict[str, Any], *, is_mock: bool = False
) -> dict[str, Any]:
    """Return the exact request of a call as text and as code, or the reason why there is none.

    In code, `***` stands for a credential. A body that the preview has cut is read from a file
    `body`; for curl also a body with control characters. For a tool that calls a mock this is the
    request to the document's own server, and the one to the mock is beside it as `mock`.
    """
    try:
        request = tool.preview(arguments)
    except OpenAPIToolsError as error:
        return {"error": str(error)}
    preview = preview_request(request, tool.name, arguments)
    is_whole = preview.body is None or len(preview.body.encode()) == len(request.content)
    forms = _write_request(preview, is_whole=is_whole)
    real = _address_real_server(tool, preview) if is_mock else None
    if real is None:
        return forms
    return {**_write_request(real, is_whole=is_whole), "mock": forms}


def _address_real_server(tool: OperationTool, preview: Preview) -> Preview | None:
    # Of the request to a mock; None where the document names no server, or the user another one.
    if not _is_at_mock_address(tool):
        return None
    try:
        server = document_server_url(tool.operation.servers, tool.settings)
    except CallError:
        return None
    url = f"{server}{preview.url.removeprefix(_base_url(tool))}"
    host = urlsplit(url).netloc
    headers = tuple((n, host if n.lower() == "host" else v) for n, v in preview.headers)
    return replace(preview, url=url, headers=headers)


def _is_at_mock_address(tool: OperationTool) -> bool:
    # A mock without an address of the user has one that no server can have (RFC 6761).
    return _base_url(tool).endswith(".invalid")


def _base_url(tool: OperationTool) -> str:
    return (tool.settings.base_url or "").rstrip("/")


def _write_request(preview: Preview, *, is_whole: bool) -> dict[str, Any]:
    return {
        "http": str(preview),
        "curl": " \\\n  ".join(_curl_lines(preview, whole=is_whole)),
        "httpx": "\n".join(_httpx_lines(preview, whole=is_whole)),
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
        "tags": list(map(escape_controls, tool.tags)),
        "summary": tool.description.partition("\n")[0],
        "safety": tool.safety,
    }
