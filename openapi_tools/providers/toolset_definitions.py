"""The definitions of a toolset, cached while its tools stay the same, also with the document.

Writing those of a large document takes most of a second, reading them some hundredths.
"""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic_core import from_json, to_json

from openapi_tools.common.visible_text import plain_text, truncate_text
from openapi_tools.errors import SettingsError
from openapi_tools.providers.definitions import check_profile, define_tool, limits_of
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi_tools.providers.definitions import DescribedTool

    Schema = dict[str, Any]

MOST_TOOLS: dict[str, int] = {"openai": 128, "openai_strict": 128, "gemini": 512}
"""How many tools a provider takes in one request."""

MIN_SECONDS = 0.1  # of CPU; what takes less is not worth a file
MAX_BYTES = 16 * 1024 * 1024  # of a file; larger definitions are longer than a model can read

_LONGEST = 64  # characters of a namespace's name
_LONGEST_DESCRIPTION = 300  # and of its description
_OTHER = re.compile(r"[^a-zA-Z0-9]+")
_ANTHROPIC = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


class DefinitionsFile(Protocol):
    """A file beside a cached document, for one form of its tools."""

    def read(self) -> bytes | None:
        """Return what was written; None without it."""

    def write(self, data: bytes) -> None:
        """Write the file, if its document is cached."""


class DefinitionsFolder(Protocol):
    """The place of such files."""

    def definitions_file(self, form: str) -> DefinitionsFile:
        """Return the file of the definitions in a form."""


class _Record(NamedTuple):
    """A tool's definition, None where it has none, and the remarks on it, with what they are of."""

    value: Schema | None
    notes: list[str]
    schema: Schema | None = None  # None if it was read: the tools of a document do not change
    description: str = ""

    def is_current(self, tool: DescribedTool) -> bool:
        if self.schema is None:
            return True
        return self.schema is tool.input_schema and self.description == tool.description


class ToolsetDefinitions:
    """The definitions of a toolset's tools for one profile."""

    def __init__(self, profile: str, files: DefinitionsFolder | None = None) -> None:
        check_profile(profile)
        self.profile = profile
        self._files = files
        self._records: dict[str, _Record] = {}

    def write(self, tools: Iterable[DescribedTool]) -> tuple[list[Schema], list[str]]:
        """Return a dict for each tool that has a definition, and notes; the dicts are new."""
        tools = [*tools]
        # Its name is made of every tool's form, so it is not looked for a second time.
        file = None if self._records else self._find_file(tools)
        if file is None or not self._read(file, tools):
            self._update(tools, file)
        values: list[Schema] = []
        notes: list[str] = []
        for tool in tools:
            record = self._records[tool.name]
            notes += record.notes
            if (value := record.value) is not None:
                function = {"function": {**value["function"]}} if "function" in value else {}
                values.append({**value, **function})
        return values, notes

    def _find_file(self, tools: Sequence[Any]) -> DefinitionsFile | None:
        if self._files is None or not all(hasattr(tool, "form") for tool in tools):
            return None
        limits = sorted({limits_of(tool) for tool in tools})
        return self._files.definitions_file(
            repr((self.profile, limits, [tool.form for tool in tools]))
        )

    def _read(self, file: DefinitionsFile, tools: Sequence[DescribedTool]) -> bool:
        data = file.read()
        if data is None:
            return False
        records = (_Record(*fields) for fields in from_json(data))
        self._records = {tool.name: record for tool, record in zip(tools, records, strict=True)}
        return True

    def _update(self, tools: Sequence[DescribedTool], file: DefinitionsFile | None) -> None:
        start, memory = time.process_time(), Memory()
        for tool in tools:
            record = self._records.get(tool.name)
            if record is None or not record.is_current(tool):
                self._records[tool.name] = self._write_record(tool, memory)
        if file is not None and time.process_time() - start >= MIN_SECONDS:
            with suppress(ValueError):  # a lone surrogate, which UTF-8 cannot write
                data = to_json([self._records[tool.name][:2] for tool in tools])
                if len(data) <= MAX_BYTES:
                    file.write(data)

    def _write_record(self, tool: DescribedTool, memory: Memory) -> _Record:
        schema, description = tool.input_schema, tool.description
        try:
            definition = define_tool(tool, self.profile, memory, loosely=True)
        except CannotExpress as error:
            note = f"{self.profile}: {tool.name} is left out: {error}"
            return _Record(None, [note], schema, description)
        notes = [f"{self.profile}: {tool.name}: {note}" for note in definition.notes]
        return _Record(definition.value, notes, schema, description)


def defer_definitions(
    profile: str, definitions: list[Schema], tools: Iterable[Any]
) -> list[Schema]:
    """Return definitions with the provider's search in front; OpenAI's in a namespace by tag.

    Raises:
        SettingsError: The provider has no search.
    """
    if profile == "anthropic":
        return [dict(_ANTHROPIC), *({**each, "defer_loading": True} for each in definitions)]
    if profile != "openai":
        reason = "use anthropic or openai, or toolset.meta_tools() for every provider."
        raise SettingsError(f"defer: {profile} has no tool search of its own; {reason}")
    tags = {tool.name: next(iter(tool.tags), "other") for tool in tools}
    groups: dict[str, list[Schema]] = {}
    for each in definitions:
        function = {"type": "function", **each["function"], "defer_loading": True}
        groups.setdefault(tags[function["name"]], []).append(function)
    names: set[str] = set()
    return [{"type": "tool_search"}, *(_namespace(tag, groups[tag], names) for tag in groups)]


def _namespace(tag: str, functions: list[Schema], names: set[str]) -> Schema:
    stem = name = _OTHER.sub("_", tag).strip("_").lower()[: _LONGEST - 4] or "other"
    number = 1
    while name in names:
        number += 1
        name = f"{stem}_{number}"
    names.add(name)
    listed = ", ".join(function["name"] for function in functions)
    description = truncate_text(
        f"{' '.join(plain_text(tag, _LONGEST).split())}: {listed}", _LONGEST_DESCRIPTION
    )
    return {"type": "namespace", "name": name, "description": description, "tools": functions}
