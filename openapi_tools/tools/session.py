"""The session that the tools of one document share: settings, credentials, connections."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import Credentials, OriginPolicy
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.errors import CallError, NotPicklableError, SettingsError, counted
from openapi_tools.forks import importing
from openapi_tools.http_rules import names_credential, parameter_key
from openapi_tools.model import Operation, SecurityScheme, Server, Skipped
from openapi_tools.observability import Observers
from openapi_tools.options import (
    close_names,
    credentials_of,
    describe_unknown_setting,
    is_meant,
    kind_of,
    members_of,
    why_skipped,
)
from openapi_tools.redaction import Redactor, excerpt
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
    from openapi_tools.result import Changes
    from openapi_tools.settings import Settings
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.tools.toolset import Toolset
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


@dataclass(frozen=True, slots=True, eq=False)
class About:
    """Facts about a toolset's document, some of them found when they are asked for."""

    skipped: tuple[Skipped, ...] = ()
    warnings: Callable[[], tuple[str, ...]] = tuple
    security_schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    counts: Callable[[], dict[str, int]] = dict
    document: Callable[[], Any] = lambda: None
    bundled: Callable[[], Any] = lambda: None
    index: Any = None  # the place where its search index is kept
    make: Any = None  # makes the functions of a toolset that reaches another
    closes: tuple[Callable[[], Awaitable[None]], ...] = ()


@dataclass(slots=True, eq=False)
class PerCall:
    """Options of one call beside its arguments and its context."""

    wait: float | None = None
    address: str = ""  # of a page or of long work, in place of the operation's own
    is_page: bool = False
    linked: bool = False  # the page before it named its address
    is_poll: bool = False
    after: Any = None  # set by the call
    most_bytes: int = 0  # of the answer, for a read before a write; 0 for what the settings say
    changes: Changes | None = None  # of a write that was looked at before


PLAIN = PerCall()  # the options of a call with arguments and context only


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
    is_placed: bool = False  # the server has answered with another status than 404
    served: Any = None  # a server's facts about its API
    mounts: int = 0  # coordinators that hold its tools; the last one closes it
    toolset: Callable[[], Toolset | None] | None = None  # the one that was made last
    unions: tuple[Callable[[], Toolset | None], ...] = ()  # those that it is part of
    _observers: Observers | None = None
    _origins: frozenset[str] | None = None
    _sender: Sender | None = None

    @property
    def observers(self) -> Observers:
        """The subscribers and the telemetry of calls."""
        with importing:  # tools may be called from several threads
            if self._observers is None:
                self._observers = Observers(
                    lambda operation: server_url(operation, self.settings), self.redactor.text
                )
            return self._observers

    @property
    def sender(self) -> Sender:
        """The sender with the connections, made for the first call."""
        with importing:
            from openapi_tools.transport import Sender

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
        return self.credentials.own_parameters | {parameter_key("header", name) for name in named}

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

    def offered(self, tool: OperationTool) -> Iterable[OperationTool] | None:
        """Return the tools of this session that are offered beside one of them."""
        for union in (found for known in self.unions if (found := known()) is not None):
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


def tool_named(
    tools: Mapping[str, OperationTool], typed: object, skipped: Iterable[Skipped]
) -> OperationTool:
    """Return the tool that a user means by its name, its operationId or `GET /path`; KeyError."""
    if isinstance(typed, str) and typed in tools:
        return tools[typed]
    found = [tool for tool in tools.values() if is_meant(typed, tool)]
    if len(found) > 1:
        names = " and ".join(tool.name for tool in found)
        raise KeyError(f"{excerpt(repr(typed), 100)} is the operationId of {names}; name one.")
    if not found:
        raise KeyError(unknown_tool(typed, tools, skipped))
    return found[0]


def unknown_tool(name: object, tools: Iterable[str], skipped: Iterable[Skipped] = ()) -> str:
    """Return the message for an unknown tool: why it was skipped, or the nearest names."""
    names, shown = list(tools), f"no tool is called {excerpt(repr(name), 100)}"
    if why := why_skipped(name, skipped):
        return f"{shown}: {why}"
    close = close_names(name, names)
    return shown + (f" among {counted(len(names), 'tool')}." if close == "." else close)
