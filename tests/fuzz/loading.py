"""Bytes -> `load_tools`."""

import json
import time

import tool_rules
from fuzz.budget import Harness, nothing_reached
from fuzz.mutations import TAMPERED

from openapi_tools import Settings, load_tools
from openapi_tools.errors import OpenAPIToolsError

LONGEST = 10.0
"""Seconds of CPU; a document has some 40 kB."""

_PROFILES = ("openai", "openai_strict", "openai_responses", "anthropic", "gemini", "mcp")
_FEW = 30
_WORDS = 10_000


def check_load(source):
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


def _check_words(text):
    assert len(text) < _WORDS
    text.encode()


def _check_toolset(toolset):
    names = [tool.name for tool in toolset]
    assert len(set(names)) == len(names)
    for tool in toolset:
        check_tool(tool)
    for text in (*toolset.warnings, *(f"{item.pointer}{item.reason}" for item in toolset.skipped)):
        _check_words(text)
    assert toolset.counts["operations"] == len(toolset) + len(toolset.skipped)
    if len(toolset) < _FEW:
        for profile in _PROFILES:
            json.dumps(toolset.definitions(profile), allow_nan=False).encode()


def check_tool(tool):
    assert list(tool_rules.faults(tool)) == []
    json.dumps([tool.description, tool.input_schema], ensure_ascii=False).encode()
    repr(tool.operation)
    repr(tool)


def check_tampered(case):
    """Check a document as bytes, or as text where it is some."""
    data = case.data()
    source = data
    if data[:1] in (b"{", b"[") and len(case.moves) % 2:
        source = data.decode("utf-8", "replace")
    check_load(source)


LOADING = Harness("load", TAMPERED, check_tampered)
