"""An operation as plain data, in OpenAPI's words: loading makes, files hold, calls read it."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

DEFAULT_STYLES = {"path": "simple", "query": "form", "header": "simple", "cookie": "form"}
"""Spec: OpenAPI 3.2.0, section 4.12.2.2, Parameter Object, `style`."""


class _Value:
    """Give a frozen dataclass a `repr()` without default values."""

    __slots__ = ()

    def __repr__(self) -> str:
        shown = (f"{name}={value!r}" if name else repr(value) for name, value in self.shown())
        return f"{type(self).__name__}({', '.join(shown)})"

    def shown(self) -> Iterator[tuple[str, Any]]:
        """Yield name, empty if positional, and value of each argument that is not its default."""
        positional = True
        for item in fields(self):  # type: ignore[arg-type]  # every subclass is a dataclass
            value = getattr(self, item.name)
            if value == self._default(item.name, item.default):
                positional = False
            elif positional and item.default is MISSING:
                yield "", value
            else:
                yield item.name, value

    def _default(self, name: str, default: object) -> object:  # noqa: ARG002 -- overridden
        return default


@dataclass(frozen=True, slots=True, repr=False)
class Parameter(_Value):
    """A value that travels outside the body.

    Attributes:
        name: Its name on the wire, for instance `"filter[status]"`.
        location: The document's `in`: `path`, `query`, `header`, `cookie` or `querystring`.
        argument: The tool's argument that feeds it; `name` unless that had to be changed.
        style: `simple`, `label`, `matrix`, `form`, `spaceDelimited`, `pipeDelimited`,
            `tabDelimited` (2.0's `tsv`), `deepObject`, `cookie`; the location's default when empty.
        explode: One pair per member instead of one value; True for `form`, `cookie` and
            `deepObject`, else False, when None is given.
        allow_reserved: Reserved characters are sent as they are (`allowReserved`).
        media_type: For a parameter with `content`: how the value is written before it is encoded.
        inner: 2.0's `collectionFormat` of an array inside the array, as delimiter, outermost first.
        printed: Delimiters as the style tables of 3.0.0 to 3.0.3 and 3.1.0 print them: `|`, `[`,
            `]` unencoded, `.` between the values of a label.
    """

    name: str
    location: str
    argument: str = ""
    style: str = ""
    explode: bool | None = None
    allow_reserved: bool = False
    media_type: str = ""
    inner: tuple[str, ...] = ()
    printed: bool = False

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
    """A member of the body that is an argument of its own.

    Attributes:
        name: Its name in the body.
        argument: The tool's argument that feeds it; `name` unless that had to be changed.
    """

    name: str
    argument: str = ""

    def __post_init__(self) -> None:
        if not self.argument:
            object.__setattr__(self, "argument", self.name)

    def _default(self, name: str, default: object) -> object:
        return self.name if name == "argument" else default


@dataclass(frozen=True, slots=True, repr=False)
class Encoding(_Value):
    """How one member of a form or multipart body is written.

    Spec: OpenAPI 3.2.0, section 4.15, Encoding Object.

    Attributes:
        name: The member's name.
        content_type: Its media type (the first one listed when there are several); empty for the
            default by type: text for primitives, JSON for objects, octets for files.
        style: Set when the member is written by `style`, as a query parameter would be; else empty.
        explode: As in Parameter; meaningful with `style` only.
        allow_reserved: As in Parameter; meaningful with `style` only.
        file: The argument is a file object: `{"base64": …}` or `{"text": …}`.
        headers: Headers of the part; each fed by an argument of its own.
        inner: As in Parameter.
    """

    name: str
    content_type: str = ""
    style: str = ""
    explode: bool = True
    allow_reserved: bool = False
    file: bool = False
    headers: tuple[Parameter, ...] = ()
    inner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class RequestBody(_Value):
    """What an operation sends as content.

    Attributes:
        media_type: The media type that is sent, for instance `"application/json"`.
        argument: The one argument that is the whole body; empty when `properties` feed it.
        properties: The arguments that are members of the body.
        required: A body is sent even when no argument feeds it (as `{}`).
        encodings: Members of a form or multipart body that are not written the default way.
        file: The whole body is a file object: `{"base64": …}` or `{"text": …}`.
        alternatives: The other media types that the document lists, in its order.
        choice: The argument that names the media type, where the model chooses it.
        choices: Other bodies that it may choose.
    """

    media_type: str
    argument: str = ""
    properties: tuple[Property, ...] = ()
    required: bool = False
    encodings: tuple[Encoding, ...] = ()
    file: bool = False
    alternatives: tuple[str, ...] = ()
    choice: str = ""
    choices: tuple[RequestBody, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ServerVariable(_Value):
    """A placeholder of a server's URL.

    Attributes:
        default: The value used when the user's settings give none.
        enum: The values allowed; empty when any is.
    """

    default: str
    enum: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Server(_Value):
    """Where an operation is served.

    Attributes:
        url: Absolute URL, possibly with `{variables}`; a relative one when the document's own
            address is unknown. A user and a password in it are `***`.
        variables: By name.
    """

    url: str
    variables: Mapping[str, ServerVariable] = field(default_factory=dict)

    def _default(self, name: str, default: object) -> object:
        return {} if name == "variables" else default


@dataclass(frozen=True, slots=True, repr=False)
class SecurityScheme(_Value):
    """How a caller proves who it is.

    Attributes:
        type: `apiKey`, `http`, `oauth2`, `openIdConnect`, `mutualTLS`, or what the document says.
        name: For `apiKey`: the header, query parameter or cookie.
        location: For `apiKey`: the document's `in`.
        scheme: For `http`: `basic`, `bearer`, … in lower case.
        flows: For `oauth2`: the document's flows, by name, as in OpenAPI 3, without extensions.
        openid_connect_url: For `openIdConnect`.
    """

    type: str
    name: str = ""
    location: str = ""
    scheme: str = ""
    flows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    openid_connect_url: str = ""

    def _default(self, name: str, default: object) -> object:
        return {} if name == "flows" else default


@dataclass(frozen=True, slots=True, repr=False)
class AnswerShape(_Value):
    """How the answers of an operation are made smaller for a model.

    A member that is None is left to the settings.

    Attributes:
        drop: Name patterns of members that are left out at any depth, for instance `"*_url"`.
        nulls: Whether members whose value is null are shown.
        fields: A JMESPath expression that chooses parts of the answer; empty for all of it.
        max_items: Items of each list that are shown; 0 for all.
        max_chars: Characters of the output as text; at least 100.
    """

    drop: tuple[str, ...] | None = None
    nulls: bool | None = None
    fields: str | None = None
    max_items: int | None = None
    max_chars: int | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Paging(_Value):
    """How the next page of an operation's answer is asked for.

    Attributes:
        style: `page` (a page's number), `offset` (items to skip), `cursor` (a text of the last
            answer), `limit` (a greater size), or `link` (the address of the next page).
        argument: The argument that takes the number, the offset or the cursor.
        size: The argument that takes the number of items of a page; empty without one.
        items: JMESPath of the list in an answer; empty for a list that is the answer itself, or
            for the only list in it.
        next: JMESPath of the next cursor or address in an answer; empty for the known places.
    """

    style: str
    argument: str = ""
    size: str = ""
    items: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Operation(_Value):
    """One method on one path: all that is needed to call it.

    Attributes:
        method: Upper case, for instance `"GET"`.
        path: As in the document, for instance `"/pets/{petId}"`.
        operation_id: The document's own id; empty when it has none.
        parameters: In the order of the document.
        body: None when the operation takes none.
        servers: Alternatives, the first is used; those of the operation, its path or the document.
        security: Alternatives; each maps scheme names to scopes, all of which are needed.
        accept: Media types of the documented answers, JSON first.
        tags: The document's grouping.
        deprecated: The document advises against it.
        extensions: Names of the `x-` members that are `true`, sorted, for instance
            `("x-openai-isConsequential",)`; at most 32, each of at most 64 characters.
        response_headers: Headers that the documented answers declare, in lower case, for instance
            `("x-expires-after",)`; without those that results keep or leave out anyway.
        fixed: Values of arguments that a model neither sees nor gives, by argument.
        defaults: Values of arguments that a call does not give, by argument.
        hints: `read_only`, `idempotent` and `destructive`, where the user says so; reads are
            idempotent, and not destructive.
        timeout: Seconds for a whole call; None for what the settings say.
        wait: Seconds to wait for the end of long work (202); None for what the settings say.
        answer: How its answers are made smaller; None for what the settings say.
        paging: How the next page is asked for; None where no way is known.
    """

    method: str
    path: str
    operation_id: str = ""
    parameters: tuple[Parameter, ...] = ()
    body: RequestBody | None = None
    servers: tuple[Server, ...] = ()
    security: tuple[Mapping[str, tuple[str, ...]], ...] = ()
    accept: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    deprecated: bool = False
    extensions: tuple[str, ...] = ()
    response_headers: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    hints: Mapping[str, bool] = field(default_factory=dict)
    timeout: float | None = None
    wait: float | None = None
    answer: AnswerShape | None = None
    paging: Paging | None = None

    def _default(self, name: str, default: object) -> object:
        return {} if name in ("fixed", "defaults", "hints") else default


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
    """

    pointer: str
    reason: str
    method: str = ""
    path: str = ""
    name: str = ""
    operation_id: str = ""
