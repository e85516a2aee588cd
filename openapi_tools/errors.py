"""Every exception of the package, and helpers that word parts of messages.

Loading and generating raise; calling a tool never does: its errors become error results.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from shlex import quote
from typing import TYPE_CHECKING, Literal, TypeVar, get_args
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ErrorType = Literal[
    "invalid_input",
    "connection",
    "timeout",
    "protocol",
    "decode",
    "too_large",
    "redirect",
    "auth",
    "rate_limited",
    "http",
    "credentials",
    "denied",
]
"""The types of error in a result, for programs to act on."""
ERROR_TYPES: tuple[str, ...] = get_args(ErrorType)
_DISTRIBUTION = "openapi-tools"


class OpenAPIToolsError(Exception):
    """Any error of this package.

    Attributes:
        reason: The error and what to do, without the location.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class DocumentError(OpenAPIToolsError):
    """Something in a document is wrong.

    Attributes:
        source: File or URL of the document; empty when it was passed as a value.
        pointer: JSON Pointer of the place, `""` for the whole document (RFC 6901).
    """

    def __init__(self, reason: str, *, source: str = "", pointer: str = "") -> None:
        super().__init__(reason)
        self.source = source
        self.pointer = pointer

    def __str__(self) -> str:
        pointer = f"#{self.pointer}" if self.pointer else ""
        return f"{self.source + pointer or 'document'}: {self.reason}"


class InvalidDocument(DocumentError):  # noqa: N818 -- the names are public
    """The document is not an OpenAPI document, or violates the rules of its version."""


class InvalidOverlay(DocumentError):  # noqa: N818 -- as above
    """An overlay violates the Overlay Specification, or does not match the document.

    `source` and `pointer` are of the overlay.
    """


class InvalidCases(DocumentError):  # noqa: N818 -- as above
    """Cases of an evaluation break their format, name unknown tools, or can never pass.

    `source` and `pointer` are of the file of cases.
    """


class UnresolvableReference(DocumentError):  # noqa: N818 -- as above
    """A `$ref` points to nothing, in a cycle, or where it may not."""


class UnsupportedFeature(DocumentError):  # noqa: N818 -- as above
    """Legal OpenAPI that this package does not handle; docs/limits.md lists what and why."""


class SourceError(OpenAPIToolsError):
    """The document could not be read at all: no such file, no response, too large.

    Attributes:
        source: File or URL that was requested.
        passing: Its server could not be reached or failed; a later attempt may succeed.
    """

    def __init__(self, reason: str, *, source: str = "", passing: bool = False) -> None:
        super().__init__(reason)
        self.source = source
        self.passing = passing

    def __str__(self) -> str:
        return f"{self.source}: {self.reason}" if self.source else self.reason


class InputError(OpenAPIToolsError):
    """The model's input is not valid for the tool; `reason` has its values and the allowed ones.

    Attributes:
        pointer: JSON Pointer into the input, for instance `/limit`.
    """

    def __init__(self, reason: str, *, pointer: str = "") -> None:
        super().__init__(reason)
        self.pointer = pointer

    def __str__(self) -> str:
        return f"{self.pointer}: {self.reason}" if self.pointer else self.reason


class CallError(OpenAPIToolsError):
    """A call failed; `execute` turns it into an error result.

    Attributes:
        kind: The result's error type, for instance `"timeout"`.
        reason: For the model: what happened and what to try.
        facts: More properties of the result's `error`, for instance `{"status": 404}`.
        attempts: How many attempts there were to send the request; 0 for none.
        path: The local file that the reason names; empty for none. Remote clients see only
            its name.
    """

    def __init__(self, kind: ErrorType, reason: str, **facts: object) -> None:
        super().__init__(reason)
        self.kind = kind
        self.facts = facts
        self.attempts = 0
        self.path = ""

    def copy(self) -> CallError:
        """Return an equal error, for another call that fails for the same reason."""
        error = CallError(self.kind, self.reason, **self.facts)
        error.path = self.path
        return error

    def leave_out_folder(self) -> None:
        """Name the file in the reason without its folder."""
        if self.path:
            name = self.path.replace("\\", "/").rpartition("/")[2]
            for spelling in (self.path, repr(self.path)[1:-1]):
                self.reason = self.reason.replace(spelling, name)


class DeniedError(CallError):
    """A guardrail refuses a call; raise it to tell the model why."""

    def __init__(self, reason: str) -> None:
        super().__init__("denied", reason)


class PendingApproval(DeniedError):  # noqa: N818 -- no failure yet
    """A call waits for an approval that comes with a later request.

    An `approve` raises it; a program pauses then, and goes on with that request.
    """


class SettingsError(OpenAPIToolsError):
    """Settings that are wrong, contradict each other or the document."""


class CredentialsError(SettingsError):
    """Credentials do not match the document or are missing; the message never has their values.

    Attributes:
        scheme: Name of the security scheme.
    """

    def __init__(self, reason: str, *, scheme: str = "") -> None:
        super().__init__(reason)
        self.scheme = scheme


class MissingExtraError(OpenAPIToolsError, ImportError):
    """The package of an extra is not installed.

    Attributes:
        extra: The extra of this package that installs it.
    """

    def __init__(self, reason: str, *, extra: str = "") -> None:
        super().__init__(reason)
        self.extra = extra


def format_count(count: int, noun: str) -> str:
    """Return a number with its noun: `"1 page"`, `"1,200 pages"`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def describe_choices(names: Iterable[str]) -> str:
    """Return what a message expected: `"expected body"`, or `"expected one of a, b"`."""
    listed = list(names)
    if len(listed) > 1:
        return f"expected one of {', '.join(listed)}"
    return f"expected {listed[0] if listed else 'none'}"


def join_first(names: Sequence[str], most: int) -> str:
    """Return the first names, and a mark if there are others: `"a, b, …"`."""
    listed = ", ".join(names[:most])
    return f"{listed}, …" if len(names) > most else listed


@contextmanager
def require_extra(extra: str) -> Iterator[None]:
    """Turn a failing import into a `MissingExtraError` that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise missing_extra_error(error.name, extra) from error


def missing_extra_error(package: str | None, extra: str) -> MissingExtraError:
    """Return the error for a missing package, with the command that installs its extra."""
    return MissingExtraError(f"{package} is not installed: {install_command(extra)}", extra=extra)


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from where this package was installed.

    Spec: PEP 610 (`direct_url.json`); PEP 508, for the form `name[extra] @ url`.
    """
    from importlib import metadata  # start-up time: it takes 10 ms

    origin: dict[str, dict[str, str]] = {}
    with suppress(metadata.PackageNotFoundError):
        text = metadata.distribution(_DISTRIBUTION).read_text("direct_url.json")
        origin = json.loads(text or "{}")
    url = str(origin.get("url", ""))
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install --editable {quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    vcs = origin.get("vcs_info", {}).get("vcs")
    address = f"{vcs}+{url}" if vcs else url
    suffix = f" @ {address}" if url else ""
    return f"pip install {quote(f'{_DISTRIBUTION}[{extra}]{suffix}')}"


class NotPicklableError(OpenAPIToolsError, TypeError):
    """Objects with connections or secrets are neither pickled nor copied."""


class OutputError(OpenAPIToolsError):
    """Generated files cannot or may not be written to the folder.

    Attributes:
        path: The file or folder.
    """

    def __init__(self, reason: str, *, path: str = "") -> None:
        super().__init__(reason)
        self.path = path

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


_Error = TypeVar("_Error", bound=BaseException)


def strip_traceback(error: _Error) -> _Error:
    """Return an exception without its traceback, whose frames hold inputs and secrets."""
    link: BaseException | None = error
    for _ in range(100):  # the causes stay: cancellation is recognised by them
        if link is None:
            break
        link = link.with_traceback(None).__context__
    if isinstance(error, OpenAPIToolsError):
        error.__cause__ = error.__context__ = None
    return error
