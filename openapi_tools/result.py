"""Results of calls, and the texts and images that a model is shown of them."""

from __future__ import annotations

import operator
import re
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

from openapi_tools.json_values import text_of
from openapi_tools.options import DefaultSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.errors import ErrorType
    from openapi_tools.redaction import Redactor

_NOT_MODIFIED = 304
# Providers refuse a whole request for one image of another type.
IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")


class TextContent(BaseModel):
    """A text for a model."""

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
    """The answer to one call, for a model to read.

    `str(result)` is the string for the model: JSON without blanks for objects and arrays, a string
    unchanged, the message for an error, a word for no output; then, after an empty line, the
    `header_note`, if there is one.

    Attributes:
        success: The API did what was asked.
        output: The answer as JSON-native data; for an error, its message.
        error: None, or `message` and `type` (one of `errors.ERROR_TYPES`) and, where known,
            `status`, `retryable`, `retry_after` (seconds) and `body` (the API's own words).
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
        return cls._made(metadata, header_note, success=True, output=output, error=None)

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
            metadata: Facts about the answer.
            facts: Further members of `error`; those that are None are left out.
            output: What came before the failure; the message where there is nothing.
            header_note: As `ToolResult.header_note`.
        """
        known = {name: value for name, value in (facts or {}).items() if value is not None}
        error = {"message": message, "type": kind, **known}
        output = message if output is None else output
        return cls._made(metadata, header_note, success=False, output=output, error=error)

    @classmethod
    def _made(cls, metadata: dict[str, Any] | None, header_note: str = "", **members: Any) -> Self:
        """Return an instance; five times as fast as `model_construct`."""
        made, set_member = cls.__new__(cls), object.__setattr__
        facts = {} if metadata is None else metadata
        noted = {"_tool_call_id": "", "_metadata": facts, "_header_note": header_note}
        set_member(made, "__dict__", members)
        set_member(made, "__pydantic_fields_set__", {*members})
        set_member(made, "__pydantic_extra__", None)
        set_member(made, "__pydantic_private__", noted)
        return made

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
        """Facts about the answer: `status`, `media_type`, `headers`, `elapsed` (s) and more.

        docs/python.md lists the keys. It is empty when there was no answer.
        """
        return self._metadata

    @property
    def header_note(self) -> str:
        """One line of facts from headers: a next page, totals, the place of a new resource."""
        return self._header_note

    def for_call(self, tool_call_id: str) -> ToolResult:
        """Note which call this answers, and return the result itself."""
        if self.__pydantic_private__ is None:  # made by `model_construct` of a subclass, say
            self.model_post_init(None)
        noted: Any = self.__pydantic_private__  # pydantic is slow to set its members
        noted["_tool_call_id"] = tool_call_id
        return self

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: texts, and images as images."""
        return contents_of(self.output, self._text(), self.header_note)

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model, with the `header_note`."""
        return "\n\n".join(filter(None, (self._text(), self.header_note)))

    def _text(self) -> str:
        """Return the output as text, which is never empty: providers refuse that."""
        if self.output is None:
            return self._word()
        if isinstance(self.output, str):
            return self.output or self._word()
        return _images_in_words(self.output) or text_of(self.output)

    def _word(self) -> str:
        """Return the text for a missing output."""
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
    made = type(result)._made  # noqa: SLF001 -- of this module
    other = made(*facts, success=result.success, output=output, error=error)
    return other.for_call(result.tool_call_id)


def contents_of(output: Any, text: str, note: str = "") -> list[TextContent | ImageContent]:
    """Return an answer's contents: a text, or images with parts; then a note, unless empty."""
    last = [TextContent(text=note)] if note else []
    if (image := _image(output)) is not None:
        return [image, *last]
    images = [_image_in(part) for part in output] if isinstance(output, list) else []
    if not any(images):
        return [TextContent(text=text), *last]
    pairs = zip(images, output, strict=True)
    return [*(image or TextContent(text=_text(part)) for image, part in pairs), *last]


def _images_in_words(output: Any) -> str:
    """Return an answer with its images named in words if one is large, else an empty text."""
    contents = contents_of(output, "")
    sizes = [_bytes_in(part.data) for part in contents if isinstance(part, ImageContent)]
    is_large = max(sizes, default=0) > DefaultSettings.max_base64_bytes
    return "\n".join(map(str, contents)) if is_large else ""


def _image_in(part: Any) -> ImageContent | None:
    """Return the image in an item of a list or a part of a multipart answer."""
    return _image(part) or (_image(part.get("content")) if isinstance(part, dict) else None)


def _image(value: Any) -> ImageContent | None:
    """Return the image of a value that shows bytes; a JSON answer may only look like one."""
    match value:
        case {"base64": str(data), "media_type": kind, "bytes": size, **others}:
            is_image = not others and kind in IMAGES and len(data) % 4 == 0
            if is_image and _BASE64.fullmatch(data) and _bytes_in(data) == size:
                return ImageContent(data=data, media_type=kind)
    return None


def _bytes_in(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else text_of(value)) or '""'
