"""Answers compared with the document, for `Settings(check_answers=True)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import httpx

    from openapi_tools.judge import Judge
    from openapi_tools.runtime.send import Answer


def make_checker(
    document: Mapping[str, Any] | Callable[[], Mapping[str, Any]], *, base_url: str | None = None
) -> Callable[[httpx.Request, Answer], list[str]]:
    """Return a function that compares an answer with what the document says of it.

    The function returns what disagrees, one line each. It never raises, and never opens a file or
    a connection. openapi-core is imported on its first call, and costs 1 to 20 ms a call.

    Args:
        document: A parsed document of any version, or a function that gives it when the first
            answer comes; of Swagger 2.0 the function says that it cannot be judged.
        base_url: `Settings.base_url`, when that replaces the document's servers.
    """
    judges: list[Judge] = []

    def check(request: httpx.Request, answer: Answer) -> list[str]:
        if not judges:
            from openapi_tools.judge import Judge

            root = document() if callable(document) else document
            judges.append(Judge(root, base_path=_path(base_url)))
        return judges[0].answer(request, answer.status, answer.headers, answer.content)

    return check


def _path(base_url: str | None) -> str | None:
    """Return the path of a base URL; None where the document's servers hold."""
    from urllib.parse import urlsplit

    return None if base_url is None else urlsplit(base_url).path
