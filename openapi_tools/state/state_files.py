"""Files in a shared state, so that a handle works in every process that shares it."""

from __future__ import annotations

import asyncio
import errno
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import TYPE_CHECKING, Any, BinaryIO

from openapi_tools.errors import CallError, SettingsError
from openapi_tools.state.file_store import new_handle
from openapi_tools.state.shared_state import SharedState

if TYPE_CHECKING:
    from collections.abc import Coroutine

# The whole file is one value, held in memory here and in Redis.
_LARGEST = 16 * 1024 * 1024
_HOUR = 3600.0


class StateFiles:
    """A `FileStore` in a shared state: `Settings(files=StateFiles(state))`.

    Args:
        state: Where files are stored, for instance a `RedisState`.
        seconds: A file is removed after this time.
        most_bytes: A larger file is refused.

    Raises:
        SettingsError: It is not a state, or a limit is not above 0.
    """

    def __init__(
        self, state: SharedState, *, seconds: float = _HOUR, most_bytes: int = _LARGEST
    ) -> None:
        if not isinstance(state, SharedState) or isinstance(state, type):
            raise SettingsError("files: expected a SharedState, for instance RedisState(url).")
        if seconds <= 0 or most_bytes <= 0:
            raise SettingsError("files: seconds and most_bytes must be above 0.")
        self._state, self._seconds, self._most = state, seconds, most_bytes

    def __repr__(self) -> str:
        return f"StateFiles({self._state!r})"

    def put(self, content: BinaryIO, *, filename: str = "", media_type: str = "") -> str:
        """Store a copy of a file and return its handle.

        Raises:
            OSError: It is larger than allowed, or the state cannot be reached.
        """
        data = content.read(self._most + 1)
        if len(data) > self._most:
            reason = f"files in a shared state have at most {self._most} bytes"
            raise OSError(errno.EFBIG, reason)
        handle = new_handle(filename, media_type)
        _run_in_thread(self._state.put(f"file:{handle}", data, self._seconds))
        return handle

    def open(self, handle: str) -> BinaryIO:
        """Return a stored file, open for reading.

        Raises:
            OSError: It does not exist (any more), or the state cannot be reached.
        """
        data = _run_in_thread(self._state.get(f"file:{handle}"))
        if data is None:
            raise FileNotFoundError(handle)
        return BytesIO(data)


def _run_in_thread(work: Coroutine[Any, Any, Any]) -> Any:
    # Stores are synchronous, and this thread may already run an event loop.
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work).result()
    except CallError as error:
        raise OSError(errno.EIO, error.reason.partition(";")[0]) from None
