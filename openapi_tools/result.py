"""Calls of tools with their contexts, and their results as text and images."""

from __future__ import annotations

import inspect
import logging
import operator
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from openapi_tools.common.json_values import dump_json
from openapi_tools.common.options import context_value
from openapi_tools.common.setting_fields import SettingFields
from openapi_tools.errors import InputError

if TYPE_CHECKING:
    from openapi_tools.errors import ErrorType
    from openapi_tools.model import AnswerShape
    from openapi_tools.redaction import Redactor

logger = logging.getLogger("openapi_tools")

_ID_BITS = 256
RESULT = "result"  # the key of an output that is no object, where an object is needed


class Changes(NamedTuple):
    """What a write changes, and which call undoes it; `etag` is of the state that was read."""

    lines: tuple[str, ...]
    undo: str
    etag: str = ""


class ToolCall(BaseModel):
    """A model's call of a tool.

    Attributes:
        id: The call's identifier, repeated in its result; may be empty.
        name: The tool's name.
        arguments: As the tool's input schema describes them.
    """

    model_config = ConfigDict(frozen=True)

    id: str = ""
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    _changes: Changes | None = PrivateAttr(default=None)

    @property
    def changes(self) -> Changes | None:
        """What a write changes, for `approve`: `lines` and `undo`; None where that is not known."""
        return self._changes

    def with_changes(self, changes: Changes | None) -> Self:
        """Note what the call changes, and return the call itself."""
        self._changes = changes
        return self


def id_text(call_id: Any) -> str:
    """Return a call id as a string; empty for what is neither a string nor a small integer."""
    if isinstance(call_id, str):
        return call_id
    return str(call_id) if type(call_id) is int and call_id.bit_length() < _ID_BITS else ""


@dataclass(frozen=True, slots=True)
class Context:
    """Credentials, approval and state of one call.

    A coordinator's own context works, too: any object with these attributes, or a mapping with
    these keys.

    Attributes:
        credentials: By scheme name, as for `load_tools`, or a function of the tool that returns
            them; they replace the toolset's own.
        approve: Asks a human about a call and returns True for a yes; may be async.
        state: Anything for your guardrails.
        wait: Seconds to wait for a long-running operation; None for what tool or settings say.
        answer: An `AnswerShape`, or a mapping of its keys: how to shorten this response.
        fields: A JMESPath expression that chooses parts of the response, before that of `answer`.
        conversation: A string, or an object of the conversation, whose programs share variables.
        resume: The `metadata["run"]` of a program that waited for an approval and goes on now.
        user: Names the caller, for limits, cached responses and tokens; it is not sent.
        idempotency_key: Names one write of a workflow: a second call with the key sends nothing.
    """

    credentials: Mapping[str, Any] | Callable[..., Any] | None = field(default=None, repr=False)
    approve: Callable[[ToolCall], bool | Awaitable[bool]] | None = None
    state: Any = None
    wait: float | None = None
    answer: AnswerShape | Mapping[str, Any] | None = None
    fields: str | None = None
    conversation: Any = None
    resume: str | None = None
    user: str = ""
    idempotency_key: str | None = None


def user_of(context: object) -> str:
    """Return the user that a context names; InputError for another value than a string."""
    user = context_value(context, "user")
    if isinstance(user, str):
        return user
    if user is not None and isinstance(context, Context | Mapping):  # others' may be objects
        raise InputError(f"'user' must be a string, not {type(user).__name__}.")
    return ""


async def context_for(source: Any, *facts: Any) -> Any:
    """Return a call's context: `source`, its result for the facts, or the first as `state`."""
    if source is None:
        return Context(state=facts[0]) if facts else None
    context = source(*facts) if callable(source) else source
    return await context if inspect.isawaitable(context) else context


_NOT_MODIFIED = 304
# Providers refuse a whole request for one image of another type.
IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class TextContent(BaseModel):
    """Text for a model."""

    model_config = ConfigDict(frozen=True)

    type: Literal["text"] = "text"
    text: str

    def __str__(self) -> str:
        return self.text


class ImageContent(BaseModel):
    """An image for a model: its bytes in base64, and its type, for instance `image/png`."""

    model_config = ConfigDict(frozen=True)

    type: Literal["image"] = "image"
    data: str
    media_type: str

    def __str__(self) -> str:
        """Return words for a reader who cannot see it: `"[image: image/png, 67 bytes]"`."""
        return f"[image: {self.media_type}, {_bytes_in(self.data)} bytes]"


class ToolResult(BaseModel):
    """The result of one call, for a model to read.

    `str(result)` is the string for the model: JSON without spaces for objects and arrays, a string
    unchanged, the message of an error, one word for no output; then, after an empty line, the
    `header_note`, if there is one.

    Attributes:
        success: The API did what was asked.
        output: The response as JSON-native data; for an error, its message.
        error: None, or `message` and `type` (one of `errors.ERROR_TYPES`) and, where known,
            `status`, `retryable`, `retry_after` (seconds), `body` (the API's own words) and
            `fields` (JSON Pointers of the arguments that the API names as wrong).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    success: bool = True
    output: Any = None
    error: dict[str, Any] | None = None

    _tool_call_id: str = PrivateAttr(default="")
    _metadata: dict[str, Any] = PrivateAttr(default_factory=dict)
    _header_note: str = PrivateAttr(default="")

    @classmethod
    def ok(
        cls, output: Any, metadata: dict[str, Any] | None = None, *, header_note: str = ""
    ) -> ToolResult:
        """Return a result that succeeded."""
        return cls._make(metadata, header_note, success=True, output=output, error=None)

    @classmethod
    def failed(
        cls,
        kind: ErrorType,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
        output: Any = None,
        header_note: str = "",
    ) -> ToolResult:
        """Return a result that failed.

        Args:
            kind: The error's type.
            message: For the model: the failure, the allowed values, the next step.
            metadata: Facts about the response.
            facts: Further keys of `error`; those that are None are left out.
            output: What came before the failure; the message where there is nothing.
            header_note: As `ToolResult.header_note`.
        """
        details = {name: value for name, value in (facts or {}).items() if value is not None}
        error = {"message": message, "type": kind, **details}
        output = message if output is None else output
        return cls._make(metadata, header_note, success=False, output=output, error=error)

    @classmethod
    def _make(cls, metadata: dict[str, Any] | None, header_note: str = "", **fields: Any) -> Self:
        # Five times as fast as `model_construct`, which would be felt in each call.
        result, set_attribute = cls.__new__(cls), object.__setattr__
        facts = {} if metadata is None else metadata
        private = {"_tool_call_id": "", "_metadata": facts, "_header_note": header_note}
        set_attribute(result, "__dict__", fields)
        set_attribute(result, "__pydantic_fields_set__", {*fields})
        set_attribute(result, "__pydantic_extra__", None)
        set_attribute(result, "__pydantic_private__", private)
        return result

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.success

    @property
    def tool_call_id(self) -> str:
        """The `_tool_call_id` of the input; empty when it had none."""
        return self._tool_call_id

    @property
    def metadata(self) -> dict[str, Any]:
        """Facts about the response: `status`, `media_type`, `headers`, `elapsed` (s) and more.

        It is empty when there was no response.
        """
        return self._metadata

    @property
    def header_note(self) -> str:
        """One line of facts from headers: a next page, totals, the URL of a new resource."""
        return self._header_note

    def for_call(self, tool_call_id: str) -> ToolResult:
        """Note the id of the call, and return the result itself."""
        if self.__pydantic_private__ is None:  # made by `model_construct` of a subclass, say
            self.model_post_init(None)
        private: Any = self.__pydantic_private__  # pydantic is slow to set its attributes
        private["_tool_call_id"] = tool_call_id
        return self

    def as_object(self) -> dict[str, Any]:
        """Return the result as an object, for clients that read structured results.

        It is the output if that is an object; another output is under the key `result`, with images
        in words, and beside it the `header_note` under `note`. An error is under `error`.
        """
        if self.error is not None:
            return {"error": self.error}
        words = _images_in_words(self.output, least=0)
        if isinstance(self.output, dict) and not words:
            return self.output
        note = {"note": self.header_note} if self.header_note else {}
        return {RESULT: words or self.output, **note}

    def for_responses(self, call_id: str = "", *, structured: bool = False) -> dict[str, Any]:
        """Return the result as a `function_call_output` item of OpenAI's Responses API.

        Args:
            call_id: The id of the model's call; by default `tool_call_id`.
            structured: Make the output JSON by the `output_schema` of the tool's definition, as
                `as_object` does, in place of texts and images.
        """
        output: Any = dump_json(self.as_object()) if structured else str(self)
        parts = [] if structured else self.as_content()
        if any(isinstance(part, ImageContent) for part in parts):
            output = [_responses_part(part) for part in parts]
        call_id = call_id or self.tool_call_id
        return {"type": "function_call_output", "call_id": call_id, "output": output}

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: texts, and images as images.

        PNG, JPEG, GIF and WebP are images; `str(result)` describes those of more than 8 kB. The
        `header_note` is the last content.
        """
        return contents_of(self.output, self._text(), self.header_note)

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model, with the `header_note`."""
        return "\n\n".join(filter(None, (self._text(), self.header_note)))

    def _text(self) -> str:
        # Never empty: providers refuse an empty result.
        if self.output is None:
            return self._word()
        if isinstance(self.output, str):
            return self.output or self._word()
        return _images_in_words(self.output) or dump_json(self.output)

    def _word(self) -> str:
        if not self.success:
            return str((self.error or {}).get("message") or "Failed")
        return "Not modified" if self._metadata.get("status") == _NOT_MODIFIED else "Success"

    def __str__(self) -> str:
        return self.get_serialized_output()


def without_secrets(result: ToolResult, redactor: Redactor) -> ToolResult:
    """Return a result without known secrets; the same result if it holds none."""
    if not redactor:
        return result
    parts = [result.output, result.error, result.metadata, result.header_note]
    clean = [redactor.data(part) for part in parts]
    if all(map(operator.is_, clean, parts)):
        return result
    output, error, *facts = clean
    make = type(result)._make
    masked = make(*facts, success=result.success, output=output, error=error)
    return masked.for_call(result.tool_call_id)


def contents_of(output: Any, text: str, note: str = "") -> list[TextContent | ImageContent]:
    """Return an output's contents: a text, or images with parts; then a note, unless empty."""
    last = [TextContent(text=note)] if note else []
    if (image := _image(output)) is not None:
        return [image, *last]
    images = [_image_in(part) for part in output] if isinstance(output, list) else []
    if not any(images):
        return [TextContent(text=text), *last]
    pairs = zip(images, output, strict=True)
    return [*(image or TextContent(text=_text(part)) for image, part in pairs), *last]


def _images_in_words(output: Any, least: int = SettingFields.max_base64_bytes) -> str:
    contents = contents_of(output, "")
    sizes = [_bytes_in(part.data) for part in contents if isinstance(part, ImageContent)]
    return "\n".join(map(str, contents)) if max(sizes, default=0) > least else ""


def _responses_part(part: TextContent | ImageContent) -> dict[str, Any]:
    if isinstance(part, TextContent):
        return {"type": "input_text", "text": part.text}
    return {"type": "input_image", "image_url": f"data:{part.media_type};base64,{part.data}"}


def _image_in(part: Any) -> ImageContent | None:
    return _image(part) or (_image(part.get("content")) if isinstance(part, dict) else None)


def _image(value: Any) -> ImageContent | None:
    # JSON of an API may look like the bytes of a response, so each part is checked.
    match value:
        case {"base64": str(data), "media_type": kind, "bytes": size, **rest}:
            is_image = not rest and kind in IMAGES and len(data) % 4 == 0
            if is_image and _BASE64.fullmatch(data) and _bytes_in(data) == size:
                return ImageContent(data=data, media_type=kind)
    return None


def _bytes_in(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else dump_json(value)) or '""'
