"""The session that the tools of one document share: settings, credentials, connections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import Credentials, OriginPolicy
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import CallError, NotPicklableError, SettingsError
from openapi_tools.http_rules import names_credential, parameter_key
from openapi_tools.model import Operation, SecurityScheme, Server
from openapi_tools.observability import Observers
from openapi_tools.options import (
    credentials_of,
    describe_unknown_setting,
    kind_of,
    members_of,
)
from openapi_tools.redaction import Redactor
from openapi_tools.requests import (
    base_url_with_server_path,
    credential_origins,
    document_server_url,
    origin_of,
    server_url,
)

if TYPE_CHECKING:
    import httpx

    from openapi_tools.options import Client
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import APIResponse, Sender

_ARGUMENTS = ("select", "credentials", "settings", "client", "strict", "overlays", "config")
"""The arguments of `load_tools` that are not settings."""
_USUAL_HEADERS = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a document; the first of its servers gets credentials by default."""

    servers: tuple[Server, ...] = ()
    public: bool = False  # it was fetched from a public address
    origin: str = ""  # of its URL; empty for files and values


@dataclass(slots=True, eq=False)
class Session:
    """The state that the calls of one toolset share: settings, credentials, connections."""

    settings: Settings
    credentials: Credentials
    redactor: Redactor
    provenance: Provenance
    client: Client | None = None
    client_brings: bool = False  # the user's client sends credentials itself
    check_answer: Callable[[httpx.Request, APIResponse], list[str]] | None = None
    is_placed: bool = False  # the server has responded with another status than 404
    served: Any = None  # a server's facts about its API
    mounts: int = 0  # coordinators that hold its tools; the last one closes it
    toolset: Callable[[], Any] | None = None  # the one that was made last
    unions: tuple[Callable[[], Any], ...] = ()  # those that it is part of
    _observers: Observers | None = None
    _origins: frozenset[str] | None = None
    _sender: Sender | None = None
    # Tools may be called from several threads: they share one sender and one list of subscribers.
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def observers(self) -> Observers:
        """The subscribers and the telemetry of calls."""
        with self._lock:
            if self._observers is None:
                self._observers = Observers(
                    lambda operation: server_url(operation, self.settings), self.redactor.text
                )
            return self._observers

    @property
    def sender(self) -> Sender:
        """The sender with the connections, made for the first call."""
        # Start-up: tools are loaded and shown without the network's modules.
        from openapi_tools.transport import Sender

        with self._lock:
            if self._sender is None:
                public = self.provenance.public
                self._sender = Sender(self.settings, self.client, public=public, shares=True)
            return self._sender

    def replace_api(self, client: Client, base_url: str) -> None:
        """Have a client answer all calls, which need no credentials, at another address."""
        self.settings = settings_of(self.settings, {"base_url": base_url, "anonymous": True})
        self.client, self._origins, self._sender = client, None, None

    @property
    def filled_parameters(self) -> frozenset[tuple[str, str]]:
        """The parameters, by `parameter_key`, that no argument feeds: credentials fill them."""
        named = filter(names_credential, getattr(self.client, "headers", ()))
        return self.credentials.scheme_parameters | {
            parameter_key("header", name) for name in named
        }

    def home(self) -> OriginPolicy:
        """Return `bounds` for the document's own server."""
        return self.bounds(Operation("GET", "/", servers=self.provenance.servers))

    def bounds(self, operation: Operation) -> OriginPolicy:
        """Return where an operation is called, and where credentials may go; CallError."""
        return OriginPolicy(
            server_url(operation, self.settings),
            self.origins,
            self.provenance.origin,
            lenient=self.settings.anonymous or self.settings.dry_run,
            client_brings=self.client_brings,
            is_named=self.settings.credential_origins is not None,
        )

    @property
    def origins(self) -> frozenset[str]:
        """The origins that may get credentials."""
        if self._origins is None:
            self._origins = credential_origins(self.settings)
        if self._origins is None:
            with suppress(CallError):
                own = origin_of(document_server_url(self.provenance.servers, self.settings))
                # The user chose the URL of a document, not the servers that it names today.
                if self.provenance.origin in ("", own):
                    self._origins = frozenset({own})
        return self._origins or frozenset()

    def add_union(self, find: Callable[[], Any]) -> None:
        """Note a toolset that this one is part of; `find` returns None once it is gone."""
        alive = (find_other for find_other in self.unions if find_other() is not None)
        self.unions = (*alive, find)

    def find_neighbours(self, tool: Tool) -> Iterable[Tool] | None:
        """Return the tools of this session that a model sees beside one of them."""
        for union in (toolset for find in self.unions if (toolset := find()) is not None):
            if tool.name in union and union[tool.name] is tool:
                return [other for other in union if other.session is self]
        return None if self.toolset is None else self.toolset()

    def __reduce__(self) -> Any:
        reason = "tools share connections and credentials, which are neither pickled nor copied"
        raise NotPicklableError(f"{reason}; load or import them again where they are needed.")


def settings_of(given: Any, members: Mapping[str, object] | None = None) -> Settings:
    """Return settings from a mapping or None, with other members over them; else SettingsError."""
    given = None if given is DEFAULT_SETTINGS else given
    if given is None and not members:
        defaults: Settings = DEFAULT_SETTINGS
        return defaults
    from openapi_tools.settings import Settings

    if isinstance(given, Settings) and not members:
        return given
    for name in members or ():
        if name not in Settings.model_fields:
            raise SettingsError(describe_unknown_setting(name, _ARGUMENTS))
    if isinstance(given, Settings):
        given = {name: getattr(given, name) for name in given.model_fields_set}
    elif given is not None and not isinstance(given, Mapping):
        form = "Settings(timeout=10), or a dict of its members"
        raise SettingsError(f"settings: give {form}, not {kind_of(given)}.")
    return Settings(**members_of(given, None, "settings") | dict(members or ()))


def settings_with(settings: Settings, **members: Any) -> Settings:
    """Return settings with other members beneath those that the user gave."""
    given = {name: getattr(settings, name) for name in getattr(settings, "model_fields_set", ())}
    return settings_of(given | {n: v for n, v in members.items() if given.get(n) is None})


def _placed(settings: Settings, client: Any, servers: tuple[Server, ...]) -> Settings:
    """Return settings with the address of a user's client where the document has none."""
    base = str(getattr(client, "base_url", ""))
    if "://" not in base or settings.base_url is not None:
        return settings
    with suppress(CallError):
        document_server_url(servers, settings)
        return settings
    made = settings_with(settings, base_url=base)
    below = base_url_with_server_path(Operation("GET", "/", servers=servers), made)
    return settings_with(settings, base_url=below) if below else made


def open_session(
    settings: Settings | None = None,
    *,
    credentials: Mapping[str, Any] | None = None,
    schemes: Mapping[str, SecurityScheme] | None = None,
    client: Client | None = None,
    provenance: Provenance | None = None,
) -> Session:
    """Return a session, which connects when a tool is called; errors are as of `load_tools`."""
    found, redactor = provenance or Provenance(), Redactor()
    settings = _placed(settings_of(settings), client, found.servers)
    given, own = credentials_of(credentials), schemes or {}
    about: Any = {"ca_file": settings.ca_file, "state": settings.state}
    known = Credentials(given, own, redactor=redactor, **about)
    brings = brings_identity(client)
    session = Session(settings, known, redactor, found, client, brings)
    if client is not None or settings.http_cache:
        _ = session.sender  # raises for an unusable client or a missing extra
    return session


def brings_identity(client: Client | None) -> bool:
    """Tell whether a client of the user's sends credentials or other headers by itself."""
    if getattr(client, "auth", None) is not None:  # a class, which is refused later, has one too
        return True
    return any(name.lower() not in _USUAL_HEADERS for name in getattr(client, "headers", ()))
