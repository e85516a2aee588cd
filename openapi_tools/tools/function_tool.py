"""Tools that reach other tools instead of an API, and toolsets made of others."""

from __future__ import annotations

import re
import weakref
from collections import Counter
from dataclasses import replace
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CallError, OpenAPIToolsError, SettingsError
from openapi_tools.options import kind_of
from openapi_tools.tools.session import About
from openapi_tools.tools.tool import OperationTool
from openapi_tools.tools.toolset import Toolset
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    import httpx

    from openapi_tools.model import Operation
    from openapi_tools.result import ToolCall, ToolResult
    from openapi_tools.search.meta_tools import MetaTool
    from openapi_tools.tools.session import Session

_LONGEST = 64
_PREFIX = 24


class FunctionTool(OperationTool):
    """A tool that runs a function, which may call other tools; it has no operation."""

    __slots__ = ("_made",)

    method = path = ""
    tags = ()
    deprecated = False
    name: Any = property(lambda self: self._made.name)
    description: Any = property(lambda self: self._made.description)
    input_schema: Any = property(lambda self: self._made.input_schema)
    read_only: Any = property(lambda self: self._made.read_only)
    idempotent: Any = read_only
    destructive: Any = property(lambda self: not self._made.read_only)
    calls_another: Any = property(lambda self: self._made.reached is not None)

    def __init__(self, made: MetaTool, session: Session | None) -> None:
        super().__init__(session)
        self._made = made

    @property
    def portable(self) -> FunctionTool:
        """The same tool for providers whose schemas have no open objects."""
        schema = self._made.portable or self._made.input_schema
        return FunctionTool(replace(self._made, input_schema=schema), self.session)

    @property
    def operation(self) -> Operation:
        """There is none."""
        raise NotImplementedError(f"{self.name} is not an operation of a document.")

    @property
    def annotations(self) -> dict[str, bool]:
        """Two of MCP's hints; the others are as MCP supposes them."""
        return {"readOnlyHint": self.read_only, "destructiveHint": self.destructive}

    def reached(self, arguments: Mapping[str, Any]) -> tuple[OperationTool, Mapping[str, Any]]:
        """Return the tool that a call runs, and its arguments; itself where it runs none."""
        if self._made.reached is None:
            return self, arguments
        try:
            found = self._made.reached(self.check(dict(arguments)))
        except OpenAPIToolsError:
            return self, arguments
        return found or (self, arguments)

    def repaired(self, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return arguments that do not fit in another form."""
        return arguments if self._made.repaired is None else self._made.repaired(arguments)

    def preview(self, arguments: dict[str, Any]) -> httpx.Request:
        """Return the request of the tool that a call runs; CallError where it runs none."""
        tool, given = self.reached(self.check(arguments))
        if tool is self:
            raise CallError("protocol", f"{self.name} sends no request by itself.")
        return tool.preview(dict(given))

    async def run(self, call: ToolCall, context: Any = None) -> ToolResult:
        """Run the function."""
        result: ToolResult = await self._made.run(call, context)
        return result

    def _named(self, name: str) -> FunctionTool:
        return FunctionTool(replace(self._made, name=name), self.session)

    def __repr__(self) -> str:
        return f"<tool {self.name}>"


def functions(toolset: Toolset, make: Callable[[Toolset], Iterable[MetaTool]]) -> Toolset:
    """Return the toolset of functions that reach the tools of another."""
    listed = list(make(toolset))
    tools = [FunctionTool(each, toolset.session) for each in listed]
    closes = tuple(each.close for each in listed if each.close is not None)
    told: Any = {"warnings": lambda: toolset.warnings, "document": lambda: toolset.document}
    about = About(**told, closes=closes, make=make)
    return Toolset(tools, toolset.session, about, parts=(toolset,))


def united(toolsets: tuple[Toolset, ...], names: tuple[str, ...] = ()) -> Toolset:
    """Return one toolset of several, as `Toolset.union` does."""
    wrong = [given for given in toolsets if not isinstance(given, Toolset)]
    if wrong or not toolsets:
        given = kind_of(wrong[0]) if wrong else "nothing"
        raise SettingsError(f"union: give toolsets, not {given}.")
    if any(isinstance(tool, FunctionTool) for part in toolsets for tool in part):
        hint = "take meta_tools() or code_tools() of the union."
        raise SettingsError(f"union: join the tools of documents, then {hint}")
    kinds = dict.fromkeys(kind for part in toolsets for kind in part.counts)
    about = About(
        skipped=tuple(item for part in toolsets for item in part.skipped),
        warnings=lambda: tuple(note for part in toolsets for note in part.warnings),
        security_schemes={k: v for part in toolsets for k, v in part.security_schemes.items()},
        counts=lambda: {kind: sum(part.counts.get(kind, 0) for part in toolsets) for kind in kinds},
    )
    made = Toolset(_renamed(toolsets, names), toolsets[0].session, about, parts=toolsets)
    for session in made.sessions:
        alive = (known for known in session.unions if known() is not None)
        session.unions = (*alive, weakref.ref(made))
    return made


def _renamed(toolsets: tuple[Toolset, ...], names: tuple[str, ...]) -> Iterator[OperationTool]:
    """Yield the tools of several toolsets, those of equal names with a prefix."""
    counts = Counter(tool.name for part in toolsets for tool in part)
    taken = {name for name, times in counts.items() if times == 1}
    for index, part in enumerate(toolsets, start=1):
        prefix = names[index - 1] if names else _prefix(part, index)
        for tool in part:
            if counts[tool.name] == 1:
                yield tool
                continue
            name = _free(f"{prefix}_{tool.name}", taken)
            taken.add(name)
            yield tool.renamed(name)


def _prefix(part: Toolset, index: int) -> str:
    """Return the title of a document as the beginning of a name."""
    document = part.document
    info = document.get("info") if isinstance(document, dict) else None
    title = info.get("title") if isinstance(info, dict) else None
    words = visible(title).lower() if isinstance(title, str) else ""
    prefix = re.sub(r"[^a-z0-9]+", "_", words.removesuffix(" api")).strip("_")[:_PREFIX].strip("_")
    return prefix if prefix[:1].isalpha() else f"api{index}"


def _free(name: str, taken: set[str]) -> str:
    endings = chain([""], (f"_{number}" for number in count(2)))
    names = (name[: _LONGEST - len(ending)] + ending for ending in endings)
    return next(free for free in names if free not in taken)
