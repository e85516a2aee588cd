"""A second opinion: openapi-core on whether a request or an answer fits its document.

Loading, building and reading do not need it. The mock asks it about requests, and
`Settings(check_answers=True)` about answers.
"""

from __future__ import annotations

from openapi_tools.judge.opinion import Judge
from openapi_tools.judge.references import follow
from openapi_tools.judge.routes import Route, find_route

__all__ = ["Judge", "Route", "find_route", "follow"]
