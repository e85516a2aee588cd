"""Tokens that outlive a process in a file of their owner."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
import threading
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.tokens import StoredToken, read_token_record, token_record
from openapi_tools.errors import CredentialsError
from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

_VERSION = 1
_LARGEST_FILE = 1024 * 1024
# Of the threads of a process; between processes the last one to write wins, and loses no more
# than one login.
_write_lock = threading.RLock()


class TokenStore:
    """A file of tokens that only its owner can read."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"TokenStore({str(self._path)!r})"

    def load(self, *, origin: str, scheme: str, client_id: str = "") -> StoredToken | None:
        """Return the entry for an API, a scheme and a client; None when there is none."""
        for entry in self.entries():
            if entry.key == (origin, scheme, client_id or entry.client_id):
                return entry
        return None

    def entries(self) -> list[StoredToken]:
        """Return all entries; none without a file."""
        text = self._read()
        if text is None:
            return []
        try:
            data = json.loads(text)
            entries = [read_token_record(item) for item in data["tokens"]]
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            self._refuse("is not a token file; delete it, and log in again.")
        if data.get("version") != _VERSION:
            self._refuse("was written by another version; delete it, and log in again.")
        return entries

    def save(self, stored: StoredToken) -> None:
        """Store an entry, which replaces the one for the same API, scheme and client."""
        with _write_lock:
            entries = [entry for entry in self.entries() if entry.key != stored.key]
            data = {
                "version": _VERSION,
                "tokens": [token_record(each) for each in (stored, *entries)],
            }
            self._write(Secret(json.dumps(data, indent=1)))

    def _read(self) -> str | None:
        # A link may lead to another user's file, and a pipe would never end.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with _open_descriptor(self._path, flags) as descriptor:
                self._check(os.fstat(descriptor))
                raw = os.read(descriptor, _LARGEST_FILE + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP or self._path.is_symlink():
                self._refuse("is a symbolic link; name the file itself.")
            self._refuse(f"cannot be read ({_describe_os_error(error)}).")
        if len(raw) > _LARGEST_FILE:
            self._refuse("is too large for a file of tokens.")
        return raw.decode("utf-8", "replace")

    def _check(self, status: os.stat_result) -> None:
        if not stat.S_ISREG(status.st_mode):
            self._refuse("is not a regular file.")
        if os.name != "posix":
            return
        # As ssh does with private keys: a file that others can read is refused, and not
        # repaired silently.
        if status.st_mode & 0o077:
            self._refuse(f"can be read by others; run: chmod 600 {self._path}")
        if status.st_uid not in (os.getuid(), 0):
            self._refuse("belongs to another user.")

    def _write(self, text: Secret) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        try:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                with open(descriptor, "wb") as file:  # noqa: PTH123 -- of a descriptor
                    file.write(text.reveal().encode())
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self._path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise
        except OSError as error:
            self._refuse(f"cannot be written ({_describe_os_error(error)}).")
        # The new name survives a power cut where folders can be synchronised.
        with (
            contextlib.suppress(OSError),
            _open_descriptor(self._path.parent, os.O_RDONLY) as descriptor,
        ):
            os.fsync(descriptor)

    def _refuse(self, reason: str) -> NoReturn:
        raise CredentialsError(f"token file {str(self._path)!r} {reason}") from None


@contextlib.contextmanager
def _open_descriptor(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _describe_os_error(error: OSError) -> str:
    return error.strerror or type(error).__name__


def read_login(path: str | PathLike[str]) -> OAuth2:
    """Return the credential that a login stored in a file; CredentialsError without a safe one."""
    if not TokenStore(path).entries():
        reason = f"token file {str(path)!r} has no token; log in: openapi-tools login SPEC"
        raise CredentialsError(f"{reason} --token-file {path}")
    return OAuth2(token_file=Path(path))
