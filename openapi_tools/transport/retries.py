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
from typing import TYPE_CHECKING, Any

from openapi_tools.http_rules import repeats
from openapi_tools.observability.observers import current

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx
    from tenacity import RetryCallState

    from openapi_tools.errors import CallError

_LONGEST_ASKED = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")
RETRIED_STATUSES = frozenset({429, 502, 503, 504})
_UNSENT = 2
"""How often a call is tried again that never left; what is refused now may be up in a moment."""
_FIRST_WAIT = 0.1
_LONGEST_WAIT = 8.0
_SAVED = 10.0
_PER_CALL = 0.1


@dataclass(slots=True)
class Outcome:
    """How an attempt ended.

    Attributes:
        answer: What the server said, an `Answer`; None when it did not come to that.
        error: Why not.
        unsent: Nothing of the request left.
        stale: It was sent on a connection kept from an earlier call, which was closed before an
            answer began: most likely before the request came.
    """

    answer: Any = None
    error: CallError | None = None
    unsent: bool = False
    stale: bool = False

    @property
    def status(self) -> int:
        """The status of the answer; 0 for none."""
        return 0 if self.answer is None else int(self.answer.status)


class Budget:
    """How many further attempts a toolset's calls may make, lest failures multiply.

    Every call adds a tenth, every further attempt takes one; at most ten are saved.
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = _SAVED

    def earn(self) -> None:
        """Note a call."""
        self._left = min(self._left + _PER_CALL, _SAVED)

    def spend(self) -> bool:
        """Take a further attempt, if there is one left."""
        if self._left < 1:
            return False
        self._left -= 1
        return True


@dataclass(frozen=True, slots=True)
class Rule:
    """When a call is tried again.

    Attributes:
        request: What is sent.
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

    def takes(self, outcome: Outcome, attempt: int) -> bool:
        """Tell whether there may be another attempt.

        Args:
            outcome: Of the last one.
            attempt: Its number, from 1.
        """
        if outcome.unsent:
            return attempt <= max(_UNSENT, self.retries)
        repeatable = self.keyed or repeats(self.request)
        if outcome.stale and repeatable and attempt == 1:
            return True
        if not repeatable or attempt > self.retries:
            return False
        error = outcome.error
        broken = error is not None and error.kind == "connection"
        hopeless = error is not None and error.facts.get("retryable") is False
        return (broken and not hopeless) or outcome.status in RETRIED_STATUSES

    def wait(self, outcome: Outcome, jitter: float) -> float:
        """Return the seconds until the next attempt.

        Args:
            outcome: Of the last one.
            jitter: What it is when nobody asks for more.
        """
        if outcome.stale:
            return 0.0
        asked = None if outcome.answer is None else retry_after(outcome.answer.headers)
        return jitter if asked is None else asked + jitter * 0.1

    def fits(self, wait: float) -> bool:
        """Tell whether there is time and budget for another attempt, and take it."""
        now = asyncio.get_running_loop().time()
        return now + wait < self.deadline and self.budget.spend()


async def again(attempt: Callable[[], Awaitable[Outcome]], first: Outcome, rule: Rule) -> Outcome:
    """Return the outcome of the last attempt.

    Args:
        attempt: Sends the request.
        first: The outcome of the first attempt, which was made.
        rule: Says whether there is another.
    """
    import tenacity

    jitter = tenacity.wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def outcome_of(state: RetryCallState) -> Outcome:
        found: Outcome = state.outcome.result()  # type: ignore[union-attr] # it has ended
        return found

    def told(state: RetryCallState) -> None:
        outcome = outcome_of(state)
        kind = "" if outcome.error is None else outcome.error.kind
        asked = None if outcome.answer is None else retry_after(outcome.answer.headers)
        current().retry(
            state.upcoming_sleep,
            status=outcome.status or None,
            error_type=kind,
            retry_after=asked,
        )

    async def next_attempt() -> Outcome:
        return first if retrying.statistics["attempt_number"] == 1 else await attempt()

    retrying = tenacity.AsyncRetrying(
        retry=lambda state: rule.takes(outcome_of(state), state.attempt_number),
        wait=lambda state: rule.wait(outcome_of(state), jitter(state)),
        stop=lambda state: not rule.fits(state.upcoming_sleep),
        before_sleep=told,
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
        now: Seconds since the epoch; the present when None.

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
