"""Definitions that a provider loads only when its own search has found them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError
from openapi_tools.visible_text import cut, plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    Definition = dict[str, Any]

_LONGEST = 64
_WORDS = 300  # characters of a namespace's description
_OTHER = re.compile(r"[^a-zA-Z0-9]+")
_ANTHROPIC = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


def check(profile: str) -> None:
    """Raise `SettingsError` for a profile whose provider does not search."""
    if profile not in ("anthropic", "openai"):
        reason = "take anthropic or openai, or toolset.meta_tools() for every provider."
        raise SettingsError(f"defer: {profile} has no search of its own; {reason}")


def deferred(profile: str, found: list[Definition], tools: Iterable[Any]) -> list[Definition]:
    """Return definitions with the provider's search in front; OpenAI's in a namespace by tag."""
    if profile == "anthropic":
        return [dict(_ANTHROPIC), *({**each, "defer_loading": True} for each in found)]
    tags = {tool.name: next(iter(tool.tags), "other") for tool in tools}
    groups: dict[str, list[Definition]] = {}
    for each in found:
        function = {"type": "function", **each["function"], "defer_loading": True}
        groups.setdefault(tags[function["name"]], []).append(function)
    names: set[str] = set()
    return [{"type": "tool_search"}, *(_namespace(tag, groups[tag], names) for tag in groups)]


def _namespace(tag: str, functions: list[Definition], names: set[str]) -> Definition:
    """Return a namespace with a name of its own; its description names some functions."""
    stem = name = _OTHER.sub("_", tag).strip("_").lower()[: _LONGEST - 4] or "other"
    number = 1
    while name in names:
        number += 1
        name = f"{stem}_{number}"
    names.add(name)
    listed = ", ".join(function["name"] for function in functions)
    told = cut(f"{' '.join(plain_text(tag, _LONGEST).split())}: {listed}", _WORDS)
    return {"type": "namespace", "name": name, "description": told, "tools": functions}
