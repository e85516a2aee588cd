"""The faults of a value: read from the errors of jsonschema-rs, and described for a model.

A list of everything that is wrong with every alternative of `anyOf` or `oneOf` does not help a
model; the alternative that comes closest does. A wrong type tells most against an alternative,
then a constant such as a discriminator's.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_schema import UNIONS, property_names
from openapi_tools.common.options import similar_names
from openapi_tools.errors import format_count
from openapi_tools.redaction import redact_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from jsonschema_rs import ValidationError

    from openapi_tools.validation.check_cost import Node, Schema

    Place = tuple[str | int, ...]

_KINDS = {
    "null": "null",
    "boolean": "a boolean",
    "integer": "an integer",
    "number": "a number",
    "string": "a string",
    "array": "an array",
    "object": "an object",
}
# Python's types in the order of those; a bool is an int, too.
_TYPES: tuple[type, ...] = (type(None), bool, int, float, str, list, object)
_SHOWN = 80
_LEAST = 4
# No float holds more, and writing one takes a quadratic time.
_LARGEST_INTEGER_BITS = 1024
_LISTED = 20
_NAME = 100
_PLAIN_NAME = re.compile(r"[\w.$@\[\]-]+", re.ASCII)
_LISTED_CHARS = 500
_READ = 10_000
# The distance of a branch needs no more, and a union may have hundreds of branches.
_PER_BRANCH = 20
_BRANCHES = 200
_CONSTANTS = ("const", "enum")
_FILE = frozenset({"base64", "text"})
_FILE_HINT = '; pass {"text": …} or {"base64": …}'


class Flaw(NamedTuple):
    """A fault of the value at a path; the keyword is `false` if no value is allowed."""

    place: tuple[str | int, ...]
    keyword: str
    limit: Any
    value: Any
    remark: str = ""


def read_flaws(errors: Iterable[ValidationError], root: Node) -> Iterator[Flaw]:
    """Yield the flaws in a validator's errors, each once; at a wrong type only that."""
    entries = [(error, error.kind.name, tuple(error.instance_path)) for error in errors]
    # A value of a wrong type fails its other keywords, too; these messages would only distract.
    wrong_type = {place for _, keyword, place in entries if keyword == "type"}
    seen: list[Flaw] = []
    for error, keyword, place in entries:
        if keyword == "type" or place not in wrong_type:
            for flaw in _flaws_of(error, keyword, place, root):
                if flaw not in seen:
                    seen.append(flaw)
                    yield flaw


def _flaws_of(error: Any, keyword: str, place: Place, root: Node) -> Iterator[Flaw]:
    schema = _find_node(root, error.schema_path[:-1])
    if keyword == "falseSchema":
        yield Flaw(place, "false", None, None)
    elif not isinstance(schema, dict):
        yield Flaw(place, "", None, _instance_of(error))
    elif keyword == "propertyNames":
        inner = error.kind.error
        for flaw in read_flaws([inner], root):
            yield flaw._replace(place=(*place, inner.instance))
    elif keyword in UNIONS:
        yield from _union_flaws(error, schema[keyword], place, root)
    else:
        yield from _keyword_flaws(error, keyword, place, schema)


def _keyword_flaws(error: Any, keyword: str, place: Place, schema: Node) -> Iterator[Flaw]:
    kind, value, word = error.kind, _instance_of(error), str(error.schema_path[-1])
    limit = schema.get(word)
    match keyword:
        case "type":
            is_file = schema.get("properties", {}).keys() >= _FILE
            yield Flaw(place, keyword, limit, value, _FILE_HINT if is_file else "")
        case "required":
            name = kind.property
            needs = limit.items() if isinstance(limit, dict) else ()  # of `dependentRequired`
            by = next((other for other, names in needs if other in value and name in names), None)
            yield Flaw((*place, name), word, by, None)
        case "additionalProperties" | "unevaluatedProperties":
            flaw_keyword = "additionalProperties" if limit is False else ""
            for name in kind.unexpected:
                yield Flaw((*place, name), flaw_keyword, property_names(schema), value[name])
        case "contains":
            yield Flaw(place, word, schema, None)
        case _:
            yield Flaw(place, keyword, limit, value)


def _instance_of(error: Any) -> Any:
    # jsonschema-rs sorts names up to 0.60, and no more since: messages are the same with both.
    instance = error.instance
    return dict(sorted(instance.items())) if isinstance(instance, dict) else instance


def _find_node(root: Any, path: list[Any]) -> Any:
    try:
        for step in path:
            root = root[step]
    except LookupError:  # the validator leaves empty names out of its paths
        return None
    return root


def _union_flaws(error: Any, branches: list[Schema], place: Place, root: Node) -> Iterator[Flaw]:
    context = error.kind.context
    fitting = [index for index, errors in enumerate(context) if not errors]
    if fitting:
        names = [_label(branches[index], index) for index in fitting[:5]]
        yield Flaw(place, "oneOf", names, _instance_of(error))
        return
    branch_flaws = [list(islice(read_flaws(e, root), _PER_BRANCH)) for e in context[:_BRANCHES]]
    if merged := _merge_flaws(branch_flaws, place, _instance_of(error)):
        yield merged
        return
    distances = [_distance(flaws, place) for flaws in branch_flaws]
    closest = min(distances)
    index = distances.index(closest)
    remark = ""
    if sum(has_wrong_type == closest[0] for has_wrong_type, *_ in distances) > 1:
        name = _label(branches[index], index)
        remark = f" (as {name}, the closest of {len(branches)} alternatives)"
    yield from (flaw._replace(remark=flaw.remark or remark) for flaw in branch_flaws[index])


def _label(branch: Schema, index: int) -> str:
    reference = branch.get("$ref", "") if isinstance(branch, dict) else ""
    name = reference.rpartition("/")[2][:100]
    return repr(name) if name and name != "#" else f"alternative {index + 1}"


def _distance(flaws: list[Flaw], place: Place) -> tuple[bool, int, int, int]:
    constants = sum(_is_constant(f) and len(f.place) <= len(place) + 1 for f in flaws)
    has_wrong_type = any(flaw.keyword == "type" and flaw.place == place for flaw in flaws)
    deepest = max((len(flaw.place) for flaw in flaws), default=0)
    return has_wrong_type, constants, len(flaws), -deepest


def _merge_flaws(branches: list[list[Flaw]], place: Place, value: Any) -> Flaw | None:
    # If all alternatives fail alike, the list of what they want says more than the nearest one.
    # The constants are those of a discriminator, or of enumerations side by side.
    firsts = [flaws[0] for flaws in branches if flaws]
    is_here = all(flaw.place == place for flaw in firsts)
    if is_here and all(flaw.keyword == "type" or _is_constant(flaw) for flaw in firsts):
        kinds = [name for flaw in firsts for name in _kinds_of(flaw)]
        if any(flaw.keyword == "type" and flaw.limit != "null" for flaw in firsts):
            return Flaw(place, "type", sorted(kinds, key="null".__eq__), value)
    constants = [f for f in (next(filter(_is_constant, flaws), None) for flaws in branches) if f]
    if len(constants) < len(branches) or any(
        flaw.place != constants[0].place for flaw in constants
    ):
        return None
    options = [
        option for f in constants for option in (f.limit if f.keyword == "enum" else [f.limit])
    ]
    return Flaw(constants[0].place, "enum", options, constants[0].value)


def _kinds_of(flaw: Flaw) -> list[str]:
    if flaw.keyword == "type":
        return [flaw.limit] if isinstance(flaw.limit, str) else flaw.limit
    return [
        format_value(flaw.limit)
        if flaw.keyword == "const"
        else f"one of {format_value(flaw.limit, 200)}"
    ]


def _is_constant(flaw: Flaw) -> bool:
    return flaw.keyword in _CONSTANTS


def describe_flaw(flaw: Flaw) -> str:
    """Describe a fault and the allowed values in a sentence, without the path."""
    phrase = _PHRASES.get(flaw.keyword)
    text = phrase(flaw) if phrase else f"{format_value(flaw.value)} does not match its schema"
    return f"{text}{flaw.remark}{'' if text.endswith('?') else '.'}"


def format_value(value: Any, limit: int = _SHOWN) -> str:
    """Return a JSON-native value in about `limit` characters, strings in single quotes."""
    match value:
        case None | bool():
            return json.dumps(value)
        case str():
            text = redact_text(value)
            return repr(text) if len(text) <= limit else f"{text[: limit - 1]!r}…"
        case list() | dict():
            return _format_parts(value, limit)
        case int() if value.bit_length() > _LARGEST_INTEGER_BITS:
            return "a number too large for JSON"
        case _:
            text = repr(value)
            return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _format_parts(value: list[Any] | dict[str, Any], limit: int) -> str:
    opening, closing = "[]" if isinstance(value, list) else "{}"
    half = limit // 2
    if half < _LEAST:
        return f"{opening}…{closing}"
    if isinstance(value, list):
        parts = (format_value(item, half) for item in value)
    else:
        parts = (
            f"{format_value(name, half)}: {format_value(item, half)}"
            for name, item in value.items()
        )
    row: list[str] = []
    for text in islice(parts, _LISTED):
        if row and limit < len(text):
            break
        row.append(text)
        limit -= len(text) + 2
    if len(row) < len(value):
        row.append(f"… {len(value) - len(row)} more")
    return f"{opening}{', '.join(row)}{closing}"


def kind_of(value: Any) -> str:
    """Return the JSON type of a value with its article: `"an integer"`."""
    pairs = zip(_KINDS.values(), _TYPES, strict=True)
    return next(words for words, kind in pairs if isinstance(value, kind))


def _describe_type(flaw: Flaw) -> str:
    received = format_value(flaw.value)
    types = [flaw.limit] if isinstance(flaw.limit, str) else list(dict.fromkeys(flaw.limit))
    text = f"expected {' or '.join(_KINDS.get(name, name) for name in types)}, got {received}"
    if received != kind_of(flaw.value):
        text += f" ({kind_of(flaw.value)})"
    return f"{text}; pass it without quotes" if is_quoted_json(flaw) else text


def is_quoted_json(flaw: Flaw) -> bool:
    """Return whether a value of a wrong type is a string that holds JSON of a fitting type."""
    text, types = flaw.value, [flaw.limit] if isinstance(flaw.limit, str) else flaw.limit
    try:
        value = json.loads(text) if isinstance(text, str) and len(text) <= _READ else None
    except (ValueError, RecursionError):
        return False
    kind = kind_of(value)
    return value is not None and any(
        _KINDS.get(name) == kind or (name == "number" and kind == "an integer") for name in types
    )


def _describe_unknown(flaw: Flaw) -> str:
    names = [name for name in flaw.limit if len(name) <= _NAME]
    text = _unknown_kind(flaw)
    if not names:
        return f"{text}; leave it out"
    similar = similar_names(flaw.place[-1], names)
    text += f"; did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    if flaw.keyword == "listed":
        return text
    if len(names) > _LISTED:
        rest = f" {len(names)} names are accepted" if similar else "; leave it out"
        return text + rest
    listing = ", ".join(name if _PLAIN_NAME.fullmatch(name) else repr(name) for name in names)
    return f"{text}{'' if similar else '.'} Expected one of: {listing}"


def _unknown_kind(flaw: Flaw) -> str:
    return "unknown argument" if len(flaw.place) == 1 else "unknown property"


def _describe_misplaced(flaw: Flaw) -> str:
    places = " or ".join(format_value(".".join(map(str, path)), _NAME) for path in flaw.limit)
    verb = "belongs" if len(flaw.value) == 1 else "belong"
    return f"{join_names(flaw.value)} {verb} inside {places}"


def join_names(names: list[str]) -> str:
    """Return names with `and` before the last one."""
    texts = [format_value(name, _NAME) for name in names]
    if len(texts) > _LISTED:
        texts[_LISTED:] = [f"{len(texts) - _LISTED} more"]
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _describe_choice(flaw: Flaw) -> str:
    options = format_value(flaw.limit, _LISTED_CHARS)
    texts = [option for option in flaw.limit if isinstance(option, str)]
    close = (
        similar_names(flaw.value, texts) if "… " in options and isinstance(flaw.value, str) else []
    )
    if close:
        options = f"{len(flaw.limit)} values; did you mean {' or '.join(map(format_value, close))}?"
    return f"{format_value(flaw.value)} is not one of {options}"


def _describe_repetition(flaw: Flaw) -> str:
    seen: dict[str, int] = {}
    for index, item in enumerate(flaw.value):
        first = seen.setdefault(json.dumps(item, sort_keys=True), index)
        if first != index:
            return f"items {first} and {index} are equal, but items must be unique"
    return "some items are equal, but items must be unique"


def _describe_contains(flaw: Flaw) -> str:
    least = flaw.limit.get("minContains", 1)
    items = format_value(flaw.limit["contains"], 200)
    return f"needs at least {format_count(least, 'item')} matching {items}"


def _describe_size(flaw: Flaw) -> str:
    verb, (one, several) = _SIZE_BOUNDS[flaw.keyword[:3]], _NOUNS[flaw.keyword[3:]]
    return f"{verb} {flaw.limit:,} {one if flaw.limit == 1 else several}, got {len(flaw.value):,}"


def _describe_bound(flaw: Flaw) -> str:
    bound = f"{_BOUNDS[flaw.keyword]} {format_value(flaw.limit)}"
    return f"must be {bound}, got {format_value(flaw.value)}"


_BOUNDS = {
    "exclusiveMaximum": "less than",
    "exclusiveMinimum": "greater than",
    "maximum": "at most",
    "minimum": "at least",
}
_SIZE_BOUNDS = {"max": "allows at most", "min": "needs at least"}
_NOUNS = {
    "Items": ("item", "items"),
    "Length": ("character", "characters"),
    "Properties": ("property", "properties"),
}
_PHRASES: dict[str, Callable[[Flaw], str]] = {
    "additionalProperties": _describe_unknown,
    "const": lambda flaw: f"expected {format_value(flaw.limit)}, got {format_value(flaw.value)}",
    "contains": _describe_contains,
    "maxContains": lambda flaw: (
        f"allows at most {format_count(flaw.limit['maxContains'], 'item')} matching "
        f"{format_value(flaw.limit['contains'], 200)}"
    ),
    "minContains": _describe_contains,
    "dependentRequired": lambda flaw: f"required when {flaw.limit!r} is given",
    "enum": _describe_choice,
    "inside": _describe_misplaced,
    "listed": _describe_unknown,
    "wraps": _unknown_kind,
    "false": lambda _: "is not allowed here; leave it out",
    **{f"{bound}{noun}": _describe_size for bound in ("max", "min") for noun in _NOUNS},
    **dict.fromkeys(
        ("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum"), _describe_bound
    ),
    "multipleOf": lambda flaw: (
        f"must be a multiple of {format_value(flaw.limit)}, got {format_value(flaw.value)}"
    ),
    "not": lambda flaw: (
        f"{format_value(flaw.value)} is not allowed: the schema excludes values that match "
        f"{format_value(flaw.limit, 200)}"
    ),
    "oneOf": lambda flaw: (
        f"matches {' and '.join(flaw.limit)}, but must match exactly one; "
        "leave out what belongs to the others"
    ),
    "pattern": lambda flaw: (
        f"{format_value(flaw.value)} does not match the pattern {format_value(flaw.limit, 200)}"
    ),
    "required": lambda flaw: (
        "missing required " + ("argument" if len(flaw.place) == 1 else "property")
    ),
    "type": _describe_type,
    "unevaluatedItems": lambda flaw: (
        f"{format_value(flaw.value)} has items that are not allowed here"
    ),
    "uniqueItems": _describe_repetition,
}
