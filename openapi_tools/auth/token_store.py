"""Tokens, and the file that keeps them between processes.

Each entry is bound to its API, scheme and client. A client secret is never written.
An unusable file is a `CredentialsError`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import re
import secrets
import stat
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_channel import is_protected
from openapi_tools.errors import CredentialsError
from openapi_tools.forks import ForkLock
from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

_VERSION = 1
_PRIVATE = 0o600
_OTHERS = 0o077
_LARGEST = 1024 * 1024
_NAMES = ("origin", "scheme", "client_id", "token_endpoint")
_LEEWAY = 30.0
_LEEWAY_SHARE = 4
_LONGEST_LIFE = 10 * 365 * 86400.0
_LONGEST = 16 * 1024
"""Characters of a token; few servers take a header line that is longer than half of this."""
_USABLE = re.compile(r"[\x21-\x7e]+")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_writing = ForkLock()


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its refresh token.

    Attributes:
        access: Sent to the API.
        refresh: Exchanged for the next token; may be None.
        issued_at: Seconds since the epoch.
        expires_at: As above; None if unknown.
        scopes: Requested scopes; None if a user chose them.
    """

    access: Secret
    refresh: Secret | None = None
    issued_at: float = 0.0
    expires_at: float | None = None
    scopes: frozenset[str] | None = None

    def is_due(self, now: float) -> bool:
        """Whether it is time for the next one: a little before it expires."""
        if self.expires_at is None:
            return False
        # A token of one minute must not be fetched for each call.
        leeway = min(_LEEWAY, max(self.expires_at - self.issued_at, 0.0) / _LEEWAY_SHARE)
        return now >= self.expires_at - leeway

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and now >= self.expires_at

    def covers(self, wanted: frozenset[str]) -> bool:
        """Whether it was requested with these scopes, or with unknown ones."""
        return self.scopes is None or wanted <= self.scopes

    def secrets(self) -> tuple[str, ...]:
        """Return both texts, for a redactor."""
        return tuple(part.reveal() for part in (self.access, self.refresh) if part)


def read_token(
    members: Mapping[str, Any], *, asked: frozenset[str] | None, before: Secret | None
) -> Token | str:
    """Return the token of an answer, or the reason why it is not usable.

    Spec: RFC 6749, section 5.1; RFC 6750, section 1.1.

    Args:
        members: The answer's JSON object.
        asked: The requested scopes, if known.
        before: The refresh token to keep if the answer has no new one.
    """
    access, refresh = members.get("access_token"), members.get("refresh_token")
    kind = members.get("token_type", "bearer")
    if not is_sendable(access):
        return f"has no access_token that could be sent, of at most {_LONGEST} characters"
    if not isinstance(kind, str) or kind.lower() != "bearer":
        return "gives a token whose token_type is not bearer, which cannot be used"
    if refresh is not None and refresh != "" and not is_sendable(refresh):
        return f"has a refresh_token that is not text of at most {_LONGEST} characters"
    now = time.time()
    lifetime = _lifetime(members.get("expires_in"))
    return Token(
        Secret(access),
        Secret(refresh) if refresh else before,
        issued_at=now,
        expires_at=None if lifetime is None else now + lifetime,
        scopes=asked,
    )


def is_sendable(text: object) -> TypeGuard[str]:
    """Whether a value can be sent in a header, as a token is (RFC 6750, section 2.1)."""
    return isinstance(text, str) and len(text) <= _LONGEST and bool(_USABLE.fullmatch(text))


def _lifetime(value: object) -> float | None:
    """Return seconds; None for an unusable value."""
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # An integer in JSON may be longer than any float.
    seconds = min(value, _LONGEST_LIFE)
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else None


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
    """A file of tokens that only its owner can read."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"TokenStore({str(self._path)!r})"

    def load(self, *, origin: str, scheme: str, client_id: str = "") -> Stored | None:
        """Return the entry for an API, a scheme and a client; None when there is none."""
        for entry in self.entries():
            same_client = client_id in ("", entry.client_id)
            if same_client and (entry.origin, entry.scheme) == (origin, scheme):
                return entry
        return None

    def entries(self) -> list[Stored]:
        """Return all entries; none without a file."""
        text = self._read()
        if text is None:
            return []
        try:
            data = json.loads(text)
            entries = [_entry(item) for item in data["tokens"]]
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            self._refuse("is not a token file; delete it and log in again.")
        if data.get("version") != _VERSION:
            self._refuse("is of another version; delete it and log in again.")
        return entries

    def save(self, stored: Stored) -> None:
        """Put an entry in the file, in the place of the one for the same API, scheme and client."""
        with _writing:
            others = [entry for entry in self.entries() if _key(entry) != _key(stored)]
            data = {"version": _VERSION, "tokens": [_data(each) for each in (stored, *others)]}
            self._write(Secret(json.dumps(data, indent=1)))

    def _read(self) -> str | None:
        # A link may lead to another user's file, and a pipe would never end.
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
            self._refuse("is not a regular file.")
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
    """Make the new name survive a power cut, if folders can be synchronised."""
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
    """Return an entry; raises only errors that `entries` catches."""
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


def from_file(path: str | PathLike[str]) -> OAuth2:
    """Return the credential that a login has left in a file.

    Raises:
        CredentialsError: The file is missing, others can read it, or it holds no token.
    """
    if not TokenStore(path).entries():
        reason = f"token file {str(path)!r} holds no token; log in: openapi-tools login SPEC"
        raise CredentialsError(f"{reason} --token-file {path}")
    return OAuth2(token_file=Path(path))
