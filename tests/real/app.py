"""A FastAPI application that tells what it received, and the requests as they stood on the wire."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from real.app_bodies import bodies
from real.app_parameters import parameters

if TYPE_CHECKING:
    from fastapi.routing import APIRoute


@dataclass(frozen=True)
class Received:
    """One request as the server's socket saw it."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the value of the only header of that name; None when there is none."""
        values = [value for found, value in self.headers if found == name.lower()]
        assert len(values) <= 1, f"{name} was sent {len(values)} times"
        return values[0] if values else None


class Keeping:
    """ASGI middleware that keeps what was received in `kept`, newest last."""

    def __init__(self, app: Any, kept: list[Received]):
        self._app = app
        self._kept = kept

    async def __call__(self, scope: Any, receive: Any, send: Any):
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        headers = [(name.decode(), text.decode("latin-1")) for name, text in scope["headers"]]
        self._kept.append(Received(scope["method"], target, headers, body))
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def again() -> Any:
            return waiting.pop() if waiting else await receive()

        await self._app(scope, again, send)


def create_app(kept: list[Received]) -> FastAPI:
    """Return the application; every request is added to `kept`.

    Its operations are named as their functions.
    """
    app = FastAPI(title="Echo", generate_unique_id_function=_name)
    for router in (parameters, bodies):
        app.include_router(router)
    app.add_middleware(Keeping, kept=kept)
    return app


def _name(route: APIRoute) -> str:
    return route.name
