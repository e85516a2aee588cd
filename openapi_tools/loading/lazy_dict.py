"""Objects of a document that are read from the cache key by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class LazyDict(Node):
    """A dict whose values are read on first use and then kept."""

    __slots__ = ("_names", "_plain", "_read")

    def __init__(self, names: Iterable[str], read: Callable[[str], Any]) -> None:
        super().__init__()
        self._names = dict.fromkeys(names)
        self._read = read
        self._plain: Node | None = None

    def __contains__(self, key: object) -> bool:
        return key in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __missing__(self, key: str) -> Any:
        if key not in self._names:
            raise KeyError(key)
        # Threads must get one object: the loader knows nodes by their identity.
        return self.setdefault(key, self._read(key))

    def get(self, key: str, default: Any = None) -> Any:
        """Return the value of a key, or the default."""
        return self[key] if key in self._names else default

    # The methods of `Mapping` call those above, so that each value is read when it is used.
    keys = Mapping.keys  # type: ignore[assignment]  # and no views of a dict
    values, items = Mapping.values, Mapping.items  # type: ignore[assignment]  # as above

    def plain(self) -> Node:
        """Return all of it as plain data; the same dict at each call."""
        if self._plain is None:
            self._plain = {key: materialize(value) for key, value in self.items()}
        return self._plain


def materialize(node: Any) -> Any:
    """Return a node as plain data, with all values of a `LazyDict` read."""
    return node.plain() if isinstance(node, LazyDict) else node
