"""openapi-core's checks of requests, answers and documents.

The mock uses them for requests, `Settings(check_answers=True)` for answers, `lint` for documents.
Loading and calling do not need them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    import httpx

    from openapi_tools.openapi_core.exchange_check import Judge
    from openapi_tools.transport.sender import Answer


def make_checker(
    document: Mapping[str, Any] | Callable[[], Mapping[str, Any]], *, base_url: str | None = None
) -> Callable[[httpx.Request, Answer], list[str]]:
    """Return a function that checks answers against a document, one line for each difference.

    It never raises and opens no file or connection. Its first call imports openapi-core; each call
    costs 1 to 20 ms.

    Args:
        document: A parsed document of any version, or a function that returns it at the first
            answer. A Swagger 2.0 document is reported as not judged.
        base_url: `Settings.base_url`, where it replaces the document's servers.
    """
    judges: list[Judge] = []

    def check(request: httpx.Request, answer: Answer) -> list[str]:
        if not judges:
            from openapi_tools.openapi_core.exchange_check import Judge

            base_path = None if base_url is None else urlsplit(base_url).path
            judges.append(Judge(document() if callable(document) else document, base_path))
        return judges[0].answer(request, answer.status, answer.headers, answer.content)

    return check
