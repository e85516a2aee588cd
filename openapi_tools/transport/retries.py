"""Which failures of a call are retried, and after how long."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from openapi_tools.observability import current_observation
from openapi_tools.transport.exchange import APIResponse, SendFailure
from openapi_tools.transport.failures import retry_after

if TYPE_CHECKING:
    from openapi_tools.errors import CallError

# Not 500: it most often comes again, and the work may be half done. 429 and 503 may have
# `Retry-After` (RFC 9110, section 10.2.3; RFC 6585, section 4), 502 and 504 are a gateway's.
RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_RETRIES_UNSENT = 2  # of a call that was never sent: a server that refuses may be up in a moment
_FIRST_DELAY, _MOST_DOUBLINGS = 0.1, 10
_LONGEST_DELAY = 8.0


def retry_delay(
    outcome: APIResponse | SendFailure, number: int, *, retries: int, repeatable: bool
) -> float | None:
    """Return the seconds until another attempt; None if there should be none.

    Args:
        outcome: What the last attempt brought.
        number: How many attempts there were.
        retries: The setting.
        repeatable: A second request does nothing twice.
    """
    is_stale = isinstance(outcome, SendFailure) and outcome.is_stale
    if isinstance(outcome, SendFailure) and outcome.is_unsent:
        is_allowed = number <= max(_RETRIES_UNSENT, retries)
    elif is_stale and number == 1:
        # The server closed an idle connection: that says nothing about the next one.
        is_allowed = repeatable
    else:
        may_pass = isinstance(outcome, APIResponse) or _may_pass(outcome.error)
        is_allowed = repeatable and may_pass and number <= retries
    if not is_allowed:
        return None
    if is_stale:
        return 0.0
    longest = min(_FIRST_DELAY * 2 ** min(number - 1, _MOST_DOUBLINGS), _LONGEST_DELAY)
    # "Full jitter", from 0: with a fixed part clients stay in step.
    jitter = random.uniform(0, longest)  # noqa: S311 -- spreads clients, keeps no secret
    requested = _requested_delay(outcome)
    # A little later than asked for: clients that were refused together would come back
    # together.
    return jitter if requested is None else requested + jitter * 0.1


def _may_pass(error: CallError) -> bool:
    return error.kind == "connection" and error.facts.get("retryable") is not False


def report_retry(outcome: APIResponse | SendFailure, delay: float) -> None:
    """Report another attempt after the one that failed."""
    if isinstance(outcome, SendFailure):
        current_observation().report_retry(delay, error_type=outcome.error.kind)
    else:
        current_observation().report_retry(
            delay, status=outcome.status, retry_after=_requested_delay(outcome)
        )


def _requested_delay(outcome: APIResponse | SendFailure) -> float | None:
    return retry_after(outcome.headers) if isinstance(outcome, APIResponse) else None
