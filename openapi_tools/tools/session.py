"""What the tools of one toolset share when they are called."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, NotPicklableError
from openapi_tools.forks import ForkLock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx
    import httpx2

    from openapi_tools.auth.credentials import Credentials, OriginPolicy
    from openapi_tools.model import Operation, SecurityScheme, Server
    from openapi_tools.observability.observers import Observers
    from openapi_tools.redaction import Redactor
    from openapi_tools.settings import Settings
    from openapi_tools.transport.sender import Answer, Sender

_USUAL_HEADERS = frozenset({"accept", "accept-encoding", "connection", "user-agent"})


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a document is at home, and where it came from.

    Attributes:
        servers: The document's own; credentials are for the first of them by default.
        public: It came from a public address.
        origin: Of the URL that it was fetched from, the one that credentials are for by default;
            empty where it is a file or a value of the user's.
    """

    servers: tuple[Server, ...] = ()
    public: bool = False
    origin: str = ""


@dataclass(slots=True, eq=False)
class Session:
    """What the tools of one toolset share when they are called.

    Attributes:
        settings: As given by the user.
        credentials: As given by the user.
        redactor: Knows the secrets.
        observers: Are told of calls.
        provenance: Where the document is at home, and where it came from.
        client_brings: A client of the user's says by itself who is calling.
        check_answer: Compares an answer with the document; gives what does not fit.
        is_placed: Its server has answered with another status than 404, so the address is right.
        mounts: How many coordinators hold tools of it; the last one to let go closes it.
    """

    settings: Settings
    credentials: Credentials
    redactor: Redactor
    observers: Observers
    provenance: Provenance = field(default_factory=Provenance)
    client_brings: bool = False
    check_answer: Callable[[httpx.Request, Answer], list[str]] | None = None
    is_placed: bool = False
    mounts: int = 0
    _origins: frozenset[str] | None = None
    _sender: Sender | None = None
    _turn: ForkLock = field(default_factory=ForkLock)

    @property
    def sender(self) -> Sender:
        """Holds the connections; made for the first call, since looking at tools needs none."""
        if self._sender is not None:
            return self._sender
        from openapi_tools.transport.sender import Sender

        with self._turn:  # tools may be called from several threads
            if self._sender is None:
                self._sender = Sender(self.settings, public=self.provenance.public)
            return self._sender

    def bounds(self, operation: Operation) -> OriginPolicy:
        """Return where an operation is called, and where credentials may go.

        Raises:
            CallError: It has no usable server.
        """
        from openapi_tools.requests.server_urls import server_url

        return self._bounds_at(server_url(operation, self.settings))

    def home(self) -> OriginPolicy:
        """Return the same for the document's own server.

        Raises:
            CallError: It has no usable one.
        """
        from openapi_tools.requests.server_urls import url_of

        return self._bounds_at(
            self.settings.base_url or url_of(self.provenance.servers, self.settings)
        )

    def _bounds_at(self, server: str) -> OriginPolicy:
        from openapi_tools.auth.credentials import OriginPolicy

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
        """Those that credentials may go to."""
        if self._origins is None:
            self._origins = self._for_credentials()
        return self._origins

    def _for_credentials(self) -> frozenset[str]:
        from openapi_tools.requests.server_urls import named_origins, origin_of, url_of

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
    from openapi_tools.auth.credentials import Credentials
    from openapi_tools.observability.observers import Observers
    from openapi_tools.options import credentials_of, settings_of
    from openapi_tools.redaction import Redactor
    from openapi_tools.requests.server_urls import server_url

    settings, provenance, redactor = settings_of(settings), provenance or Provenance(), Redactor()
    known = Credentials(
        credentials_of(credentials), schemes or {}, redactor=redactor, ca_file=settings.ca_file
    )
    return Session(
        settings,
        known,
        redactor,
        Observers(lambda operation: server_url(operation, settings), redactor.text),
        provenance,
        client_brings=brings_identity(client),
        _sender=_sender(settings, client, provenance),
    )


def _sender(
    settings: Settings,
    client: httpx.AsyncClient | httpx2.AsyncClient | None,
    provenance: Provenance,
) -> Sender | None:
    """Return what sends, where something may be wrong with it that is told before the first call.

    That is a client of the user's that cannot be used, and a package that is not installed.
    """
    if client is None and settings.transport != "fast":
        return None
    from openapi_tools.transport.sender import Sender

    return Sender(settings, client, public=provenance.public)


def brings_identity(client: httpx.AsyncClient | httpx2.AsyncClient | None) -> bool:
    """Tell whether a client of the user's sends credentials or other headers by itself."""
    if client is None:
        return False
    headers = getattr(client, "headers", ())
    if getattr(client, "auth", None) is not None:
        return True
    return any(name.lower() not in _USUAL_HEADERS for name in headers)
