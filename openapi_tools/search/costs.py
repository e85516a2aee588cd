"""Costs of definitions, estimated or counted without the network; which tools to offer by them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import dump_json
from openapi_tools.errors import MissingExtraError
from openapi_tools.providers.definitions import MOST_TOOLS, write_brief_definition
from openapi_tools.providers.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    Count = Callable[[str], int]

# tiktoken is no dependency, and would fetch its tables; an estimate decides here.
_BYTES_OF_TOKEN = 4.45  # of compact JSON: `cl100k_base` on published documents
_MOST = min(MOST_TOOLS.values())
MOST_TOKENS = 20_000  # of definitions; of more, a few tools that reach the others are better
_LEAST = 60  # bytes of a definition beside its words and its schema, the name included
ENCODINGS = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
"""Names of files in tiktoken's cache, and their SHA-256: a wrong file would be fetched again."""


def token_counter() -> tuple[str, Count]:
    """Return the name of a way to count tokens, and the function: tiktoken's or an estimate."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    kept = Path(tempfile.gettempdir(), "data-gym-cache") if folder is None else Path(folder)
    for name, (file, digest) in ENCODINGS.items():
        try:
            if hashlib.sha256((kept / file).read_bytes()).hexdigest() == digest:
                import tiktoken  # an optional package

                encode = tiktoken.get_encoding(name).encode_ordinary
                return f"counted with {name}", lambda text, encode=encode: len(encode(text))
        except (ImportError, OSError, ValueError):
            continue
    return "estimated", estimate_tokens


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text takes."""
    return round(len(text.encode("utf-8", "surrogatepass")) / _BYTES_OF_TOKEN)


def definition_cost(value: Any, count: Count) -> tuple[int, int]:
    """Return the bytes of a definition, in the usual writing, and the tokens of its JSON."""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(json.dumps(value)), count(compact)


def sum_costs(pairs: Iterable[tuple[int, int]]) -> dict[str, int]:
    """Return bytes and tokens in all."""
    listed = list(pairs)
    return {"bytes": sum(size for size, _ in listed), "tokens": sum(n for _, n in listed)}


def exceeds_tokens(tools: Sequence[Any], most: int = MOST_TOKENS) -> bool:
    """Return whether the definitions that MCP clients get take more tokens, by the estimate."""
    limit = most * _BYTES_OF_TOKEN
    if len(tools) * _LEAST > limit:
        return True
    if not _exceeds_bytes(((tool.description, tool.input_schema) for tool in tools), limit):
        return False
    # MCP's are the same beside hints, which would need the operation of each tool.
    write = partial(write_brief_definition, profile="openai", memory=Memory())
    return _exceeds_bytes(map(write, tools), limit)


def _exceeds_bytes(definitions: Iterable[tuple[str, Any]], remaining: float) -> bool:
    for description, schema in definitions:
        remaining -= _LEAST + len(dump_json([description, schema]).encode("utf-8", "surrogatepass"))
        if remaining < 0:
            return True
    return False


def offer_tools(toolset: Any, mode: str) -> tuple[Any, str, str]:
    """Return the tools to offer, the mode that is not `auto`, and the reason for its choice.

    Raises:
        MissingExtraError: The mode `code` needs an extra that is not installed.
    """
    why = ""
    if mode == "auto":
        why = _explain_excess(toolset)
        mode = "code" if why else "tools"
    if mode == "code":
        try:
            return toolset.code_tools(), mode, why
        except MissingExtraError as error:
            if not why:
                raise
            mode, why = "search", f"{why}; mode code needs more: {error}"
    return (toolset.meta_tools() if mode == "search" else toolset), mode, why


def _explain_excess(toolset: Any) -> str:
    if len(toolset) > _MOST:
        return f"{len(toolset)} tools exceed the limit of {_MOST} that providers accept"
    if exceeds_tokens(list(toolset)):
        return f"the definitions of these tools take more than {MOST_TOKENS:,} tokens"
    return ""
