"""How long a server asks callers to wait.

Spec: RFC 9110, section 10.2.3 (Retry-After).
"""

from __future__ import annotations

import math
import re
import time
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

_LONGEST = 86_400.0
_SECONDS = re.compile(r"\d+(?:\.\d+)?")


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
        return min(float(text), _LONGEST)
    try:
        date = parsedate_to_datetime(text[:60])
        end = date.replace(tzinfo=date.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    wait = end - (time.time() if now is None else now)
    return min(max(wait, 0.0), _LONGEST) if math.isfinite(wait) else None
