"""Bytes -> `load_tools`."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import jsonschema_rs
from fuzz.budget import Harness
from fuzz.mutations import TAMPERED, Tampered
from fuzz.watch import nothing_reached

from openapi_tools import Settings, load_tools
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from openapi_tools import OperationTool, Toolset

LONGEST = 10.0
"""Seconds of CPU; a document has some 40 kB."""

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_PROFILES = ("openai", "openai_strict", "anthropic", "gemini", "mcp")
_FEW = 30
_WORDS = 10_000


def check_load(source: bytes | str | dict[str, Any]) -> None:
    """Fail if a document does not end as tools that can be shown, or as an error of ours."""
    started = time.process_time()
    with nothing_reached():
        try:
            toolset = load_tools(source, settings=Settings(cache=False))
        except OpenAPIToolsError as error:
            _check_words(str(error))
        else:
            _check_toolset(toolset)
    assert time.process_time() - started < LONGEST


def _check_words(text: str) -> None:
    assert len(text) < _WORDS
    text.encode()


def _check_toolset(toolset: Toolset) -> None:
    names = [tool.name for tool in toolset]
    assert len(set(names)) == len(names)
    for tool in toolset:
        _check_tool(tool)
    for text in (*toolset.warnings, *(f"{item.pointer}{item.reason}" for item in toolset.skipped)):
        _check_words(text)
    assert toolset.counts["operations"] == len(toolset) + len(toolset.skipped)
    if len(toolset) < _FEW:
        for profile in _PROFILES:
            json.dumps(toolset.definitions(profile), allow_nan=False).encode()


def _check_tool(tool: OperationTool) -> None:
    assert _NAME.fullmatch(tool.name)
    assert tool.description
    assert not _CONTROL.search(tool.description)
    schema = tool.input_schema
    text = json.dumps(schema, ensure_ascii=False, allow_nan=False)
    text.encode()
    assert len(text) < 300_000
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    jsonschema_rs.meta.validate(
        {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
    )
    repr(tool.operation)
    repr(tool)


def check_tampered(case: Tampered) -> None:
    """Check a document as bytes, or as text where it is some."""
    data = case.data()
    source: bytes | str = data
    if data[:1] in (b"{", b"[") and len(case.moves) % 2:
        source = data.decode("utf-8", "replace")
    check_load(source)


LOADING = Harness("load", TAMPERED, check_tampered)
