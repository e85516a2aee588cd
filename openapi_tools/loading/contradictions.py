"""Keywords that the values of their own schema contradict: they are not enforced.

`type: string, enum: [1, 2]` accepts no value, and `minimum: 10, maximum: 1` neither: such an
argument could never be passed. The document's values decide, and each contradiction is reported.

Spec: JSON Schema Validation 2020-12, section 6; which lets keywords of one schema exclude another.
"""

from __future__ import annotations

import json
import re
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import IN_PLACE_KEYWORDS, is_type
from openapi_tools.common.json_values import dump_json_bytes, unique_values
from openapi_tools.common.visible_text import truncate_text
from openapi_tools.loading.keyword_values import (
    ABSENT,
    BOUNDS,
    NUMBER_LIMITS,
    VALUE_LIMITS,
    extend_description,
    ignore_report,
)
from openapi_tools.loading.patterns import matches, read_pattern
from openapi_tools.loading.schema_examples import (
    SchemaExamples,
    all_satisfy,
    parse_text,
    types_of,
    wire_text,
)
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.common.json_values import Node
    from openapi_tools.loading.schema_examples import DefinitionFinder

    Report = Callable[[str, str], None]

_BOUNDS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
    ("minContains", "maxContains"),
)
_MAX_TEXT = 60
_MAX_PATTERN = 200
_STRING = frozenset({str})
_ELLIPSIS = re.compile(r"\.\.\.|…")
_KINDS = {
    bool: "boolean",
    str: "string",
    int: "integer",
    float: "number",
    list: "array",
    type(None): "null",
}


def resolve_contradictions(
    out: Node,
    *,
    also_null: bool = False,
    may_be_empty: bool = False,
    reads_pattern: bool = True,
    report: Report = ignore_report,
) -> None:
    """Change a converted schema, in place, so that a value of the document's own fits it.

    Args:
        out: The schema, with all of its inner schemas or with `items` alone.
        also_null: Whether null is accepted beside what the schema says.
        may_be_empty: Whether it may stand for the empty value alone, as an alternative may.
        reads_pattern: Whether a pattern may be compiled, which takes time.
        report: Takes a keyword and what a warning says about it.
    """
    types = types_of(out)
    if "array" in types and {"array", "null"} >= {*types}:
        _move_keywords_to_items(out, report)
    if "const" in out or "enum" in out:
        _apply_enum(out, also_null=also_null, report=report)
    if not BOUNDS.isdisjoint(out):
        _drop_impossible_bounds(out, may_be_empty=may_be_empty, report=report)
    if out.get("additionalProperties") is False and "patternProperties" not in out:
        _declare_required(out, report)
    if "pattern" in out and reads_pattern:
        _check_pattern(out, out["pattern"], report)


def drop_unfitting_values(
    out: Node, definitions: DefinitionFinder, report: Report = ignore_report
) -> None:
    """Leave only those examples and defaults of a schema, in place, that it accepts."""
    for keyword, before, after in SchemaExamples(out, definitions).drop_unfitting():
        consequence = "it is ignored" if after is ABSENT else f"it is read as {_quote_value(after)}"
        report(keyword, f"{_quote_value(before)} does not match its own schema; {consequence}.")


def _quote_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    text = text if text.isprintable() else json.dumps(value)
    return excerpt(text, _MAX_TEXT)


def _move_keywords_to_items(out: Node, report: Report) -> None:
    for keyword in ("enum", "const"):
        if keyword not in out:
            continue
        values = out[keyword] if keyword == "enum" else [out[keyword]]
        of_items = [value for value in values if not (value is None or isinstance(value, list))]
        if of_items:
            report(keyword, "has values that are not arrays; they are read as values of the items.")
        if of_items and len(of_items) == len([value for value in values if value is not None]):
            del out[keyword]
            out["items"] = _narrow_items(out.get("items"), {"enum": of_items})
    if "pattern" in out:
        report("pattern", "does not apply to an array; it is read as the pattern of the items.")
        pattern = out.pop("pattern")
        items = out.get("items")
        if not isinstance(items, dict) or "pattern" not in items:
            out["items"] = _narrow_items(items, {"type": "string", "pattern": pattern})


def _narrow_items(items: Any, keywords: Node) -> Node:
    items = items if isinstance(items, dict) else {}
    if not items.keys().isdisjoint(IN_PLACE_KEYWORDS | {"$ref"}):
        return {"allOf": [items, keywords]}
    kinds = unique_values(_KINDS.get(type(value)) for value in keywords.get("enum", ()))
    inferred = {"type": kinds[0]} if len(kinds) == 1 and kinds[0] else {}
    out = {**inferred, **keywords, **items}
    if "enum" in items and "enum" in keywords:
        literals = {*map(dump_json_bytes, keywords["enum"])}
        both = [value for value in items["enum"] if dump_json_bytes(value) in literals]
        out["enum"] = both or items["enum"]
    resolve_contradictions(out)
    return out


def _apply_enum(out: Node, *, also_null: bool, report: Report) -> None:
    keyword = "enum" if "enum" in out else "const"
    values = out[keyword] if keyword == "enum" else [out[keyword]]
    types = types_of(out)
    declared = [*types, "null"] if also_null else types
    is_plain = types == ["string"] and _STRING.issuperset(map(type, values))
    if types and not is_plain and not all(_is_any(value, declared) for value in values):
        values = _join_types(out, keyword, declared, report)
    for key in sorted(out.keys() & VALUE_LIMITS):
        if not all_satisfy(key, out[key], values):
            report(key, f"contradicts values of {keyword!r}; it is not enforced.")
            del out[key]


def _is_any(value: Any, types: list[str]) -> bool:
    return any(is_type(value, name) for name in types)


def _join_types(out: Node, keyword: str, declared: list[str], report: Report) -> list[Any]:
    types = types_of(out)
    values = out[keyword] if keyword == "enum" else [out[keyword]]
    forms, other_values = [], []
    for value in values:
        is_typed = _is_any(value, declared)
        forms.append(value if is_typed else _as_type(value, types))
        other_values += [] if is_typed else [value]
    meant = [value for value in forms if value is not ABSENT]
    kinds = [_KINDS.get(type(value), "object") for value in other_values]
    if meant:
        shown = ", ".join(map(_quote_value, other_values[:3]))
        report(keyword, f"has values of another type than {types} ({shown}); both are accepted.")
        kinds = [*types, *kinds]
    else:
        report("type", f"matches no value of {keyword!r}; it is not enforced.")
    kinds = list(dict.fromkeys(kinds))
    out["type"] = kinds if len(kinds) > 1 else kinds[0]
    joined = unique_values([*meant, *other_values])
    del out[keyword]
    out["enum"] = joined
    return joined


def _as_type(value: Any, types: list[str]) -> Any:
    text = wire_text(value)
    if text is None:
        return ABSENT
    if "string" in types:
        return text
    parsed = parse_text(text)
    return parsed if _is_any(parsed, types) else ABSENT


def _drop_impossible_bounds(out: Node, *, may_be_empty: bool, report: Report) -> None:
    for least, most in _BOUNDS:
        if least in out and most in out and out[least] > out[most]:
            report(least, f"is greater than {most!r}; neither is enforced.")
            del out[least], out[most]
    for most in ("maxLength", "maxItems"):
        if out.get(most) == 0 and not may_be_empty and out.get("enum") != [""]:
            # Generators write 0 for "no limit".
            report(most, "is 0, which only an empty value satisfies; it is not enforced.")
            del out[most]
    if not out.keys().isdisjoint(NUMBER_LIMITS) and not _has_number(out):
        bounds = [key for key in NUMBER_LIMITS if key in out]
        report(bounds[0], f"leaves no number with {bounds[1:]}; neither is enforced.")
        for key in bounds:
            del out[key]


def _has_number(out: Node) -> bool:
    low = max(out.get("minimum", -inf), out.get("exclusiveMinimum", -inf))
    high = min(out.get("maximum", inf), out.get("exclusiveMaximum", inf))
    is_open = out.get("exclusiveMinimum") == low or out.get("exclusiveMaximum") == high
    if bool(low > high) or (low == high and is_open):
        return False
    step = out.get("multipleOf", 1 if types_of(out) == ["integer"] else 0)
    # Fractions would need exact arithmetic, for a rare case.
    if step.__class__ is not int or not step or inf in (high, -low):
        return True
    first = ceil(low) + (ceil(low) == out.get("exclusiveMinimum"))
    last = floor(high) - (floor(high) == out.get("exclusiveMaximum"))
    return bool(-(-first // step) * step <= last)


def _declare_required(out: Node, report: Report) -> None:
    declared = out.get("properties", {})
    missing = [name for name in out.get("required", ()) if name not in declared]
    if missing:
        report(
            "required",
            "requires properties that a closed object does not have: "
            f"{', '.join(missing[:5]):.200}.",
        )
        out["properties"] = declared = {**declared, **{name: {} for name in missing}}
    if out.get("minProperties", 0) > len(declared):
        report(
            "minProperties", "is more properties than a closed object can have; it is not enforced."
        )
        del out["minProperties"]


def _check_pattern(out: Node, pattern: str, report: Report) -> None:
    types = types_of(out)
    if types and "string" not in types:
        return
    examples = [*out.get("examples", ()), *([out["default"]] if "default" in out else [])]
    texts = [wire_text(v) if types else v for v in examples if types or isinstance(v, str)]
    # An example with an ellipsis is shortened, and says nothing of the pattern.
    texts = [text for text in texts if text is not None and not _ELLIPSIS.search(text)]
    plain, remark = read_pattern(pattern)
    if texts and plain != pattern and all(matches(pattern, text) for text in texts):
        return
    if plain is not None and texts and all(matches(plain, text) is False for text in texts):
        plain = None
        remark = f"does not match the document's own {_quote_value(texts[0])}; it is not enforced."
    if remark:
        report("pattern", f"{_quote_value(pattern)} {remark}")
    if plain is not None:
        out["pattern"] = plain
        return
    del out["pattern"]
    if pattern != out.get("format"):
        extend_description(
            out, f"Pattern in the document: `{truncate_text(pattern, _MAX_PATTERN)}`."
        )
