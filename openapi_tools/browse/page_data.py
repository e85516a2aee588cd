"""The facts that the page shows, as JSON-native data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.request_code import code_of
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.providers.definitions import PROFILES, define
from openapi_tools.providers.simple_forms import CannotExpress, Memory
from openapi_tools.requests import preview_of
from openapi_tools.search import costs
from openapi_tools.validation.checker import Checker
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi_tools.model import Operation
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset

READ, CHANGE, DESTROY = "read only", "changes", "destructive"
_SKIPPED = ("method", "path", "pointer", "reason")


@dataclass(eq=False)
class PageData:
    """The data of a page about a toolset.

    Attributes:
        toolset: The tools.
        changes: Since an older document, as `differences_of` returns them; None without one.
        counting: The name of a way to count tokens, and the function.
    """

    toolset: Toolset
    changes: list[dict[str, Any]] | None = None
    counting: tuple[str, costs.Count] = field(default_factory=costs.counter)

    def __post_init__(self) -> None:
        self._memories = {profile: Memory() for profile in PROFILES}

    def index(self) -> dict[str, Any]:
        """Return what the list of tools and the page about the document need."""
        document = self.toolset.document
        info = document.get("info") if isinstance(document, dict) else None
        info = info if isinstance(info, dict) else {}
        return {
            "title": str(info.get("title") or "Tools"),
            "version": str(info.get("version") or ""),
            "tools": [_row(tool) for tool in self.toolset],
            "skipped": [_plain(entry, _SKIPPED) for entry in self.toolset.skipped],
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
            **_row(tool),
            "description": tool.description,
            "operation_id": tool.operation.operation_id,
            "idempotent": tool.idempotent,
            "input_schema": tool.input_schema,
            "answer_schema": tool.answer_schema,
            "places": _places(tool.operation),
            "servers": [server.url for server in tool.operation.servers],
            "security": [self._security(alternative) for alternative in tool.operation.security],
            "shape": _shape(tool.operation),
            "not_checked": [
                note.removesuffix("; not checked") for note in Checker(tool.input_schema).notes
            ],
            "example": arguments,
            "preview": preview(tool, arguments),
            "definitions": {profile: self._definition(tool, profile) for profile in PROFILES},
        }

    def _definition(self, tool: OperationTool, profile: str) -> dict[str, Any]:
        """Return a tool as a profile's model gets it, or the reason why it does not."""
        try:
            made = define(tool, profile, self._memories[profile], loosely=True)
        except CannotExpress as error:
            return {"reason": str(error)}
        size, tokens = costs.cost(made.value, self.counting[1])
        return {"value": made.value, "notes": list(made.notes), "bytes": size, "tokens": tokens}

    def _security(self, alternative: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
        """Return the schemes that are needed together."""
        found = []
        for name, scopes in alternative.items():
            scheme = self.toolset.security_schemes.get(name)
            detail = scheme and (scheme.location if scheme.type == "apiKey" else scheme.scheme)
            kind = "not defined in the document" if scheme is None else f"{scheme.type} {detail}"
            found.append({"name": name, "kind": kind.strip(), "scopes": list(scopes)})
        return found


def preview(tool: OperationTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the exact request of a call as text and as code, or the reason why there is none."""
    try:
        request = tool.preview(arguments)
    except OpenAPIToolsError as error:
        return {"error": str(error)}
    made = preview_of(request, tool.name, arguments)
    whole = made.body is None or len(made.body.encode()) == len(request.content)
    return {"http": str(made), **code_of(made, whole=whole)}


def example_of(tool: OperationTool) -> dict[str, Any]:
    """Return example values of the required arguments."""
    schema = tool.input_schema
    known, required = schema.get("properties", {}), schema.get("required", ())
    wanted = {name: known[name] for name in required if name in known}
    made = sample({**schema, "properties": wanted}, schema)
    return made if isinstance(made, dict) else {}


def _plain(item: object, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


def _row(tool: OperationTool) -> dict[str, Any]:
    """Return what the list shows of a tool."""
    destroys = tool.annotations["destructiveHint"]
    return {
        **_plain(tool, ("name", "method", "path", "deprecated")),
        "tags": list(tool.tags),
        "summary": tool.description.partition("\n")[0],
        "safety": READ if tool.read_only else DESTROY if destroys else CHANGE,
    }


def _shape(operation: Operation) -> dict[str, Any]:
    """Return what a configuration or the document says about calls beside the schema."""
    parts = {
        "fixed values": dict(operation.fixed),
        "time limits": _plain(operation, ("timeout", "wait")),
        "answers": asdict(operation.answer) if operation.answer else {},
        "pages": asdict(operation.paging) if operation.paging else {},
    }
    return {
        name: {key: value for key, value in part.items() if value or value == 0}
        for name, part in parts.items()
        if any(value or value == 0 for value in part.values())
    }


def _places(operation: Operation) -> list[dict[str, str]]:
    """Return how each argument travels, in words; a body of another media type has more rows."""
    rows = [
        {
            "argument": parameter.argument,
            "in": parameter.location,
            "name": parameter.name,
            "how": parameter.media_type
            or parameter.style + (", explode" * bool(parameter.explode)),
        }
        for parameter in operation.parameters
    ]
    bodies = [] if operation.body is None else [operation.body, *operation.body.choices]
    for body in bodies:
        if body.argument:
            rows.append(
                {"argument": body.argument, "in": "body", "name": "", "how": body.media_type}
            )
        members = [(member.argument, member.name) for member in body.properties]
        members += [
            (header.argument, f"{encoding.name}, header {header.name} of its part")
            for encoding in body.encodings
            for header in encoding.headers
        ]
        rows += (
            {"argument": argument, "in": "body", "name": name, "how": body.media_type}
            for argument, name in members
        )
    return rows
