"""Ask a model for one message, and read its reply in the forms of the usual chat APIs."""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import dump_json
from openapi_tools.redaction import excerpt
from openapi_tools.search.costs import estimate_tokens
from openapi_tools.tools.guardrails import await_user_code
from openapi_tools.tools.tool_call_reader import read_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LONGEST_REASON = 300
_MOST_TOKENS = 10**12
_INPUT_KEYS = ("prompt_tokens", "input_tokens")
_OUTPUT_KEYS = ("completion_tokens", "output_tokens")


class ModelError(Exception):
    """A model failed, did not reply in time, or its reply is not a message."""


class ModelCall(NamedTuple):
    """A call that a model asks for; its arguments are an object or a JSON string."""

    id: str
    name: str
    arguments: Any


class ModelReply(NamedTuple):
    """A message of a model; `usage` holds the input and output tokens that an API reports."""

    text: str
    calls: tuple[ModelCall, ...]
    usage: tuple[int, int] | None

    def as_message(self) -> dict[str, Any]:
        """Return the reply as a message of OpenAI's chat API."""
        message: dict[str, Any] = {"role": "assistant", "content": self.text or None}
        if self.calls:
            message["tool_calls"] = [_write_call(call) for call in self.calls]
        return message


def _write_call(call: ModelCall) -> dict[str, Any]:
    is_json = isinstance(call.arguments, str)
    arguments = call.arguments if is_json else dump_json(call.arguments)
    function = {"name": call.name, "arguments": arguments}
    return {"id": call.id, "type": "function", "function": function}


async def ask_model(
    model: Callable[..., Any],
    messages: list[dict[str, Any]],
    tools: list[dict[str, Any]],
    *,
    seed: int,
    seconds: float,
    first_id: int,
) -> ModelReply:
    """Return the reply of a model.

    Args:
        model: A function, sync or async, which may have a parameter `seed`.
        messages: The conversation, in the form of OpenAI's chat API.
        tools: The definitions of the tools.
        seed: The seed of the run.
        seconds: The timeout of this turn.
        first_id: The number in the id of a first call that has none.

    Raises:
        ModelError: The model failed, did not reply in time, or its reply is not a message.
    """
    options = {"seed": seed} if _has_seed_parameter(model) else {}
    timeout = asyncio.timeout(seconds)
    try:
        async with timeout:
            value = model(messages, tools, **options)
            value = await await_user_code(value) if inspect.isawaitable(value) else value
            return read_reply(value, first_id)
    except (ModelError, KeyboardInterrupt):
        raise
    except BaseException as error:  # the model is the user's code
        # A run that is cancelled ends; a CancelledError of the model's own is its error.
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        if timeout.expired():
            raise ModelError(f"no reply within {seconds:g} s.") from None
        raise ModelError(_describe_error(error)) from None


def _describe_error(error: BaseException) -> str:
    try:
        reason = excerpt(" ".join(str(error).split()), _LONGEST_REASON)
    except Exception:  # noqa: BLE001 -- `__str__` of the user's
        reason = ""
    return f"{type(error).__name__}: {reason}".removesuffix(": ")


def _has_seed_parameter(model: Callable[..., Any]) -> bool:
    try:
        return "seed" in inspect.signature(model).parameters
    except (TypeError, ValueError):  # a callable written in C
        return False


def read_reply(value: Any, first_id: int = 1) -> ModelReply:
    """Return the reply in a string, a message, or a response with `choices`.

    Content is a string or a list of blocks; blocks of the type `tool_use` are calls.

    Raises:
        ModelError: The value is none of these.
    """
    usage = _read_usage(read_value(value, "usage"))
    choices = read_value(value, "choices")
    if isinstance(choices, list) and choices:
        value = read_value(choices[0], "message")
    if isinstance(value, str):
        return ModelReply(value, (), usage)
    content, tool_calls = read_value(value, "content"), read_value(value, "tool_calls")
    if content is None and not tool_calls and read_value(value, "role") != "assistant":
        name = type(value).__name__
        raise ModelError(f"the reply must be a message with `content` or `tool_calls`, not {name}.")
    if not isinstance(content, str | list | None) or not isinstance(
        tool_calls, list | tuple | None
    ):
        raise ModelError("`content` must be a string or a list, `tool_calls` a list.")
    blocks = content if isinstance(content, list) else []
    uses = [block for block in blocks if read_value(block, "type") == "tool_use"]
    calls = tuple(_read_calls([*(tool_calls or ()), *uses], first_id))
    texts = [text for block in blocks if isinstance(text := read_value(block, "text"), str)]
    return ModelReply(content if isinstance(content, str) else "\n".join(texts), calls, usage)


def _read_calls(calls: list[Any], first_id: int) -> Iterator[ModelCall]:
    for number, call in enumerate(calls):
        function = read_value(call, "function")
        source = call if function is None else function
        name = read_value(source, "name")
        if not isinstance(name, str) or not name:
            raise ModelError(f"call {number + 1} of the reply does not name a tool.")
        arguments = read_value(source, "arguments")
        arguments = read_value(source, "input") if arguments is None else arguments
        arguments = {} if arguments is None else arguments
        try:
            dump_json(arguments).encode()
        except (TypeError, ValueError, RecursionError):
            reason = f"the arguments of {excerpt(name, 100)} are not JSON."
            raise ModelError(reason) from None
        call_id = read_value(call, "id")
        is_usable = isinstance(call_id, str) and call_id
        yield ModelCall(call_id if is_usable else f"call_{first_id + number}", name, arguments)


def _read_usage(usage: Any) -> tuple[int, int] | None:
    counts = [
        next((n for name in names if _is_count(n := read_value(usage, name))), None)
        for names in (_INPUT_KEYS, _OUTPUT_KEYS)
    ]
    return None if None in counts else (counts[0] or 0, counts[1] or 0)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < _MOST_TOKENS


def count_tokens(message: Any) -> int:
    """Return an estimate of the tokens of a message or definition: 4.45 bytes of JSON each."""
    return estimate_tokens(dump_json(message))
