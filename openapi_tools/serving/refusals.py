"""What a server refuses: counted by reason, and logged within limits.

Anyone can cause refusals without end, so the number of log lines is bounded; the counter has all.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Callable

Reason = Literal[
    "no_token",
    "two_tokens",
    "token_malformed",
    "token_unknown",
    "token_key",
    "token_signature",
    "token_issuer",
    "token_audience",
    "token_expired",
    "token_claims",
    "token_scope",
    "token_unchecked",
    "hidden_tool",
    "unknown_tool",
    "resource",
    "login",
    "login_user",
    "login_form",
]
"""Why something is refused: the values of a metric's label, which clients cannot extend."""
REASONS: tuple[Reason, ...] = get_args(Reason)

# Enough to see who and why; a scanner would fill the disk.
_LINES, _WINDOW = 10, 60.0  # lines of a reason in so many seconds
_LONGEST = 300
_ORDINARY = ("no_token", "token_expired")  # how clients learn that they must log in

logger = logging.getLogger("openapi_tools.serving")


@dataclass
class _Window:
    began: float = field(default_factory=time.monotonic)
    lines: int = 0
    left_out: int = 0


class Refusals:
    """Counts refusals with `count` and logs them."""

    def __init__(self) -> None:
        self.count: Callable[[Reason], object] = lambda _: None
        self._windows: dict[Reason, _Window] = {}

    def note(self, reason: Reason, message: str) -> None:
        """Count a refusal, and log it unless many of the same reason were logged already."""
        self.count(reason)
        window = self._windows.get(reason)
        if window is None or time.monotonic() - window.began >= _WINDOW:
            self._close_window(reason)
            window = self._windows[reason] = _Window()
        if window.lines == _LINES:
            window.left_out += 1
            return
        window.lines += 1
        # It may quote a client, so line ends and control characters are escaped.
        level = logging.INFO if reason in _ORDINARY else logging.WARNING
        logger.log(level, "refused (%s): %s", reason, ascii(message[:_LONGEST])[1:-1])

    def flush(self) -> None:
        """Log how many refusals were not logged."""
        for reason in [*self._windows]:
            self._close_window(reason)

    def _close_window(self, reason: Reason) -> None:
        window = self._windows.pop(reason, None)
        if window is not None and window.left_out:
            seconds = time.monotonic() - window.began
            logger.warning("refused (%s): %d more in %.0f s", reason, window.left_out, seconds)
