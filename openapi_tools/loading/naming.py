"""From operationId to tool name, and from wire name to argument name: portable, unique, stable.

Names are made of an allow-list (`A-Z a-z 0-9 _`), never cleaned by a deny-list. A name that had to
be cut, that lost characters, or that is taken already gets a short hash of what it stands for, so
that adding an operation does not rename another one.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MAX_LENGTH = 64
"""Longest name that every provider takes, prefix included."""

RESERVED_ARGUMENTS = frozenset({"self", "config", "run_manager", "_tool_call_id"})
"""Names that coordinators take for themselves."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?<![a-z0-9][A-Z])(?=[A-Z][a-z])")
_WORD = re.compile(
    r"(?<=[a-z0-9])[A-Z][A-Z][a-z][a-z0-9]*|[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+"
)
"""The words between humps and separators, in ASCII: five times faster than to mark the humps."""
_OTHER = re.compile(r"[^A-Za-z0-9]+|__+")
_HASH_LENGTH = 6


class Candidate(Protocol):
    """An operation that needs a name."""

    @property
    def operation_id(self) -> str:
        """The document's own id, `""` when it has none."""

    @property
    def method(self) -> str:
        """Upper case."""

    @property
    def path(self) -> str:
        """As in the document."""


def short_hash(text: str) -> str:
    """Return a hash of six characters."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_HASH_LENGTH]


def snake_case(text: str) -> str:
    """Return a text as lower-case words joined by `_`; every separator is a word boundary."""
    if text.isascii():
        return "_".join(_WORD.findall(text)).lower()
    return _OTHER.sub("_", _HUMP.sub("_", text).lower()).strip("_")


def tool_names(candidates: Sequence[Candidate], prefix: str = "") -> list[str]:
    """Return a name for each operation, in the same order.

    The first operation that wants a name gets it; every further one gets a hash of its method and
    path, so that appending operations renames none.

    Args:
        candidates: The operations.
        prefix: Put before each name and counted in its length.
    """
    names: list[str] = []
    taken: set[str] = set()
    for candidate in candidates:
        name = _wanted(candidate, prefix)
        names.append(_free(name, candidate, taken) if name in taken else name)
        taken.add(names[-1])
    return names


def _wanted(candidate: Candidate, prefix: str) -> str:
    """Return the name that an operation would have alone."""
    source = candidate.operation_id or _place(candidate)
    words = snake_case(source)
    lost = not words or not source.isascii()
    words = words or snake_case(_place(candidate))
    name = prefix + (f"_{words}" if not prefix and words[:1].isdigit() else words)
    return _with_hash(name, _place(candidate)) if lost or len(name) > MAX_LENGTH else name


def _free(name: str, candidate: Candidate, taken: set[str]) -> str:
    """Return a name that is not taken in place of one that is."""
    place = _place(candidate)
    attempt = _with_hash(name, place)
    while attempt in taken:
        place += " again"
        attempt = _with_hash(name, place)
    return attempt


def _place(candidate: Candidate) -> str:
    return f"{candidate.method} {candidate.path}"


def _with_hash(name: str, source: str) -> str:
    """Cut a name to make room for a hash."""
    return f"{name[: MAX_LENGTH - _HASH_LENGTH - 1].rstrip('_-')}_{short_hash(source)}"


def argument_names(wires: Iterable[tuple[str, str]]) -> list[str]:
    """Return an argument name for each (location, wire name), in the same order.

    The wire name itself where every provider takes it, else a portable form. Names that two
    arguments share get their location behind, only then; a name that only came about by making
    another one portable gives way to the one that is spelled so.

    Args:
        wires: Location (`path`, `query`, `header`, `cookie`, `body`, …) and name on the wire.
    """
    pairs = list(wires)
    wanted = [name for _, name in pairs]
    if len(set(wanted)) == len(wanted) and all(map(_is_portable, wanted)):
        return wanted
    portable = [_portable(name) for _, name in pairs]
    spelled = Counter(name for _, name in pairs)
    made = Counter(name for (_, wire), name in zip(pairs, portable, strict=True) if wire != name)
    names: list[str] = []
    for (location, wire), name in zip(pairs, portable, strict=True):
        rivals = spelled[name] if wire == name else spelled[name] + made[name]
        crowded = rivals > 1 or name in RESERVED_ARGUMENTS
        names.append(_fit(f"{name}_{location}", wire) if crowded else name)
    return _distinct(names, pairs)


def is_other(name: str, wire: str) -> bool:
    """Tell whether an argument's name does not tell the name on the wire: cut, or letters gone."""
    return name != wire and not (
        wire.isascii() and len(wire) <= MAX_LENGTH and _OTHER.sub("", wire)
    )


@lru_cache(maxsize=4096)
def _is_portable(name: str) -> bool:
    """Tell whether every provider and coordinator takes a name unchanged."""
    identifies = name.isascii() and name.isidentifier()
    return identifies and len(name) <= MAX_LENGTH and name not in RESERVED_ARGUMENTS


def _portable(name: str) -> str:
    if _is_portable(name) or name in RESERVED_ARGUMENTS:
        return name
    words = _OTHER.sub("_", name).strip("_")
    words = f"_{words}" if words[:1].isdigit() else words
    return _fit(words, name) if words else f"argument_{short_hash(name)}"


def _fit(name: str, wire: str) -> str:
    return name if len(name) <= MAX_LENGTH else _with_hash(name, wire)


def _distinct(names: list[str], pairs: list[tuple[str, str]]) -> list[str]:
    """Put a hash behind names that are still shared, unless the wire name is the name itself."""
    counts = Counter(names)
    taken = {name for name, count in counts.items() if count == 1}
    result = []
    for name, (location, wire) in zip(names, pairs, strict=True):
        source = f"{location} {wire}"
        free = name
        if counts[name] > 1 and (name != wire or name in taken):
            free = _with_hash(name, source)
        while free in taken and counts[name] > 1:
            source += " again"
            free = _with_hash(name, source)
        taken.add(free)
        result.append(free)
    return result
