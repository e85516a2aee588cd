"""What a toolset says about its document."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from openapi_tools.model import SecurityScheme, Skipped


@dataclass(frozen=True, slots=True, eq=False)
class DocumentInfo:
    """What a toolset says about its document; functions find it when it is asked for.

    Attributes:
        skipped: The operations that did not become tools.
        warnings: Returns remarks on the document.
        security_schemes: The security schemes by name.
        counts: Returns how many operations of each kind there are.
        document: Returns the parsed document, or None.
        bundled: Returns the document with those that it refers to, or None.
        index: Where the search index of its tools is cached.
        info: Returns the document's object `info` without the rest; None to take it from there.
    """

    skipped: tuple[Skipped, ...] = ()
    warnings: Callable[[], tuple[str, ...]] = tuple
    security_schemes: Mapping[str, SecurityScheme] = field(default_factory=dict)
    counts: Callable[[], dict[str, int]] = dict
    document: Callable[[], Any] = lambda: None
    bundled: Callable[[], Any] = lambda: None
    index: Any = None
    info: Callable[[], Any] | None = None

    def read_info(self) -> dict[str, Any]:
        """Return the document's object `info`; empty without one."""
        if self.info is not None:
            return as_dict(self.info())
        return as_dict(as_dict(self.document()).get("info"))


def document_pointer(tool: object) -> str:
    """Return the JSON Pointer to the operation of a tool; empty for a tool of another kind."""
    return str(getattr(tool, "pointer", ""))
