"""Checks of exchanges, without importing openapi-core before the first one."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openapi_tools.errors import missing_extra_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from openapi_tools.conformance.exchange_check import ExchangeChecker
    from openapi_tools.transport import APIResponse

    Node = Mapping[str, Any]


def make_response_check(
    document: Node | Callable[[], Mapping[str, Any]],
    *,
    base_url: str | Callable[[], str | None] | None = None,
) -> Callable[[httpx.Request, APIResponse], list[str]]:
    """Return a function that checks responses against a document, one line for each difference.

    It never raises and opens no file or connection. Its first call imports openapi-core; each call
    costs 1 to 20 ms. `base_url` overrides the document's servers. Functions return both at the
    first response. The document has the form of OpenAPI 3.

    Raises:
        MissingExtraError: The extra `testing` is not installed.
    """
    if find_spec("openapi_core") is None:
        raise missing_extra_error("openapi_core", "testing")
    checkers: list[ExchangeChecker] = []

    def check(request: httpx.Request, response: APIResponse) -> list[str]:
        if not checkers:
            address = base_url() if callable(base_url) else base_url
            base_path = None if address is None else urlsplit(address).path
            checkers.append(
                make_exchange_checker(document() if callable(document) else document, base_path)
            )
        return checkers[0].response_errors(
            request, response.status, response.headers, response.content
        )

    return check


def make_exchange_checker(document: Node, base_path: str | None) -> ExchangeChecker:
    """Return a checker of requests and responses; it imports openapi-core, for 300 ms."""
    # Start-up time, and an optional extra.
    from openapi_tools.conformance.exchange_check import ExchangeChecker

    return ExchangeChecker(document, base_path)
