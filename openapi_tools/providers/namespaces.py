"""Namespaces of deferred functions: by tag, then by path segment, method and name.

OpenAI advises fewer than ten functions in a namespace. Each name is made of what its functions
have in common and never of a number, so that operations that are added later rename no namespace.
"""

from __future__ import annotations

import re
import unicodedata
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.visible_text import plain_text, truncate_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    Schema = dict[str, Any]

MOST_FUNCTIONS = 9  # in one namespace

_LEAST = 3  # functions below one path segment; fewer stay with those above them
_LONGEST_NAME = 64
_LONGEST_DESCRIPTION = 300
_DIGEST = 6  # hexadecimal digits that tell names apart
_UNTAGGED = "other"
_SEPARATORS = re.compile(r"[^a-z0-9]+")


class _Member(NamedTuple):
    """A function of a namespace, and what it is grouped by."""

    function: Schema
    tag: str
    method: str
    segments: tuple[str, ...]  # of the path, without variables

    @property
    def name(self) -> str:
        name: str = self.function["name"]
        return name


class _Group(NamedTuple):
    """Functions that belong together: the parts of their namespace's name, and its label."""

    parts: tuple[str, ...]
    label: str
    members: Sequence[_Member]


def make_namespaces(functions: Iterable[Schema], tools: Mapping[str, Any]) -> list[Schema]:
    """Return the functions in namespaces of `MOST_FUNCTIONS` at most.

    Args:
        functions: Each with its `name`.
        tools: The tools by name; those that call an API have tags, a method and a path.
    """
    all_members = [_make_member(function, tools[function["name"]]) for function in functions]
    by_tag = _group_members(all_members, lambda member: _make_name([member.tag]))
    names: dict[str, tuple[str, ...]] = {}
    return [
        _make_namespace(group, names)
        for tag, members in by_tag.items()
        for group in _split_by_path(_make_tag_group(tag, members), 0)
    ]


def _make_tag_group(tag: str, members: Sequence[_Member]) -> _Group:
    # Functions without a tag are named by their paths alone.
    is_tagged = members[0].tag != ""
    label = " ".join(plain_text(members[0].tag, _LONGEST_NAME).split())
    return _Group((tag,) if is_tagged else (), label, members)


def _make_member(function: Schema, tool: Any) -> _Member:
    tag = next(iter(getattr(tool, "tags", ())), "")
    path = getattr(tool, "path", "").split("/")
    segments = tuple(segment for segment in path if segment and "{" not in segment)
    return _Member(function, tag, getattr(tool, "method", "").lower(), segments)


def _split_by_path(group: _Group, depth: int) -> Iterator[_Group]:
    if len(group.members) <= MOST_FUNCTIONS:
        yield group
        return
    children = _group_members(
        group.members,
        lambda member: member.segments[depth] if len(member.segments) > depth else "",
    )
    rest = children.pop("", [])
    for segment, members in children.items():
        if len(members) < _LEAST:
            rest += members
            continue
        label = f"{group.label} /{segment}" if depth == 0 else f"{group.label}/{segment}"
        # The slash tells a segment from a tag of the same name.
        child = _Group((*group.parts, f"/{segment}"), label.strip(), members)
        yield from _split_by_path(child, depth + 1)
    if rest:
        yield from _split_by_method(group._replace(members=rest))


def _split_by_method(group: _Group) -> Iterator[_Group]:
    if len(group.members) <= MOST_FUNCTIONS:
        yield group
        return
    for method, members in _group_members(group.members, lambda member: member.method).items():
        label = f"{group.label} {method.upper()}".strip()
        yield from _split_by_name(_Group((*group.parts, method), label, members), 0)


def _split_by_name(group: _Group, length: int) -> Iterator[_Group]:
    """Split by the letters that follow the common beginning of all names."""
    if len(group.members) <= MOST_FUNCTIONS:
        yield group
        return
    common = _common_length([member.name for member in group.members])
    children = _group_members(group.members, lambda member: member.name[: common + 1])
    for prefix, members in children.items():
        parts = (*group.parts, prefix[length:])
        yield from _split_by_name(_Group(parts, f"{group.label} {prefix}…", members), common + 1)


def _common_length(names: Sequence[str]) -> int:
    first, last = min(names), max(names)  # what these two share, all others share
    pairs = enumerate(zip(first, last, strict=False))
    return next((index for index, (one, other) in pairs if one != other), len(first))


def _group_members(
    members: Sequence[_Member], key: Callable[[_Member], str]
) -> dict[str, list[_Member]]:
    groups: dict[str, list[_Member]] = {}
    for member in members:
        groups.setdefault(key(member), []).append(member)
    return groups


def _make_namespace(group: _Group, names: dict[str, tuple[str, ...]]) -> Schema:
    name = _make_name(group.parts)
    if names.setdefault(name, group.parts) != group.parts:  # `a-b` and `a_b`, for instance
        name = _append_digest(name, group.parts)
    listed = ", ".join(member.name for member in group.members)
    return {
        "type": "namespace",
        "name": name,
        "description": truncate_text(f"{group.label or _UNTAGGED}: {listed}", _LONGEST_DESCRIPTION),
        "tools": [member.function for member in group.members],
    }


def _make_name(parts: Sequence[str]) -> str:
    words = [_SEPARATORS.sub("_", _fold_accents(part).lower()).strip("_") for part in parts]
    name = "_".join(filter(None, words)) or _UNTAGGED
    # A tag or a segment in another script has no character that a name may have.
    if any(part and not word for part, word in zip(parts, words, strict=True)):
        return _append_digest(name, parts)
    return name if len(name) <= _LONGEST_NAME else _append_digest(name, parts)


def _fold_accents(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _append_digest(name: str, parts: Sequence[str]) -> str:
    digest = blake2b("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:_DIGEST]
    return f"{name[: _LONGEST_NAME - _DIGEST - 1].rstrip('_')}_{digest}"
