"""The state of one call, from checked arguments to its response."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import NOTHING, Credentials, Grant
from openapi_tools.tools.session import PLAIN, PerCall

if TYPE_CHECKING:
    import httpx

    from openapi_tools.redaction import Redactor
    from openapi_tools.responses.response_shape import ResponseShaper
    from openapi_tools.result import Changes


@dataclass(slots=True, eq=False)
class PreparedCall:
    """One call with its credentials."""

    arguments: dict[str, Any]
    credentials: Credentials
    redactor: Redactor
    key: str = ""  # for idempotency
    shaper: ResponseShaper | None = None
    grant: Grant = NOTHING
    request: httpx.Request | None = None
    own: PerCall = PLAIN
    wait: float | None = None
    whole: bool = False  # the answer has all items, for a program or of a page
    for_remote: bool = False  # the result leaves this machine
    user: str = ""
    after: Any = None
    changes: Changes | None = None
