"""Types of schemas as other languages call them: `int`, `String`, `date-time`, `list`.

Spec: JSON Schema Validation 2020-12, section 6.1.1, has seven types; the formats are those of the
OpenAPI Format Registry.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common.json_schema import TYPES
from openapi_tools.common.json_values import is_string
from openapi_tools.common.visible_text import fold_name

if TYPE_CHECKING:
    from openapi_tools.common.json_values import Node

_FILES: Final = frozenset({"file", "binary"})  # read where bodies are
_USUAL: Final = _FILES | TYPES
_FORMATS = (
    ("integer", {"int32": "int32", "int64": "int64", "long": "int64"}),
    ("number", {"float": "float", "float32": "float", "double": "double", "float64": "double"}),
    ("string", {"date": "date", "datetime": "date-time", "time": "time", "duration": "duration"}),
    ("string", {"uuid": "uuid", "guid": "uuid", "email": "email", "uri": "uri", "url": "uri"}),
    ("string", {"hostname": "hostname", "ipv4": "ipv4", "ipv6": "ipv6", "password": "password"}),
    ("string", {"byte": "byte", "base64": "byte"}),
)
_NAMES = {
    **dict.fromkeys(
        ("int", "integer", "int8", "int16", "short", "bigint", "biginteger"), "integer"
    ),
    **dict.fromkeys(("uint", "uint8", "uint16", "uint32", "uint64", "smallint"), "integer"),
    **dict.fromkeys(("number", "num", "decimal", "bigdecimal", "numeric", "real"), "number"),
    **dict.fromkeys(("bool", "boolean"), "boolean"),
    **dict.fromkeys(("string", "str", "text", "varchar", "char", "character"), "string"),
    **dict.fromkeys(("array", "list", "arraylist", "tuple", "set", "collection"), "array"),
    **dict.fromkeys(("object", "dict", "dictionary", "map", "hash", "hashmap", "struct"), "object"),
    **dict.fromkeys(("null", "none", "nil"), "null"),
}
# The type and the format that a word means; words as by `fold_name`.
_MEANINGS = {name: (kind, "") for name, kind in _NAMES.items()} | {
    name: (kind, form) for kind, formats in _FORMATS for name, form in formats.items()
}

# Keywords beside which `format: binary` does not make a schema a file.
_DESCRIBING = frozenset({"$ref", "properties", "allOf", "anyOf", "oneOf"})

_LIST = re.compile(r"(\w{1,30})\[\]|(?i:array|list|set)[<\[(](\w{1,30})[>\])]")
_UNION = re.compile(r"[|,]|\sor\s")
_LONGEST = 100


def names_file(kind: Any) -> bool:
    """Return whether a type that JSON Schema does not have means a file."""
    return isinstance(kind, str) and kind not in TYPES and kind.lower() in _FILES


def read_type(out: Node) -> None:
    """Replace the `type` of a schema by the types that are meant, in place; drop what says nothing.

    A word such as `date-time` also gives a format, and `string[]` the items, if there are none.
    """
    declared = out["type"] if isinstance(out["type"], list) else [out["type"]]
    if any(map(names_file, declared)):
        out["format"] = "binary"
    meaning = _meaning_of(out["type"])
    if meaning is None:
        del out["type"]
        return
    out.update({key: value for key, value in meaning.items() if key == "type" or key not in out})


def type_remark(declared: Any) -> str:
    """Return how a `type` is read that is none of JSON Schema's; empty for one that is."""
    if isinstance(declared, str) and declared in _USUAL:
        return ""  # most types
    names = [declared] if isinstance(declared, str) else declared
    if not isinstance(names, list) or all(is_string(n) and n in _USUAL for n in names):
        return ""
    meaning = _meaning_of(declared)
    if meaning is None:
        return f"{declared!r:.60} is not a known type; any value is accepted there."
    kinds, form = meaning["type"], meaning.get("format")
    shown = f"{kinds!r}" + (f" with format {form!r}" if form else "")
    return f"{declared!r:.60} is read as {shown}."


def file_remark(node: Node) -> tuple[str, str]:
    """Return the keyword by which a Schema Object spells a file otherwise, and a warning.

    Both are empty for most. Spec: OpenAPI 3.0.4, section 4.7.14.2, has `type: string` with
    `format: binary` for files.
    """
    kind, is_binary = node.get("type"), node.get("format") == "binary"
    if names_file(kind):
        reason = f"{kind!r} is not a type of JSON Schema"
        return "type", f"{reason}; it is read as a file. Write 'type: string', 'format: binary'."
    if is_binary and kind in (None, "object") and node.keys().isdisjoint(_DESCRIBING):
        reason = "'binary' is a format of strings"
        return "format", f"{reason}; it is read as a file. Write 'type: string' beside it."
    return "", ""


def main_type(node: Node) -> Any:
    """Return the `type` of a Schema Object as JSON Schema calls it, or as it is written."""
    declared = node.get("type")
    if not isinstance(declared, str) or declared in _USUAL:
        return declared
    meaning = _meaning_of(declared)
    return declared if meaning is None else meaning["type"]


def _meaning_of(declared: Any) -> Node | None:
    if not isinstance(declared, str):
        return _union_of(declared) if isinstance(declared, list) else None
    return _meaning_of_text(declared) if len(declared) <= _LONGEST else None


@lru_cache(maxsize=1024)
def _meaning_of_text(text: str) -> Node | None:
    if match := _LIST.fullmatch(text.strip()):
        items = _meaning_of_text(match[1] or match[2])
        return {"type": "array", **({"items": items} if items else {})}
    if pair := _MEANINGS.get(fold_name(text)):
        kind, form = pair
        return {"type": kind, **({"format": form} if form else {})}
    parts = _UNION.split(text)
    return _union_of(parts) if len(parts) > 1 else None


def _union_of(names: list[Any]) -> Node | None:
    read = [_meaning_of(name) if isinstance(name, str) else None for name in names]
    meanings = [each for each in read if each is not None and isinstance(each["type"], str)]
    if not meanings or len(meanings) < len(names):
        return None
    kinds = list(dict.fromkeys(each["type"] for each in meanings))
    forms = [each["format"] for each in meanings if "format" in each]
    is_one = len([kind for kind in kinds if kind != "null"]) == 1
    return {"type": kinds, **({"format": forms[0]} if forms and is_one else {})}
