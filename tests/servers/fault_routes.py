"""A server with a route for each way in which a peer can be faulty or hostile.

`async with FaultSite() as site:` in a test, or `python fault_routes.py` for one in a process of its
own, which says where it is and ends with its standard input.
"""

import asyncio
import json
import sys
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from servers import fault_bodies, fault_framing, fault_statuses
from servers.fault_peer import Bytewise, Caller, Route
from servers.faults import Faults, answer

ROUTES = (*fault_framing.ROUTES, *fault_bodies.ROUTES, *fault_statuses.ROUTES)
"""Every fault."""


async def _tell(caller):
    """Say what was received so far."""
    site = caller.server
    told = {"seen": site.seen, "cookies": site.cookies, "caught": site.sink.connections}
    told["open"] = site.connections - site.ended
    await caller.write(answer(json.dumps(told).encode(), "Content-Type: application/json"))
    return False


HELPERS = (
    *fault_statuses.HELPERS,
    Route("told", "what the server saw", _tell, "ok", methods=("GET",)),
)
"""What else is served; no faults."""

_BY_PATH = {route.path: route for route in (*ROUTES, *HELPERS)}


def case_of(slug):
    """Return the route of that name."""
    return _BY_PATH[f"/{slug}"]


class FaultSite(Faults):
    """Answers at each path with the fault of that name.

    Attributes:
        seen: How often each request was received, for instance `"POST /no-answer"`.
        cookies: How many requests carried cookies.
        sink: Another origin, to which some routes lead; nobody should connect to it.
    """

    def __init__(self, *, bytewise=False):
        super().__init__(self._answer)
        self._bytewise = bytewise
        self.seen = Counter()
        self.cookies = 0
        self.sink = Faults(_nothing)

    async def __aenter__(self):
        await self.sink.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *given):
        await super().__aexit__(*given)
        await self.sink.__aexit__(*given)

    def asked(self, caller):
        """Return how often the request that is being answered was received, this time included."""
        return self.seen[f"{caller.method} {caller.target.partition('?')[0]}"]

    async def _answer(self, peer):
        caller = Bytewise(peer) if self._bytewise else Caller(peer)
        while True:
            await caller.read_head()
            path = caller.target.partition("?")[0]
            self.seen[f"{caller.method} {path}"] += 1
            self.cookies += "cookie" in caller.headers
            self.changed.set()
            if not await self._behave_at(path, caller):
                return

    async def _behave_at(self, path, caller):
        route = _BY_PATH.get(path)
        if route is None and path.startswith("/redirect-growing/"):
            route = _BY_PATH["/redirect-growing"]
        if route is None:
            await caller.write(answer(b"", status="404 Not Found"))
            return False
        if not route.unread:
            await caller.read_body()
        behave = route.small if self._bytewise and route.small else route.behave
        return await behave(caller)


async def _nothing(peer):
    """Answer nobody."""


def fault_document(routes=(*ROUTES, *HELPERS), **members):
    """Return an OpenAPI document with an operation for each method of each route."""
    paths = {
        route.path: {method.lower(): _operation(route, method) for method in route.methods}
        for route in routes
    }
    info = {"title": "Faults", "version": "1"}
    return {"openapi": "3.1.1", "info": info, "paths": paths, **members}


def _operation(route, method):
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    found = {
        "operationId": f"{method}_{route.slug}".lower().replace("-", "_"),
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
        "responses": {"200": {"description": route.row, "content": content}},
    }
    if method == "POST":
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        found["requestBody"] = {"content": {"application/json": {"schema": text}}}
    return found


async def _run():
    """Serve until standard input ends."""
    for mebibytes in (64, 256):  # so that no caller waits for it
        fault_bodies.bomb(mebibytes)
    async with FaultSite() as site:
        print(json.dumps({"url": site.url, "sink": site.sink.url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_run())
