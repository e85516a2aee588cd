"""The tools of a document as facts that can be kept, and as tools again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.loading.cache_file import Facts
from openapi_tools.loading.operations import has_operators
from openapi_tools.loading.unreadable_keywords import unreadable
from openapi_tools.tools.tool import OperationTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.forks import ForkLock
    from openapi_tools.loading.operations import Declared, Document
    from openapi_tools.model import Operation, Skipped
    from openapi_tools.tools.session import Session
    from openapi_tools.tools.toolset import Toolset


class Usable(NamedTuple):
    """The operations of a document that is not kept.

    Attributes:
        good: Those that become tools, with their names.
        skipped: The others.
        warnings: About operations.
    """

    good: list[tuple[str, Declared]]
    skipped: list[Skipped]
    warnings: list[str]


def facts_of(document: Document, toolset: Toolset, usable: Usable, remarks: Iterable[str]) -> Facts:
    """Return what the next load need not find out again.

    Args:
        document: The document.
        toolset: Its tools.
        usable: Its operations.
        remarks: What its parser remarked.
    """
    declared = [item for _, item in usable.good]
    groups: dict[tuple[str, ...], int] = {}
    return Facts(
        names=[tool.name for tool in toolset],
        descriptions=[tool.description for tool in toolset],
        methods=[item.method for item in declared],
        paths=[item.path for item in declared],
        members=[item.member for item in declared],
        tags=[groups.setdefault(item.tags, len(groups)) for item in declared],
        groups=[list(tags) for tags in groups],
        deprecated=[number for number, item in enumerate(declared) if item.deprecated],
        skipped=usable.skipped,
        warnings=[*usable.warnings, *unreadable(document, declared)],
        remarks=list(remarks),
        counts=document.counts(),
    )


class Maker(NamedTuple):
    """What the tools of one document share.

    Attributes:
        facts: What is known of all of them.
        session: For their calls.
        make: Makes the tool of a number that does the rest.
        turn: Held meanwhile, so that there is one.
    """

    facts: Facts
    session: Session
    make: Callable[[int], OperationTool]
    turn: ForkLock


class KeptTool(OperationTool):
    """A tool that looks into its document when its schema or its operation is asked for.

    Args:
        number: Its place in the facts.
        maker: What it shares with the other tools.
    """

    __slots__ = ("_made", "_maker", "_number")

    def __init__(self, number: int, maker: Maker) -> None:
        super().__init__(maker.session)
        self._number = number
        self._maker = maker
        self._made: OperationTool | None = None

    @property
    def name(self) -> str:
        """Unique in its toolset."""
        return self._maker.facts.names[self._number]

    @property
    def method(self) -> str:
        """Upper case."""
        return self._maker.facts.methods[self._number]

    @property
    def path(self) -> str:
        """As in the document, but for operators of RFC 6570 inside the braces."""
        path = self._maker.facts.paths[self._number]
        return self._loaded().path if has_operators(path) else path

    @property
    def tags(self) -> tuple[str, ...]:
        """The document's grouping."""
        facts = self._maker.facts
        return tuple(facts.groups[facts.tags[self._number]])

    @property
    def deprecated(self) -> bool:
        """Whether the document advises against it."""
        return self._number in self._maker.facts.deprecated

    @property
    def description(self) -> str:
        """Summary and description as plain text, cut at a word boundary."""
        return self._maker.facts.descriptions[self._number]

    @property
    def input_schema(self) -> dict[str, Any]:
        """JSON Schema 2020-12."""
        return self._loaded().input_schema

    @property
    def operation(self) -> Operation:
        """How it is called."""
        return self._loaded().operation

    def _loaded(self) -> OperationTool:
        """Return the same tool with its part of the document."""
        if self._made is None:
            with self._maker.turn:
                self._made = self._made or self._maker.make(self._number)
        return self._made
