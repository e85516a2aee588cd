"""Which calls are tried again, and when.

Spec: RFC 9110, sections 9.2.2 (idempotent methods) and 10.2.3 (Retry-After).
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from dataclasses import dataclass
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import tenacity

from openapi_tools.http_rules import repeats
from openapi_tools.observability.observers import current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    from tenacity import RetryCallState

    from openapi_tools.errors import CallError
    from openapi_tools.transport.exchange import Answer

_LONGEST_ASKED = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_UNSENT = 2
"""How often a call that never left is tried again: a refusing server may be up in a moment."""
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 8.0
_SAVED = 10.0
_PER_CALL = 0.1


@dataclass(slots=True)
class Outcome:
    """How an attempt ended.

    Attributes:
        answer: The server's answer; None without one.
        error: The error without an answer.
        unsent: Nothing of the request left.
        stale: It was sent on a connection kept from an earlier call, which was closed before an
            answer began: most likely before the request came.
    """

    answer: Answer | None = None
    error: CallError | None = None
    unsent: bool = False
    stale: bool = False

    @property
    def status(self) -> int:
        """The status of the answer; 0 for none."""
        return 0 if self.answer is None else self.answer.status

    @property
    def asked_wait(self) -> float | None:
        """The seconds that the server asks to wait, if it does."""
        return None if self.answer is None else retry_after(self.answer.headers)


class Budget:
    """How many further attempts a toolset's calls may make, lest failures multiply.

    Every call adds a tenth, every further attempt takes one; at most ten are saved.
    """

    def __init__(self) -> None:
        self._left = _SAVED

    def earn(self) -> None:
        """Add a call's share."""
        self._left = min(self._left + _PER_CALL, _SAVED)

    def spend(self) -> bool:
        """Take a further attempt, if there is one left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(frozen=True, slots=True)
class RetryRule:
    """When a call is tried again.

    Attributes:
        request: The request of the call.
        retries: How often at most.
        keyed: It carries an idempotency key, so that a second one does nothing twice.
        deadline: By the loop's clock.
        budget: Of the toolset.
    """

    request: httpx.Request
    retries: int
    keyed: bool
    deadline: float
    budget: Budget

    def allows(self, outcome: Outcome, attempt: int) -> bool:
        """Whether there may be another attempt after this one, counted from 1."""
        if outcome.unsent:
            return attempt <= max(_UNSENT, self.retries)
        repeatable = self.keyed or repeats(self.request)
        if outcome.stale and repeatable and attempt == 1:
            return True
        if not repeatable or attempt > self.retries:
            return False
        error = outcome.error
        if error is None:
            return outcome.status in RETRIED_STATUSES
        return error.kind == "connection" and error.facts.get("retryable") is not False

    def fits(self, wait: float) -> bool:
        """Whether there is time and budget for another attempt; takes it from the budget."""
        now = asyncio.get_running_loop().time()
        return now + wait < self.deadline and self.budget.spend()


async def retried(
    attempt: Callable[[], Awaitable[Outcome]], first: Outcome, rule: RetryRule
) -> Outcome:
    """Return the outcome of the last attempt.

    Args:
        attempt: Sends the request.
        first: The outcome of the first attempt, which was made.
        rule: Decides on further ones.
    """
    jitter = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def outcome_of(state: RetryCallState) -> Outcome:
        found: Outcome = state.outcome.result()  # type: ignore[union-attr] # it has ended
        return found

    def wait(state: RetryCallState) -> float:
        outcome, asked = outcome_of(state), outcome_of(state).asked_wait
        if outcome.stale:
            return 0.0
        return jitter(state) if asked is None else asked + jitter(state) * 0.1

    def tell(state: RetryCallState) -> None:
        outcome = outcome_of(state)
        current().retry(
            state.upcoming_sleep,
            status=outcome.status or None,
            error_type="" if outcome.error is None else outcome.error.kind,
            retry_after=outcome.asked_wait,
        )

    async def next_attempt() -> Outcome:
        return first if retrying.statistics["attempt_number"] == 1 else await attempt()

    retrying = tenacity.AsyncRetrying(
        retry=lambda state: rule.allows(outcome_of(state), state.attempt_number),
        wait=wait,
        stop=lambda state: not rule.fits(state.upcoming_sleep),
        before_sleep=tell,
        retry_error_callback=outcome_of,
        sleep=asyncio.sleep,
    )
    outcome: Outcome = await retrying(next_attempt)
    return outcome


def retry_after(headers: httpx.Headers, *, now: float | None = None) -> float | None:
    """Return how long the server asks us to wait.

    Spec: RFC 9110, section 10.2.3.

    Args:
        headers: Of the answer.
        now: Seconds since the epoch; the present by default.

    Returns:
        Seconds, between 0 and a day; None when the header is absent or unreadable.
    """
    text = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(text):
        return min(float(text), _LONGEST_ASKED)
    try:
        date = parsedate_to_datetime(text[:60])
        end = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = end - (time.time() if now is None else now)
    return min(max(wait, 0.0), _LONGEST_ASKED) if math.isfinite(wait) else None
