"""Selections, checks of options, similar names; without pydantic, which is slow to import."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fnmatch import fnmatchcase
from itertools import islice
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.common.setting_fields import (
    REMOVED_SETTINGS,
    RENAMED_SETTINGS,
    holds_paths,
    setting_names,
)
from openapi_tools.errors import CredentialsError, SettingsError, describe_choices

if TYPE_CHECKING:
    from pathlib import Path

_METHODS = ("GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE", "QUERY")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_PATH_VARIABLE = re.compile(r"\{[^{}]*\}")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+|[^\W_A-Za-z0-9]+")
_PLURAL = re.compile(r"(?<=[a-z]{3})(?<!s)s\b")
_FILLERS = frozenset({"a", "an", "by", "for", "from", "in", "of", "on", "the", "to", "with"})
_LONGEST_NAME = 60
_MOST_NAMES = 25_000
_COMPARED = 60  # names compared letter by letter: up to half a millisecond for each
_NEAR = 0.6
_MOST_TAGS = 20  # in a message


class Client(Protocol):
    """An `httpx.AsyncClient`, or one of httpx2, which may not be installed."""

    @property
    def is_closed(self) -> bool:
        """Whether it cannot send any more."""

    async def aclose(self) -> None:
        """Close its connections."""


def check_keys(mapping: Any, allowed: tuple[str, ...] | None, name: str) -> dict[str, Any]:
    """Return a mapping with known names (None for any) as a dict, {} for None; SettingsError."""
    if mapping is None:
        return {}
    if not isinstance(mapping, Mapping) or not all(isinstance(key, str) for key in mapping):
        raise SettingsError(f"{name}: must be a mapping by name, not {type_name(mapping)}.")
    for key in mapping:
        if allowed is not None and key not in allowed:
            raise SettingsError(f"{name}: unknown key {key!r:.60}; {describe_choices(allowed)}.")
    return dict(mapping)


def list_functions(functions: Any, name: str) -> list[Any]:
    """Return functions, or one function, as a list; SettingsError for anything else."""
    is_list = isinstance(functions, Iterable) and not callable(functions)
    listed = list(functions) if is_list else [functions]
    for function in listed:
        if not callable(function):
            raise SettingsError(f"{name}: expected a list of functions, not {type_name(function)}.")
    return listed


def resolve_paths(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return settings from a file whose relative paths are below its folder."""

    def resolve(value: Any) -> Any:
        if isinstance(value, list):
            return [resolve(part) for part in value]
        return folder / value if isinstance(value, str) else value

    return {
        name: resolve(value) if name in setting_names() and holds_paths(name) else value
        for name, value in settings.items()
    }


def describe_unknown_setting(name: str, also: Iterable[str] = (), *, most: int = 3) -> str:
    """Return a message about a name that no setting has: its new name, or the nearest names."""
    if renamed := RENAMED_SETTINGS.get(name):
        return f"{name}: unknown setting; its name is {renamed} now."
    if removal := REMOVED_SETTINGS.get(name):
        return f"{name}: this setting was removed: {removal}"
    close = close_names(name, (*also, *sorted(setting_names())), most=most)
    return f"{name}: unknown setting{close}"


def close_names(name: object, candidates: Iterable[object], *, most: int = 3) -> str:
    """Return the end of a message: the nearest names, or a full stop without any."""
    close = similar_names(name, candidates, most=most)
    return f"; did you mean {' or '.join(close)}?" if close else "."


def similar_names(name: object, candidates: Iterable[object], *, most: int = 3) -> list[str]:
    """Return the names most like a wrong one, best first: in letters, or in words in any order."""
    text, words = _split_words(name)
    matcher = difflib.SequenceMatcher(b=text)
    sorted_matcher = difflib.SequenceMatcher(b=" ".join(sorted(words)))
    rough: list[tuple[float, float, str]] = []
    for other in dict.fromkeys(map(str, islice(candidates, _MOST_NAMES))):
        letters, candidate_words = _split_words(other)
        matcher.set_seq1(letters)
        alike = _word_similarity(words, candidate_words)
        rough.append((max(alike, matcher.quick_ratio()), alike, other))
    close: list[tuple[float, float, str]] = []
    for _, alike, other in sorted(rough, reverse=True)[:_COMPARED]:
        letters, candidate_words = _split_words(other)
        matcher.set_seq1(letters)
        sorted_matcher.set_seq1(" ".join(sorted(candidate_words)))
        ratio = matcher.ratio()
        close.append((max(alike, ratio, sorted_matcher.ratio()), ratio, other))
    return [other for score, _, other in sorted(close, reverse=True)[:most] if score >= _NEAR]


def _split_words(name: object) -> tuple[str, frozenset[str]]:
    text = str(name)[:_LONGEST_NAME]
    words = (_PLURAL.sub("", word.lower()) for word in _WORD.findall(text))
    return text.lower(), frozenset(words) - _FILLERS


def _word_similarity(words: frozenset[str], candidate: frozenset[str]) -> float:
    shared = 2 * len(words & candidate) / (len(words) + len(candidate) or 1)
    return _NEAR + (1 - _NEAR) * shared if words and words <= candidate else shared


def names_operation(name: object, operation: Any) -> bool:
    """Return whether a name is the id of an operation, or its method and path."""
    method, _, path = str(name).strip().partition(" ")
    if path := path.strip():
        is_method = operation.method in ("", method.upper())
        return is_method and _PATH_VARIABLE.sub("{}", path) == _PATH_VARIABLE.sub(
            "{}", operation.path
        )
    return bool(name) and name == getattr(operation, "operation_id", "")


def explain_skipped(name: object, skipped: Iterable[Any]) -> str:
    """Return why an operation is not a tool; empty if no skipped operation has the name.

    The name is that of its tool, or what `names_operation` takes. Models read the reason, too.
    """
    for item in skipped:
        if (name and name == item.name) or names_operation(name, item):
            if item.notice:
                return str(item.notice)
            place = f"{item.method} {item.path}".strip()
            return f"{place} was skipped at {item.pointer}: {item.reason}"
    return ""


def type_name(value: object) -> str:
    """Return the name of a value's type for messages, as the value may be a secret."""
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def expand_variables(value: Any, name: str, *, secret: bool = True) -> Any:
    """Return a value whose strings have `${NAME}` replaced by variables of the environment."""
    if isinstance(value, list | tuple):
        return [expand_variables(part, name, secret=secret) for part in value]
    if isinstance(value, Mapping):
        return {key: expand_variables(v, name, secret=secret) for key, v in value.items()}
    if not isinstance(value, str):
        return value
    return VARIABLE.sub(lambda match: _read_variable(match.group(1), name, secret=secret), value)


def find_variables(value: Any) -> list[str]:
    """Return the environment variables that the strings of a value name as `${NAME}`."""
    if isinstance(value, str):
        return VARIABLE.findall(value)
    parts = value.values() if isinstance(value, Mapping) else value
    return [
        name
        for part in (parts if isinstance(value, list | tuple | Mapping) else ())
        for name in find_variables(part)
    ]


def _read_variable(variable: str, name: str, *, secret: bool) -> str:
    value = os.environ.get(variable)
    if value:
        return value
    reason = f"{name!r:.60}: the environment variable {variable} is not set, or empty."
    if secret:
        raise CredentialsError(reason, scheme=name)
    raise SettingsError(reason)


_LISTS = ("tags", "methods", "names", "paths")
_TEXTS = "a string or a list of strings"


@dataclass(frozen=True, slots=True)
class Select:
    """Which operations become tools: those that satisfy every condition.

    A condition that is not set does not restrict; an empty list selects no operation.

    Attributes:
        tags: It has one of these tags.
        methods: It has one of these methods, in any case.
        names: Its tool name matches one of these patterns (`*`, `?`, `[…]`).
        paths: Its path matches one of these patterns; `*` matches `/` too.
        deprecated: False leaves deprecated operations out, True takes only those.
        where: Any test of the tool.
        read_only: True takes only operations that change nothing, False only the others.
        exclude: Another selection, whose operations are left out; without conditions it leaves
            none out.

    Raises:
        SettingsError: A condition has the wrong type.
    """

    tags: Iterable[str] | None = None
    methods: Iterable[str] | None = None
    names: Iterable[str] | None = None
    paths: Iterable[str] | None = None
    deprecated: bool | None = None
    where: Callable[[Any], bool] | None = None
    read_only: bool | None = None
    exclude: Select | Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name in _LISTS:
            value = getattr(self, name)
            if value is None:
                continue
            is_list = isinstance(value, Iterable) and not isinstance(value, str)
            texts = tuple(value) if is_list else (value,)
            if not all(isinstance(text, str) for text in texts):
                raise _selection_error(name, _TEXTS, value)
            object.__setattr__(self, name, texts)
        for name in ("deprecated", "read_only"):
            if not isinstance(value := getattr(self, name), bool | None):
                raise _selection_error(name, "true or false", value)
        if self.where is not None and not callable(self.where):
            raise _selection_error("where", "a function of the tool", self.where)
        object.__setattr__(self, "exclude", Select.parse(self.exclude))

    @classmethod
    def parse(cls, selection: Any) -> Select | None:
        """Return a selection of a mapping or of a function; None for None, else SettingsError."""
        if selection is None or isinstance(selection, Select):
            return selection
        if isinstance(selection, Mapping):
            conditions = check_keys(selection, tuple(cls.__dataclass_fields__), "select")
            # In a file, null is a slip rather than "no limit".
            if nulls := [name for name in _LISTS if conditions.get(name, ()) is None]:
                raise _selection_error(nulls[0], _TEXTS, None)
            return cls(**conditions)
        if callable(selection) and not isinstance(selection, type):
            return cls(where=selection)
        form = 'Select(tags=["…"]), a dict of its conditions, or a function of the tool'
        raise SettingsError(f"select: expected {form}, not {type_name(selection)}.")

    def takes(self, tool: Any) -> bool:
        """Return whether a tool is selected."""
        methods = None if self.methods is None else {method.upper() for method in self.methods}
        return bool(
            (self.tags is None or set(self.tags) & set(tool.tags))
            and (methods is None or tool.method in methods)
            and self.takes_name(tool.name)
            and (self.paths is None or _matches(tool.path, self.paths))
            and (self.deprecated is None or tool.deprecated == self.deprecated)
            and (self.read_only is None or tool.read_only == self.read_only)
            and not self._is_excluded(tool)
            and (self.where is None or self.where(tool))
        )

    def _is_excluded(self, tool: Any) -> bool:
        other = self.exclude
        if not isinstance(other, Select):
            return False
        # A selection without conditions takes every tool; as `exclude` it leaves none out.
        is_limited = any(getattr(other, each.name) is not None for each in fields(other))
        return is_limited and other.takes(tool)

    def takes_name(self, name: str) -> bool:
        """Return whether a tool of this name may be selected."""
        return self.names is None or _matches(name, self.names)


def find_unknown_selections(
    selection: Any, tools: Sequence[Any], prefix: str = "", skipped: Sequence[Any] = ()
) -> Iterator[tuple[str, str]]:
    """Yield each condition that no tool meets, with or without the prefix, and a message."""
    values_by_key: dict[str, Iterable[str]] = {
        "tags": {tag for tool in tools for tag in tool.tags},
        "methods": {*_METHODS, *(tool.method for tool in tools)},
        "names": [tool.name for tool in tools],
        "paths": [tool.path for tool in tools],
    }
    for key, present in values_by_key.items():
        for pattern in getattr(selection, key) or ():
            text = pattern.upper() if key == "methods" else pattern
            is_glob = key in ("names", "paths")
            patterns = (text, prefix + text)
            if not any(_matches(one, patterns) if is_glob else one == text for one in present):
                reason = explain_skipped(prefix + text, skipped) if key == "names" else ""
                values = [one.removeprefix(prefix) for one in present]
                end = f": {reason}" if reason else _advise_values(key, text, values)
                yield key, f"no tool has the {key[:-1]} {text!r:.60}{end}"


def _advise_values(key: str, value: str, values: list[str]) -> str:
    close = close_names(value, values)
    if key != "tags" or len(values) > _MOST_TAGS:
        return close
    listed = (
        f"the tags {', '.join(f'{tag:.60}' for tag in sorted(values))}" if values else "no tags"
    )
    return f"{close} The document has {listed}."


def _selection_error(name: str, kind: str, value: object) -> SettingsError:
    return SettingsError(f"select: {name!r} must be {kind}, not {value!r:.60}.")


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(text == pattern or fnmatchcase(text, pattern) for pattern in patterns)


def context_value(context: object, name: str) -> Any:
    """Return a value of a `Context`, or of an object or mapping like it; None if it is missing."""
    if isinstance(context, Mapping):
        return context.get(name)
    return getattr(context, name, None)


def replace_context_values(context: Any, **values: Any) -> Any:
    """Return a copy of a context with other values."""
    if context is None or isinstance(context, Mapping):
        return {**(context or {}), **values}
    return _ContextOverlay(context, values)


class _ContextOverlay:
    def __init__(self, context: Any, values: dict[str, Any]) -> None:
        self._context = context
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._context, name)
