"""Overlays that fix what `lint` finds, where a machine can."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import (
    as_string,
    join_pointer,
    resolve_pointer,
    resolve_reference,
    split_pointer,
)
from openapi_tools.conformance.argument_words import (
    describe_unclear_parameters,
    find_descriptions,
)
from openapi_tools.conformance.confusable_tools import (
    describe_own_words,
    find_confusions,
    find_words,
)
from openapi_tools.conformance.lint_rules import (
    check_description,
    check_id,
    linted_operations,
    tool_name,
    undeclared_variables,
    walk_objects,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.conformance.lint_rules import LintedOperation
    from openapi_tools.model import Skipped
    from openapi_tools.toolsets.toolset import Toolset

    Reload = Callable[[dict[str, Any]], Toolset]

_MOST_ROUNDS = 20
_ESCAPED = re.compile(r"['\\\x00-\x1f\x80-\x9f\u2028\u2029]")
_LONGEST_TARGET = 4_096  # characters
_UNTARGETED = re.compile(r"[\x00-\x07\x0b\x0e-\x1f]")  # python-jsonpath refuses their escapes


def make_overlay(
    toolset: Toolset, reload: Reload, *, version: str = "1.1"
) -> tuple[dict[str, Any], tuple[Skipped, ...]]:
    """Return an overlay that fixes a document, and the operations that it leaves skipped.

    It has no actions if nothing can be fixed. Faulty parts are removed, and their place filled
    where that is safe: undeclared variables of paths become strings, tools keep their names as ids.

    Args:
        toolset: The tools of the document.
        reload: Loads the document with one more overlay.
        version: The overlay's version; its actions mean the same in 1.0, 1.1 and 1.2.

    Spec: Overlay Specification 1.1.0.
    """
    actions: list[dict[str, Any]] = []
    for number in range(1, _MOST_ROUNDS):
        if not (removals := _removal_actions(toolset, number)):
            break
        actions += removals
        toolset = reload(_write_overlay(actions, version))
    actions += _update_actions(toolset)
    return _write_overlay(actions, version), toolset.skipped


def _write_overlay(actions: list[dict[str, Any]], version: str) -> dict[str, Any]:
    info = {"title": "Fixes for tools, by `openapi-tools lint --fix`", "version": "1.0.0"}
    return {"overlay": f"{version}.0", "info": info, "actions": actions}


def _removal_actions(toolset: Toolset, number: int) -> list[dict[str, Any]]:
    root, reasons = toolset.document, dict[tuple[Any, ...], str]()
    for entry in toolset.skipped:
        for keys in _find_faulty_parts(root, entry):
            reasons.setdefault(keys, f"Round {number}, skipped: {entry.reason}"[:300])
    # The last items of a list go first, so that a removal shifts no item that is removed later.
    ordered = sorted(
        reasons, key=lambda keys: [(isinstance(k, str), k) for k in keys], reverse=True
    )
    targets = ((write_json_path(keys), reasons[keys]) for keys in ordered)
    return [{"target": path, "description": why, "remove": True} for path, why in targets]


def _find_faulty_parts(root: Any, entry: Skipped) -> Iterator[tuple[Any, ...]]:
    keys = _keys_at(root, split_pointer(entry.pointer))
    if not keys:  # behind a reference
        return
    is_inner = keys[-1] in ("parameters", "requestBody", "content")
    broken_references = (
        list(_find_broken_references(root, join_pointer(keys), entry.reason)) if is_inner else []
    )
    is_operation = len(keys) == len(("paths", "path", "get"))
    if is_operation and isinstance(resolve_pointer(root, entry.pointer), dict):
        return  # its path is at fault, which is not for a machine to change
    yield from filter(has_target, broken_references or [keys])


def _keys_at(root: Any, steps: tuple[str, ...]) -> tuple[Any, ...]:
    keys: list[Any] = []
    for step in steps:
        key = int(step) if isinstance(root, list) and step.isdecimal() else step
        try:
            root = root[key]
        except (KeyError, IndexError, TypeError):
            return ()
        keys.append(key)
    return tuple(keys)


def _find_broken_references(root: Any, start: str, reason: str) -> Iterator[tuple[Any, ...]]:
    for place, node in walk_objects(root, start, resolve_pointer(root, start), set()):
        ref = node.get("$ref")
        if not isinstance(ref, str) or (
            ref.startswith("#/") and resolve_reference(root, ref) is not None
        ):
            continue
        if ref.startswith("#") or ref in reason:
            yield _keys_at(root, (*split_pointer(place), "$ref"))


def _update_actions(toolset: Toolset) -> Iterator[dict[str, Any]]:
    root, places = toolset.document, list(linted_operations(toolset))
    ids = Counter(str(place.node.get("operationId")) for place in places)
    own_words = _find_own_words(toolset)
    for place in places:
        update: dict[str, Any] = {}
        operation_id = place.node.get("operationId")
        if any(item.rule in ("missing-id", "generated-name") for item in check_id(place, root)):
            update["operationId"] = tool_name(place)
        if any(check_description(place, root)):
            if isinstance(operation_id, str) and ids[operation_id] == 1:
                update["description"] = f"{' '.join(find_words(operation_id)).capitalize()}."
        elif not place.node.get("description") and as_string(place.node.get("summary")):
            update["description"] = place.node["summary"]
        update |= _add_words(place, update, own_words.get(place.tool.name, ""))
        if names := undeclared_variables(place, root):
            kind = {"type": "string"} if "swagger" in root else {"schema": {"type": "string"}}
            update["parameters"] = [
                {"name": name, "in": "path", "required": True, **kind} for name in names
            ]
        if update and has_target(place.keys):
            yield {"target": write_json_path(place.keys), "update": update}
    yield from _describe_arguments(places, root)


def _find_own_words(toolset: Toolset) -> dict[str, str]:
    confusions = find_confusions(toolset)
    return {
        name: describe_own_words(toolset[name], [toolset[other] for other in others])
        for listed in (confusions.unreachable, confusions.confusable)
        for name, others in listed.items()
    }


def _add_words(place: LintedOperation, update: Mapping[str, Any], words: str) -> dict[str, str]:
    # A summary is the shorter text, and counts more in a search; an id alone has neither.
    for key in ("summary", "description"):
        text = as_string(update.get(key) or place.node.get(key))
        if words and text:
            return {key: f"{text.rstrip()} ({words})"}
    return {"summary": words} if words else {}


def _describe_arguments(places: list[LintedOperation], root: Any) -> Iterator[dict[str, Any]]:
    descriptions = find_descriptions(places, root)
    described = {
        parameter.keys: parameter.description
        for place in places
        for parameter in describe_unclear_parameters(place, root, descriptions)
    }
    for keys, text in described.items():
        if has_target(keys):
            yield {"target": write_json_path(keys), "update": {"description": text}}


def has_target(keys: tuple[Any, ...]) -> bool:
    """Return whether an action of an overlay can name a place."""
    is_short = len(write_json_path(keys)) <= _LONGEST_TARGET
    return is_short and not any(_UNTARGETED.search(str(key)) for key in keys)


def write_json_path(keys: Iterable[Any]) -> str:
    """Return the normalized JSONPath of a place (RFC 9535, section 2.7)."""
    steps = (
        f"[{k}]" if isinstance(k, int) else f"['{_ESCAPED.sub(_escape_character, k)}']"
        for k in keys
    )
    return f"${''.join(steps)}"


def _escape_character(match: re.Match[str]) -> str:
    char = match.group()
    return r"\'" if char == "'" else json.dumps(char)[1:-1]
