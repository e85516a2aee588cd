"""Tools as the APIs of providers take them, and arguments on their way back.

A profile writes a tool's input schema so that a provider accepts it. It never changes what may be
sent: `Definition.restore` brings arguments by the profile's schema into the form of the tool's own.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import SettingsError
from openapi_tools.providers.simple_forms import ById, CannotExpress

if TYPE_CHECKING:
    from openapi_tools.providers.restore import Restorer
    from openapi_tools.providers.shaper import Entry

    Schema = dict[str, Any]


class _Described(Protocol):
    """The attributes of a tool that a definition needs."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Schema: ...
    @property
    def annotations(self) -> Schema: ...


_SCHEMA_KEYS = {
    "openai": "parameters",
    "openai_strict": "parameters",
    "anthropic": "input_schema",
    "gemini": "parameters_json_schema",
    "mcp": "inputSchema",
}

PROFILES: tuple[str, ...] = tuple(_SCHEMA_KEYS)
"""Every profile, by its name."""

LIMITS: dict[str, int] = {"openai": 128, "openai_strict": 128, "gemini": 512}
"""The number of tools that a provider takes in one request."""

MOST_CHARACTERS = 256_000
"""Characters of an input schema as JSON, in the form of a profile."""

_LEVELS = (64, 8, 4, 2, 1, 0)
"""Levels of nesting that are tried for Gemini when the whole schema does not fit."""
_PLAIN = frozenset({"openai", "mcp"})
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_FAULTS = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""Exceptions of a malformed schema that was written by hand."""


@dataclass(frozen=True)
class Definition:
    """A tool as a provider's API takes it.

    Attributes:
        value: A plain dict; parts of it are shared with other definitions, so do not change it.
        notes: What the provider's schemas cannot say, and why; optional parts of the input are
            left out of the definition.
    """

    value: dict[str, Any]
    notes: tuple[str, ...] = ()
    _schema: Schema = field(default_factory=dict, repr=False)
    _profile: str = field(default="openai", repr=False)

    def restore(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by the schema in `value` as the tool's input schema takes them."""
        return arguments if self._restorer is None else self._restorer.restored(arguments)

    @cached_property
    def _restorer(self) -> Restorer | None:
        return restorer(self._schema, self._profile)


class Memory:
    """Shaped schemas of one profile and one document, by the id of the original."""

    def __init__(self) -> None:
        self.entries: dict[int, Entry] = {}
        self.tallies: ById[Any] = ById()
        self.renamed: ById[Any] = ById()
        self.sizes: ById[int] = ById()
        self._definitions: Schema = {}

    def begin(self, definitions: Schema) -> None:
        """Forget the entries where a tool has other definitions of the same names."""
        known = self._definitions
        if any(known.get(name, node) is not node for name, node in definitions.items()):
            self.entries.clear()
            known.clear()
        known.update(definitions)

    def size_of(self, shaped: Schema) -> int:
        """Return how many characters a shaped input schema takes as JSON; a few more at most."""
        size = len(json.dumps({**shaped, "$defs": {}, "properties": {}}))
        for name, part in (*shaped.get("$defs", {}).items(), *shaped["properties"].items()):
            size += len(json.dumps(name)) + 4 + self.sizes.find(part, lambda p: len(json.dumps(p)))
        return size


def restorer(schema: Schema, profile: str) -> Restorer | None:
    """Return the restorer of arguments by a schema in a profile's form; None if unchanged."""
    if profile:
        check_profile(profile)
    try:
        if profile and profile != "gemini" and _shaped(schema, profile, Memory())[0] is schema:
            return None
    except CannotExpress:  # so it is defined without the strict mode
        profile = ""
    except _FAULTS:
        pass
    from openapi_tools.providers.restore import Restorer

    return Restorer(schema, profile)


def check_profile(profile: str) -> None:
    """Raise `SettingsError` for an unknown profile; the message names the known ones."""
    if profile not in PROFILES:
        raise SettingsError(f"unknown profile {profile!r:.100}; take {', '.join(PROFILES)}.")


def define(
    tool: _Described, profile: str, memory: Memory | None = None, *, loosely: bool = False
) -> Definition:
    """Return a tool as a provider's API takes it.

    Args:
        tool: Any tool.
        profile: One of `PROFILES`.
        memory: Shared by the tools of one document for one profile, so that what they share is
            looked at once.
        loosely: Where the provider's schemas cannot say what the tool takes, OpenAI gets the
            tool's own with `strict` false, Gemini one that accepts more and says so in words.

    Raises:
        CannotExpress: The provider's schemas cannot say what the tool takes.
        SettingsError: The profile is unknown.
    """
    check_profile(profile)
    if not _NAME.fullmatch(tool.name):
        raise CannotExpress(f"providers take no name like {tool.name!r:.100}")
    schema = tool.input_schema
    try:
        shaped, notes = _shaped(schema, profile, memory or Memory())
    except CannotExpress as error:
        if not loosely:
            raise
        return _loose(tool, schema, profile, error)
    except _FAULTS as error:
        kind = type(error).__name__
        raise CannotExpress(f"its input schema is malformed or too deep ({kind})") from None
    return Definition(_value(tool, profile, shaped), notes, schema, profile)


def _loose(tool: _Described, schema: Schema, profile: str, reason: CannotExpress) -> Definition:
    """Return a definition with a looser schema than the tool's."""
    if schema.get("type") != "object":
        raise reason
    if profile == "openai_strict":
        value = _value(tool, "openai", schema)
        return Definition(value, (f"`strict` is false: {reason}",), schema, "")
    for levels in _LEVELS:
        with suppress(CannotExpress):
            shaped, notes = _subset(schema, profile, Memory(), levels)
            value = _value(tool, profile, shaped)
            return Definition(value, notes or (str(reason),), schema, profile)
    raise reason


def _shaped(schema: Schema, profile: str, memory: Memory) -> tuple[Schema, tuple[str, ...]]:
    """Return an input schema in a profile's form, and notes on the parts left out."""
    if profile in _PLAIN:
        return schema, ()
    if profile == "anthropic":
        from openapi_tools.providers.containers import with_names

        return with_names(schema, _ANTHROPIC_KEY.fullmatch, memory.renamed), ()
    return _subset(schema, profile, memory)


def _subset(
    schema: Schema, profile: str, memory: Memory, levels: int | None = None
) -> tuple[Schema, tuple[str, ...]]:
    """Return an input schema in a provider's subset of JSON Schema."""
    from openapi_tools.providers.dialects import Gemini, Strict, check_strict
    from openapi_tools.providers.shaper import Shaper

    strict = profile == "openai_strict"
    shaper = Shaper(schema, Strict() if strict else Gemini(), memory, levels)
    shaped = shaper.shaped()
    if strict:
        check_strict(shaped, memory.tallies)
    size = memory.size_of(shaped)
    if size > MOST_CHARACTERS:
        reason = f"it has {size} characters; {MOST_CHARACTERS} are allowed"
        raise CannotExpress(reason, final=True)
    return shaped, tuple(shaper.notes)


def _value(tool: _Described, profile: str, schema: Schema) -> Schema:
    told = {"name": tool.name, "description": tool.description, _SCHEMA_KEYS[profile]: schema}
    if profile.startswith("openai"):
        return {"type": "function", "function": {**told, "strict": profile == "openai_strict"}}
    return {**told, "annotations": tool.annotations} if profile == "mcp" else told
