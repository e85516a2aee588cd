"""Tokens: asked for at a token endpoint (RFC 6749, 2.3, 4 and 5), and kept in a file."""

from __future__ import annotations

import base64
import contextlib
import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeGuard
from urllib.parse import quote, urlencode

from openapi_tools.auth.authorization_server import SUCCESS, Form, exchange, is_protected
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.redaction import Redactor, Secret, excerpt
from openapi_tools.requests import origin_of
from openapi_tools.shared_state import LEASE, SECRET, state_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from contextlib import AbstractAsyncContextManager
    from os import PathLike

    from openapi_tools.auth.authorization_server import Channel, Reply
    from openapi_tools.shared_state import SharedState

_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_VERSION = 1
_LARGEST = 1024 * 1024
_NAMES = ("origin", "scheme", "client_id", "token_endpoint")
_LONGEST_LIFE = 10 * 365 * 86400.0
_LONGEST = 16 * 1024  # characters of a token; few servers take half as many in a header
_BEARER = frozenset({"", "accesstoken", "bearer", "bearertoken", "jwt", "jwtbearer"})
_NO_LETTER = re.compile(r"[\s_-]")  # apart from letters: `access_token`, `Bearer Token`
_USABLE = re.compile(r"[\x21-\x7e]+")
_NUMBER = re.compile(r"[0-9]{1,15}(\.[0-9]{1,9})?")
_LONGEST_KEPT = 180 * 86400.0  # of a token in a shared state; a login lasts as long
_writing = threading.RLock()


@dataclass(frozen=True, slots=True)
class Token:
    """An access token and its refresh token; times are in seconds since the epoch."""

    access: Secret
    refresh: Secret | None = None
    issued_at: float = 0.0
    expires_at: float | None = None  # None if unknown
    scopes: frozenset[str] | None = None  # None if a user chose them

    def is_due(self, now: float) -> bool:
        """Whether it is time for the next one: a little before it expires."""
        if self.expires_at is None:
            return False
        # A token of one minute must not be fetched for each call.
        return now >= self.expires_at - min(30.0, max(self.expires_at - self.issued_at, 0.0) / 4)

    def is_over(self, now: float) -> bool:
        """Whether it has expired."""
        return self.expires_at is not None and now >= self.expires_at

    def covers(self, wanted: frozenset[str]) -> bool:
        """Whether it was requested with these scopes, or with unknown ones."""
        return self.scopes is None or wanted <= self.scopes

    def secrets(self) -> tuple[str, ...]:
        """Return both texts, for a redactor."""
        return tuple(part.reveal() for part in (self.access, self.refresh) if part)


class RefusedError(CallError):
    """An authorization server refused; `wait` is in seconds until the next request."""

    def __init__(self, reason: str, code: str, wait: float | None = None) -> None:
        super().__init__("credentials", reason)
        self.code = code
        self.wait = wait


class Grants:
    """Asks for tokens on behalf of one client."""

    def __init__(self, config: OAuth2, redactor: Redactor) -> None:
        self._config = config
        self._redactor = redactor

    async def ask(
        self,
        channel: Channel,
        url: str,
        grant: str,
        *,
        secrets: Mapping[str, Secret] | None = None,
        scopes: frozenset[str] | None = None,
        keep: Secret | None = None,
        **parameters: str,
    ) -> Token:
        """Return a new token; `keep` is the refresh token for an answer without one."""
        if scopes:
            parameters["scope"] = " ".join(sorted(scopes))
        hidden = {name: value.reveal() for name, value in (secrets or {}).items()}
        form = form_of(self._config, {**parameters, **hidden}, grant)
        del hidden  # a traceback shows this frame
        reply = await exchange(channel, url, form)
        self.check(reply, url)
        token = _token(reply.members, asked=scopes, before=keep)
        if isinstance(token, str):
            reason = f"the answer of the token endpoint at {origin_of(url)} {token}."
            raise CallError("protocol", reason, retryable=False)
        self._redactor.learn(*token.secrets(), passing=True)
        channel.learn(*token.secrets())
        return token

    def check(self, reply: Reply, url: str) -> None:
        """Refuse an answer that is an error; GitHub answers 200 to what it refuses."""
        if reply.status in SUCCESS and "error" not in reply.members:
            return
        code, said = (reply.members.get(name) for name in ("error", "error_description"))
        code = code if isinstance(code, str) and _CODE.fullmatch(code) else ""
        code = code if self._redactor.text(code) == code else ""
        line = " ".join(excerpt(said, 10_000).split()) if isinstance(said, str) else ""
        line = "".join(filter(str.isprintable, line)).rstrip(".")
        why = (code or f"status {reply.status}") + (line and f" ({excerpt(line, 200)})")
        reason = f"the authorization server {origin_of(url)} refuses: {why}."
        raise RefusedError(reason, code, reply.wait)


def form_of(config: OAuth2, parameters: Mapping[str, str], grant: str = "") -> Form:
    """Return a form with the user's parameters and the client's proof (RFC 6749, 2.3.1)."""
    wanted = {"grant_type": grant, **parameters}
    fields = {name: value for name, value in wanted.items() if value} | config.parameters()
    client_id, secret = config.client_id, config.revealed("client_secret")
    if client_id and config.client_auth == "client_secret_basic":
        # %20 for a space: not every server knows the plus sign.
        pair = f"{quote(client_id, safe='')}:{quote(secret, safe='')}"
        header = Secret(f"Basic {base64.b64encode(pair.encode()).decode()}")
        return Form(Secret(urlencode(fields)), header)
    if client_id:
        fields["client_id"] = client_id
    if client_id and config.client_auth == "client_secret_post":
        fields["client_secret"] = secret
    return Form(Secret(urlencode(fields)))


def _token(
    members: Mapping[str, Any], *, asked: frozenset[str] | None, before: Secret | None
) -> Token | str:
    """Return the token of an answer (RFC 6749, section 5.1), or why it is not usable."""
    access, refresh = members.get("access_token"), members.get("refresh_token")
    if not _is_sendable(access):
        return f"has no access_token that could be sent, of at most {_LONGEST} characters"
    if not _is_bearer(members.get("token_type")):
        return "gives a token whose token_type is not bearer, which cannot be used"
    if refresh is not None and refresh != "" and not _is_sendable(refresh):
        return f"has a refresh_token that is not text of at most {_LONGEST} characters"
    now, life = time.time(), members.get("expires_in")
    if isinstance(life, str) and _NUMBER.fullmatch(life.strip()):
        life = float(life)
    seconds = seconds_of(life, largest=_LONGEST_LIFE)
    return Token(
        Secret(access),
        Secret(refresh) if refresh else before,
        issued_at=now,
        expires_at=None if seconds is None else now + seconds,
        scopes=asked,
    )


def _is_bearer(kind: object) -> bool:
    # RFC 6749, section 7.1, compares without case; the other words are those that servers use for
    # the same. A `mac` or `DPoP` token needs a proof that is not made here.
    if kind is None:
        return True
    return isinstance(kind, str) and _NO_LETTER.sub("", kind.rpartition(":")[2]).lower() in _BEARER


def _is_sendable(text: object) -> TypeGuard[str]:
    """Whether a value can be sent in a header, as a token is (RFC 6750, section 2.1)."""
    return isinstance(text, str) and len(text) <= _LONGEST and bool(_USABLE.fullmatch(text))


def seconds_of(value: Any, *, largest: float) -> float | None:
    """Return a number of seconds from an answer, within reason; None for an unusable value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    seconds = min(value, largest)  # an integer in JSON may be longer than any float
    return float(seconds) if math.isfinite(seconds) and seconds > 0 else None


@dataclass(frozen=True, slots=True)
class Stored:
    """One entry of a file: a token for an API's origin, a scheme's name and a client."""

    origin: str
    scheme: str
    client_id: str
    token_endpoint: str
    token: Token

    @property
    def key(self) -> tuple[str, str, str]:
        """The API, scheme and client."""
        return self.origin, self.scheme, self.client_id


class TokenStore:
    """A file of tokens that only its owner can read."""

    def __init__(self, path: str | PathLike[str]) -> None:
        self._path = Path(path).expanduser()

    def __repr__(self) -> str:
        return f"TokenStore({str(self._path)!r})"

    def load(self, *, origin: str, scheme: str, client_id: str = "") -> Stored | None:
        """Return the entry for an API, a scheme and a client; None when there is none."""
        for entry in self.entries():
            if entry.key == (origin, scheme, client_id or entry.client_id):
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
            others = [entry for entry in self.entries() if entry.key != stored.key]
            data = {"version": _VERSION, "tokens": [_data(each) for each in (stored, *others)]}
            self._write(Secret(json.dumps(data, indent=1)))

    def _read(self) -> str | None:
        # A link may lead to another user's file, and a pipe would never end.
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        try:
            with _opened(self._path, flags) as descriptor:
                self._check(os.fstat(descriptor))
                raw = os.read(descriptor, _LARGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP or self._path.is_symlink():
                self._refuse("is a symbolic link; give the file itself.")
            self._refuse(f"cannot be read ({_cause(error)}).")
        if len(raw) > _LARGEST:
            self._refuse("is too large for a file of tokens.")
        return raw.decode("utf-8", "replace")

    def _check(self, found: os.stat_result) -> None:
        if not stat.S_ISREG(found.st_mode):
            self._refuse("is not a regular file.")
        if os.name != "posix":
            return
        if found.st_mode & 0o077:
            self._refuse(f"can be read by others; run: chmod 600 {self._path}")
        if found.st_uid not in (os.getuid(), 0):
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
            self._refuse(f"cannot be written ({_cause(error)}).")
        # The new name survives a power cut where folders can be synchronised.
        with contextlib.suppress(OSError), _opened(self._path.parent, os.O_RDONLY) as descriptor:
            os.fsync(descriptor)

    def _refuse(self, reason: str) -> NoReturn:
        raise CredentialsError(f"token file {str(self._path)!r} {reason}") from None


class SharedTokens:
    """The tokens of one credential in a state that processes share.

    What the user gave is part of the key: who lacks it, a secret or a user's name, finds nothing.
    `token` is the user's token that was exchanged for them, if they come from an exchange.
    """

    def __init__(
        self, state: SharedState, config: OAuth2, scheme: str, user: str, token: str = ""
    ) -> None:
        self._state, self._user = state, user
        user = f"{user} {token}" if token else user
        self._parts = [scheme, user, config.client_id, config.token_url, config.username]
        self._parts += [*sorted(config.scopes or ()), *config.secrets()]

    def __repr__(self) -> str:
        return f"SharedTokens({self._state!r})"

    def _key(self, origin: str) -> str:
        digest = hashlib.sha256(json.dumps([origin, *self._parts]).encode()).hexdigest()
        return state_key(f"{SECRET}token", self._user, digest)

    def alone(self, origin: str) -> AbstractAsyncContextManager[None]:
        """Let one refresher at a time in, among all processes."""
        return self._state.lock(self._key(origin), LEASE)

    async def load(self, origin: str) -> Stored | None:
        """Return the entry for an API; None without a usable one."""
        value = await self._state.get(self._key(origin))
        try:
            return None if value is None else _entry(json.loads(value))
        except (ValueError, TypeError, LookupError, RecursionError, OverflowError):
            return None

    async def save(self, stored: Stored) -> None:
        """Keep an entry in the place of the one before."""
        value, token = json.dumps(_data(stored)).encode(), stored.token
        lasts = None if token.refresh else token.expires_at
        seconds = _LONGEST_KEPT if lasts is None else max(lasts - time.time(), 1.0)
        await self._state.put(self._key(stored.origin), value, seconds)

    async def remove(self, origin: str) -> None:
        """Remove the entry for an API."""
        await self._state.remove(self._key(origin))


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[int]:
    descriptor = os.open(path, flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _cause(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _data(stored: Stored) -> dict[str, Any]:
    token = stored.token
    return {
        **{name: getattr(stored, name) for name in _NAMES},
        "access_token": token.access.reveal(),
        "refresh_token": token.refresh.reveal() if token.refresh else None,
        "issued_at": token.issued_at,
        "expires_at": token.expires_at,
        "scopes": None if token.scopes is None else sorted(token.scopes),
    }


def _entry(item: dict[str, Any]) -> Stored:
    """Return an entry; raises only errors that `entries` catches."""
    names = {name: item[name] for name in _NAMES}
    access, refresh, expires_at = item["access_token"], item["refresh_token"], item["expires_at"]
    if not all(isinstance(name, str) for name in names.values()) or not _is_sendable(access):
        raise TypeError
    if not is_protected(names["token_endpoint"]) or not (refresh is None or _is_sendable(refresh)):
        raise TypeError
    token = Token(
        Secret(access),
        None if refresh is None else Secret(refresh),
        issued_at=float(item["issued_at"]),
        expires_at=None if expires_at is None else float(expires_at),
        scopes=None if item["scopes"] is None else frozenset(map(str, item["scopes"])),
    )
    return Stored(**names, token=token)


def from_file(path: str | PathLike[str]) -> OAuth2:
    """Return the credential that a login left in a file; CredentialsError without a safe one."""
    if not TokenStore(path).entries():
        reason = f"token file {str(path)!r} holds no token; log in: openapi-tools login SPEC"
        raise CredentialsError(f"{reason} --token-file {path}")
    return OAuth2(token_file=Path(path))
