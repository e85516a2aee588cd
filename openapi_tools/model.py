"""An operation as plain data in OpenAPI's terms: loading builds it, calls read it."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 -- pydantic reads the annotations of a lock
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
"""Spec: OpenAPI 3.2.0, section 4.12.2.2, Parameter Object, `style`."""


class _Value:
    """Give a frozen dataclass a `repr()` without default values."""

    __slots__ = ()

    def __repr__(self) -> str:
        arguments = (
            f"{name}={value!r}" if name else repr(value) for name, value in self.iter_arguments()
        )
        return f"{type(self).__name__}({', '.join(arguments)})"

    def iter_arguments(self) -> Iterator[tuple[str, Any]]:
        """Yield name, empty if positional, and value of each argument that is not its default."""
        positional = True
        for item in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, item.name)
            default = item.default if item.default_factory is MISSING else item.default_factory()
            if value == self._default(item.name, default):
                positional = False
            elif positional and item.default is MISSING:
                yield "", value
            else:
                yield item.name, value

    def _default(self, name: str, default: object) -> object:  # noqa: ARG002 -- overridden
        return default


@dataclass(frozen=True, slots=True, repr=False)
class Parameter(_Value):
    """A value that travels outside the body."""

    name: str  # on the wire, for instance `"filter[status]"`
    location: str  # the document's `in`: `path`, `query`, `header`, `cookie` or `querystring`
    argument: str = ""  # the tool's argument that feeds it; `name` unless that had to be changed
    # As in the document, or `tabDelimited` (2.0's `tsv`); empty for the default of the location.
    style: str = ""
    # One pair per property; None: for `form`, `cookie` and `deepObject`.
    explode: bool | None = None
    allow_reserved: bool = False  # reserved characters are sent as they are
    media_type: str = ""  # for `content`: how the value is written before it is encoded
    inner: tuple[str, ...] = ()  # 2.0's `collectionFormat` of the arrays in it, the outermost first
    # Delimiters as the tables of 3.0.0 to 3.0.3 and 3.1.0 print them: `|`, `[`, `]`; `.` in labels.
    printed: bool = False
    slashes: bool = False  # in a path: slashes of the value stay, each segment is encoded

    def __post_init__(self) -> None:
        for name in ("argument", "style", "explode"):
            if getattr(self, name) in ("", None):
                object.__setattr__(self, name, self._default(name, None))

    def _default(self, name: str, default: object) -> object:
        match name:
            case "argument":
                return self.name
            case "style":
                return DEFAULT_STYLES.get(self.location, "form")
            case "explode":
                return self.style in ("form", "cookie", "deepObject")
            case _:
                return default


@dataclass(frozen=True, slots=True, repr=False)
class Property(_Value):
    """A property of the body that is an argument of its own."""

    name: str  # in the body
    argument: str = ""  # of the tool; `name` unless that had to be changed

    def __post_init__(self) -> None:
        if not self.argument:
            object.__setattr__(self, "argument", self.name)

    def _default(self, name: str, default: object) -> object:
        return self.name if name == "argument" else default


@dataclass(frozen=True, slots=True, repr=False)
class Encoding(_Value):
    """How one property of a form or multipart body is written (OpenAPI 3.2.0, section 4.15)."""

    name: str  # or position; `*` for properties and items that have no encoding of their own
    content_type: str = ""  # empty for text of primitives, JSON of objects, octets of files
    style: str = ""  # set when the property is written by `style`, as a query parameter would be
    explode: bool = True  # this and the next one as in Parameter, with `style` only
    allow_reserved: bool = False
    # The argument is a file object, `{"base64": …}` or `{"text": …}`; a string is sent as text.
    file: bool = False
    headers: tuple[Parameter, ...] = ()  # of the part; each is fed by an argument of its own
    inner: tuple[str, ...] = ()  # as in Parameter


@dataclass(frozen=True, slots=True, repr=False)
class RequestBody(_Value):
    """What an operation sends as content."""

    media_type: str  # for instance `"application/json"`
    argument: str = ""  # the one that is the whole body; empty when `properties` feed it
    properties: tuple[Property, ...] = ()  # the arguments that are properties of the body
    required: bool = False  # a body is sent even when no argument feeds it (as `{}`)
    encodings: tuple[Encoding, ...] = ()  # of properties that are not written the default way
    file: bool = False  # the whole body is a file object: `{"base64": …}` or `{"text": …}`
    alternatives: tuple[str, ...] = ()  # the other media types that the document lists
    choice: str = ""  # the argument that names the media type, where the model chooses it
    choices: tuple[RequestBody, ...] = ()  # other bodies that it may choose


@dataclass(frozen=True, slots=True, repr=False)
class ServerVariable(_Value):
    """A placeholder of a server's URL."""

    default: str  # where the user's settings give none
    enum: tuple[str, ...] = ()  # the values allowed; empty when any is


@dataclass(frozen=True, slots=True, repr=False)
class Server(_Value):
    """Where an operation is served."""

    # Absolute, or relative if the document has no address; a user and password are `***`.
    url: str
    variables: Mapping[str, ServerVariable] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, repr=False)
class SecurityScheme(_Value):
    """How a caller proves who it is."""

    type: str  # as in the document, for instance `apiKey`, `http` or `oauth2`
    name: str = ""  # of the header, query parameter or cookie of an `apiKey`
    location: str = ""  # the document's `in`
    scheme: str = ""  # of `http`, in lower case: `basic`, `bearer`, …
    # The document's flows by name, as in OpenAPI 3, without extensions.
    flows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    openid_connect_url: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class AnswerShape(_Value):
    """How responses are shortened for a model; None leaves a field to the settings."""

    drop: tuple[str, ...] | None = None  # name patterns of properties, at any depth: `"*_url"`
    nulls: bool | None = None  # whether properties whose value is null are shown
    fields: str | None = None  # a JMESPath expression that chooses parts of the response
    max_items: int | None = None  # of each list; 0 for all
    max_chars: int | None = None  # of the output as text; at least 100


def merge_answer_shapes(shape: AnswerShape | None, other: AnswerShape | None) -> AnswerShape | None:
    """Return both shapes of responses as one; the first overrides the other."""
    if shape is None or other is None:
        return shape or other
    unset = [item.name for item in fields(shape) if getattr(shape, item.name) is None]
    return replace(shape, **{name: getattr(other, name) for name in unset})


@dataclass(frozen=True, slots=True, repr=False)
class Paging(_Value):
    """How to request the next page of an operation's response."""

    # `page` (its number), `offset` (items to skip), `cursor` (a string of the last one), `limit`
    # (a greater size), or `link` (the address of the next page).
    style: str
    argument: str = ""  # takes the number, the offset or the cursor
    size: str = ""  # the argument that takes the number of items of a page; empty without one
    items: str = ""  # JMESPath of the list; empty for the response itself, or the only list in it
    next: str = ""  # JMESPath of the next cursor or address; empty for the known places


@dataclass(frozen=True, slots=True, repr=False)
class Operation(_Value):
    """One method on one path: all that is needed to call it."""

    method: str  # upper case, for instance `"GET"`
    path: str  # as in the document, for instance `"/pets/{petId}"`
    operation_id: str = ""  # the document's own id; empty when it has none
    parameters: tuple[Parameter, ...] = ()  # in the order of the document
    body: RequestBody | None = None
    servers: tuple[Server, ...] = ()  # its own, its path's or the document's; the first is used
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()  # alternatives; schemes with scopes
    accept: tuple[str, ...] = ()  # media types of the documented responses, JSON first
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    extensions: tuple[str, ...] = ()  # of the `x-` properties that are `true`, sorted; 32 at most
    response_headers: tuple[str, ...] = ()  # of documented responses, in lower case; no usual ones
    redirects: tuple[str, ...] = ()  # documented statuses below 400, where a 3xx is among them
    fixed: Mapping[str, Any] = field(default_factory=dict)  # of hidden arguments
    defaults: Mapping[str, Any] = field(default_factory=dict)  # of arguments that a call lacks
    hints: Mapping[str, bool] = field(default_factory=dict)  # `read_only`, `destructive` …
    timeout: float | None = None  # seconds for a call; None for what the settings say
    wait: float | None = None  # seconds to wait for the end of a long-running operation (202)
    answer: AnswerShape | None = None  # how its responses are made smaller
    paging: Paging | None = None  # how the next page is asked for; None if no way is known


@dataclass(frozen=True, slots=True, repr=False)
class Skipped(_Value):
    """An operation that did not become a tool.

    Attributes:
        pointer: JSON Pointer of the error.
        reason: The error and what to do.
        method: Upper case; empty when the whole path item is wrong.
        path: As in the document.
        name: The name that the tool would have had.
        operation_id: The document's own id; empty when it has none.
        notice: The message for a model that calls it, if it has less than the pointer and the
            reason: with a lock, no words of a document that were not accepted.
    """

    pointer: str
    reason: str
    method: str = ""
    path: str = ""
    name: str = ""
    operation_id: str = ""
    notice: str = ""
