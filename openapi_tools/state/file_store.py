"""Files that do not pass through the model: a store keeps them, and handles name them.

A handle is a name with a part that cannot be guessed, `report-xkqvbnrtzdmc.pdf`. It is not a path,
and is looked up in a store only.
"""

from __future__ import annotations

import asyncio
import mimetypes
import os
import re
import secrets
import shutil
import stat
import tempfile
from contextlib import suppress
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from openapi_tools.common import http_rules
from openapi_tools.errors import CallError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from openapi_tools.redaction import Redactor
    from openapi_tools.state.file_protocols import FileOptions, FileStore

_STEP = 256 * 1024  # bytes masked and written at once; smaller responses stay in memory
# A secret may be split over two steps, so this many bytes at least wait for the next one.
_OVERLAP = 4096
_SPREAD = 16  # bytes that a byte of a secret may take in a file, for secrets across two steps
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_PLAIN_CHARSETS = ("", "ascii", "us-ascii", "utf-8", "utf8")

_HANDLE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,199}")
# No vowels, so that no handle spells a word, and no `l`, which is read as 1. 12 of 20 letters:
# 51 bits, guessed only by calls, which are limited.
_LETTERS = "bcdfghjkmnpqrstvwxyz"  # of the part of a handle that cannot be guessed
_MARK = rf"-[{_LETTERS}]{{12}}(?=\.|$)"
_MARKED_HANDLE = re.compile(
    rf"[A-Za-z0-9_][A-Za-z0-9._-]{{0,80}}{_MARK}(?:\.[A-Za-z0-9_-]{{1,15}})?"
)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
# Windows opens these as devices, with any ending and in any folder.
_DEVICE = re.compile(r"(?:aux|con|nul|prn|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
# With the mark a handle stays within `_MARKED_HANDLE`, and far below the 255 bytes that most file
# systems allow.
_STEM, _SUFFIX = 80, 16


class FolderStore:
    """Keeps files in a folder; several programs may share it.

    A file's name is its handle. Other files of the folder have no handle, links are not followed,
    and no existing file is changed.

    Attributes:
        folder: The folder; it is created for the first file.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def __repr__(self) -> str:
        return f"FolderStore({str(self.folder)!r})"

    def put(self, content: BinaryIO, *, filename: str = "", media_type: str = "") -> str:
        """Store a copy of a file and return its handle.

        Of the file name its plain characters are kept, no folders; the media type gives the ending
        where it has none.

        Raises:
            OSError: It cannot be written; nothing is left behind.
        """
        draft = self.draft()
        try:
            shutil.copyfileobj(content, draft, _STEP)
            return self.adopt(draft, filename, media_type)
        finally:
            _close_draft(draft)

    def open(self, handle: str) -> BinaryIO:
        """Return a stored file, open for reading.

        Raises:
            OSError: The file does not exist, or is not a regular one.
        """
        if not _MARKED_HANDLE.fullmatch(handle):
            raise FileNotFoundError(handle)
        return _open_regular(self.folder / handle)

    def draft(self) -> BinaryIO:
        """Return a new file without a handle, which is removed when it is closed."""
        self.folder.mkdir(parents=True, exist_ok=True)
        draft = tempfile.NamedTemporaryFile(dir=self.folder, prefix=".", suffix=".part")  # noqa: SIM115 -- `adopt`
        return cast("BinaryIO", draft)

    def adopt(self, draft: BinaryIO, filename: str, media_type: str) -> str:
        """Give a draft its handle and return that."""
        draft.flush()
        while True:
            handle = new_handle(filename, media_type)
            with suppress(FileExistsError):
                _move_draft(draft.name, self.folder / handle)
                return handle


def new_handle(filename: str, media_type: str) -> str:
    """Return a handle that cannot be guessed, with the plain characters of a file name."""
    stem, suffix = _safe_name(filename, media_type)
    mark = "".join(secrets.choice(_LETTERS) for _ in range(12))
    return f"{stem}-{mark}{suffix}"


def _move_draft(draft: str, path: Path) -> None:
    # A hard link fails if the name is taken, so no file is ever overwritten.
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        Path(draft).rename(path)


def _close_draft(draft: BinaryIO) -> None:
    with suppress(OSError):
        draft.close()


def _safe_name(name: str, media_type: str) -> tuple[str, str]:
    name = _UNSAFE.sub("_", re.split(r"[/\\]", name)[-1]).lstrip("._-")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, (mimetypes.guess_extension(media_type) or ".bin")[1:]
    stem = stem[:_STEM].rstrip(".") or "download"
    suffix = f".{ending}"[:_SUFFIX].rstrip(".")
    return (f"_{stem}" if _DEVICE.match(stem) else stem), suffix


def find_store(settings: FileOptions) -> FileStore | None:
    """Return the store that the settings name, if any."""
    store: FileStore | None = settings.files
    folder = settings.download_dir if store is None else None
    return store if folder is None else FolderStore(folder)


class ResponseFiles(NamedTuple):
    """Responses on their way into a store."""

    store: FileStore
    settings: FileOptions

    def begin(self, redactor: Redactor, status: int, headers: Mapping[str, str]) -> Download | None:
        """Return a download if the response may be one."""
        kind = headers.get("content-type", "")
        may_be = 200 <= status < 300 and http_rules.is_bytes(kind)  # noqa: PLR2004
        return Download(self, redactor, kind) if may_be else None

    def keep(
        self, content: bytes | Download, filename: str, media_type: str, *, for_remote: bool = False
    ) -> dict[str, Any]:
        """Keep the content of a response and return its `handle`.

        `file` is its path in a folder, which says nothing to a remote client but how this machine
        is set up.
        """
        store = self.store
        if isinstance(content, Download):
            handle, size = content.keep(filename, media_type), content.size
        else:
            size = len(content)
            if size > self.settings.max_file_bytes:
                raise _size_error("max_file_bytes")
            handle = store.put(BytesIO(content), filename=filename, media_type=media_type)
        facts: dict[str, Any] = {"handle": handle}
        if isinstance(store, FolderStore) and not for_remote:
            facts["file"] = str(store.folder / handle)
        return {**facts, "media_type": media_type, "bytes": size}


class Download:
    """The body of a response on its way into a store, of up to `limit` bytes, or CallError."""

    def __init__(self, files: ResponseFiles, redactor: Redactor, content_type: str) -> None:
        self._store, settings = files
        self._redactor = redactor
        self._kind = http_rules.essence(content_type)
        self._charset = http_rules.parameter(content_type, "charset").lower()
        self._most, self._most_in_memory = settings.max_file_bytes, settings.max_response_bytes
        self._buffer_limit = settings.max_output_chars
        self.limit = max(self._most, self._most_in_memory)
        self.size = self._taken = 0
        self._waiting = bytearray()
        self._is_text: bool | None = None
        self._tail, self._begun = b"", 0
        self._draft: BinaryIO | None = None
        self._is_over = False

    @property
    def is_file(self) -> bool:
        """Whether there is a file."""
        return self._draft is not None

    async def receive(self, piece: bytes) -> None:
        """Take a piece of the body."""
        self._waiting += piece
        self._taken += len(piece)
        if len(self._waiting) > _STEP and (self.is_file or self._belongs_in_file()):
            data, self._waiting = bytes(self._waiting), bytearray()
            await asyncio.to_thread(self._write, data)
        name, most = "max_file_bytes", self._most
        if not self.is_file:
            name, most = "max_response_bytes", self._most_in_memory
        if self._taken > most:
            raise _size_error(name)

    async def finish(self) -> bytes:
        """Return the body, or write the rest of it to the file and return nothing."""
        data, self._waiting = bytes(self._waiting), bytearray()
        if not self.is_file:
            return data
        await asyncio.to_thread(self._write, data, last=True)
        return b""

    def keep(self, filename: str, media_type: str) -> str:
        """Give the file its handle and return that."""
        draft = self._draft
        assert draft is not None  # noqa: S101 -- `is_file`
        try:
            if isinstance(self._store, FolderStore):
                return self._store.adopt(draft, filename, media_type)
            draft.seek(0)
            return self._store.put(draft, filename=filename, media_type=media_type)
        except OSError as error:
            raise _write_error(error) from None
        finally:
            self.discard()

    def discard(self) -> None:
        """Remove the draft."""
        self._is_over = True
        if self._draft is not None:
            _close_draft(self._draft)

    def _belongs_in_file(self) -> bool:
        if self._is_text is None:
            # Text stays in memory, where a model can read it; UTF-16 is masked as a whole, as a
            # secret has other bytes in it than those that the redactor looks for.
            begin = bytes(self._waiting)
            is_utf_16 = self._charset not in _PLAIN_CHARSETS or begin.startswith(_UTF_16)
            masked_whole = bool(self._redactor) and is_utf_16
            named = not self._kind and begin[:_OVERLAP].lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in b"{[<"
            is_binary = http_rules.is_always_bytes(self._kind)
            self._is_text = (
                masked_whole or named or (not is_binary and http_rules.is_readable(begin))
            )
            if masked_whole:
                self._buffer_limit = self._most_in_memory
        is_large = (
            self._kind == "application/octet-stream" and len(self._waiting) > self._buffer_limit
        )
        return is_large or not self._is_text

    def _write(self, data: bytes, *, last: bool = False) -> None:
        try:
            if self._draft is None:
                draft = self._store.draft() if isinstance(self._store, FolderStore) else None
                self._draft = draft or cast("BinaryIO", tempfile.TemporaryFile())  # noqa: SIM115 -- `discard`
            masked = self._mask_piece(data, last=last)
            self._draft.write(masked)
            self.size += len(masked)
            if last:
                self._draft.flush()
        except OSError as error:
            raise _write_error(error) from None
        finally:
            if self._is_over:  # the call was cancelled meanwhile
                self.discard()

    def _mask_piece(self, data: bytes, *, last: bool) -> bytes:
        # A secret may go on in the next piece, so the end of this one waits.
        if not self._redactor:
            return data
        data = self._tail + data
        longest = max(map(len, self._redactor.forms()))
        end = len(data) if last else max(0, len(data) - max(_OVERLAP, _SPREAD * longest))
        masked, self._begun = self._redactor.mask_part(data, end, self._begun)
        self._tail = data[end:]
        return masked


def _size_error(setting: str) -> CallError:
    reason = f"the response is larger than allowed ({setting}); request less of it."
    return CallError("too_large", reason)


def _write_error(error: OSError) -> CallError:
    reason = f"the response could not be written to a file ({error.strerror or 'no space'})."
    return CallError("protocol", reason, retryable=False)


class StoredFile:
    """A file to send, opened each time it is sent; raises OSError if it cannot be opened."""

    def __init__(self, name: str, opened: Callable[[], BinaryIO], media_type: str = "") -> None:
        self.name, self.media_type = name, media_type
        self._opened = opened
        with opened() as file:
            self.size = file.seek(0, os.SEEK_END)

    def __len__(self) -> int:
        return self.size

    def __str__(self) -> str:
        return f"({self.name}, {self.size} bytes)"

    def pieces(self) -> Generator[bytes]:
        """Yield the content; raises CallError when the file has become shorter."""
        left = self.size
        with suppress(OSError), self._opened() as file:
            while left and (piece := file.read(min(left, _STEP))):
                left -= len(piece)
                yield piece
        if left:
            reason = f"the file {self.name} changed or can no longer be read."
            raise CallError("connection", reason, retryable=False)


def find_file(source: str, value: str, settings: FileOptions) -> StoredFile:
    """Return the file of a `handle`, or of a `path` in one of the settings' folders; InputError."""
    if source == "path":
        for root in settings.file_roots:
            with suppress(OSError, RuntimeError, ValueError):
                return StoredFile(Path(value).name, partial(_open_below, root, value))
        raise InputError("no such file in the folders of Settings(file_roots=…).")
    store, name = find_store(settings), re.sub(_MARK, "", value)
    with suppress(OSError, ValueError, LookupError):
        if store is not None and _HANDLE.fullmatch(value):
            kind = mimetypes.guess_type(name)[0] or ""
            return StoredFile(name, partial(store.open, value), kind)
    raise InputError("no such file; pass the `handle` of an earlier response as it was returned.")


def _open_below(root: Path, path: str) -> BinaryIO:
    # Links are followed before the path is compared with the root, so no link leads out of it.
    folder = root.resolve(strict=True)
    target = (folder / path).resolve(strict=True)
    if not target.is_relative_to(folder):
        raise FileNotFoundError(path)
    return _open_regular(target)


def _open_regular(path: Path) -> BinaryIO:
    # O_NOFOLLOW: a link could have been put there since the path was checked.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    opened = os.open(path, flags | getattr(os, "O_BINARY", 0))
    if not stat.S_ISREG(os.fstat(opened).st_mode):
        os.close(opened)
        raise FileNotFoundError(path)
    return os.fdopen(opened, "rb")
