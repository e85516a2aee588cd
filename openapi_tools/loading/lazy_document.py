"""A document of which each part is parsed when it is first looked at.

The root, `paths`, `components` and the like are `Slices`; what is in them is plain data again. To
the loader they are dicts, and everything in them stays the same object once it was looked at.
"""

from __future__ import annotations

from collections.abc import ItemsView, ValuesView
from itertools import count
from typing import TYPE_CHECKING, Any
from zlib import crc32

from openapi_tools.errors import InvalidDocument

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, KeysView

    from openapi_tools.loading.cache import View

_CUT = frozenset({"paths", "components", "definitions", "parameters", "responses", "webhooks"})
_DAMAGED = (
    "its copy in the cache is damaged, and was removed; load it again (docs/cache.md has more)."
)


class Area:
    """The bytes of all parts.

    Args:
        view: A file that begins with them.
        name: What messages call the document.
        again: Reads the document again, should a part be damaged: gives its root, or None.
    """

    def __init__(self, view: View, *, name: str, again: Callable[[], Any]) -> None:
        self._view = view
        self._name = name
        self._again = again
        self._root: Any = None

    def part(self, begin: int, end: int, total: int, path: tuple[str, ...]) -> Any:
        """Return one part, parsed.

        Args:
            begin: Its first byte, in the file.
            end: The byte behind its last.
            total: Its CRC-32.
            path: The keys that lead to it.

        Raises:
            InvalidDocument: It is damaged, and the document cannot be read again.
        """
        from pydantic_core import from_json

        try:
            data = self._view.read(begin, end)
            if crc32(data) == total:
                return from_json(data)  # `1e400` of a large document is there as `Infinity`
        except (TypeError, ValueError):  # no numbers, no JSON: who wrote that had other aims
            pass
        return self._healed(path)

    def _healed(self, path: tuple[str, ...]) -> Any:
        """Return a part of the document itself."""
        if self._root is None:
            self._root = self._again()
        node = self._root
        for key in path:
            if not isinstance(node, dict) or key not in node:
                raise InvalidDocument(_DAMAGED, source=self._name)
            node = node[key]
        return node


class Slices(dict[str, Any]):
    """An object whose members are parsed when they are first looked at.

    Args:
        area: Holds them.
        node: Where they are, as `cut` says it.
        path: The keys that lead here.
    """

    __slots__ = ("_area", "_node", "_numbers", "_path", "_whole")

    def __init__(self, area: Area, node: dict[str, Any], path: tuple[str, ...] = ()) -> None:
        super().__init__()
        self._area = area
        self._node = node
        self._path = path
        self._numbers: dict[str, int] | None = None
        self._whole: dict[str, Any] | None = None

    def __contains__(self, key: object) -> bool:
        return key in self._known()

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __missing__(self, key: str) -> Any:
        number = self._known()[key]
        node, path = self._node, (*self._path, key)
        if key in node["inner"]:
            value: Any = Slices(self._area, node["inner"][key], path)
        else:
            begin = node["ends"][number - 1] if number else node["begin"]
            value = self._area.part(begin, node["ends"][number], node["sums"][number], path)
        # What two threads look at must be one object: the loader knows nodes by their identity.
        return self.setdefault(key, value)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member."""
        return self[key] if key in self else default  # noqa: SIM401 -- this is it

    def keys(self) -> KeysView[str]:  # type: ignore[override]  # lazy views, as all looks are
        """Return a view of all keys; nothing is parsed."""
        return self._known().keys()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]  # as above
        """Return a view of all members; each is parsed when its turn comes."""
        return ValuesView(self)

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]  # as above
        """Return a view of all keys with their members; each is parsed when its turn comes."""
        return ItemsView(self)

    def whole(self) -> dict[str, Any]:
        """Return all of it as plain data; the same dict at each look."""
        if self._whole is None:
            self._whole = {key: whole(value) for key, value in self.items()}
        return self._whole

    def _known(self) -> dict[str, int]:
        """Return all keys, with their numbers."""
        if self._numbers is None:
            keys = self._node["keys"]
            self._numbers = dict(zip(keys, count(), strict=False))
        return self._numbers


def whole(node: Any) -> Any:
    """Return a node as plain data: `Slices` become dicts, the rest is as it is."""
    return node.whole() if isinstance(node, Slices) else node


def cut(root: dict[str, Any], write: Callable[[bytes], object]) -> dict[str, Any]:
    """Write the parts of a document, and return where each of them is.

    Args:
        root: The document.
        write: Is given the JSON of each part.

    Returns:
        For `Slices`: `keys`; `begin` of the first part, the `ends` of all and the `end` of the
        last, in bytes; their CRC-32 as `sums`; and `inner`, the same for members that are cut.

    Raises:
        ValueError: It holds something that JSON does not have, half a surrogate pair for instance.
    """
    return _cut(root, write, 0, _CUT)


def _cut(
    node: dict[str, Any], write: Callable[[bytes], object], at: int, inner: frozenset[str]
) -> dict[str, Any]:
    from pydantic_core import to_json

    table: dict[str, Any] = {"keys": list(node), "begin": at, "inner": {}}
    ends, sums = table["ends"], table["sums"] = [], []
    for key, value in node.items():
        if key in inner and isinstance(value, dict):
            kinds = frozenset(value) if key == "components" else frozenset[str]()
            found = table["inner"][key] = _cut(value, write, at, kinds)
            at = found["end"]
            sums.append(0)
        else:
            data = to_json(value)
            write(data)
            at += len(data)
            sums.append(crc32(data))
        ends.append(at)
    table["end"] = at
    return table


def is_table(node: Any, depth: int = 3) -> bool:
    """Tell whether data is what `cut` returns; a wrong place in it is found at the part itself.

    Args:
        node: Any data.
        depth: How many tables may stand in one another.
    """
    if not isinstance(node, dict) or node.keys() != _MEMBERS or depth == 0:
        return False
    keys, ends, sums, inner = node["keys"], node["ends"], node["sums"], node["inner"]
    return (
        are(keys, str)
        and all(isinstance(values, list) and len(values) == len(keys) for values in (ends, sums))
        and isinstance(inner, dict)
        and inner.keys() <= set(keys)
        and all(is_table(value, depth - 1) for value in inner.values())
    )


_MEMBERS = {"keys", "begin", "ends", "sums", "inner", "end"}


def are(values: Any, kind: type) -> bool:
    """Tell whether data is a list of one kind of values."""
    return isinstance(values, list) and set(map(type, values)) <= {kind}
