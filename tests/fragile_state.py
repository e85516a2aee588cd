"""A shared state that fails or hangs when a test says so, as Redis does."""

import asyncio

from openapi_tools import CallError, MemoryState


class FragileState(MemoryState):
    """Fails while `is_gone`, and hangs while `hangs`; `keys` lists the keys of all values."""

    is_gone = hangs = False

    def __init__(self):
        super().__init__()
        self.keys = []

    async def get(self, key):
        await self.check()
        return await super().get(key)

    async def put(self, key, value, seconds=None):
        await self.check()
        self.keys.append(key)
        await super().put(key, value, seconds)

    async def remove(self, key):
        await self.check()
        await super().remove(key)

    async def release(self, lease):
        if self.hangs:  # a slot that is not released would make the next caller wait for it
            await self.check()
        await super().release(lease)

    async def check(self):
        if self.hangs:
            await asyncio.Event().wait()
        if self.is_gone:
            reason = "the shared state at redis://10.0.0.7:6379 is unreachable; nothing was sent."
            raise CallError("connection", reason, retryable=True)

    async def damage(self, value, kind=""):
        """Put another value in the place of all values of a kind."""
        for key in self.keys:
            if key.startswith(kind):
                await MemoryState.put(self, key, value)
