"""One connection to Redis that carries the short commands of an event loop, many in flight.

redis-py's client takes a connection out of its pool for each command, which costs twice the
computing time, and Redis answers the commands of one connection in their order anyway.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections import deque
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import require_extra

with require_extra("redis"):
    from redis.exceptions import ConnectionError as LostError
    from redis.exceptions import NoScriptError, RedisError, ResponseError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from redis.asyncio.retry import Retry

Word = str | bytes | float
"""A part of a command."""


class RedisChannel:
    """Sends commands over one connection, which is opened when needed.

    Args:
        make_connection: Returns a new connection of redis-py.
        retry: How commands are repeated after the connection was lost.
    """

    def __init__(self, make_connection: Callable[[], Any], retry: Retry) -> None:
        self._make_connection, self._retry = make_connection, retry
        self._connection: Any = None
        self._connect_lock = asyncio.Lock()
        self._pending: deque[asyncio.Future[Any]] = deque()  # in the order of their commands
        self._reader: asyncio.Task[None] | None = None
        self._is_read = False  # by a caller, or by the task

    async def run_script(self, script: str, keys: Sequence[str], arguments: Sequence[Word]) -> Any:
        """Run a script and return its response; Redis gets the text only once."""
        parameters = (len(keys), *keys, *arguments)
        try:
            return await self._evaluate(script, parameters)
        except LostError:
            # An idle connection may have been closed long ago; only a command notices.
            evaluate = partial(self._evaluate, script, parameters)
            return await self._retry.call_with_retry(evaluate, _ignore)

    async def _evaluate(self, script: str, parameters: Sequence[Word]) -> Any:
        try:
            return await self.execute("EVALSHA", _digest(script), *parameters)
        except NoScriptError:  # the first time, or after a restart of Redis
            return await self.execute("EVAL", script, *parameters)

    async def execute(self, *command: Word) -> Any:
        """Return the response to a command.

        Raises:
            RedisError: As redis-py does.
        """
        connection = self._connection or await self._connect()
        response = asyncio.get_running_loop().create_future()
        # Responses come in the order of the writes, so no task may run between this and the write.
        self._pending.append(response)
        try:
            packed = connection.pack_command(*command)
            await connection.send_packed_command(packed, check_health=False)
        except BaseException:
            response.cancel()
            await self.close()
            raise
        if not self._is_read and connection is self._connection:
            await self._read_until(response, connection)
        return await response

    async def close(self, reason: str = "the connection was closed") -> None:
        """Close the connection; commands without a response fail."""
        connection, self._connection = self._connection, None
        pending, self._pending = self._pending, deque()
        for response in pending:
            if not response.done():
                response.set_exception(LostError(reason))
                response.exception()  # marks it as retrieved: the reading caller raises the cause
        if self._reader is not None and self._reader is not asyncio.current_task():
            self._reader.cancel()
        self._reader, self._is_read = None, False
        if connection is not None:
            await connection.disconnect(nowait=True)

    async def _connect(self) -> Any:
        async with self._connect_lock:
            if self._connection is None:
                connection = self._make_connection()
                try:
                    await connection.connect()
                except BaseException:
                    await connection.disconnect(nowait=True)
                    raise
                self._connection = connection
            return self._connection

    async def _read_until(self, response: asyncio.Future[Any], connection: Any) -> None:
        # The first caller reads for all, so that a single caller needs no task.
        self._is_read = True
        try:
            while not response.done():
                await self._read_response(connection)
        finally:
            if connection is self._connection:
                self._is_read = False
                if self._pending:  # others wait, or this caller was cancelled
                    self._is_read = True
                    self._reader = asyncio.create_task(self._read_rest(connection))

    async def _read_rest(self, connection: Any) -> None:
        try:
            while self._pending and connection is self._connection:
                await self._read_response(connection)
        except (RedisError, OSError):
            return  # the connection was closed
        finally:
            if connection is self._connection:
                self._is_read, self._reader = False, None

    async def _read_response(self, connection: Any) -> None:
        value, refusal = None, None
        try:
            # If this reader is cancelled, the next one reads the rest of the response.
            value = await connection.read_response(disconnect_on_error=False)
        except ResponseError as error:
            refusal = error
        except (RedisError, OSError) as error:
            if connection is self._connection:
                await self.close(str(error))
            raise
        if connection is not self._connection:
            return
        response = self._pending.popleft()
        if response.done():  # its caller was cancelled
            return
        if refusal is None:
            response.set_result(value)
        else:
            response.set_exception(refusal)


@cache  # of the few scripts of this package
def _digest(script: str) -> str:
    return hashlib.sha1(script.encode(), usedforsecurity=False).hexdigest()


async def _ignore(error: Exception) -> None:
    """Do nothing: the next attempt opens a new connection."""
