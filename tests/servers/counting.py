"""An API that counts: the calls that are under way at once, and when each began."""

import asyncio
import time

from documents import document, operation
from starlette.responses import JSONResponse

NAME = {"name": "n", "in": "query", "schema": {"type": "string"}}
PATHS = {
    "/things": {
        "get": operation(operationId="read", parameters=[NAME]),
        "post": operation(operationId="write", parameters=[NAME]),
    }
}


class CountingApi:
    """Responds to each call after `delay` seconds; an ASGI app that is reached at `url`."""

    def __init__(self):
        self.url, self.under_way = "", 0
        self.reset()

    @property
    def document(self):
        return document(PATHS, servers=[{"url": self.url}])

    def reset(self, delay=0.02):
        self.delay, self.most = delay, 0
        self.began, self.targets = [], []

    async def __call__(self, scope, receive, send):
        target = f"{scope['path']}?{scope['query_string'].decode()}"
        self.began.append(time.monotonic())
        self.targets.append(target)
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await asyncio.sleep(self.delay)
        finally:
            self.under_way -= 1
        await JSONResponse({"target": target})(scope, receive, send)
