"""The definitions of a toolset, cached while its tools stay the same, also with the document.

Writing those of a large document takes most of a second, reading them some hundredths.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from pydantic_core import from_json, to_json

from openapi_tools.errors import SettingsError
from openapi_tools.providers.definitions import (
    MOST_TOOLS,
    check_profile,
    define_tool,
    flatten_function,
    limits_of,
)
from openapi_tools.providers.forms import CannotExpress
from openapi_tools.providers.memory import Memory
from openapi_tools.providers.namespaces import make_namespaces
from openapi_tools.providers.response_schemas import declares_response, write_response_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi_tools.providers.definitions import DescribedTool

    Schema = dict[str, Any]

MIN_SECONDS = 0.1  # of CPU; what takes less is not worth a file
MAX_BYTES = 16 * 1024 * 1024  # of a file; larger definitions are longer than a model can read

_RESPONSE_KEYS = {"openai_responses": "output_schema", "gemini": "response_json_schema"}
_ANTHROPIC = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}


class DefinitionsFile(Protocol):
    """A file beside a cached document, for one form of its tools."""

    def read(self) -> bytes | None:
        """Return the content of the file; None if there is none."""

    def write(self, data: bytes) -> None:
        """Write the file, if its document is cached."""


class DefinitionsFolder(Protocol):
    """A folder of such files."""

    def definitions_file(self, form: str) -> DefinitionsFile:
        """Return the file of the definitions in a form."""


class _Record(NamedTuple):
    """A tool's definition, or None, the remarks on it, and the inputs that it was written from."""

    value: Schema | None
    notes: list[str]
    schema: Schema | None = None  # None if it was read: the tools of a document do not change
    description: str = ""

    def is_current(self, tool: DescribedTool) -> bool:
        if self.schema is None:
            return True
        return self.schema is tool.input_schema and self.description == tool.description


class ToolsetDefinitions:
    """The definitions of a toolset's tools for one profile.

    `programmatic`: OpenAI's programs may call the tools, too, and read schemas of their responses.
    """

    def __init__(
        self, profile: str, files: DefinitionsFolder | None = None, *, programmatic: bool = False
    ) -> None:
        check_profile(profile)
        if programmatic and profile != "openai_responses":
            raise SettingsError(f"programmatic: {profile} has no such calls; use openai_responses.")
        self.profile = profile
        self.programmatic = programmatic
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
        variant = self.programmatic, [self._find_response_options(tool) for tool in tools]
        return self._files.definitions_file(
            repr((self.profile, variant, limits, [tool.form for tool in tools]))
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
        value = {**definition.value, **self._describe_callers(tool, memory)}
        return _Record(value, notes, schema, description)

    def _describe_callers(self, tool: Any, memory: Memory) -> Schema:
        keys: Schema = {}
        if self.declares_response(tool):
            schema = write_response_schema(tool, tool.settings, memory=memory)
            keys[_RESPONSE_KEYS[self.profile]] = schema
        if self.programmatic:
            keys["allowed_callers"] = ["direct", "programmatic"]
        return keys

    def _find_response_options(self, tool: Any) -> tuple[Any, ...]:
        """Return what the schema of a tool's responses depends on, beside the tool's own form."""
        settings = tool.settings
        return (settings.drop, settings.nulls) if self.declares_response(tool) else ()

    def declares_response(self, tool: Any) -> bool:
        """Whether the definition of a tool has the schema of its responses."""
        if self.programmatic:
            return bool(getattr(tool, "method", ""))
        return self.profile in _RESPONSE_KEYS and declares_response(tool)


def describe_excess(profile: str, count: int) -> str:
    """Return the note on more tools than a provider takes in one request; empty for fewer."""
    limit = MOST_TOOLS.get(profile, count)
    if count <= limit:
        return ""
    excess = f"accepts {limit} tools in one request, but there are {count}"
    return f"{profile}: the provider {excess}; select the ones you need."


def defer_definitions(
    profile: str, definitions: list[Schema], tools: Iterable[Any]
) -> list[Schema]:
    """Return definitions with the provider's search in front; OpenAI's in small namespaces.

    Raises:
        SettingsError: The provider has no search.
    """
    if profile == "anthropic":
        return [dict(_ANTHROPIC), *({**each, "defer_loading": True} for each in definitions)]
    if profile not in ("openai", "openai_responses"):
        choices = "use anthropic, openai or openai_responses"
        reason = f"{choices}, or toolset.meta_tools() for every provider."
        raise SettingsError(f"defer: {profile} has no tool search of its own; {reason}")
    flat = definitions if profile != "openai" else map(flatten_function, definitions)
    functions = [{**each, "defer_loading": True} for each in flat]
    by_name = {tool.name: tool for tool in tools}
    return [{"type": "tool_search"}, *make_namespaces(functions, by_name)]
