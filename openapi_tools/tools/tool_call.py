"""Tool calls in the form of any coordinator or provider, and their contexts."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from openapi_tools.errors import InputError
from openapi_tools.validation.tool_input import id_text

if TYPE_CHECKING:
    from openapi_tools.model import AnswerShape

logger = logging.getLogger("openapi_tools")

# Amplifier, MCP and OpenAI say `arguments`, Anthropic `input`, Gemini, LangChain and Pydantic-AI
# `args`, LlamaIndex `tool_kwargs`. A responses call of OpenAI has an `id` of its own beside the
# `call_id` that the answer has to name.
_WRAPPERS = ("function_call", "functionCall", "function", "params")
_IDS = ("call_id", "tool_call_id", "tool_id", "id")
_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "input", "args", "tool_kwargs")


class ToolCall(BaseModel):
    """A model's call of a tool.

    Attributes:
        id: The call's identifier, repeated in its result; may be empty.
        name: The tool's name.
        arguments: As the tool's input schema describes them.
    """

    model_config = ConfigDict(frozen=True)

    id: str = ""
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)


def read_call(given: object) -> ToolCall:
    """Return the call in an object or mapping of any coordinator; InputError for others."""
    if isinstance(given, ToolCall):
        return given
    inner = _inner(given)
    name = _first(inner, _NAMES)
    if not isinstance(name, str) or not name:
        raise InputError(f"{type(given).__name__} is not a tool call: it has no name of a tool.")
    arguments = _arguments(_first(inner, _ARGUMENTS))
    try:
        return ToolCall(id=read_id(given), name=name, arguments=arguments)
    except ValidationError:
        raise InputError("the arguments of a call have to be an object with names.") from None


def read_id(given: object) -> str:
    """Return the id of a call, also where its arguments cannot be read; empty without one."""
    return id_text(_first(_inner(given), _IDS) or _first(given, _IDS))


def _arguments(given: object) -> dict[str, Any]:
    if isinstance(given, str | bytes):
        try:
            given = from_json(given, allow_inf_nan=False) if given.strip() else None
        except ValueError as error:
            raise InputError(f"the arguments of a call are not valid JSON: {error}.") from None
    if given is None:
        return {}
    own: dict[str, Any] | None = _safe(dict, given) if isinstance(given, Mapping) else None
    if own is None:
        kind = type(given).__name__
        raise InputError(f"the arguments of a call have to be an object, not {kind}.")
    return own


def _inner(given: object) -> object:
    """Return the part of an object that holds the name of a tool."""
    parts = (_member(given, key) for key in _WRAPPERS)
    return next((part for part in parts if isinstance(_first(part, _NAMES), str)), given)


def _first(given: object, keys: tuple[str, ...]) -> Any:
    return next((found for key in keys if (found := _member(given, key)) is not None), None)


def _member(given: object, key: str) -> Any:
    if isinstance(given, Mapping):
        return _safe(given.get, key)
    return None if isinstance(given, str | bytes) else _safe(getattr, given, key, None)


def _safe(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return a function's result, None when it fails: a foreign object runs its own code."""
    try:
        return function(*arguments)
    except Exception:
        logger.exception("a tool call cannot be read")
        return None


@dataclass(frozen=True, slots=True)
class Context:
    """Credentials, approval and state of one call.

    A coordinator's own context works, too: any object with these attributes, or a mapping with
    these keys.

    Attributes:
        credentials: By scheme name, as for `load_tools`; they replace the toolset's own.
        approve: Asks a human about a call and returns True for a yes; may be async.
        state: Anything for your guardrails.
        wait: Seconds to wait for the end of long work; None for what the tool or settings say.
        answer: An `AnswerShape`, or a mapping of its members: how this answer is made smaller.
        fields: A JMESPath expression that chooses parts of the answer, before that of `answer`.
        conversation: A text, or an object of the conversation, whose programs share variables.
        resume: The `metadata["run"]` of a program that waited for an approval and goes on now.
    """

    credentials: Mapping[str, Any] | None = field(default=None, repr=False)
    approve: Callable[[ToolCall], bool | Awaitable[bool]] | None = None
    state: Any = None
    wait: float | None = None
    answer: AnswerShape | Mapping[str, Any] | None = None
    fields: str | None = None
    conversation: Any = None
    resume: str | None = None


@dataclass(slots=True, eq=False)
class PerCall:
    """Options of one call beside its arguments and its context."""

    wait: float | None = None
    address: str = ""  # of a page or of long work, in place of the operation's own
    is_page: bool = False
    linked: bool = False  # the page before it named its address
    is_poll: bool = False
    after: Any = None  # set by the call


PLAIN = PerCall()  # the options of a call with arguments and context only


async def context_for(source: Any, *facts: Any) -> Any:
    """Return a call's context: `source`, its result for the facts, or the first as `state`."""
    if source is None:
        return Context(state=facts[0]) if facts else None
    given = source(*facts) if callable(source) else source
    return await given if inspect.isawaitable(given) else given
