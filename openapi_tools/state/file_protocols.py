"""The protocol of a store of files, and the settings about files."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, Protocol, runtime_checkable

if TYPE_CHECKING:
    from pathlib import Path


@runtime_checkable
class FileStore(Protocol):
    """Keeps files that do not pass through the model, by handle; `FolderStore` is one.

    Methods are called in threads, several at once.
    """

    def put(self, content: BinaryIO, *, filename: str = "", media_type: str = "") -> str:
        """Store a copy of a file and return its handle.

        A handle is at most 200 letters, digits, `.`, `_` and `-`, and cannot be guessed. The file
        name may be empty, and is a server's.

        Raises:
            OSError: It cannot be stored.
        """
        ...

    def open(self, handle: str) -> BinaryIO:
        """Return a stored file, seekable, open for reading.

        Raises:
            OSError: The file does not exist.
        """
        ...


class FileOptions(Protocol):
    """The settings about files; `Settings` has them.

    Attributes:
        files: The store, if any.
        download_dir: The folder of a store, where `files` names none.
        file_roots: Folders whose files may be sent by their paths.
        max_file_bytes: The size from which a response is not kept.
        max_response_bytes: The size from which a response is not kept in memory.
        max_output_chars: The length of text that a model is given.
    """

    files: FileStore | None
    download_dir: Path | None
    file_roots: tuple[Path, ...]
    max_file_bytes: int
    max_response_bytes: int
    max_output_chars: int
