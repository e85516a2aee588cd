"""How one value reads on the wire: the opposite of a parameter style, written from the standard.

Nothing here comes from the package. A server knows from its document whether it expects text, an
array or an object; here the value that was given says so.

Spec: OpenAPI 3.2.0, sections 4.12.3 to 4.12.6 and Appendix C; RFC 6570, section 3.2.
"""

import json
import re
from itertools import zip_longest
from typing import Any, NamedTuple

ABSENT: Any = type("Absent", (), {"__repr__": lambda _: "ABSENT"})()
"""What is not sent: null, and arrays and objects with nothing but null in them."""

_DELIMITERS = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_ENCODED = {",": ",", " ": "%20", "|": "%7C", "\t": "%09"}
_TRIPLE = re.compile(r"%[0-9A-Fa-f]{2}")


class Place(NamedTuple):
    """How text is written at a place."""

    decode: Any  # a function from text to text
    is_raw: bool = False
    space: str = "%20"

    def encode_delimiter(self, delimiter: str, *, printed: bool = False) -> str:
        if self.is_raw or (printed and delimiter == "|"):
            return delimiter
        return self.space if delimiter == " " else _ENCODED[delimiter]


def without_empty(value, *, deep=False):
    """Return what is left of a value where null and emptiness cannot be said."""

    def inner(item):
        if deep:
            return without_empty(item, deep=True)
        return ABSENT if item is None else item

    if isinstance(value, list):
        return [item for item in map(inner, value) if item is not ABSENT] or ABSENT
    if isinstance(value, dict):
        properties = {name: inner(each) for name, each in value.items()}
        return {name: each for name, each in properties.items() if each is not ABSENT} or ABSENT
    return ABSENT if value is None else value


def matches(wire, value):
    """Return whether what was read says the same as a value, number for number."""
    if isinstance(wire, list):
        return (
            isinstance(value, list) and len(wire) == len(value) and all(map(matches, wire, value))
        )
    if isinstance(wire, dict):
        return (
            isinstance(value, dict)
            and wire.keys() == value.keys()
            and all(matches(wire[name], value[name]) for name in value)
        )
    if wire is ABSENT or value is ABSENT or isinstance(value, str):
        return bool(wire == value)
    try:
        return same_json(json.loads(wire), value)
    except ValueError:
        return False


def same_json(first, second):
    if isinstance(first, bool) or isinstance(second, bool):
        return first is second
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same_json, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(
            same_json(first[name], second[name]) for name in first
        )
    return bool(first == second)


def text_of(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def leaves(value):
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, dict) and item is value:
            for name, entry in item.items():
                yield name
                yield text_of(entry)
        else:
            yield text_of(item)


def losses(parameter, value, place):
    """Name the reasons for which a value cannot be told apart from another one on the wire."""
    if parameter.media_type:
        return
    compound = isinstance(value, list | dict)
    texts = list(leaves(value))
    if parameter.allow_reserved and any(_TRIPLE.search(text) for text in texts):
        yield "allowReserved sends %XX as it is"
    if parameter.style == "deepObject":
        if any(re.search(r"[\[\]]", key) for key in keys_in(value)):
            yield "a bracket inside a key of a deepObject"
        return
    delimiter = _delimiter(parameter)
    exposed = place.is_raw or parameter.allow_reserved
    if compound and (exposed or delimiter not in (",", "&")):
        signs = {delimiter, "="} if isinstance(value, dict) and parameter.explode else {delimiter}
        printed_pipe = parameter.printed and delimiter == "|"
        if not printed_pipe and any(sign in text for sign in signs for text in texts):
            yield "a delimiter inside a value where it is not encoded"
    if parameter.inner and isinstance(value, list):
        yield from _inner_losses(parameter, value, delimiter, exposed=exposed)


def _inner_losses(parameter, value, delimiter, *, exposed):
    nested = [item for item in value if isinstance(item, list)]
    if any(not item or None in item for item in nested):
        yield "null or nothing inside an inner array"
    inner = parameter.inner[0]
    if nested and (inner == delimiter or len(parameter.inner) > 1):
        yield "one delimiter for two levels"
    if inner != "," or exposed:
        texts = [text_of(entry) for item in nested for entry in item]
        if any(inner in text for text in texts):
            yield "a delimiter inside a value where it is not encoded"


def keys_in(value):
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for entry in value if isinstance(value, list) else ():
        yield from keys_in(entry)


def _delimiter(parameter):
    if parameter.style == "label" and (parameter.explode or parameter.printed):
        return "."
    if parameter.explode and parameter.style == "matrix":
        return ";"
    if parameter.explode and parameter.location in ("query", "cookie"):
        return "&"
    return _DELIMITERS.get(parameter.style, ",")


def read(parameter, raw, hint, place):
    if parameter.media_type or not isinstance(hint, list | dict):
        return place.decode(raw)
    if parameter.style == "label" and parameter.printed:
        joint = "."
    else:
        joint = place.encode_delimiter(
            _DELIMITERS.get(parameter.style, ","), printed=parameter.printed
        )
    pieces = raw.split(joint)
    if isinstance(hint, list):
        return read_items(parameter, pieces, hint, place)
    if len(pieces) % 2:
        return raw
    pairs = zip(pieces[::2], pieces[1::2], strict=True)
    return {place.decode(name): place.decode(text) for name, text in pairs}


def read_items(parameter, raws, hint, place):
    pairs = zip_longest(raws, hint[: len(raws)])
    return [_item(parameter, raw, item, place) for raw, item in pairs]


def read_properties(raws, place):
    pairs = [raw.partition("=") for raw in raws]
    return {place.decode(name): place.decode(text) for name, _, text in pairs}


def _item(parameter, raw, hint, place):
    if parameter.inner and isinstance(hint, list):
        return [
            place.decode(piece) for piece in raw.split(place.encode_delimiter(parameter.inner[0]))
        ]
    return place.decode(raw)


def read_deep(pairs, hint):
    if not isinstance(hint, list | dict):
        return pairs[0][1] if len(pairs) == 1 and not pairs[0][0] else pairs
    groups: dict[str, list[tuple[str, str]]] = {}
    appended = []
    for steps, text in pairs:
        key, closed, rest = steps.removeprefix("[").partition("]")
        if not steps.startswith("[") or not closed:
            return pairs
        if isinstance(hint, list) and not key:
            appended.append(text)
        groups.setdefault(key, []).append((rest, text))
    if isinstance(hint, dict):
        return {key: read_deep(raws, hint.get(key)) for key, raws in groups.items()}
    if appended:
        return appended
    numbered = [item for item in hint if item is not None]
    if not all(key.isdigit() and int(key) < len(numbered) for key in groups):
        return pairs
    return [read_deep(groups[key], numbered[int(key)]) for key in sorted(groups, key=int)]
