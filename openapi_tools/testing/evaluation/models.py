"""Find a model: a function in a module, or an endpoint with the API of OpenAI or Anthropic."""

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
_MOST_BYTES = 16 * 1024 * 1024  # of a response
_OUTPUT_TOKENS = 4096  # of a message; required by Anthropic's API
_WAITS = (1.0, 4.0)  # seconds before another attempt, unless the response has Retry-After
_BUSY = frozenset({429, 502, 503, 529})


def load_model(name: str, folder: Path) -> Callable[..., Any]:
    """Import a model, named `module:function`, from a folder.

    Raises:
        SourceError: There is no such function, or importing it fails.
    """
    module_name, colon, path = name.partition(":")
    if module_name.endswith(".py"):
        stem = PurePath(module_name).stem
        reason = f"this is a file; pass {stem}:{path or 'NAME'}."
        raise SourceError(reason, source=name)
    if not colon or not all(map(str.isidentifier, [*module_name.split("."), *path.split(".")])):
        reason = "a model must be module:function or the URL of an endpoint."
        raise SourceError(reason, source=name)
    try:
        target = _import_module(module_name, folder.resolve())
    except SourceError as error:
        raise SourceError(error.reason, source=name) from None
    for attribute in path.split("."):
        if not hasattr(target, attribute):
            names = [each for each in dir(target) if not each.startswith("_")]
            reason = f"the module has no {attribute!r}{close_names(attribute, names)}"
            raise SourceError(reason, source=name)
        target = getattr(target, attribute)
    if not callable(target):
        raise SourceError(f"its type is {type(target).__name__}, not a function.", source=name)
    function: Callable[..., Any] = target
    return function


def _import_module(name: str, folder: Path) -> Any:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return pkgutil.resolve_name(f"{name}:")
    except (Exception, SystemExit) as error:  # noqa: BLE001 -- the user's code
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            reason = f"no module {missing!r} in {folder}; name its folder with --model-dir."
        else:
            message = excerpt(" ".join(str(error).split()), _LONGEST_REASON).rstrip(".")
            reason = f"importing it failed: {type(error).__name__}: {message}."
        raise SourceError(reason) from None


class ChatEndpoint:
    """A model behind a URL, to be called like a function of the user.

    A path that ends in `/messages` means Anthropic's API, any other one OpenAI's chat API, whose
    `/chat/completions` is added if it is missing.

    Args:
        url: The URL of the endpoint; redirects are not followed.
        name: The name of the model at the endpoint.
        key: The API key, which is only sent by https or to this machine.

    Raises:
        SettingsError: The URL cannot be used, or would expose the key to the network.
    """

    def __init__(self, url: str, *, name: str = "default", key: Secret | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise SettingsError(f"the model {url!r:.200} is not an http(s) URL.")
        if key is not None and not is_protected(url):
            raise SettingsError(
                "the model's key is only sent by https or to this machine; use https."
            )
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
        """Return the endpoint's response to a conversation.

        Raises:
            ModelError: The endpoint could not be reached, or returned an error.
        """
        body = self._make_body(messages, tools, seed)
        try:
            status, content = await self._post_until_accepted(body)
        except CallError as error:
            raise ModelError(f"{self._label} {error.reason}") from None
        return self._read_response(status, content)

    def _make_body(
        self, messages: list[dict[str, Any]], tools: list[dict[str, Any]], seed: int
    ) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self._name}
        if tools:  # the APIs refuse an empty list
            body["tools"] = tools
        if self.profile == "openai":
            return {**body, "messages": messages, "seed": seed}
        return {**body, "messages": [*_convert_messages(messages)], "max_tokens": _OUTPUT_TOKENS}

    async def _post_until_accepted(self, body: dict[str, Any]) -> tuple[int, bytes]:
        for wait in (*_WAITS, None):
            status, headers, content = await post_json(
                self._url, body, self._headers(), largest=_MOST_BYTES
            )
            if status not in _BUSY or wait is None:
                break
            delay = retry_after(headers)
            await asyncio.sleep(wait if delay is None else delay)
        return status, content

    def _headers(self) -> dict[str, str]:
        key = None if self._key is None else self._key.reveal()
        if self.profile == "openai":
            return {} if key is None else {"authorization": f"Bearer {key}"}
        version = {"anthropic-version": "2023-06-01"}
        return version if key is None else {**version, "x-api-key": key}

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
    # Anthropic's API takes the results of one turn together, in one message of the user.
    results: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            content = {"tool_use_id": message["tool_call_id"], "content": message["content"]}
            results.append({"type": "tool_result", **content})
            continue
        if results:
            yield {"role": "user", "content": results}
            results = []
        yield {"role": message["role"], "content": list(_convert_blocks(message))}
    if results:
        yield {"role": "user", "content": results}


def _convert_blocks(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if message["content"]:
        yield {"type": "text", "text": message["content"]}
    for call in message.get("tool_calls", ()):
        function = call["function"]
        try:
            arguments = json.loads(function["arguments"] or "{}")
        except ValueError:
            arguments = {}
        yield {
            "type": "tool_use",
            "id": call["id"],
            "name": function["name"],
            "input": arguments if isinstance(arguments, dict) else {},
        }
