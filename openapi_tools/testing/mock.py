"""An API that answers from its own document, without a network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import httpx

from openapi_tools.errors import SettingsError
from openapi_tools.openapi_core import Judge, find_route, follow
from openapi_tools.testing.answers import choose_response, encode, headers_of

Document = Mapping[str, Any]


def mock_client(
    document: Document | Callable[[], Document],
    *,
    judge: bool = True,
    problems: list[str] | None = None,
    base_path: str | None = None,
) -> httpx.AsyncClient:
    """Return a client whose requests are answered from a document.

    An operation answers with its lowest 2xx response (else `default`): the example that the
    document gives, otherwise a value made from the schema, the same one every time. Nothing
    leaves the process. A request that fits no operation gets 404.

    Args:
        document: A parsed document of any version, or a function that gives it when the first
            request comes.
        judge: Have openapi-core check every request against the document.
        problems: A list to which every problem that openapi-core finds is added, one line each.
            Lines that begin with `not judged` say what it could not check: Swagger 2.0 above all.
        base_path: What stands before the document's paths in the URLs that are requested; when
            None, whatever its servers say, or nothing.

    Raises:
        SettingsError: The document is neither; a toolset is none, but has one.
    """
    if not callable(document):
        _check_document(document)
    mock = _Mock(document, judge=judge, problems=problems, base_path=base_path)
    return _MockClient(transport=httpx.MockTransport(mock), auth=_Anyone())


class _MockClient(httpx.AsyncClient):
    """A client that knows the calls of a document, but cannot fetch the document itself."""

    fetches_documents = False


def _check_document(document: object) -> None:
    """Refuse what is no parsed document."""
    if not isinstance(document, Mapping):
        kind = type(document).__name__
        reason = f"a mock client answers from a parsed document, not {kind!r}"
        raise SettingsError(f"{reason}; give `toolset.document`.")


class _Anyone(httpx.Auth):
    """What lets calls without credentials through: a mock asks nobody who they are."""


class _Mock:
    """The handler behind a mock client."""

    def __init__(
        self,
        document: Document | Callable[[], Document],
        *,
        judge: bool,
        problems: list[str] | None,
        base_path: str | None,
    ) -> None:
        self.source = document
        self.problems = problems if problems is not None else []
        self.base_path = base_path
        self.judging = judge
        self.judge: Judge | None = None

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        """Judge a request and answer it."""
        await request.aread()
        if self.judge is None:
            document = self.source() if callable(self.source) else self.source
            _check_document(document)
            self.judge = Judge(document, base_path=self.base_path)
        if self.judging:
            self.problems += self.judge.request(request)
        return answer(request, self.judge.document, base_path=self.base_path)


def answer(
    request: httpx.Request, document: Document, *, base_path: str | None = None
) -> httpx.Response:
    """Return what a document shows as the answer to a request.

    Args:
        request: Only its method, URL and Accept header are looked at.
        document: A parsed document of any version.
        base_path: As in `mock_client`.
    """
    target = request.url.raw_path.decode("ascii")
    route = find_route(document, request.method, target, base_path=base_path)
    if route is None:
        detail = f"{request.method} {request.url.path}: the document has no such operation"
        return httpx.Response(404, json={"title": "Not Found", "detail": detail})
    status, response = choose_response(follow(document, route.operation.get("responses")), document)
    produces = route.operation.get("produces", document.get("produces"))
    media_type, content = encode(
        response, document, accept=request.headers.get("accept", ""), produces=produces
    )
    headers = headers_of(response, document)
    if status in (204, 205, 304):
        return httpx.Response(status, headers=headers)
    if media_type:
        headers["content-type"] = media_type
    return httpx.Response(status, headers=headers, content=content)
