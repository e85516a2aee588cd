"""Check requests and answers against a document with openapi-core."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from openapi_tools.openapi_core.adapters import (
    Decoders,
    SeenAnswer,
    media_type,
    see_request,
    style_decoders,
)
from openapi_tools.openapi_core.error_lines import (
    about_body,
    about_parameters,
    has_no_content,
    lines,
    shorten,
)
from openapi_tools.openapi_core.local_references import closed_path
from openapi_tools.openapi_core.routes import Route, find_route

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx

    from openapi_tools.transport.sender import Answer

_STATUS_WITHOUT_BODY = (204, 205, 304)


class Judge:
    """Checks exchanges against one document.

    It does not check the document itself (`lint` does), security requirements, or other documents;
    it fetches nothing. It never raises: a line that begins with `not judged` says what openapi-core
    could not check.

    Attributes:
        document: The parsed document.
        base_path: As in `find_route`.
    """

    def __init__(self, document: Mapping[str, Any], *, base_path: str | None = None) -> None:
        self.document = document
        self.base_path = base_path
        self._spec: Any = None

    def request(self, request: httpx.Request) -> list[str]:
        """Return what is wrong with a request whose body has been read; one line each."""
        return self._ask(request, self._request_errors)

    def answer(
        self, request: httpx.Request, status: int, headers: Mapping[str, str], content: bytes
    ) -> list[str]:
        """Return what is wrong with an answer; one line each.

        Args:
            request: What was asked.
            status: The answer's status.
            headers: The answer's headers, their names in any case (`httpx.Headers`).
            content: The answer's body, decoded.
        """
        seen = SeenAnswer(status, headers, content or None, media_type(headers))
        return self._ask(request, lambda *asked: self._answer_errors(seen, *asked))

    def _ask(
        self,
        request: httpx.Request,
        errors: Callable[[httpx.Request, Route], Iterator[Exception]],
    ) -> list[str]:
        """Return the errors as lines, each once."""
        if "swagger" in self.document:
            return ["not judged: openapi-core reads OpenAPI 3, this is a Swagger 2.0 document"]
        try:
            target = request.url.raw_path.decode("ascii")
            route = find_route(self.document, request.method, target, base_path=self.base_path)
            if route is None:
                return [f"{request.method} {request.url.path}: the document has no such operation"]
            # openapi-core warns about deprecated parameters and unknown schemes.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(dict.fromkeys(lines(errors(request, route))))
        except Exception as error:  # noqa: BLE001 -- a second opinion never stops a call
            return [shorten(f"not judged: openapi-core gave up ({type(error).__name__}: {error})")]

    def _request_errors(self, request: httpx.Request, route: Route) -> Iterator[Exception]:
        """Yield what is wrong with parameters and body."""
        seen = see_request(request, route, self.document)
        parameters = self._validator("RequestParameters", route).iter_errors(seen)
        yield from about_parameters(parameters, self.document)
        body = self._validator("RequestBody", route, seen.content_type).iter_errors(seen)
        yield from about_body(body, seen.content_type)

    def _answer_errors(
        self, answer: SeenAnswer, request: httpx.Request, route: Route
    ) -> Iterator[Exception]:
        """Yield what is wrong with status, headers and body."""
        if not isinstance(route.operation.get("responses"), Mapping):
            return
        seen = see_request(request, route, self.document)
        yield from self._validator("ResponseHeaders", route).iter_errors(seen, answer)
        if request.method == "HEAD" or answer.status_code in _STATUS_WITHOUT_BODY:
            return
        if answer.data is not None or not has_no_content(answer.status_code, route, self.document):
            kind = answer.content_type
            data = self._validator("ResponseData", route, kind).iter_errors(seen, answer)
            yield from about_body(data, kind)

    def _validator(self, part: str, route: Route, content_type: str = "") -> Any:
        """Return openapi-core's validator for one part of an exchange."""
        from openapi_core.deserializing.styles import StyleDeserializersFactory
        from openapi_core.validation import request, response

        version = "".join(str(self.document.get("openapi", "")).split(".")[:2])
        module = request if part.startswith("Request") else response
        make = getattr(module, f"V{version}{part}Validator", None)
        if make is None:
            message = f"it knows no version {self.document.get('openapi')!r}"
            raise LookupError(message)
        if self._spec is None:
            # Without a handler, Python writes its remarks about unions to standard error.
            logging.getLogger("openapi_core").addHandler(logging.NullHandler())
            self._spec = closed_path(self.document)
        return make(
            self._spec,
            path_finder_cls=partial(_Found, route),
            extra_media_type_deserializers=Decoders(content_type),
            style_deserializers_factory=StyleDeserializersFactory(
                make.schema_casters_factory, style_deserializers=style_decoders()
            ),
        )


class _Found:
    """A path finder for openapi-core that knows the route already."""

    def __init__(self, route: Route, spec: Any, **_more: object) -> None:
        self.route = route
        self.spec = spec

    def find(self, _method: str, _name: str) -> Any:
        """Return the operation."""
        from openapi_core.templating.datatypes import TemplateResult
        from openapi_core.templating.paths.datatypes import PathOperationServer

        item = self.spec / "paths" / self.route.path
        operation = item
        for key in self.route.pointer[2:]:
            operation /= key
        result = TemplateResult(self.route.path, dict(self.route.variables))
        return PathOperationServer(item, operation, None, result, None)


def make_checker(
    document: Mapping[str, Any] | Callable[[], Mapping[str, Any]], *, base_url: str | None = None
) -> Callable[[httpx.Request, Answer], list[str]]:
    """Return a function that checks answers against a document, for `check_answers=True`.

    The function returns one line for each difference. It never raises and opens no file or
    connection. Its first call imports openapi-core; each call costs 1 to 20 ms.

    Args:
        document: A parsed document of any version, or a function that returns it at the first
            answer. A Swagger 2.0 document is reported as not judged.
        base_url: `Settings.base_url`, where it replaces the document's servers.
    """
    judges: list[Judge] = []

    def check(request: httpx.Request, answer: Answer) -> list[str]:
        if not judges:
            root = document() if callable(document) else document
            judges.append(Judge(root, base_path=_path(base_url)))
        return judges[0].answer(request, answer.status, answer.headers, answer.content)

    return check


def _path(base_url: str | None) -> str | None:
    """Return the path of a base URL; None where the document's servers apply."""
    return None if base_url is None else urlsplit(base_url).path
