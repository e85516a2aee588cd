"""Request bodies that a decoder converts.

Most schemas say nothing that versions differ in. A decoder that knows what such schemas look like
makes of their text what would be made of each of their keywords, but much faster; it refuses all
others, which are parsed and converted.

Spec: JSON Schema Core 2020-12, section 10; Validation 2020-12, sections 6 to 9.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Required, TypedDict

from msgspec import Meta
from msgspec.json import Decoder

from openapi_tools.loader.keywords import KINDS, MAX_ENUM, MAX_LABEL, MAX_LITERAL, TRANSLATED
from openapi_tools.loader.texts import plain_text
from openapi_tools.runtime.media import is_xml

if TYPE_CHECKING:
    from collections.abc import Callable

_HIDING = re.compile(rb"\\(?:[bf]|u00(?:[0189]|7[fF]))")
"""As these a text may hold control characters."""


class _Kind(type):
    """The type of classes that only say what is to be looked at: anything is an instance."""

    def __instancecheck__(cls, _: object) -> bool:
        return True


class _Words(metaclass=_Kind):
    """A description."""


class _Names(metaclass=_Kind):
    """A list of required members."""


class _Values(metaclass=_Kind):
    """An enumeration."""


class _Never(metaclass=_Kind):
    """What makes a difference."""


_Label = Annotated[str, Meta(max_length=MAX_LABEL)]
_Whole = Annotated[int, Meta(ge=-(2**62), le=2**62)]
_Number = _Whole | Annotated[float, Meta(ge=-1e299, le=1e299)]
_Count = Annotated[int, Meta(ge=0, le=2**62)]
_SCHEMA: dict[str, Any] = {
    **dict.fromkeys(KINDS.keys() | TRANSLATED | {"$ref"}, _Never),
    "type": Literal["string", "number", "integer", "boolean", "object", "array", "null"],
    "properties": "dict[_Label, _Schema]",
    "description": _Words,
    "required": _Names,
    "enum": _Values,
    "default": Annotated[str, Meta(max_length=MAX_LITERAL - 3)] | bool | int | float | None,
    "pattern": Annotated[str, Meta(max_length=MAX_LITERAL)],
    **dict.fromkeys(("items", "additionalProperties"), "_Schema | bool"),
    **dict.fromkeys(("anyOf", "oneOf"), "Annotated[list[_Schema], Meta(min_length=1)]"),
    **dict.fromkeys(("title", "format"), _Label),
    **dict.fromkeys(("minimum", "maximum"), _Number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _Count),
    **dict.fromkeys(("minProperties", "maxProperties"), _Count),
    **dict.fromkeys(("uniqueItems", "deprecated", "writeOnly"), bool),
}
"""Keywords that are in no schema at all are left out, as they are of any that is converted."""
_typed: Any = TypedDict
_Schema = _typed("_Schema", _SCHEMA, total=False)
_MEDIA_TYPE: dict[str, Any] = {
    "schema": Required[_Schema],
    **dict.fromkeys(("encoding", "prefixEncoding", "itemEncoding"), Any),
    **dict.fromkeys(("itemSchema", "$ref"), _Never),
}
_MediaType = _typed("_MediaType", _MEDIA_TYPE, total=False)
_BODY: dict[str, Any] = {
    "content": "Required[Annotated[dict[str, _MediaType], Meta(min_length=1)]]",
    **dict.fromkeys(("description", "required"), Any),
    "$ref": _Never,
}
_Body = _typed("_Body", _BODY, total=False)


def ready_bodies(limit: int) -> Callable[[bytes], dict[str, Any] | None]:
    """Return what makes Request Body Objects of their JSON, with schemas that are converted.

    Args:
        limit: Most characters of a description.

    Returns:
        A function; for a body that is to be converted, or is none, it returns None.
    """
    decode = Decoder(_Body, dec_hook=_hook(limit)).decode

    def ready(text: bytes) -> dict[str, Any] | None:
        if _HIDING.search(text) or b"\x7f" in text or (b"\xc2" in text and not text.isascii()):
            return None
        try:
            body: dict[str, Any] = decode(text)
        except (TypeError, ValueError, RecursionError):
            return None
        # Of XML the schemas are read as the document has them.
        return None if any(map(is_xml, body["content"])) else body

    return ready


def _hook(limit: int) -> Callable[[type, Any], Any]:
    """Return what converts the keywords that a decoder does not know."""

    def converted(kind: type, value: Any) -> Any:
        if kind is _Words and type(value) is str:
            return plain_text(value, limit)
        most = MAX_ENUM if kind is _Values else MAX_LITERAL if kind is _Names else 0
        fits = most and type(value) is list and len("".join(value)) + 5 * len(value) <= most
        if fits and value and (kind is _Values or len(set(value)) == len(value)):
            return value
        raise ValueError

    return converted
