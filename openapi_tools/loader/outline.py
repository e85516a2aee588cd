"""The outline of a large JSON document: its operations and components as slices of the text.

A parser that makes objects of everything takes longer than all else that a load does. Here they are
made of what is looked at; the rest is passed over, which checks its grammar as well.
"""

from __future__ import annotations

import codecs
import os
from typing import TYPE_CHECKING, Any

from msgspec import UNSET, Raw, UnsetType, defstruct
from msgspec.json import Decoder
from pydantic_core import from_json, to_json

from openapi_tools.errors import InvalidDocument
from openapi_tools.loader.limits import MAX_NODES
from openapi_tools.loader.parse_json import is_dense, read_json, values_in
from openapi_tools.loader.slices import Lazy, whole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SIGHT = 4096
_WINDOW = 4096
_LOOKS = 32
_BYTES_A_VALUE = 5
"""Documents without a blank in them have ten or more."""
_MOST_VALUES = 1_000_000
_CHUNK = 64 * 1024
_SHORT = 512
"""Bytes of a list up to which its members are parsed sooner than told apart."""
_Member = dict[str, Raw] | list[Raw] | str | bool | None
_KINDS: dict[str, Any] = {
    "paths": dict[str, dict[str, _Member]],
    "components": dict[str, _Member],
    "definitions": dict[str, Raw],
    "parameters": dict[str, Raw],
    "responses": dict[str, Raw],
    "webhooks": dict[str, Raw],
}
"""Members of the root that are looked into; all others are one slice each."""
_PLAIN = (
    *("openapi", "swagger", "$self", "jsonSchemaDialect", "info", "servers", "security", "tags"),
    *("externalDocs", "host", "basePath", "schemes", "consumes", "produces"),
    "securityDefinitions",
)
_OF_ROOT = frozenset((*_PLAIN, *_KINDS))
_FIELDS: list[Any] = [
    *((name.lstrip("$"), Raw, UNSET) for name in _PLAIN),
    *((name, kind | UnsetType, UNSET) for name, kind in _KINDS.items()),
]
_ROOT = Decoder(defstruct("Root", _FIELDS, rename={"self": "$self"}))
_MEMBERS = Decoder(dict[str, Raw])
_LIST = Decoder(list[Raw])


class _Text:
    """The whole text, and what was made of it so far that may stand there more than once."""

    __slots__ = ("data", "name", "same")

    def __init__(self, data: bytes, name: str) -> None:
        self.data = data
        self.name = name
        self.same: dict[bytes, Any] = {}

    def parsed(self, raw: Raw) -> Any:
        """Return the value of a slice.

        Raises:
            InvalidDocument: It is deeper, or has a longer number, than documents may have.
        """
        try:
            return from_json(bytes(raw), allow_inf_nan=False)
        except ValueError:
            self._complain()
            raise

    def _complain(self) -> None:
        """Say where the document has what the parser does not take.

        Raises:
            InvalidDocument: It does.
        """
        try:
            read_json(self.data, check=False)
        except InvalidDocument as error:
            error.source = self.name
            raise

    def members(self, raws: Iterable[Raw]) -> list[Any]:
        """Return the values of slices, one object for those that are alike: nobody changes them."""
        same, found = self.same, []
        for raw in raws:
            text = bytes(raw)
            value = same.get(text)
            if value is None:
                value = same[text] = self.parsed(raw)
            found.append(value)
        return found

    def listed(self, raw: Raw) -> Any:
        """Return the value of a slice that should be an array; the same for all that are alike."""
        text = bytes(raw)
        if not text.startswith(b"["):
            return self.parsed(raw)
        found = self.same.get(text)
        if found is None:
            short = len(text) < _SHORT
            found = self.parsed(raw) if short else self.members(_LIST.decode(raw))
            self.same[text] = found
        return found


class Parts(Lazy):
    """An object whose members are parsed when they are first looked at.

    Args:
        table: Its members: slices of the text, or tables of them.
        text: The whole text.
        is_root: There may be further members, which nobody asks for but by reference.
    """

    __slots__ = ("_is_root", "_table", "_text")

    def __init__(self, table: dict[str, Any], text: _Text, *, is_root: bool = False) -> None:
        self._whole = None
        self._table = table
        self._text = text
        self._is_root = is_root

    def __contains__(self, key: object) -> bool:
        # This first: between two looks another thread may have found the further members.
        may_have_more = self._is_root
        return key in self._table or (may_have_more and key not in _OF_ROOT and key in self.known())

    def get(self, key: str, default: Any = None) -> Any:
        """Return a member."""
        may_have_more = self._is_root  # as above
        return self[key] if key in self._table or (may_have_more and key in self) else default

    def __missing__(self, key: str) -> Any:
        entry = self._table[key] if key in self._table else self.known()[key]
        # What two threads look at must be one object: the loader knows nodes by their identity.
        return self.setdefault(key, self._made(key, entry))

    def part(self, key: str, table: dict[str, Any]) -> Parts:
        """Return the member that has a table."""
        found: Parts | None = dict.get(self, key)
        return found if found is not None else self.setdefault(key, Parts(table, self._text))

    def _made(self, key: str, entry: Any) -> Any:
        if type(entry) is dict:
            return Parts(entry, self._text)
        if type(entry) is list:
            return self._text.members(entry)
        if type(entry) is not Raw:
            return entry
        return self._text.listed(entry) if key == "parameters" else self._text.parsed(entry)

    @property
    def table(self) -> dict[str, Any]:
        """The members that an outline has."""
        return self._table

    def raw(self, key: str) -> bytes | None:
        """Return a member as the JSON that it is, None where nobody has that or there is none."""
        entry = self._table.get(key)
        return bytes(entry) if type(entry) is Raw else None

    def whole(self) -> dict[str, Any]:
        """Return all of it as plain data, in which nothing stands in two places."""
        if self._whole is None:
            self._whole = {key: self._apart(key, entry) for key, entry in self.known().items()}
        return self._whole

    def _apart(self, key: str, entry: Any) -> Any:
        """Return a member as plain data that no other one shares."""
        if type(entry) is list:
            return list(map(self._text.parsed, entry))
        if type(entry) is Raw and key == "parameters":
            return self._text.parsed(entry)
        return whole(self[key])

    def known(self) -> Mapping[str, Any]:
        """Return all members, as slices."""
        if self._is_root:
            every = _MEMBERS.decode(self._text.data)
            self._table = {key: self._table.get(key, raw) for key, raw in every.items()}
            self._is_root = False
        return self._table

    def pieces(self) -> Iterator[tuple[str, Any]]:
        """Yield all keys with their members, objects, or JSON."""
        for key, entry in self.known().items():
            yield key, Parts(entry, self._text) if type(entry) is dict else _text(entry)

    def text(self) -> bytes:
        """Return all of it as JSON."""
        return _text(self.known())


def outline(data: bytes, name: str = "") -> Parts | None:
    """Return the outline of a JSON text; None when it has none or may be no document.

    Args:
        data: Any bytes.
        name: What messages call the document.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data[:_SIGHT].lstrip().startswith(b"{") or _may_be_dense(data):
        return None
    try:
        _check_utf8(data)
        root = _ROOT.decode(data)
    except (ValueError, RecursionError):
        return None
    members = ((name, getattr(root, name.lstrip("$"))) for name in (*_PLAIN, *_KINDS))
    table = {name: value for name, value in members if value is not UNSET}
    return Parts(table, _Text(data, name), is_root=True)


def _text(entry: Any) -> bytes:
    """Return a member of a table as JSON."""
    if type(entry) is Raw:
        return bytes(entry)
    if type(entry) is dict:
        return b"{%b}" % b",".join([to_json(key) + b":" + _text(of) for key, of in entry.items()])
    if type(entry) is list:
        return b"[%b]" % b",".join(map(_text, entry))
    return to_json(entry)


def _may_be_dense(data: bytes) -> bool:
    """Tell whether a text may have so many values that slices take more memory than objects do.

    Counting takes long; where nobody knows, a few looks show any such part that is large enough.
    """
    size = max(len(data) - _WINDOW, 1)
    places = [int.from_bytes(os.urandom(8)) % size for _ in range(_LOOKS)]
    counts = [values_in(data[place : place + _WINDOW]) for place in places]
    if max(counts) > _WINDOW // _BYTES_A_VALUE:
        return values_in(data) > _MOST_VALUES
    likely = sum(counts) / _LOOKS / _WINDOW * len(data)
    return likely > MAX_NODES / 2 and is_dense(data)


def _check_utf8(data: bytes) -> None:
    """Look at what is passed over too.

    Raises:
        UnicodeDecodeError: A byte is not of the encoding.
    """
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), _CHUNK):
        chunk = data[start : start + _CHUNK]
        if not chunk.isascii() or decoder.getstate()[0]:
            decoder.decode(chunk)
    decoder.decode(b"", final=True)
