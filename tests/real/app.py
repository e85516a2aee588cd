"""A FastAPI application that tells what it received, and the requests as they stood on the wire."""

from fastapi import FastAPI
from real.app_bodies import bodies
from real.app_parameters import parameters
from servers.recorder import Recorded


class Keeping:
    """ASGI middleware that keeps what was received in `kept`, newest last."""

    def __init__(self, app, kept):
        self._app = app
        self._kept = kept

    async def __call__(self, scope, receive, send):
        message = {"more_body": True}
        body = b""
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        query = scope["query_string"].decode()
        target = scope["raw_path"].decode() + (f"?{query}" if query else "")
        headers = [(name.decode(), text.decode("latin-1")) for name, text in scope["headers"]]
        self._kept.append(Recorded(b"", scope["method"], target, headers, body))
        waiting = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive_again():
            return waiting.pop() if waiting else await receive()

        await self._app(scope, receive_again, send)


def create_app(kept):
    """Return the application; every request is added to `kept`.

    Its operations are named as their functions.
    """
    app = FastAPI(title="Echo", generate_unique_id_function=lambda route: route.name)
    for router in (parameters, bodies):
        app.include_router(router)
    app.add_middleware(Keeping, kept=kept)
    return app
