"""LangChain: each tool as a `StructuredTool`.

LangChain replaces arguments of some names, so the tool gets the model's own input. It inlines every
`$ref` and cuts recursion silently, so its schemas come with all definitions inlined.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import (
    SCHEMA_LIST_KEYWORDS,
    SCHEMA_MAP_KEYWORDS,
    SUBSCHEMA_KEYWORDS,
    remove_keywords,
)
from openapi_tools.common.json_values import omit_keys
from openapi_tools.errors import SettingsError, require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.result import context_for
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("langchain"):
    from langchain_core.messages import ToolMessage
    from langchain_core.runnables.config import ensure_config
    from langchain_core.tools import StructuredTool, ToolException

# LangChain would take the values of these parameters of a function from the model's arguments.
_LANGCHAIN_NAMES = frozenset({"self", "config", "run_manager"})

_model_input: ContextVar[dict[str, Any] | None] = ContextVar(
    "openapi_tools_model_input", default=None
)


def to_structured_tools(
    toolset: Iterable[OperationTool], *, context: Any = None
) -> list[StructuredTool]:
    """Return tools as `StructuredTool`s for `model.bind_tools(…)` and for agents.

    A tool called with a tool call returns a `ToolMessage`: its `artifact` is the `ToolResult`, its
    `status` is `"error"` for an error. Called with plain arguments, it returns the content only.
    `invoke` works in threads without a running event loop.

    Args:
        toolset: A toolset, or any of its tools.
        context: A `Context` for all calls, or a function, sync or async, of the `RunnableConfig`
            that returns the one of a call. By default a `Context` whose `state` is that config.
    """
    warn_about_tokens(toolset)
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
            return await _run_call(tool, arguments, context)

        description, schema = write_brief_definition(tool, "openai", inline_references)
        super().__init__(
            name=tool.name,
            description=description,
            args_schema=schema,
            metadata=dict(tool.annotations),
            func=_make_blocking(call),
            coroutine=call,
            response_format="content_and_artifact",
            handle_tool_error=_make_message,
        )

    async def arun(self, tool_input: Any, *args: Any, **options: Any) -> Any:
        """Call like `BaseTool.arun`, and note the arguments."""
        with _note_input(tool_input, options) as passed:
            return await super().arun(passed, *args, **options)

    def run(self, tool_input: Any, *args: Any, **options: Any) -> Any:
        """Call like `BaseTool.run`, and note the arguments."""
        with _note_input(tool_input, options) as passed:
            return super().run(passed, *args, **options)


@contextmanager
def _note_input(tool_input: Any, options: dict[str, Any]) -> Iterator[Any]:
    # The tool gets the whole input; LangChain gets the arguments that it leaves alone.
    if not isinstance(tool_input, dict):
        yield tool_input
        return
    token = _model_input.set({**tool_input, "_tool_call_id": options.get("tool_call_id") or ""})
    try:
        yield {name: value for name, value in tool_input.items() if name not in _LANGCHAIN_NAMES}
    finally:
        _model_input.reset(token)


async def _run_call(
    tool: OperationTool, arguments: dict[str, Any], source: Any
) -> tuple[Any, ToolResult]:
    model_input = _model_input.get()
    # Reset: a guardrail may call the function of another tool, which has other arguments.
    _model_input.set(None)
    tool_input = arguments if model_input is None else model_input
    result = await tool.execute(tool_input, context=await context_for(source, ensure_config()))
    if result.is_error:
        # LangChain knows errors as exceptions only; `handle_tool_error` makes the message of
        # this one.
        raise OperationFailed(result, tool.name)
    return _make_content(result), result


def _make_blocking(call: Any) -> Any:
    def wait(**arguments: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(call(**arguments))
        reason = "invoke() would stop the event loop that runs in this thread"
        raise SettingsError(f"{reason}; await ainvoke() instead.")

    return wait


def _make_message(error: Any) -> Any:
    # A call without an id is no tool call of a model; its caller gets a string.
    result: ToolResult = error.result
    if not result.tool_call_id:
        return str(result)
    return ToolMessage(
        str(result),
        artifact=result,
        tool_call_id=result.tool_call_id,
        name=error.tool,
        status="error",
    )


def _make_content(result: ToolResult) -> str | list[dict[str, str]]:
    # A string, unless there is an image.
    blocks = make_blocks(
        result,
        lambda text: {"type": "text", "text": text},
        lambda data, kind: {"type": "image", "base64": data, "mime_type": kind},
    )
    return blocks[0]["text"] if len(blocks) == 1 and "text" in blocks[0] else blocks


_PARTS = SUBSCHEMA_KEYWORDS | {"contentSchema"}
# Keywords whose schema describes parts of a value, and how a path shows that step.
_STEPS = {
    **dict.fromkeys(("items", "unevaluatedItems", "contains"), "[]"),
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties"), ".*"),
}
# Keywords that may reject more if a schema in them, or beside them, accepts more.
_NARROWING = ("not", "if", "contains", "unevaluatedItems", "unevaluatedProperties")
_WORDS = frozenset(
    {"title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
)
_MAX_PARTS = 5_000  # more than large APIs have, and less than fills the memory
_MAX_DEPTH = 80  # LangChain walks schemas by recursion, which Python limits


def inline_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an input schema with definitions inlined, cut where they recur or grow too large."""
    inlined: dict[str, Any] = _SchemaInliner(schema).inline(schema, "")
    return inlined


class _SchemaInliner:
    def __init__(self, schema: dict[str, Any]) -> None:
        self._definitions: dict[str, Any] = schema.get("$defs", {})
        self._open_references: dict[str, str] = {}
        self._parts_left = _MAX_PARTS
        self._depth = 0
        self._cuts = 0

    def inline(self, schema: Any, path: str) -> Any:
        if not isinstance(schema, dict):
            return schema
        if self._depth >= _MAX_DEPTH:
            self._cuts += 1
            return {}
        self._depth += 1
        try:
            if "$ref" in schema:
                return self._inline_reference(schema, path)
            return self._inline_keywords(schema, path)
        finally:
            self._depth -= 1

    def _inline_keywords(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        self._parts_left -= 1
        before = self._cuts
        inlined: dict[str, Any] = {}
        for key, value in omit_keys(schema, ["$defs"]).items():
            if key in _PARTS or not _misleads_langchain(value):
                inlined[key] = self._inline_value(key, value, path)
            else:
                self._cuts += key not in _WORDS
        # What was cut accepts anything, so keywords that this would make stricter go.
        if self._cuts > before:
            inlined = remove_keywords(inlined, _NARROWING)
        return _without_ref_property(inlined)

    def _inline_value(self, key: str, value: Any, path: str) -> Any:
        if key in SCHEMA_LIST_KEYWORDS:
            return [self.inline(part, path) for part in value]
        if key in SCHEMA_MAP_KEYWORDS:
            start = f"{path}." if path else ""
            return {name: self._inline_property(part, start + name) for name, part in value.items()}
        return self.inline(value, path + _STEPS.get(key, "")) if key in _PARTS else value

    def _inline_property(self, schema: Any, path: str) -> Any:
        # LangChain drops True and False under the name `title`, so both become objects.
        inlined = self.inline(schema, path)
        if isinstance(inlined, dict):
            return inlined
        return {} if inlined else {"not": {}}

    def _inline_reference(self, schema: dict[str, Any], path: str) -> dict[str, Any]:
        name = schema["$ref"].removeprefix("#/$defs/")
        siblings = omit_keys(schema, ["$ref"])
        if name in self._open_references or self._parts_left <= 0:
            return self._cut_reference(name, siblings)
        self._open_references[name] = path
        inlined = self._inline_property(self._definitions[name], path)
        del self._open_references[name]
        inlined_siblings = self.inline(siblings, path)
        if siblings.keys() <= _WORDS:
            return {**inlined, **inlined_siblings}
        return {"allOf": [inlined], **inlined_siblings}

    def _cut_reference(self, name: str, siblings: dict[str, Any]) -> dict[str, Any]:
        self._cuts += 1
        definition, first = self._definitions[name], self._open_references.get(name)
        kind = definition.get("type") if isinstance(definition, dict) else None
        annotations = {
            key: part
            for key, part in siblings.items()
            if key in _WORDS and not _misleads_langchain(part)
        }
        hint = f"Takes the same values as `{first}`." if first else ""
        parts = (annotations.pop("description", ""), hint)
        description = " ".join(part for part in parts if part)
        stub = {"type": kind} if kind is not None else {}
        return {**stub, **({"description": description} if description else {}), **annotations}


def _misleads_langchain(value: Any) -> bool:
    # It would resolve `$ref` and drop `title` in a default or an example, too.
    if isinstance(value, dict):
        return not {"$ref", "title"}.isdisjoint(value) or any(
            map(_misleads_langchain, value.values())
        )
    return isinstance(value, list) and any(map(_misleads_langchain, value))


def _without_ref_property(schema: dict[str, Any]) -> dict[str, Any]:
    # LangChain would read a property of this name as a reference; a pattern says the same.
    named = {key: dict(schema[key]) for key in SCHEMA_MAP_KEYWORDS if "$ref" in schema.get(key, ())}
    if not named:
        return schema
    reference = named.get("properties", {}).pop("$ref", None)
    for properties in named.values():
        properties.pop("$ref", None)
    if reference is not None:
        named.setdefault("patternProperties", dict(schema.get("patternProperties", {})))
        named["patternProperties"][r"^\$ref$"] = reference
    return {**schema, **named}
