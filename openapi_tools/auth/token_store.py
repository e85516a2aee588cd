"""Tokens in a file, for those who want to log in once and call often.

Each entry is bound to the API, the scheme and the client that it is for; another's is not used. A
client secret is never written.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from openapi_tools.auth.token import Token, is_sendable
from openapi_tools.auth.token_channel import is_protected
from openapi_tools.errors import CredentialsError
from openapi_tools.forks import ForkLock
from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from os import PathLike

_VERSION = 1
_PRIVATE = 0o600
_OTHERS = 0o077
_LARGEST = 1024 * 1024
_NAMES = ("origin", "scheme", "client_id", "token_endpoint")
_writing = ForkLock()


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry of a file.

    Attributes:
        origin: Of the API, for instance `"https://api.example.com"`.
        scheme: Name of the security scheme.
        client_id: For which client.
        token_endpoint: Where it is refreshed.
        token: The token itself.
    """

    origin: str
    scheme: str
    client_id: str
    token_endpoint: str
    token: Token


class TokenStore:
    """A file that holds tokens and that only its owner can read.

    Args:
        path: Where it is, or is to be.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"TokenStore({str(self._path)!r})"

    def load(self, *, origin: str, scheme: str, client_id: str = "") -> Stored | None:
        """Return the entry for an API, a scheme and a client; None when there is none.

        Args:
            origin: Of the API.
            scheme: Name of the security scheme.
            client_id: `""` takes whatever client there is.

        Raises:
            CredentialsError: Others can read the file, or it is none of tokens.
        """
        for entry in self.entries():
            same_client = client_id in ("", entry.client_id)
            if same_client and (entry.origin, entry.scheme) == (origin, scheme):
                return entry
        return None

    def entries(self) -> list[Stored]:
        """Return all entries, none when there is no file.

        Raises:
            CredentialsError: As `load`.
        """
        text = self._read()
        if text is None:
            return []
        try:
            data = json.loads(text)
            entries = [_entry(item) for item in data["tokens"]]
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            self._refuse("is no file of tokens; delete it and log in again.")
        if data.get("version") != _VERSION:
            self._refuse("is of another version; delete it and log in again.")
        return entries

    def save(self, stored: Stored) -> None:
        """Put an entry in the file, in the place of the one for the same API, scheme and client.

        Args:
            stored: The entry.

        Raises:
            CredentialsError: The file cannot be written, or is not ours to write.
        """
        with _writing:
            others = [entry for entry in self.entries() if _key(entry) != _key(stored)]
            data = {"version": _VERSION, "tokens": [_data(each) for each in (stored, *others)]}
            self._write(Secret(json.dumps(data, indent=1)))

    def _read(self) -> str | None:
        # A link may lead to a file of somebody else, and a pipe would never end.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            descriptor = os.open(self._path, flags | getattr(os, "O_CLOEXEC", 0))
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP or self._path.is_symlink():
                self._refuse("is a symbolic link; give the file itself.")
            self._refuse(f"cannot be read ({_cause(error)}).")
        try:
            self._check(os.fstat(descriptor))
            raw = os.read(descriptor, _LARGEST + 1)
        except OSError as error:
            self._refuse(f"cannot be read ({_cause(error)}).")
        finally:
            os.close(descriptor)
        if len(raw) > _LARGEST:
            self._refuse("is too large for a file of tokens.")
        return raw.decode("utf-8", "replace")

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            self._refuse("is no regular file.")
        if os.name != "posix":
            return
        if found.st_mode & _OTHERS:
            self._refuse(f"can be read by others; run: chmod 600 {self._path}")
        if found.st_uid not in (os.getuid(), 0):
            self._refuse("belongs to another user.")

    def _write(self, text: Secret) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{secrets.token_hex(8)}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            descriptor = os.open(temporary, flags, _PRIVATE)
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
            self._refuse(f"cannot be written ({_cause(error)}).")
        _sync(self._path.parent)

    def _refuse(self, reason: str) -> NoReturn:
        raise CredentialsError(f"token file {str(self._path)!r} {reason}") from None


def _sync(folder: Path) -> None:
    """Have the new name survive a power cut, where folders can be synchronised."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _cause(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _key(stored: Stored) -> tuple[str, str, str]:
    return stored.origin, stored.scheme, stored.client_id


def _data(stored: Stored) -> dict[str, Any]:
    token = stored.token
    return {
        "origin": stored.origin,
        "scheme": stored.scheme,
        "client_id": stored.client_id,
        "token_endpoint": stored.token_endpoint,
        "access_token": token.access.reveal(),
        "refresh_token": token.refresh.reveal() if token.refresh else None,
        "issued_at": token.issued_at,
        "expires_at": token.expires_at,
        "scopes": None if token.scopes is None else sorted(token.scopes),
    }


def _entry(item: dict[str, Any]) -> Stored:
    """Return an entry; every fault in it is an error of the kinds that `entries` catches."""
    names = {name: item[name] for name in _NAMES}
    scopes, refresh = item["scopes"], item["refresh_token"]
    if not all(isinstance(name, str) for name in names.values()) or not is_sendable(
        item["access_token"]
    ):
        raise TypeError
    if (refresh is not None and not is_sendable(refresh)) or not is_protected(
        names["token_endpoint"]
    ):
        raise TypeError
    expires_at = item["expires_at"]
    token = Token(
        Secret(item["access_token"]),
        None if refresh is None else Secret(refresh),
        issued_at=float(item["issued_at"]),
        expires_at=None if expires_at is None else float(expires_at),
        scopes=None if scopes is None else frozenset(map(str, scopes)),
    )
    return Stored(**names, token=token)
