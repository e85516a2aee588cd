"""Models by name: a function in a module, or an endpoint of one of two chat APIs."""

from __future__ import annotations

import asyncio
import json
import pkgutil
import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from openapi_tools.auth.origin_policy import is_protected
from openapi_tools.common.options import close_names
from openapi_tools.errors import CallError, SettingsError, SourceError
from openapi_tools.redaction import Redactor, Secret, excerpt
from openapi_tools.testing.evaluation.model_replies import ModelError
from openapi_tools.transport.failures import retry_after
from openapi_tools.transport.json_post import post_json
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_LONGEST_REASON = 300
_LARGEST = 16 * 1024 * 1024  # bytes of a response
_OUTPUT_TOKENS = 4096  # of a message, which one of the APIs wants to be told
_WAITS = (1.0, 4.0)  # seconds before another attempt, if the endpoint names none
_BUSY = frozenset({429, 502, 503, 529})


def load_model(name: str, folder: Path) -> Callable[..., Any]:
    """Import a model from a folder, as `module:function`.

    Raises:
        SourceError: There is no such function, or importing it fails.
    """
    module_name, colon, path = name.partition(":")
    if module_name.endswith(".py"):
        stem = PurePath(module_name).stem
        reason = f"this is a file; name the function as {stem}:{path or 'NAME'}."
        raise SourceError(reason, source=name)
    if not colon or not all(map(str.isidentifier, [*module_name.split("."), *path.split(".")])):
        reason = "a model is module:function, or the URL of an endpoint."
        raise SourceError(reason, source=name)
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    try:
        target: Any = pkgutil.resolve_name(f"{module_name}:")
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- any of the user's code
        message = excerpt(" ".join(str(error).split()), _LONGEST_REASON)
        reason = f"importing it failed: {type(error).__name__}: {message}"
        raise SourceError(f"{reason.rstrip('.')}.", source=name) from None
    for attribute in path.split("."):
        if not hasattr(target, attribute):
            names = [each for each in dir(target) if not each.startswith("_")]
            reason = f"the module has no {attribute!r}{close_names(attribute, names)}"
            raise SourceError(reason, source=name)
        target = getattr(target, attribute)
    if not callable(target):
        raise SourceError(f"a {type(target).__name__}, not a function.", source=name)
    function: Callable[..., Any] = target
    return function


class ChatEndpoint:
    """A model behind a URL: a function of messages and tools, as a model of the user's own.

    A path that ends in `/messages` is Anthropic's API, every other one OpenAI's chat API, whose
    `/chat/completions` is added where it is missing.

    Args:
        url: Of the endpoint; no redirect is followed.
        name: The model's, for the endpoint.
        key: Is sent with each request; only by https or to this machine.

    Raises:
        SettingsError: The URL cannot be used, or would show the key to the network.
    """

    def __init__(self, url: str, *, name: str = "default", key: Secret | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise SettingsError(f"the model {url!r:.200} is no http(s) URL.")
        if key is not None and not is_protected(url):
            raise SettingsError("a model gets its key by https or on this machine only.")
        try:
            address = read_url(url)
        except ValueError as error:
            raise SettingsError(f"the model's URL cannot be used: {error!s:.200}.") from None
        path = address.path.rstrip("/")
        self.profile = "anthropic" if path.endswith("/messages") else "openai"
        if self.profile == "openai" and not path.endswith("/chat/completions"):
            path = f"{path or '/v1'}/chat/completions"
        self._url = address.copy_with(path=path)
        self._label = f"{address.scheme}://{address.netloc.decode('ascii')}"
        self._name, self._key = name, key
        self._redactor = Redactor()
        if key is not None:
            self._redactor.learn(key.reveal())

    async def __call__(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], *, seed: int = 0
    ) -> Any:
        """Return the endpoint's response to a conversation; ModelError if there is none."""
        is_openai = self.profile == "openai"
        body: dict[str, Any] = {"model": self._name, "tools": tools} if tools else {}
        body |= {"model": self._name}
        if is_openai:
            body |= {"messages": messages, "seed": seed}
        else:
            body |= {"messages": list(_convert_messages(messages)), "max_tokens": _OUTPUT_TOKENS}
        try:
            for wait in (*_WAITS, None):
                status, headers, content = await post_json(
                    self._url, body, self._headers(), largest=_LARGEST
                )
                if status not in _BUSY or wait is None:
                    break
                delay = retry_after(headers)
                await asyncio.sleep(wait if delay is None else delay)
        except CallError as error:
            raise ModelError(f"{self._label} {error.reason}") from None
        return self._read_response(status, content)

    def _headers(self) -> dict[str, str]:
        headers = {} if self.profile == "openai" else {"anthropic-version": "2023-06-01"}
        if self._key is None:
            return headers
        if self.profile == "openai":
            return {**headers, "authorization": f"Bearer {self._key.reveal()}"}
        return {**headers, "x-api-key": self._key.reveal()}

    def _read_response(self, status: int, content: bytes) -> Any:
        text = content.decode(errors="replace")
        if not 200 <= status < 300:  # noqa: PLR2004 -- HTTP's
            message = excerpt(" ".join(text[: 4 * _LONGEST_REASON].split()), _LONGEST_REASON)
            raise ModelError(f"{self._label} returned {status}: {message}".rstrip(": "))
        try:
            return self._redactor.data(json.loads(text))
        except (ValueError, RecursionError):
            raise ModelError(f"{self._label} did not return JSON.") from None


def _convert_messages(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            content = {"tool_use_id": message["tool_call_id"], "content": message["content"]}
            results.append({"type": "tool_result", **content})
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        blocks: list[dict[str, Any]] = []
        if message["content"]:
            blocks.append({"type": "text", "text": message["content"]})
        for call in message.get("tool_calls", ()):
            function = call["function"]
            try:
                arguments = json.loads(function["arguments"] or "{}")
            except ValueError:
                arguments = {}
            is_object = isinstance(arguments, dict)
            use = {"name": function["name"], "input": arguments if is_object else {}}
            blocks.append({"type": "tool_use", "id": call["id"], **use})
        yield {"role": message["role"], "content": blocks}
    if results:
        yield {"role": "user", "content": results}
