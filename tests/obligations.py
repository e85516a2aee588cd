"""What the obligation tests of texts 000, 001 and 002 share: the same tools, loaded and generated.

The texts describe a neutral contract, so no coordinator's package is needed here;
`contracts/test_amplifier.py` proves the same with the real one.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from packages import imported

from openapi_tools import Settings, load_tools
from openapi_tools.contracts import amplifier

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from openapi_tools import Toolset

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "specs" / "petstore.yaml"
GENERATED = ROOT / "generated" / "petstore"
KINDS = ("loaded", "generated")


class Coordinator:
    """As much of a coordinator as the texts ask for."""

    def __init__(self) -> None:
        self.tools: dict[str, Any] = {}

    async def mount(self, point: str, tool: Any, name: str | None = None) -> None:
        """Keep a tool under a name."""
        assert point == "tools"
        assert name
        self.tools[name] = tool

    async def unmount(self, point: str, name: str) -> None:
        """Forget it."""
        assert point == "tools"
        del self.tools[name]

    def get(self, point: str, name: str | None = None) -> Any:
        """Return the tools."""
        return self.tools if name is None else self.tools.get(name)


@contextmanager
def petstore(kind: str, url: str) -> Iterator[Toolset]:
    """Give the petstore's tools of a kind."""
    if kind == "loaded":
        yield load_tools(SPEC, settings=Settings(base_url=url, anonymous=True))
    else:
        with imported(GENERATED, "petstore_tools") as package:
            yield package.load(base_url=url, anonymous=True)


@contextmanager
def module(kind: str) -> Iterator[Callable[..., Awaitable[Any]]]:
    """Give the `mount` of the module that offers the petstore's tools."""
    if kind == "generated":
        with imported(GENERATED, "petstore_tools") as package:
            yield package.mount
        return

    async def mount(coordinator: Any, config: dict[str, Any] | None = None) -> Any:
        return await amplifier.mount(coordinator, {"spec": str(SPEC), **(config or {})})

    yield mount
