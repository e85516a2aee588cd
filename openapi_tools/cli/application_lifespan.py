"""The lifespan of an ASGI application that is called in this process.

Spec: ASGI 3.0, Lifespan Protocol 2.0.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

logger = logging.getLogger("openapi_tools")


class ApplicationLifespan:
    """Starts an application before its first call in an event loop, and ends it with the loop.

    Attributes:
        state: What the application's startup has put there for its requests.
        failure: Why the startup failed; empty if it did not.
    """

    def __init__(self, app: Any, name: str) -> None:
        self.state: dict[str, Any] = {}
        self.failure = ""
        self._app, self._name = app, name
        self._is_asked = self._is_retired = False
        self._ready, self._end = asyncio.Event(), asyncio.Event()
        self._calls = 0
        self._task = asyncio.create_task(self._run())

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Run a call of the application, once its startup is complete or has failed."""
        self._calls += 1
        try:
            await self._ready.wait()
            yield
        finally:
            self._calls -= 1
            self._end_if_idle()

    def retire(self) -> None:
        """End the application when its calls have ended; another one takes the next."""
        self._is_retired = True
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_retired and not self._calls:
            self._end.set()

    async def _run(self) -> None:
        version = {"version": "3.0", "spec_version": "2.0"}
        try:
            await self._app(
                {"type": "lifespan", "asgi": version, "state": self.state},
                self._receive,
                self._send,
            )
        except Exception as error:  # noqa: BLE001 -- the application may raise anything
            # An application without the protocol raises before its startup is complete.
            if self._ready.is_set() and not self.failure:
                logger.warning("%s: its shutdown failed: %s", self._name, error)
        finally:
            self._ready.set()

    async def _receive(self) -> dict[str, str]:
        if not self._is_asked:
            self._is_asked = True
            return {"type": "lifespan.startup"}
        # The loop cancels its tasks at its end, and waits for them.
        with suppress(asyncio.CancelledError):
            await self._end.wait()
        return {"type": "lifespan.shutdown"}

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "lifespan.startup.failed":
            # Starlette sends a traceback, whose last line is the error.
            lines = str(message.get("message", "")).strip().splitlines()
            self.failure = f"the startup of {self._name} failed: {lines[-1] if lines else ''}"
        if message["type"].startswith("lifespan.startup."):
            self._ready.set()
