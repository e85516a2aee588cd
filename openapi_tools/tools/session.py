"""The session that the tools of one document share: settings, credentials, connections."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import Credentials, OriginPolicy, check_credentials
from openapi_tools.common.http_rules import names_credential, parameter_key
from openapi_tools.common.options import (
    check_keys,
    describe_unknown_setting,
    type_name,
)
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import CallError, NotPicklableError, SettingsError
from openapi_tools.model import Operation, SecurityScheme, Server
from openapi_tools.observability import Observers
from openapi_tools.redaction import Redactor
from openapi_tools.requests import (
    base_url_with_server_path,
    credential_origins,
    document_server_url,
    origin_of,
    server_url,
)
from openapi_tools.tools.exchange_records import ExchangeRecorder

if TYPE_CHECKING:
    import httpx

    from openapi_tools.common.options import Client
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool_protocol import Tool
    from openapi_tools.transport import APIResponse, Sender

# The arguments of `load_tools` that are not settings.
_ARGUMENTS = ("select", "credentials", "settings", "client", "strict", "overlays", "config")
_USUAL_HEADERS = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a document came from, and its servers.

    Attributes:
        servers: The servers of the document; the first one gets credentials by default.
        public: Whether it was fetched from a public address.
        origin: The origin of its URL; empty for files and values.
    """

    servers: tuple[Server, ...] = ()
    public: bool = False
    origin: str = ""


@dataclass(slots=True, eq=False)
class Session:
    """The state that the calls of one toolset share: settings, credentials, connections."""

    settings: Settings
    redactor: Redactor
    provenance: Provenance
    schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)  # of the document
    client: Client | None = None
    client_adds_credentials: bool = False  # the user's client sends credentials itself
    check_exchange: Callable[[httpx.Request, APIResponse], list[str]] | None = None
    recorder: ExchangeRecorder | None = None
    has_responded: bool = False  # the server has responded with another status than 404
    served: Any = None  # a server's facts about its API
    mounts: int = 0  # coordinators that hold its tools; the last one closes it
    toolset: Callable[[], Any] | None = None  # the one that was made last
    unions: tuple[Callable[[], Any], ...] = ()  # those that it is part of
    _credentials: Credentials | None = None
    _observers: Observers | None = None
    _origins: frozenset[str] | None = None
    _sender: Sender | None = None
    _is_closed: bool = False
    # Tools may be called from several threads: they share one sender and one list of subscribers.
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def credentials(self) -> Credentials:
        """The user's credentials, which may be none; those of single calls are added to them."""
        with self._lock:
            if self._credentials is None:
                self._credentials = self._make_credentials({})
            return self._credentials

    @credentials.setter
    def credentials(self, credentials: Credentials) -> None:
        self._credentials = credentials

    def add_credentials(self, credentials: Mapping[str, Any]) -> None:
        """Take the user's credentials by scheme name; CredentialsError for a wrong one."""
        self._credentials = self._make_credentials(check_credentials(credentials))

    def _make_credentials(self, credentials: Mapping[str, Any]) -> Credentials:
        return Credentials(
            credentials,
            self.schemes,
            redactor=self.redactor,
            ca_file=self.settings.ca_file,
            state=self.settings.state,
        )

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
        # Start-up time: tools are loaded and shown without the network's modules.
        from openapi_tools.transport import Sender

        with self._lock:
            if self._sender is None:
                public = self.provenance.public
                self._sender = Sender(self.settings, self.client, public=public, shares=True)
                self._sender.is_closed = self._is_closed
            return self._sender

    async def aclose(self) -> None:
        """Close the connections; other text is no longer searched for this session's secrets."""
        with self._lock:
            self._is_closed, sender = True, self._sender
        # Without a call there is no sender, and closing would import the network's modules.
        if sender is not None:
            await sender.aclose()
        self.redactor.release()

    def replace_api(self, client: Client, base_url: str) -> None:
        """Send all calls through another client to another address, without credentials."""
        self.settings = make_settings(self.settings, {"base_url": base_url, "anonymous": True})
        self.client, self._origins, self._sender, self._is_closed = client, None, None, False

    def copy_for_api(self, client: Client, base_url: str) -> Session:
        """Return another session, as after `replace_api`, without approval and shared state.

        It masks this session's secrets, which may be in arguments, but has none to send.
        """
        changes = {"base_url": base_url, "anonymous": True, "approve": None, "dry_run": False}
        changes |= {"http_cache": False, "state": None, "rate": None, "user_rate": None}
        return Session(
            settings=make_settings(self.settings, changes),
            redactor=self.redactor.for_call(),
            provenance=Provenance(),
            client=client,
        )

    @property
    def filled_parameters(self) -> frozenset[tuple[str, str]]:
        """The parameters that credentials fill instead of arguments, by `parameter_key`."""
        headers = filter(names_credential, getattr(self.client, "headers", ()))
        from_client = {parameter_key("header", name) for name in headers}
        return self.credentials.scheme_parameters | from_client

    def default_policy(self) -> OriginPolicy:
        """Return the `origin_policy` of an operation at the document's own server."""
        return self.origin_policy(Operation("GET", "/", servers=self.provenance.servers))

    def origin_policy(self, operation: Operation) -> OriginPolicy:
        """Return where an operation is called, and where credentials may go; CallError."""
        return OriginPolicy(
            server_url(operation, self.settings),
            self.origins,
            self.provenance.origin,
            lenient=self.settings.anonymous,
            client_adds_credentials=self.client_adds_credentials,
            is_named=self.settings.credential_origins is not None,
        )

    @property
    def origins(self) -> frozenset[str]:
        """The origins that may get credentials."""
        if self._origins is None:
            self._origins = credential_origins(self.settings)
        if self._origins is None:
            with suppress(CallError):
                origin = origin_of(document_server_url(self.provenance.servers, self.settings))
                # The user chose the URL of a document, not the servers that it names today.
                if self.provenance.origin in ("", origin):
                    self._origins = frozenset({origin})
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
        reason = "tools share connections and credentials and cannot be pickled or copied"
        raise NotPicklableError(f"{reason}; load or import them in each process.")


def make_settings(source: Any, overrides: Mapping[str, object] | None = None) -> Settings:
    """Return settings from a mapping or None, with single settings over them.

    Raises:
        SettingsError: It is another value, or a setting is unknown or wrong.
    """
    source = None if source is DEFAULT_SETTINGS else source
    if source is None and not overrides:
        defaults: Settings = DEFAULT_SETTINGS
        return defaults
    # Start-up time: the defaults need no pydantic.
    from openapi_tools.settings import Settings

    if isinstance(source, Settings) and not overrides:
        return source
    for name in overrides or ():
        if name not in Settings.model_fields:
            raise SettingsError(describe_unknown_setting(name, _ARGUMENTS))
    if isinstance(source, Settings):
        source = {name: getattr(source, name) for name in source.model_fields_set}
    elif source is not None and not isinstance(source, Mapping):
        form = "Settings(timeout=10), or a dict of settings"
        raise SettingsError(f"settings: expected {form}, not {type_name(source)}.")
    return Settings(**check_keys(source, None, "settings") | dict(overrides or ()))


def add_default_settings(settings: Settings, **defaults: Any) -> Settings:
    """Return settings with defaults for those that the user did not set."""
    values = {name: getattr(settings, name) for name in getattr(settings, "model_fields_set", ())}
    missing = {name: value for name, value in defaults.items() if values.get(name) is None}
    return make_settings(values | missing)


def _use_client_address(settings: Settings, client: Any, servers: tuple[Server, ...]) -> Settings:
    # The address of a user's client counts where the document has none.
    base_url = str(getattr(client, "base_url", ""))
    if "://" not in base_url or settings.base_url is not None:
        return settings
    with suppress(CallError):
        document_server_url(servers, settings)
        return settings
    at_client = add_default_settings(settings, base_url=base_url)
    # The document's server may have a path without a host: `/v1`.
    operation = Operation("GET", "/", servers=servers)
    whole_url = base_url_with_server_path(operation, at_client)
    return add_default_settings(settings, base_url=whole_url) if whole_url else at_client


def open_session(
    settings: Settings | None = None,
    *,
    credentials: Mapping[str, Any] | None = None,
    schemes: Mapping[str, SecurityScheme] | None = None,
    client: Client | None = None,
    provenance: Provenance | None = None,
) -> Session:
    """Return a session, which connects when a tool is called; errors are as of `load_tools`."""
    provenance = provenance or Provenance()
    settings = _use_client_address(make_settings(settings), client, provenance.servers)
    session = Session(
        settings=settings,
        redactor=Redactor(),
        provenance=provenance,
        schemes=schemes or {},
        client=client,
        client_adds_credentials=has_identity(client),
        recorder=ExchangeRecorder(settings.record) if settings.record is not None else None,
    )
    if credentials is not None:
        session.add_credentials(credentials)
    if client is not None or settings.http_cache:
        _ = session.sender  # raises for an unusable client or a missing extra
    return session


def has_identity(client: Client | None) -> bool:
    """Whether a client of the user's sends credentials or other headers by itself."""
    if getattr(client, "auth", None) is not None:  # a class, which is refused later, has one too
        return True
    return any(name.lower() not in _USUAL_HEADERS for name in getattr(client, "headers", ()))
