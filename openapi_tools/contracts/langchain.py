"""LangChain: each tool as a `StructuredTool`.

LangChain replaces arguments of some names, so the tool gets the model's own input. It inlines every
`$ref`, and cuts recursion silently; so its schemas come with every definition inlined.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from openapi_tools.contracts import advise, blocks_of
from openapi_tools.errors import SettingsError, requiring
from openapi_tools.json_values import (
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SUBSCHEMA_KEYWORDS,
    loosen_schema,
    omit_keys,
)
from openapi_tools.providers.definitions import shown
from openapi_tools.result import context_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with requiring("langchain"):
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables.config import ensure_config
    from langchain_core.tools import StructuredTool, ToolException

# LangChain would take these parameters of a tool's function from the model's arguments.
_TAKEN = frozenset({"self", "config", "run_manager"})

_asked: ContextVar[dict[str, Any] | None] = ContextVar("openapi_tools_asked", default=None)


def to_structured_tools(
    toolset: Iterable[OperationTool], *, context: Any = None
) -> list[StructuredTool]:
    """Return tools as `StructuredTool`s for `model.bind_tools(…)` and for agents.

    A tool called with a tool call gives a `ToolMessage`: its `artifact` is the `ToolResult`, its
    `status` is `"error"` for an error. Called with plain arguments, it gives the content alone.
    `invoke` works where no event loop runs in its thread.

    Args:
        toolset: A toolset, or any of its tools.
        context: A `Context` for all calls, or a function of the `RunnableConfig` that gives one for
            each and may be async; by default that is the `state` of a `Context`.
    """
    advise(toolset)
    return [OperationStructuredTool(tool, context) for tool in toolset]


class OperationFailed(ToolException):
    """An error result on its way through LangChain."""

    def __init__(self, result: ToolResult, tool: str) -> None:
        super().__init__(str(result))
        self.result = result
        self.tool = tool


class OperationStructuredTool(StructuredTool):
    """A tool of a document as a tool of LangChain."""

    def __init__(self, tool: OperationTool, context: Any) -> None:
        async def call(**arguments: Any) -> tuple[Any, ToolResult]:
            return await _answer(tool, arguments, context)

        description, schema = shown(tool, "openai", without_references)
        super().__init__(
            name=tool.name,
            description=description,
            args_schema=schema,
            metadata=dict(tool.annotations),
            func=_blocking(call),
            coroutine=call,
            response_format="content_and_artifact",
            handle_tool_error=_message,
        )

    async def arun(self, tool_input: Any, *args: Any, **options: Any) -> Any:
        """Call like `BaseTool.arun`, and note the arguments."""
        with _noted(tool_input, options) as passed:
            return await super().arun(passed, *args, **options)

    def run(self, tool_input: Any, *args: Any, **options: Any) -> Any:
        """Call like `BaseTool.run`, and note the arguments."""
        with _noted(tool_input, options) as passed:
            return super().run(passed, *args, **options)


@contextmanager
def _noted(given: Any, options: dict[str, Any]) -> Iterator[Any]:
    """Note a call's input for the tool, and give the arguments that LangChain may see."""
    if not isinstance(given, dict):
        yield given
        return
    token = _asked.set({**given, "_tool_call_id": options.get("tool_call_id") or ""})
    try:
        yield {name: value for name, value in given.items() if name not in _TAKEN}
    finally:
        _asked.reset(token)


async def _answer(
    tool: OperationTool, arguments: dict[str, Any], source: Any
) -> tuple[Any, ToolResult]:
    noted = _asked.get()
    _asked.set(None)  # or a guardrail that calls another tool's function would call it with these
    given = arguments if noted is None else noted
    result = await tool.execute(given, context=await context_for(source, ensure_config()))
    if result.is_error:
        raise OperationFailed(result, tool.name)
    return _content(result), result


def _blocking(call: Any) -> Any:
    def wait(**arguments: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(call(**arguments))
        reason = "invoke() would stop the event loop that runs in this thread"
        raise SettingsError(f"{reason}; await ainvoke() instead.")

    return wait


def _message(error: Any) -> Any:
    """Return an error result as a message for a call with an id, else as text."""
    result: ToolResult = error.result
    if not result.tool_call_id:
        return str(result)
    facts = {"tool_call_id": result.tool_call_id, "name": error.tool, "status": "error"}
    return ToolMessage(str(result), artifact=result, **facts)


def _content(result: ToolResult) -> str | list[dict[str, str]]:
    """Return a message's content: a string, or blocks once there is an image."""
    blocks = blocks_of(
        result,
        lambda text: {"type": "text", "text": text},
        lambda data, kind: {"type": "image", "base64": data, "mime_type": kind},
    )
    return blocks[0]["text"] if len(blocks) == 1 and "text" in blocks[0] else blocks


_PARTS = SUBSCHEMA_KEYWORDS | {"contentSchema"}
_STEPS = {
    **dict.fromkeys(("items", "unevaluatedItems", "contains"), "[]"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), ".*"),
}
"""Keywords whose schema describes parts of a value, with what leads to them in a path."""
_NARROWING = ("not", "if", "contains", "unevaluatedItems", "unevaluatedProperties")
"""Keywords that could refuse more once a schema in them, or beside them, accepts more."""
_WORDS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_MAX_PARTS = 5_000  # more than large APIs have, and less than fills the memory
_MAX_DEPTH = 80  # LangChain walks schemas by recursion, which Python limits


def without_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema with definitions inlined, cut where they recur or grow too large."""
    written: dict[str, Any] = _Writer(schema).write(schema, "")
    return written


class _Writer:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._definitions: dict[str, Any] = schema.get("$defs", {})
        self._open: dict[str, str] = {}
        self._left = _MAX_PARTS
        self._depth = 0
        self._cuts = 0

    def write(self, schema: Any, path: str) -> Any:
        if not isinstance(schema, dict):
            return schema
        if self._depth >= _MAX_DEPTH:
            self._cuts += 1
            return {}
        self._depth += 1
        try:
            return self._referred(schema, path) if "$ref" in schema else self._own(schema, path)
        finally:
            self._depth -= 1

    def _own(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        self._left -= 1
        before = self._cuts
        written: dict[str, Any] = {}
        for key, value in omit_keys(schema, ["$defs"]).items():
            if key in _PARTS or not _is_trap(value):
                written[key] = self._value(key, value, path)
            else:
                self._cuts += key not in _WORDS
        return _portable(loosen_schema(written, _NARROWING) if self._cuts > before else written)

    def _value(self, key: str, value: Any, path: str) -> Any:
        if key in SCHEMA_LIST_KEYWORDS:
            return [self.write(part, path) for part in value]
        if key in SCHEMA_MAP_KEYWORDS:
            start = f"{path}." if path else ""
            return {name: self._member(part, start + name) for name, part in value.items()}
        return self.write(value, path + _STEPS.get(key, "")) if key in _PARTS else value

    def _member(self, schema: Any, path: str) -> Any:
        """Return a schema under a name; LangChain loses True and False under the name `title`."""
        written = self.write(schema, path)
        return written if isinstance(written, dict) else {} if written else {"not": {}}

    def _referred(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        name = schema["$ref"].removeprefix("#/$defs/")
        beside = omit_keys(schema, ["$ref"])
        if name in self._open or self._left <= 0:
            return self._cut(name, beside)
        self._open[name] = path
        written = self._member(self._definitions[name], path)
        del self._open[name]
        own = self.write(beside, path)
        return {**written, **own} if beside.keys() <= _WORDS else {"allOf": [written], **own}

    def _cut(self, name: str, beside: dict[str, Any]) -> dict[str, Any]:
        self._cuts += 1
        definition, first = self._definitions[name], self._open.get(name)
        kind = definition.get("type") if isinstance(definition, dict) else None
        words = {key: part for key, part in beside.items() if key in _WORDS and not _is_trap(part)}
        same = f"Takes what `{first}` takes." if first else ""
        said = " ".join(part for part in (words.pop("description", ""), same) if part)
        stub = {"type": kind} if kind is not None else {}
        return {**stub, **({"description": said} if said else {}), **words}


def _is_trap(value: Any) -> bool:
    if isinstance(value, dict):
        return not {"$ref", "title"}.isdisjoint(value) or any(map(_is_trap, value.values()))
    return isinstance(value, list) and any(map(_is_trap, value))


def _portable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that says the same without naming a property `$ref`."""
    named = {key: dict(schema[key]) for key in SCHEMA_MAP_KEYWORDS if "$ref" in schema.get(key, ())}
    if not named:
        return schema
    reference = named.get("properties", {}).pop("$ref", None)
    for members in named.values():
        members.pop("$ref", None)
    if reference is not None:
        named.setdefault("patternProperties", dict(schema.get("patternProperties", {})))
        named["patternProperties"][r"^\$ref$"] = reference
    return {**schema, **named}
