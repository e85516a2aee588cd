"""Results of calls, and the texts and images that a model is shown of them."""

from __future__ import annotations

import json
import operator
import re
from typing import TYPE_CHECKING, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

from openapi_tools.options import DefaultSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.errors import ErrorType
    from openapi_tools.redaction import Redactor

_NOT_MODIFIED = 304
# Providers refuse a whole request for one image of another type.
IMAGES = ("image/gif", "image/jpeg", "image/png", "image/webp")
_BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")
_FACTS = {"base64", "media_type", "bytes"}


class TextContent(BaseModel):
    """A text for a model.

    Attributes:
        type: `"text"`.
        text: The text.
    """

    model_config = ConfigDict(frozen=True)

    type: Literal["text"] = "text"
    text: str

    def __str__(self) -> str:
        return self.text


class ImageContent(BaseModel):
    """An image for a model.

    Attributes:
        type: `"image"`.
        data: The bytes, base64-encoded.
        media_type: For instance `image/png`.
    """

    model_config = ConfigDict(frozen=True)

    type: Literal["image"] = "image"
    data: str
    media_type: str

    def __str__(self) -> str:
        """Return words for a reader who cannot see it: `"[image: image/png, 67 bytes]"`."""
        return f"[image: {self.media_type}, {_bytes_in(self.data)} bytes]"


class ToolResult(BaseModel):
    """The answer to one call, for a model to read.

    `str(result)` is the string for the model: JSON for objects and arrays, a string unchanged, the
    message for an error, a word for no output; then, after an empty line, the `header_note`, if
    there is one.

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
    ) -> ToolResult:
        """Return a result that failed.

        Args:
            kind: The error's type.
            message: For the model: the failure, the allowed values, the next step.
            metadata: As in `metadata`.
            facts: Further members of `error`; those that are None are left out.
        """
        known = {name: value for name, value in (facts or {}).items() if value is not None}
        error = {"message": message, "type": kind, **known}
        return cls._made(metadata, success=False, output=message, error=error)

    @classmethod
    def _made(cls, metadata: dict[str, Any] | None, header_note: str = "", **members: Any) -> Self:
        """Return an instance; five times as fast as `model_construct`."""
        made = cls.__new__(cls)
        set_member = object.__setattr__
        set_member(made, "__dict__", members)
        set_member(made, "__pydantic_fields_set__", {*members})
        set_member(made, "__pydantic_extra__", None)
        facts = {} if metadata is None else metadata
        noted = {"_tool_call_id": "", "_metadata": facts, "_header_note": header_note}
        set_member(made, "__pydantic_private__", noted)
        return made

    def with_facts(self, metadata: dict[str, Any], header_note: str = "") -> Self:
        """Note facts about the answer, and return the result itself."""
        self._noted().update(_metadata=metadata, _header_note=header_note)
        return self

    def _noted(self) -> dict[str, Any]:
        """Return the values of the private members; pydantic is slow to set them."""
        if self.__pydantic_private__ is None:  # made by `model_construct` of a subclass, say
            self.model_post_init(None)
        noted: dict[str, Any] = self.__pydantic_private__  # type: ignore[assignment] # set now
        return noted

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
        self._noted()["_tool_call_id"] = tool_call_id
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
        return images_in_words(self.output) or json.dumps(self.output, ensure_ascii=False)

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
    other = type(result).model_construct(success=result.success, output=output, error=error)
    return other.with_facts(*facts).for_call(result.tool_call_id)


def contents_of(output: Any, text: str, note: str = "") -> list[TextContent | ImageContent]:
    """Return an answer's contents; a multipart answer with an image has one for each part.

    Args:
        output: The answer.
        text: The answer as text, for everything but images.
        note: A last content, unless it is empty.
    """
    return [*_answered(output, text), *([TextContent(text=note)] if note else [])]


def _answered(output: Any, text: str) -> list[TextContent | ImageContent]:
    if (image := _image(output)) is not None:
        return [image]
    images = [_image_in(part) for part in output] if isinstance(output, list) else []
    if any(images):
        pairs = zip(images, output, strict=True)
        return [image or TextContent(text=_text(part)) for image, part in pairs]
    return [TextContent(text=text)]


def images_in_words(output: Any) -> str:
    """Return an answer with its images named in words if one is large, else an empty text."""
    contents = _answered(output, "")
    sizes = [_bytes_in(part.data) for part in contents if isinstance(part, ImageContent)]
    return (
        "\n".join(map(str, contents))
        if max(sizes, default=0) > DefaultSettings.max_base64_bytes
        else ""
    )


def _image_in(part: Any) -> ImageContent | None:
    """Return the image in an item of a list or a part of a multipart answer."""
    return _image(part) or (_image(part.get("content")) if isinstance(part, dict) else None)


def _image(value: Any) -> ImageContent | None:
    """Return the image of a value in the form in which answers show bytes."""
    if not isinstance(value, dict) or set(value) != _FACTS or value["media_type"] not in IMAGES:
        return None
    if not _is_base64(value["base64"], value["bytes"]):
        return None
    return ImageContent(data=value["base64"], media_type=value["media_type"])


def _is_base64(text: Any, size: Any) -> bool:
    """Whether a text holds that many bytes; a JSON answer may only look like an image."""
    if not isinstance(text, str) or len(text) % 4 or not _BASE64.fullmatch(text):
        return False
    return bool(_bytes_in(text) == size)


def _bytes_in(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) or '""'
