"""An ASGI application as SPEC: `module:attribute`, imported and called in this process."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import pkgutil
import sys
import traceback
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from openapi_tools.cli.application_lifespan import ApplicationLifespan
from openapi_tools.cli.application_names import CALL
from openapi_tools.common.options import close_names
from openapi_tools.errors import SourceError
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

_LONGEST_REASON = 300
_DEFAULT_PATH = "/openapi.json"
_is_inside: ContextVar[bool] = ContextVar("_is_inside", default=False)


class Application:
    """An ASGI application that is imported from a folder, and again on demand.

    What it prints goes to standard error: standard output is for results and for the client.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.folder = folder.resolve()
        self._lifespans: WeakKeyDictionary[Any, ApplicationLifespan] = WeakKeyDictionary()
        self._target = self._import_target()

    @property
    def openapi_url(self) -> str | None:
        """The path of its document; None if it publishes none."""
        path: str | None = getattr(self._target, "openapi_url", _DEFAULT_PATH)
        return path

    def openapi(self) -> Any:
        """Return the document of an application that does not publish it."""
        return self._target.openapi()

    def reload(self) -> None:
        """Import the application again, with the modules of its folder.

        Raises:
            SourceError: It cannot be imported; calls still go to the old one.
        """
        former = {name: sys.modules.pop(name) for name in self._list_modules()}
        importlib.invalidate_caches()
        try:
            self._target = self._import_target()
        except SourceError:
            sys.modules.update(former)
            raise
        retired, self._lifespans = self._lifespans, WeakKeyDictionary()
        for loop, lifespan in retired.items():
            loop.call_soon_threadsafe(lifespan.retire)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Call the application; before the first call it is started."""
        target, token = self._target, _is_inside.set(True)
        try:
            if scope["path"] == self.openapi_url:  # read in a loop that ends at once
                await target(scope, receive, send)
                return
            lifespan = self._find_lifespan()
            async with lifespan.call():
                if lifespan.failure:
                    await _send_failure(send, lifespan.failure)
                else:
                    await target({**scope, "state": dict(lifespan.state)}, receive, send)
        finally:
            _is_inside.reset(token)

    def _find_lifespan(self) -> ApplicationLifespan:
        loop = asyncio.get_running_loop()
        if loop not in self._lifespans:
            self._lifespans[loop] = ApplicationLifespan(self._target, self.name)
        return self._lifespans[loop]

    def _list_modules(self) -> list[str]:
        # Those of installed packages stay: they do not change, and some cannot be imported twice.
        return [
            name
            for name, module in list(sys.modules.items())
            if name.partition(".")[0] not in ("__main__", "openapi_tools")
            and self._is_in_folder(getattr(module, "__file__", None))
        ]

    def _is_in_folder(self, file: Any) -> bool:
        if not isinstance(file, str) or "site-packages" in Path(file).parts:
            return False
        path = Path(file).resolve()
        return path.is_relative_to(self.folder) and not path.is_relative_to(sys.prefix)

    def _import_target(self) -> Any:
        module_name, _, path = self.name.removesuffix(CALL).partition(":")
        with _redirect_output():
            target: Any = self._import_module(module_name)
            for attribute in path.split("."):
                target = self._read_attribute(target, attribute)
            if self.name.endswith(CALL):
                target = self._call_factory(target)
        if reason := _describe_non_application(target, self.name):
            raise SourceError(reason, source=self.name)
        return target

    def _import_module(self, name: str) -> ModuleType:
        if str(self.folder) not in sys.path:
            sys.path.insert(0, str(self.folder))
        try:
            module: ModuleType = pkgutil.resolve_name(f"{name}:")
        except ModuleNotFoundError as error:
            if error.name and (name == error.name or name.startswith(f"{error.name}.")):
                reason = f"no module {error.name!r} in {self.folder}; name its folder with"
                raise SourceError(f"{reason} --app-dir.", source=self.name) from None
            raise self._make_error("importing it", error) from None
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the application may raise anything
            raise self._make_error("importing it", error) from None
        return module

    def _read_attribute(self, target: Any, name: str) -> Any:
        try:
            return getattr(target, name)
        except AttributeError:
            names = [each for each in dir(target) if not each.startswith("_")]
            applications = [
                n for n in names if not _describe_non_application(getattr(target, n, None), n)
            ]
            close = close_names(name, names)
            if close == "." and applications:
                close = f"; it has {' and '.join(applications[:3])}."
            kind = "the module" if inspect.ismodule(target) else type(target).__name__
            raise SourceError(f"{kind} has no {name!r}{close}", source=self.name) from None

    def _call_factory(self, factory: Any) -> Any:
        try:
            return factory()
        except (Exception, SystemExit) as error:  # noqa: BLE001 -- the application may raise anything
            raise self._make_error("the factory", error) from None

    def _make_error(self, subject: str, error: BaseException) -> SourceError:
        message = excerpt(" ".join(str(error).split()), _LONGEST_REASON)
        frames = [
            f for f in traceback.extract_tb(error.__traceback__) if self._is_in_folder(f.filename)
        ]
        location = (frames[-1].filename, frames[-1].lineno) if frames else None
        if isinstance(error, SyntaxError) and error.filename:
            location, message = (error.filename, error.lineno), error.msg
        place = ""
        if location is not None:
            path = Path(location[0])
            inside = path.is_relative_to(self.folder)
            place = f" ({path.relative_to(self.folder) if inside else path}:{location[1]})"
        reason = f"{subject} failed: {type(error).__name__}: {message}".removesuffix(": ")
        return SourceError(f"{reason.rstrip('.')}{place}.", source=self.name)


async def _send_failure(send: Any, message: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": message.encode()})


def _is_asgi(value: Any) -> bool:
    if inspect.isclass(value) or not callable(value):
        return False
    return inspect.iscoroutinefunction(value) or inspect.iscoroutinefunction(type(value).__call__)


def _describe_non_application(value: Any, name: str) -> str:
    parameters = _required_parameters(value)
    if _is_asgi(value):
        takes_three = parameters in (None, len(("scope", "receive", "send")))
        if inspect.iscoroutinefunction(value) and not takes_three:
            return "an async function without scope, receive and send; name the application."
        return ""
    kind = type(value).__name__
    if inspect.isfunction(value) or inspect.isclass(value):
        kind = "class" if inspect.isclass(value) else "function"
        if parameters == 0:
            return f"a factory, not an application; to call this {kind}, write '{name}()'."
    advice = "serve it and name the URL of its document" if callable(value) else "name another"
    return f"a {kind}, not an ASGI application; {advice}."


def _required_parameters(value: Any) -> int | None:
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):  # nothing that is called, or in C
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.default is each.empty and each.kind in kinds for each in parameters)


class _SharedOutput:
    """Standard output; what runs inside the application writes to standard error instead."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write text."""
        stream = sys.stderr if _is_inside.get() and sys.stderr is not None else self._stream
        written: int = stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def _redirect_output() -> Iterator[None]:
    if not isinstance(sys.stdout, _SharedOutput):
        sys.stdout = _SharedOutput(sys.stdout)
    token = _is_inside.set(True)
    try:
        yield
    finally:
        _is_inside.reset(token)
