"""Tool calls in the objects of any coordinator or provider."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import from_json

from openapi_tools.errors import InputError
from openapi_tools.redaction import excerpt
from openapi_tools.result import ToolCall, id_text

logger = logging.getLogger("openapi_tools")

# Amplifier, MCP and OpenAI say `arguments`, Anthropic `input`, Gemini, LangChain and Pydantic-AI
# `args`, LlamaIndex `tool_kwargs`. OpenAI's Responses API has an `id` of its own beside the
# `call_id` that the result has to name.
_WRAPPERS = ("function_call", "functionCall", "function", "params")
_IDS = ("call_id", "tool_call_id", "tool_id", "id")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "input", "args", "tool_kwargs")


def read_call(source: object) -> ToolCall:
    """Return the call in an object or mapping of any coordinator; InputError for others."""
    if isinstance(source, ToolCall):
        return source
    inner = _unwrap_call(source)
    name = _first_value(inner, _NAMES)
    if not isinstance(name, str) or not name:
        raise InputError(f"{type(source).__name__} is not a tool call: it has no tool name.")
    arguments = _read_arguments(_first_value(inner, _ARGUMENTS))
    try:
        return ToolCall(id=read_id(source), name=name, arguments=arguments)
    except ValidationError:
        raise InputError("the arguments of a call must be an object with names.") from None


def read_id(source: object) -> str:
    """Return the id of a call, also where its arguments cannot be read; empty without one."""
    if type(source) is ToolCall:
        return id_text(source.id)
    return id_text(_first_value(_unwrap_call(source), _IDS) or _first_value(source, _IDS))


def read_call_for(tool_name: str, source: object) -> ToolCall:
    """Return the call in an object or mapping; InputError if it is for another tool."""
    tool_call = read_call(source)
    if tool_call.name != tool_name:
        name = excerpt(repr(tool_call.name), 100)
        raise InputError(f"the call is for {name}; this tool is {tool_name}.")
    return tool_call


def _read_arguments(source: object) -> dict[str, Any]:
    if isinstance(source, str | bytes):
        try:
            source = from_json(source, allow_inf_nan=False) if source.strip() else None
        except ValueError as error:
            raise InputError(f"the arguments of a call are not valid JSON: {error}.") from None
    if source is None:
        return {}
    copy: dict[str, Any] | None = _try_call(dict, source) if isinstance(source, Mapping) else None
    if copy is None:
        kind = type(source).__name__
        raise InputError(f"the arguments of a call must be an object, not {kind}.")
    return copy


def _unwrap_call(source: object) -> object:
    parts = (read_value(source, key) for key in _WRAPPERS)
    return next((part for part in parts if isinstance(_first_value(part, _NAMES), str)), source)


def _first_value(source: object, keys: tuple[str, ...]) -> Any:
    return next((value for key in keys if (value := read_value(source, key)) is not None), None)


def read_value(source: object, key: str) -> Any:
    """Return a key of a mapping or an attribute of an object; None without it."""
    if isinstance(source, Mapping):
        return _try_call(source.get, key)
    return None if isinstance(source, str | bytes) else _try_call(getattr, source, key, None)


def _try_call(function: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except Exception:  # a foreign object runs its own code
        logger.exception("a tool call cannot be read")
        return None
