"""Help with arguments that do not fit: where misplaced ones belong, and an example of a call."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import as_dict, as_list
from openapi_tools.common.options import similar_names
from openapi_tools.validation.messages import Flaw, is_quoted_json, join_names, kind_of
from openapi_tools.validation.samples import Path, Sampler

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST_PATHS = 3  # to objects that declare a misplaced argument
_MOST_MOVED = _MOST_EXPLAINED = 5
_LONGEST_EXAMPLE = 300
_LIMITS = (_LONGEST_EXAMPLE, 90, 30)  # characters of each argument, tried until the whole fits
_LENGTH_DIFFERENCE = 4  # of similar names: with more, an example would be about something else


def explain_flaws(flaws: list[Flaw], schema: Mapping[str, Any]) -> tuple[list[Flaw], str]:
    """Return the flaws of arguments, with misplaced ones grouped, and an example call."""
    properties = as_dict(schema.get("properties"))
    wraps = {flaw.place[0]: inner for flaw in flaws if (inner := _wrapped_names(flaw, properties))}
    unknown = [str(flaw.place[0]) for flaw in flaws if _is_unknown(flaw)]
    misplaced = _find_declaring_objects([name for name in unknown if name not in wraps], schema)
    explained = [Flaw((), "inside", places, names) for names, places in misplaced]
    paths = [(*places[0], name) for names, places in misplaced for name in names[:_MOST_MOVED]]
    filled_inside = {places[0][0] for _, places in misplaced}.union(*wraps.values())
    explained_otherwise = {
        ("additionalProperties", name) for names, _ in misplaced for name in names
    }
    explained_otherwise |= {("required", name) for name in filled_inside}
    for flaw in flaws:
        inner = wraps.get(flaw.place[0], [])[:_MOST_MOVED] if len(flaw.place) == 1 else []
        paths += [(name,) for name in inner]
        if inner:
            keyword = "wraps" if _is_unknown(flaw) else flaw.keyword
            explained.append(
                flaw._replace(
                    keyword=keyword, remark=f"; pass {join_names(inner)} directly, not inside it"
                )
            )
        elif (flaw.keyword, *flaw.place) not in explained_otherwise:
            is_listed = _is_unknown(flaw) and any(map(_is_unknown, explained))
            explained.append(flaw._replace(keyword="listed") if is_listed else flaw)
            paths += _example_paths(flaw, properties) if len(explained) <= _MOST_EXPLAINED else []
    return explained, example_call(schema, paths) if wraps or any(
        map(_needs_example, explained)
    ) else ""


def _is_unknown(flaw: Flaw) -> bool:
    return flaw.keyword == "additionalProperties" and len(flaw.place) == 1


def _wrapped_names(flaw: Flaw, properties: Mapping[str, Any]) -> list[str]:
    is_wrong = len(flaw.place) == 1 and flaw.keyword in ("additionalProperties", "type")
    value = flaw.value if is_wrong and isinstance(flaw.value, dict) else {}
    inner = [name for name in value if name in properties and name not in flaw.place]
    return inner if 2 * len(inner) >= len(value) else []


def _example_paths(flaw: Flaw, properties: Mapping[str, Any]) -> list[Path]:
    if _is_unknown(flaw):
        name = str(flaw.place[0])
        return [
            (n,)
            for n in similar_names(name, properties, most=1)
            if abs(len(n) - len(name)) < _LENGTH_DIFFERENCE
        ]
    return [tuple(map(str, flaw.place))] if flaw.keyword in ("required", "type") else []


def _needs_example(flaw: Flaw) -> bool:
    # An example helps with names and shapes, not with a wrong number.
    if flaw.keyword == "type":
        has_parts = "array" in flaw.limit or "object" in flaw.limit
        return has_parts and len(flaw.place) == 1 and not is_quoted_json(flaw)
    is_near = len(flaw.place) < (3 if flaw.keyword == "required" else 2)
    return is_near and flaw.keyword in ("additionalProperties", "inside", "required")


def _find_declaring_objects(
    names: list[str], schema: Mapping[str, Any]
) -> list[tuple[list[str], list[Path]]]:
    objects = Sampler(schema, brief=True).object_paths() if names else []
    declaring: list[tuple[list[str], list[Path]]] = []
    while names and objects:
        # The object that declares most of the names, of several the one that is least deep.
        declared = [([n for n in names if n in properties], path) for path, properties in objects]
        inner, nearest = min(declared, key=lambda pair: (-len(pair[0]), len(pair[1])))
        if not inner:
            break
        paths = [path for group, path in declared if group == inner and len(path) == len(nearest)]
        is_clear = len(inner) > 1 or not similar_names(inner[0], as_dict(schema.get("properties")))
        if is_clear and len(paths) <= _MOST_PATHS:
            declaring.append((inner, paths))
        names = [name for name in names if name not in inner]
    return declaring


def example_call(schema: Mapping[str, Any], paths: list[Path] | None = None) -> str:
    """Return arguments of a call as JSON, in 300 characters: the required ones, and `paths`."""
    sampler, arguments = Sampler(schema, brief=True), dict[str, Any]()
    for path in [*((name,) for name in as_list(schema.get("required"))), *(paths or ())]:
        sampler.add_value(arguments, path)
    if not arguments:
        return ""
    for limit in _LIMITS:
        parts = [
            f"{_dump_json(name)}: {_shorten_json(value, limit)}"
            for name, value in arguments.items()
        ]
        if sum(map(len, parts)) + 2 * len(parts) <= _LONGEST_EXAMPLE:
            break
    else:
        while sum(map(len, parts)) + 2 * len(parts) + 3 > _LONGEST_EXAMPLE:
            parts.pop()
        parts.append("…")
    return f"{{{', '.join(parts)}}}".encode(errors="replace").decode()


def _shorten_json(value: Any, limit: int) -> str:
    text = _dump_json(value)
    if len(text) <= limit:
        return text
    return {"an object": "{…}", "an array": "[…]"}.get(kind_of(value), '"…"')


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
