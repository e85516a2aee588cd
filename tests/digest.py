"""Digests of all that the published documents become, one JSON line for each of them.

`python tests/digest.py FILE` before a change and after it: equal lines mean that no user sees a
difference. `--details FOLDER` also writes what the digests were made from.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus

from openapi_tools import OpenAPIToolsError, Settings, load_tools

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools import OperationTool


def parts_of(path: Path) -> dict[str, Any]:
    """Return what a document becomes, as plain data by kind.

    Args:
        path: Of the document; it is not kept in the cache.
    """
    try:
        toolset = load_tools(path, settings=Settings(cache=False))
    except OpenAPIToolsError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    tools = list(toolset)
    return {
        "names": [tool.name for tool in tools],
        "descriptions": [tool.description for tool in tools],
        "schemas": [_describe(tool, lambda tool: tool.input_schema) for tool in tools],
        "operations": [_describe(tool, lambda tool: asdict(tool.operation)) for tool in tools],
        "skips": [[skipped.pointer, skipped.reason] for skipped in toolset.skipped],
        "notes": [dict(toolset.counts), list(toolset.warnings)],
    }


def _describe(tool: OperationTool, look: Callable[[OperationTool], Any]) -> Any:
    """Return a part of a tool, or the error that building it raises."""
    try:
        return look(tool)
    except OpenAPIToolsError as error:
        return f"{type(error).__name__}: {error}"


def canonical(value: Any) -> str:
    """Return plain data as JSON; properties keep their order, which users see."""
    return json.dumps(value, ensure_ascii=False, indent=1).replace(str(corpus.FOLDER), "corpus")


def main() -> None:
    """Write the digests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--details", type=Path, help="folder for what the digests are of")
    chosen = parser.parse_args()
    with chosen.file.open("w") as out:
        for entry in corpus.entries():
            texts = {kind: canonical(part) for kind, part in parts_of(entry.file).items()}
            sums = {kind: hashlib.sha256(text.encode()).hexdigest() for kind, text in texts.items()}
            print(json.dumps({"document": entry.path, **sums}), file=out)
            for kind, text in texts.items() if chosen.details else ():
                file = chosen.details / entry.path / f"{kind}.json"
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
