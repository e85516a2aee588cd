"""An answer as the parts that a model is shown: text and images."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from openapi_tools.default_settings import DefaultSettings

# What every provider takes; one image of another type would make it refuse the whole request.
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


def contents_of(output: Any, text: str, note: str = "") -> list[TextContent | ImageContent]:
    """Return an answer's contents.

    Args:
        output: The answer. An image becomes one content; so does each part of a multipart answer
            that holds one, in which every other part becomes a text.
        text: The answer as text: what all else becomes.
        note: A last content of its own, unless it is empty.
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
    """Return an answer with its images named in words, where one is large; else an empty text."""
    contents = _answered(output, "")
    sizes = [_bytes_in(part.data) for part in contents if isinstance(part, ImageContent)]
    return (
        "\n".join(map(str, contents))
        if max(sizes, default=0) > DefaultSettings.max_base64_bytes
        else ""
    )


def _image_in(part: Any) -> ImageContent | None:
    """Return the image that an item of a list or a part of a multipart answer is."""
    return _image(part) or (_image(part.get("content")) if isinstance(part, dict) else None)


def _image(value: Any) -> ImageContent | None:
    """Return the image that a value is: bytes as answers show them, unless they are in a file."""
    if not isinstance(value, dict) or set(value) != _FACTS or value["media_type"] not in IMAGES:
        return None
    if not _is_base64(value["base64"], value["bytes"]):
        return None
    return ImageContent(data=value["base64"], media_type=value["media_type"])


def _is_base64(text: Any, size: Any) -> bool:
    """Tell whether a text holds that many bytes; a JSON answer may only look like an image."""
    if not isinstance(text, str) or len(text) % 4 or not _BASE64.fullmatch(text):
        return False
    return bool(_bytes_in(text) == size)


def _bytes_in(text: str) -> int:
    return len(text) // 4 * 3 - text[-2:].count("=")


def _text(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)) or '""'
