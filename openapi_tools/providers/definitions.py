"""Tools in the form of providers' APIs, and the conversion of arguments back.

A profile writes a tool's input schema so that a provider accepts it. It never changes what may be
sent: `Definition.restore` brings arguments by the profile's schema into the form of the tool's own.
"""

from __future__ import annotations

import math
import re
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from openapi_tools.common.http_rules import is_merge_patch
from openapi_tools.common.json_values import json_size
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.common.visible_text import truncate_text
from openapi_tools.errors import SettingsError
from openapi_tools.providers.containers import rename_properties
from openapi_tools.providers.dialects import Gemini, Strict, check_strict
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.providers.restore import Restorer
from openapi_tools.providers.shaper import SchemaShaper
from openapi_tools.providers.visible_types import add_visible_types, reserve_for_types
from openapi_tools.providers.wording import WORDINGS, shorten_tool_description

if TYPE_CHECKING:
    from collections.abc import Callable

    Schema = dict[str, Any]


class DescribedTool(Protocol):
    """The attributes of a tool that a definition needs."""

    @property
    def name(self) -> str:
        """The tool's name."""

    @property
    def description(self) -> str:
        """What the tool does."""

    @property
    def input_schema(self) -> Schema:
        """JSON Schema 2020-12."""

    @property
    def annotations(self) -> Schema:
        """MCP's hints."""


_SCHEMA_KEYS = {
    "openai": "parameters",
    "openai_strict": "parameters",
    "openai_responses": "parameters",
    "anthropic": "input_schema",
    "gemini": "parameters_json_schema",
    "mcp": "inputSchema",
}

PROFILES: tuple[str, ...] = tuple(_SCHEMA_KEYS)  # every profile, by its name

MOST_TOOLS: dict[str, int] = {
    "openai": 128,
    "openai_strict": 128,
    "openai_responses": 128,
    "gemini": 512,
}
"""How many tools a provider takes in one request."""

MOST_CHARACTERS = 256_000  # characters of an input schema as JSON, in the form of a profile

# Parts of the budget for the schema before it is written for Gemini, which makes it longer.
_SHARES = (1.0, 0.6, 0.3, 0.1, 0.0)
_LEVELS = (64, 8, 4, 2, 1, 0)  # of nesting, tried for Gemini when the whole does not fit
_PLAIN = frozenset({"openai", "mcp"})  # these take the schema as it is
_SUBSETS = frozenset({"openai_strict", "gemini"})  # with nothing beside a `$ref`
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_ANTHROPIC_KEY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
# Exceptions of a malformed schema that was written by hand.
_FAULTS = (AttributeError, KeyError, TypeError, ValueError, RecursionError)


@dataclass(frozen=True)
class ProviderDefinition:
    """A tool as a provider's API takes it; parts of `value` are shared, so do not change it.

    Its notes say what the provider's schemas cannot say, and which optional parts are left out.
    """

    value: dict[str, Any]
    notes: tuple[str, ...] = ()
    _schema: Schema = field(default_factory=dict, repr=False)
    _profile: str = field(default="openai", repr=False)

    def restore(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments by the schema in `value` as the tool's input schema takes them."""
        return arguments if self.restorer is None else self.restorer.restore(arguments)

    @cached_property
    def restorer(self) -> Restorer | None:
        """Restores arguments; None where they need no change."""
        if self._profile in _PLAIN:
            return None
        if self._profile == "anthropic":
            with suppress(*_FAULTS):
                if _shape_schema(self._schema, "anthropic", Memory())[0] is self._schema:
                    return None  # no name is changed
        return Restorer(self._schema, self._profile)


class DefinitionLimits(NamedTuple):
    """The limits of definitions: a wording of `WORDINGS`, or `"full"`; bytes, 0 without a limit."""

    wording: str = DEFAULT_SETTINGS.definitions
    max_bytes: int = DEFAULT_SETTINGS.definition_bytes


def create_restorer(tool: DescribedTool, profile: str) -> Restorer | None:
    """Return the restorer of a tool's arguments; without a profile, by unambiguous changes."""
    if profile in _PLAIN:
        return None
    if profile:
        try:
            return define_tool(tool, profile, loosely=True).restorer
        except CannotExpress:  # the tool has no definition
            profile = profile if profile == "gemini" else ""
    return Restorer(tool.input_schema, profile)


def check_profile(profile: str) -> None:
    """Raise `SettingsError` for an unknown profile; the message names the known ones."""
    if profile not in PROFILES:
        raise SettingsError(
            f"unknown profile {profile!r:.100}; expected one of {', '.join(PROFILES)}."
        )


def define_tool(
    tool: DescribedTool,
    profile: str,
    memory: Memory | None = None,
    *,
    loosely: bool = False,
    limits: DefinitionLimits | None = None,
) -> ProviderDefinition:
    """Return a tool as the provider of a profile takes it; tools of one document share a memory.

    `loosely`: as `toolset.definitions` shows it, in few words, within the budget; where schemas
    cannot say what it takes, OpenAI gets `strict` false, Gemini words. Else CannotExpress.
    """
    check_profile(profile)
    if profile == "openai_responses":
        definition = define_tool(tool, "openai_strict", memory, loosely=loosely, limits=limits)
        return replace(definition, value=flatten_function(definition.value))
    if not _NAME.fullmatch(tool.name):
        raise CannotExpress(f"providers do not accept the name {tool.name!r:.100}")
    if profile not in (*_PLAIN, "anthropic"):
        tool = getattr(tool, "portable", tool)
    schema = tool.input_schema
    memory = memory or Memory()
    try:
        if loosely:
            return _DefinitionWriter(tool, profile, memory, limits or limits_of(tool)).write()
        _check_merge_patch(tool, profile)
        shaped, notes = _shape_schema(schema, profile, memory)
    except CannotExpress:
        raise
    except _FAULTS as error:
        kind = type(error).__name__
        raise CannotExpress(f"its input schema is malformed or too deep ({kind})") from None
    return ProviderDefinition(_definition_value(tool, profile, shaped), notes, schema, profile)


def flatten_function(definition: Schema) -> Schema:
    """Return a definition of OpenAI's Chat Completions in the form of its Responses API."""
    return {"type": "function", **definition["function"]}


def limits_of(tool: object) -> DefinitionLimits:
    """Return the limits that a tool's settings put on its definition."""
    settings = getattr(tool, "settings", DEFAULT_SETTINGS)
    return DefinitionLimits(settings.definitions, settings.definition_bytes)


def write_brief_definition(
    tool: DescribedTool,
    profile: str = "mcp",
    write: Callable[[Schema], Schema] | None = None,
    *,
    extra_bytes: int = 0,
    memory: Memory | None = None,
) -> tuple[str, Schema]:
    """Return a tool's description and schema for a coordinator that adds `extra_bytes`.

    Tools of one document may share a memory.
    """
    try:
        limits = limits_of(tool)
        limits = limits._replace(max_bytes=limits.max_bytes and limits.max_bytes - extra_bytes)
        writer = _DefinitionWriter(tool, profile, memory or Memory(), limits, write)
        value = writer.write().value
    except (CannotExpress, *_FAULTS):
        schema = tool.input_schema
        return tool.description, schema if write is None else write(schema)
    value = value.get("function", value)
    return value["description"], value[_SCHEMA_KEYS[profile]]


@dataclass
class _DefinitionWriter:
    """Writes a tool's definition in few words and within the budget."""

    _tool: DescribedTool
    _profile: str
    _memory: Memory
    _limits: DefinitionLimits
    _convert: Callable[[Schema], Schema] | None = None

    def __post_init__(self) -> None:
        self._limit = self._limits.max_bytes or MOST_CHARACTERS
        self._description = self._tool.description
        if self._limits.wording in WORDINGS:
            self._description = shorten_tool_description(
                self._description, WORDINGS[self._limits.wording]
            )

    def write(self) -> ProviderDefinition:
        schema = self._memory.shorten_wording(self._tool.input_schema, self._limits.wording)
        if self._convert is not None:
            schema = self._convert(schema)
        try:
            _check_merge_patch(self._tool, self._profile)
            shaped, notes = _shape_schema(schema, self._profile, self._memory)
        except CannotExpress as error:
            return self._write_loose(schema, error)
        shaped = self._open_schema(shaped)
        if self._fits(shaped):
            return self._build_definition(shaped, notes)
        # Seven eighths stay for the schema: without it no call is right, whatever the
        # description says.
        self._description = truncate_text(self._description, self._limit // 8)
        return self._write_small(schema, shaped, notes)

    def _write_small(
        self, schema: Schema, shaped: Schema, notes: tuple[str, ...]
    ) -> ProviderDefinition:
        if self._profile in _SUBSETS:
            small = self._memory.shortener.shorten_words(shaped, self._schema_limit())
            if self._fits(small):
                return self._build_definition(small, notes)
            shaped_bytes = self._memory.shortener.sizes.size(shaped)
            size = (
                json_size(_definition_value(self._tool, self._profile, {}))
                + shaped_bytes
                - len("{}")
            )
            reason = f"it has {size} bytes; {self._limit} are allowed"
            return self._write_loose(schema, CannotExpress(reason, final=True))
        return self._build_definition(
            self._fit_schema(shaped, sharing=self._convert is None), notes
        )

    def _write_loose(self, schema: Schema, reason: CannotExpress) -> ProviderDefinition:
        if schema.get("type") != "object":
            raise reason
        if self._profile == "openai_strict":
            note = f"`strict` is false: {reason}"
            self._profile = "openai"
            schema = self._open_schema(schema)
            small = schema if self._fits(schema) else self._fit_schema(schema, sharing=True)
            value = self._build_value(self._show_types(small))
            return ProviderDefinition(value, (note,), self._tool.input_schema, "")
        shaped, notes = self._fit_levels(schema)
        return self._build_definition(shaped, notes or (str(reason),))

    def _fit_levels(self, schema: Schema) -> tuple[Schema, tuple[str, ...]]:
        limit, shortener = self._schema_limit(), self._memory.shortener
        failure = CannotExpress("it cannot be expressed")
        for share in _SHARES:
            small = schema if share == 1 else shortener.fit(schema, int(limit * share))
            for levels in _LEVELS:
                # Only the parts of the schema itself are those of other tools, too.
                memory = self._memory if small is schema else Memory()
                try:
                    shaped, notes = _shape_for_subset(small, self._profile, memory, levels)
                except CannotExpress as error:
                    failure = error
                    continue
                if isinstance(description := small.get("description"), str):
                    shaped = {**shaped, "description": description}
                if self._fits(shaped := shortener.shorten_words(shaped, limit)):
                    return shaped, notes
        raise failure

    def _open_schema(self, schema: Schema) -> Schema:
        if self._profile in _SUBSETS:
            return schema
        sizes = self._memory.shortener.sizes
        schema = add_visible_types(schema, math.inf, sizes, inline=False)
        if self._limits.wording == "full" or schema.get("additionalProperties") is not False:
            return schema
        return {key: schema[key] for key in schema if key != "additionalProperties"}

    def _schema_limit(self) -> int:
        return self._limit - json_size(self._build_value({})) + len("{}")

    def _fits(self, shaped: Schema) -> bool:
        if not self._limits.max_bytes and self._profile != "gemini":
            return True
        return self._memory.shortener.sizes.size(shaped) <= self._schema_limit()

    def _build_definition(self, shaped: Schema, notes: tuple[str, ...]) -> ProviderDefinition:
        value = self._build_value(self._show_types(shaped))
        return ProviderDefinition(value, notes, self._tool.input_schema, self._profile)

    def _fit_schema(self, schema: Schema, *, sharing: bool) -> Schema:
        limit = self._schema_limit()
        limit -= reserve_for_types(schema, limit)
        return self._memory.shortener.fit(schema, limit, sharing=sharing)

    def _show_types(self, shaped: Schema) -> Schema:
        sizes, inline = self._memory.shortener.sizes, self._profile in _SUBSETS
        visible = add_visible_types(shaped, self._schema_limit(), sizes, inline=inline)
        if self._profile == "openai_strict" and visible is not shaped:
            try:
                check_strict(visible, self._memory.tallies)
            except CannotExpress:  # an inlined target counts twice against the limits
                return shaped
        return visible

    def _build_value(self, shaped: Schema) -> Schema:
        return _definition_value(self._tool, self._profile, shaped, self._description)


def _check_merge_patch(tool: DescribedTool, profile: str) -> None:
    if profile != "openai_strict" or getattr(tool, "method", "") in ("GET", "HEAD"):
        return
    try:
        body = tool.operation.body  # type: ignore[attr-defined]  # only some tools have one
    except (AttributeError, NotImplementedError):
        return
    bodies = () if body is None else (body, *body.choices)
    if any(is_merge_patch(each.media_type) for each in bodies):
        # RFC 7396, section 2.
        reason = "null removes a property in a JSON merge patch, but means a missing one in strict"
        raise CannotExpress(reason, place="/properties")


def _shape_schema(schema: Schema, profile: str, memory: Memory) -> tuple[Schema, tuple[str, ...]]:
    if profile in _PLAIN:
        return schema, ()
    if profile == "anthropic":
        return rename_properties(schema, _ANTHROPIC_KEY.fullmatch, memory.renamed_schemas), ()
    return _shape_for_subset(schema, profile, memory)


def _shape_for_subset(
    schema: Schema, profile: str, memory: Memory, levels: int | None = None
) -> tuple[Schema, tuple[str, ...]]:
    strict = profile == "openai_strict"
    shaper = SchemaShaper(schema, Strict() if strict else Gemini(), memory, levels)
    shaped = shaper.shape()
    if strict:
        check_strict(shaped, memory.tallies)
    if (size := memory.shortener.sizes.size(shaped)) > MOST_CHARACTERS:
        reason = f"it has {size} characters; {MOST_CHARACTERS} are allowed"
        raise CannotExpress(reason, final=True)
    return shaped, tuple(shaper.notes)


def _definition_value(
    tool: DescribedTool, profile: str, schema: Schema, text: str | None = None
) -> Schema:
    description = tool.description if text is None else text
    definition = {"name": tool.name, "description": description, _SCHEMA_KEYS[profile]: schema}
    if profile.startswith("openai"):
        return {
            "type": "function",
            "function": {**definition, "strict": profile == "openai_strict"},
        }
    return {**definition, "annotations": tool.annotations} if profile == "mcp" else definition
