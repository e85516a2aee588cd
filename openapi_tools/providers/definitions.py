"""Tools as the APIs of providers take them, and arguments on their way back.

A profile writes a tool's input schema so that a provider accepts it. It never changes what may be
sent: `Definition.restore` brings arguments by the profile's schema into the form of the tool's own.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.errors import SettingsError
from openapi_tools.providers.shaping import CannotExpress

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.providers.restore import Restorer
    from openapi_tools.providers.shaping import Memory

    Schema = dict[str, Any]

__all__ = [
    "LIMITS",
    "PROFILES",
    "CannotExpress",
    "Definition",
    "check_profile",
    "define",
    "restorer",
]


class Described(Protocol):
    """The attributes of a tool that a definition needs."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Schema: ...
    @property
    def annotations(self) -> Schema: ...


PROFILES: tuple[str, ...] = ("openai", "openai_strict", "anthropic", "gemini", "mcp")
"""Every profile, by its name."""

LIMITS: dict[str, int] = {"openai": 128, "openai_strict": 128, "gemini": 512}
"""How many tools a provider takes in one request."""

MOST_CHARACTERS = 256_000
"""Of an input schema as JSON, in the words of a profile."""

_LEVELS = (64, 8, 4, 2, 1, 0)
"""Schemas inside one another that a definition for Gemini has where it cannot have all."""
_PLAIN = frozenset({"openai", "mcp"})
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
_FAULTS = (AttributeError, KeyError, TypeError, ValueError, RecursionError)
"""What a schema that was written by hand, and wrongly, can lead to."""


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
        """Return arguments as the tool's input schema takes them.

        Args:
            arguments: By the schema in `value`; not changed.
        """
        return arguments if self._restorer is None else self._restorer.restored(arguments)

    @cached_property
    def _restorer(self) -> Restorer | None:
        return restorer(self._schema, self._profile)


def restorer(schema: Schema, profile: str) -> Restorer | None:
    """Return the restorer of arguments from a profile's form to that of the input schema.

    Args:
        schema: The input schema.
        profile: One of `PROFILES`, or empty where it is not known.

    Returns:
        Its `restored(arguments)` does it; None where a profile leaves the schema unchanged.

    Raises:
        SettingsError: The profile is unknown.
    """
    if profile:
        check_profile(profile)
    if profile in _PLAIN:
        return None
    from openapi_tools.providers.restore import Restorer

    if profile == "openai_strict" and not _is_strict(schema):
        profile = ""
    return Restorer(schema, profile)


def _is_strict(schema: Schema) -> bool:
    """Tell whether `definitions` gives an input schema in the strict mode."""
    from openapi_tools.providers.shaping import Memory

    try:
        _subset(schema, "openai_strict", Memory())
    except CannotExpress:
        return False
    except _FAULTS:
        pass
    return True


def check_profile(profile: str) -> None:
    """Do nothing for the name of a profile.

    Raises:
        SettingsError: The profile is unknown; the message names the known ones.
    """
    if profile not in PROFILES:
        raise SettingsError(f"unknown profile {profile!r:.100}; take {', '.join(PROFILES)}.")


def define(
    tool: Described, profile: str, memory: Memory | None = None, *, loosely: bool = False
) -> Definition:
    """Return a tool as a provider's API takes it.

    Args:
        tool: The tool.
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
    if memory is None:
        from openapi_tools.providers.shaping import Memory

        memory = Memory()
    schema = tool.input_schema
    try:
        shaped, notes = _shaped(schema, profile, memory)
    except CannotExpress as error:
        if not loosely:
            raise
        return _loose(tool, schema, profile, error)
    except _FAULTS as error:
        kind = type(error).__name__
        raise CannotExpress(f"its input schema is malformed or too deep ({kind})") from None
    return Definition(_SHAPES[profile](tool, shaped), notes, schema, profile)


def _loose(tool: Described, schema: Schema, profile: str, reason: CannotExpress) -> Definition:
    """Return a definition with a looser schema than the tool's."""
    if schema.get("type") != "object":
        raise reason
    if profile == "openai_strict":
        return Definition(_openai(tool, schema), (f"`strict` is false: {reason}",), schema, "")
    from openapi_tools.providers.shaping import Memory

    for levels in _LEVELS:
        with suppress(CannotExpress):
            shaped, notes = _subset(schema, profile, Memory(), levels)
            return Definition(_gemini(tool, shaped), notes or (str(reason),), schema, profile)
    raise reason


def _shaped(schema: Schema, profile: str, memory: Memory) -> tuple[Schema, tuple[str, ...]]:
    """Return an input schema in a profile's form, and notes on the parts left out."""
    if profile in _PLAIN:
        return schema, ()
    if profile == "anthropic":
        from openapi_tools.providers.provider_names import with_names

        return with_names(schema, _is_anthropic_key, memory.renamed), ()
    return _subset(schema, profile, memory)


def _subset(
    schema: Schema, profile: str, memory: Memory, levels: int | None = None
) -> tuple[Schema, tuple[str, ...]]:
    """Return an input schema in a provider's subset of JSON Schema."""
    from openapi_tools.providers.gemini import Gemini
    from openapi_tools.providers.shaper import Shaper
    from openapi_tools.providers.strict import Strict, check_limits

    strict = profile == "openai_strict"
    shaper = Shaper(schema, Strict() if strict else Gemini(), memory, levels)
    shaped = shaper.shaped()
    if strict:
        check_limits(shaped, memory.tallies)
    size = memory.size_of(shaped)
    if size > MOST_CHARACTERS:
        reason = f"it has {size} characters; {MOST_CHARACTERS} are allowed"
        raise CannotExpress(reason, final=True)
    return shaped, tuple(shaper.notes)


def _is_anthropic_key(name: str) -> bool:
    return _ANTHROPIC_KEY.fullmatch(name) is not None


def _openai(tool: Described, schema: Schema) -> Schema:
    return {"type": "function", "function": {**_told(tool, "parameters", schema), "strict": False}}


def _openai_strict(tool: Described, schema: Schema) -> Schema:
    return {"type": "function", "function": {**_told(tool, "parameters", schema), "strict": True}}


def _anthropic(tool: Described, schema: Schema) -> Schema:
    return _told(tool, "input_schema", schema)


def _gemini(tool: Described, schema: Schema) -> Schema:
    return _told(tool, "parameters_json_schema", schema)


def _mcp(tool: Described, schema: Schema) -> Schema:
    return {**_told(tool, "inputSchema", schema), "annotations": tool.annotations}


def _told(tool: Described, key: str, schema: Schema) -> Schema:
    return {"name": tool.name, "description": tool.description, key: schema}


_SHAPES: dict[str, Callable[[Described, Schema], Schema]] = {
    "openai": _openai,
    "openai_strict": _openai_strict,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}
