"""A server with a route for each way in which a peer can be faulty or hostile.

`async with FaultSite() as site:` in a test, or `FaultProcess` for one in a process of its own, so
that a test's process does nothing but call.
"""

import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from servers import fault_bodies, fault_framing, fault_statuses
from servers.fault_peer import Bytewise, Caller, Route, closes, keeps
from servers.faults import Faults, hang, make_response

ROUTES = (*fault_framing.ROUTES, *fault_bodies.ROUTES, *fault_statuses.ROUTES)
"""Every fault."""


def _report_facts(caller):
    """Return what was received so far."""
    site = caller.server
    facts = {"seen": site.seen, "cookies": site.cookies, "caught": site.sink.connections}
    return make_response(json.dumps(facts).encode(), "Content-Type: application/json")


HELPERS = (fault_statuses.ECHO, Route("told", keeps(_report_facts), "ok", "GET"))
"""What else is served; no faults."""
NOWHERE = Route("", closes(make_response(status="404 Not Found")), "http")
_BY_PATH = {route.path: route for route in (*ROUTES, *HELPERS)}


def case_of(slug):
    """Return the route of that name."""
    return _BY_PATH[f"/{slug}"]


class FaultSite(Faults):
    """Responds at each path with the fault of that name."""

    def __init__(self, *, bytewise=False):
        super().__init__(self._serve_peer)
        self._bytewise = bytewise
        self.seen = Counter()  # for instance "POST /no-answer"
        self.cookies = 0
        self.sink = Faults(hang)  # another origin, to which some routes lead, and no call should

    async def __aenter__(self):
        await self.sink.__aenter__()
        return await super().__aenter__()

    async def __aexit__(self, *details):
        await super().__aexit__(*details)
        await self.sink.__aexit__(*details)

    async def _serve_peer(self, peer):
        caller = Bytewise(peer) if self._bytewise else Caller(peer)
        going = True
        while going:
            await caller.read_head()
            self.seen[f"{caller.method} {caller.path}"] += 1
            self.cookies += "cookie" in caller.headers
            self.changed.set()
            # The part before a slash: what grows is below its own path.
            route = _BY_PATH.get("/" + caller.path.split("/")[1], NOWHERE)
            if not route.unread:
                await caller.read_body()
            going = await ((self._bytewise and route.small) or route.behave)(caller)


class FaultProcess:
    """`with FaultProcess() as site:` in a process of its own, then `site.url`."""

    def __enter__(self):
        command, pipe = [sys.executable, __file__], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self.url = json.loads(self._process.stdout.readline())["url"]
        return self

    def __exit__(self, *_):
        # The server ends when its standard input does.
        self._process.communicate()
        assert self._process.returncode == 0


def fault_document(routes=(*ROUTES, *HELPERS)):
    """Return an OpenAPI document with an operation for each method of each route."""
    paths = {
        route.path: {method.lower(): _operation(route, method) for method in route.methods}
        for route in routes
    }
    return {"openapi": "3.1.1", "info": {"title": "Faults", "version": "1"}, "paths": paths}


def _operation(route, method):
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    node = {
        "operationId": f"{method}_{route.slug}".lower().replace("-", "_"),
        "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
        "responses": {"200": {"description": "Answered.", "content": content}},
    }
    if method == "POST":
        text = {"type": "object", "properties": {"text": {"type": "string"}}}
        node["requestBody"] = {"content": {"application/json": {"schema": text}}}
    return node


async def _run():
    """Serve until standard input ends."""
    for mebibytes in (64, 256):  # so that no caller waits for it
        fault_bodies.bomb(mebibytes)
    async with FaultSite() as site:
        print(json.dumps({"url": site.url}), flush=True)
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_run())
