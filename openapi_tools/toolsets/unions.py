"""The tools of several documents as those of one toolset."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, count
from typing import TYPE_CHECKING, Any, Protocol

from openapi_tools.common.options import type_name
from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.errors import SettingsError
from openapi_tools.toolsets.document_info import DocumentInfo
from openapi_tools.toolsets.function_tools import FunctionTool

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi_tools.model import SecurityScheme, Skipped
    from openapi_tools.tools.tool import OperationTool

_LONGEST_NAME = 64
_LONGEST_PREFIX = 24


class _UnionPart(Protocol):
    def __iter__(self) -> Iterator[OperationTool]: ...

    @property
    def skipped(self) -> tuple[Skipped, ...]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...

    @property
    def security_schemes(self) -> Mapping[str, SecurityScheme]: ...

    @property
    def counts(self) -> dict[str, int]: ...

    @property
    def document(self) -> Any: ...


def check_parts(toolsets: Sequence[object], kind: type) -> None:
    """Raise SettingsError unless there are toolsets, and nothing else."""
    strangers = [part for part in toolsets if not isinstance(part, kind)]
    if strangers or not toolsets:
        stranger = type_name(strangers[0]) if strangers else "nothing"
        raise SettingsError(f"union: expected toolsets, got {stranger}.")


def unite_info(toolsets: Sequence[_UnionPart]) -> DocumentInfo:
    """Return what several toolsets say about their documents."""
    kinds = dict.fromkeys(kind for part in toolsets for kind in part.counts)
    return DocumentInfo(
        skipped=tuple(item for part in toolsets for item in part.skipped),
        warnings=lambda: tuple(note for part in toolsets for note in part.warnings),
        security_schemes={k: v for part in toolsets for k, v in part.security_schemes.items()},
        counts=lambda: {kind: sum(part.counts.get(kind, 0) for part in toolsets) for kind in kinds},
    )


def unite_tools(toolsets: Sequence[_UnionPart], names: tuple[str, ...]) -> Iterator[OperationTool]:
    """Yield the tools of several toolsets, those of equal names with a prefix.

    Raises:
        SettingsError: Some are functions over the tools of a document.
    """
    if any(isinstance(tool, FunctionTool) for part in toolsets for tool in part):
        hint = "call meta_tools() or code_tools() on the union."
        raise SettingsError(f"union: join the toolsets of documents first, then {hint}")
    # All tools of a shared name get a prefix: no order of toolsets decides which one is meant.
    counts = Counter(tool.name for part in toolsets for tool in part)
    taken = {name for name, times in counts.items() if times == 1}
    for index, part in enumerate(toolsets, start=1):
        prefix = names[index - 1] if names else _title_prefix(part, index)
        for tool in part:
            if counts[tool.name] == 1:
                yield tool
                continue
            name = _unused_name(f"{prefix}_{tool.name}", taken)
            taken.add(name)
            yield tool.with_name(name)


def _title_prefix(part: _UnionPart, index: int) -> str:
    document = part.document
    info = document.get("info") if isinstance(document, dict) else None
    title = info.get("title") if isinstance(info, dict) else None
    words = strip_hidden(title).lower() if isinstance(title, str) else ""
    prefix = (
        re.sub(r"[^a-z0-9]+", "_", words.removesuffix(" api"))
        .strip("_")[:_LONGEST_PREFIX]
        .strip("_")
    )
    return prefix if prefix[:1].isalpha() else f"api{index}"


def _unused_name(name: str, taken: set[str]) -> str:
    endings = chain([""], (f"_{number}" for number in count(2)))
    names = (name[: _LONGEST_NAME - len(ending)] + ending for ending in endings)
    return next(candidate for candidate in names if candidate not in taken)
