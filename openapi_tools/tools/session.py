"""State shared by the tools of a toolset: settings, credentials, connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.auth.credentials import Credentials, OriginPolicy
from openapi_tools.errors import CallError, NotPicklableError
from openapi_tools.forks import ForkLock
from openapi_tools.observability.observers import Observers
from openapi_tools.options import credentials_of, settings_of
from openapi_tools.redaction import Redactor
from openapi_tools.requests.server_urls import named_origins, origin_of, server_url, url_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx
    import httpx2

    from openapi_tools.model import Operation, SecurityScheme, Server
    from openapi_tools.settings import Settings
    from openapi_tools.transport.sender import Answer, Sender

_USUAL_HEADERS = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a document.

    Attributes:
        servers: The document's own; by default credentials are for the first of them.
        public: Whether it came from a public address.
        origin: Of the URL that it was fetched from; empty for files and values.
    """

    servers: tuple[Server, ...] = ()
    public: bool = False
    origin: str = ""


@dataclass(slots=True, eq=False)
class Session:
    """What the tools of one toolset share when they are called.

    Attributes:
        client_brings: Whether the user's client sends credentials itself.
        check_answer: Compares an answer with the document and returns the differences.
        is_placed: Whether the server has answered with another status than 404.
        mounts: Number of coordinators that hold its tools; the last one closes it.
    """

    settings: Settings
    credentials: Credentials
    redactor: Redactor
    observers: Observers
    provenance: Provenance = field(default_factory=Provenance)
    client: httpx.AsyncClient | httpx2.AsyncClient | None = None
    client_brings: bool = False
    check_answer: Callable[[httpx.Request, Answer], list[str]] | None = None
    is_placed: bool = False
    mounts: int = 0
    _origins: frozenset[str] | None = None
    _sender: Sender | None = None
    _turn: ForkLock = field(default_factory=ForkLock)

    @property
    def sender(self) -> Sender:
        """The sender with the connections, made for the first call."""
        if self._sender is not None:
            return self._sender
        from openapi_tools.transport.sender import Sender

        with self._turn:  # tools may be called from several threads
            if self._sender is None:
                self._sender = Sender(self.settings, self.client, public=self.provenance.public)
            return self._sender

    def bounds(self, operation: Operation) -> OriginPolicy:
        """Return where an operation is called, and where credentials may go.

        Raises:
            CallError: It has no usable server.
        """
        return self._bounds_at(server_url(operation, self.settings))

    def home(self) -> OriginPolicy:
        """Return the bounds of the document's own server.

        Raises:
            CallError: It has no usable one.
        """
        return self._bounds_at(
            self.settings.base_url or url_of(self.provenance.servers, self.settings)
        )

    def _bounds_at(self, server: str) -> OriginPolicy:
        settings = self.settings
        return OriginPolicy(
            server,
            self.origins,
            self.provenance.origin,
            lenient=settings.anonymous or settings.dry_run,
            client_brings=self.client_brings,
        )

    @property
    def origins(self) -> frozenset[str]:
        """The origins that may get credentials."""
        if self._origins is None:
            self._origins = self._for_credentials()
        return self._origins

    def _for_credentials(self) -> frozenset[str]:
        if named := named_origins(self.settings):
            return named
        try:
            own = origin_of(url_of(self.provenance.servers, self.settings))
        except CallError:
            return frozenset()
        # The user chose the URL of a document, not the servers that it names today.
        return frozenset({own}) if self.provenance.origin in ("", own) else frozenset()

    def __reduce__(self) -> Any:
        reason = "tools share connections and credentials, which are neither pickled nor copied"
        raise NotPicklableError(f"{reason}; load or import them anew where they are needed.")


def open_session(
    settings: Settings | None = None,
    *,
    credentials: Mapping[str, Any] | None = None,
    schemes: Mapping[str, SecurityScheme] | None = None,
    client: httpx.AsyncClient | httpx2.AsyncClient | None = None,
    provenance: Provenance | None = None,
) -> Session:
    """Return a session; it connects when a tool is called.

    Raises:
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: Settings or a client of another type.
        MissingExtraError: The settings ask for `transport="fast"`, and httptools is not installed.
    """
    settings, provenance, redactor = settings_of(settings), provenance or Provenance(), Redactor()
    known = Credentials(
        credentials_of(credentials), schemes or {}, redactor=redactor, ca_file=settings.ca_file
    )
    session = Session(
        settings,
        known,
        redactor,
        Observers(lambda operation: server_url(operation, settings), redactor.text),
        provenance,
        client=client,
        client_brings=brings_identity(client),
    )
    if client is not None or settings.transport == "fast":
        _ = session.sender  # raises for an unusable client or a missing extra
    return session


def brings_identity(client: httpx.AsyncClient | httpx2.AsyncClient | None) -> bool:
    """Tell whether a client of the user's sends credentials or other headers by itself."""
    if client is None:
        return False
    headers = getattr(client, "headers", ())
    if getattr(client, "auth", None) is not None:
        return True
    return any(name.lower() not in _USUAL_HEADERS for name in headers)
