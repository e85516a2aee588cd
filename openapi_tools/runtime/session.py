"""What the tools of one toolset share when they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from openapi_tools.model import SecurityScheme
    from openapi_tools.runtime.auth import Credentials
    from openapi_tools.runtime.send import Answer, Sender
    from openapi_tools.runtime.settings import Settings


@dataclass(slots=True, eq=False)
class Session:
    """What the tools of one toolset share when they are called.

    Attributes:
        settings: As given by the user.
        credentials: As given by the user.
        sender: Holds the connections.
        check_answer: Compares an answer with the document; gives what does not fit.
        mounts: How many coordinators hold tools of it; the last one to let go closes it.
    """

    settings: Settings
    credentials: Credentials
    sender: Sender
    check_answer: Callable[[httpx.Request, Answer], list[str]] | None = None
    mounts: int = 0


def open_session(
    settings: Settings | None = None,
    *,
    credentials: Mapping[str, Any] | None = None,
    schemes: Mapping[str, SecurityScheme] | None = None,
    client: httpx.AsyncClient | None = None,
) -> Session:
    """Return a session; it connects when a tool is called.

    Args:
        settings: How the API is called.
        credentials: By scheme name.
        schemes: The document's security schemes.
        client: A client of the user's, for its transport, authentication and headers.

    Raises:
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: `client` is not an `httpx.AsyncClient`.
    """
    from openapi_tools.runtime.auth import Credentials
    from openapi_tools.runtime.send import Sender
    from openapi_tools.runtime.settings import Settings

    settings = settings or Settings()
    known = Credentials(credentials or {}, schemes or {})
    return Session(settings, known, Sender(settings, client))
