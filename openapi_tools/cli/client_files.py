"""The configuration file of an MCP client: read, with a server added, and replaced in one step."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from stat import S_ISREG
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import OutputError, SourceError
from openapi_tools.state.atomic_files import replace_file

if TYPE_CHECKING:
    from pathlib import Path

_MARK = "\ufeff"  # of the byte order
_LARGEST = 64 * 1024 * 1024
_INDENT = re.compile(r"\n([ \t]+)\S")


@dataclass(frozen=True, slots=True)
class ClientFile:
    """A client's configuration: `path` as the user named it, `data` as it was read.

    `target` is the file itself: links are followed, as people keep such files elsewhere and link
    to them.
    """

    path: Path
    target: Path
    data: bytes = b""

    @property
    def text(self) -> str:
        """The content, without a byte order mark, and with plain line ends."""
        return self.data.decode().removeprefix(_MARK).replace("\r\n", "\n")

    def with_server(self, key: str, name: str, entry: dict[str, Any]) -> str:
        """Return the text with a server; the rest and its indentation stay.

        Raises:
            SourceError: It is not JSON, or not all of it could be kept.
        """
        before = self.text
        try:
            data = json.loads(
                before.strip() or "{}",
                object_pairs_hook=_check_unique,
                parse_float=_parse_float,
                parse_constant=_refuse_constant,
            )
            data.setdefault(key, {})[name] = entry
            indent = match[1] if (match := _INDENT.search(before)) else 2
            text = json.dumps(data, indent=indent, ensure_ascii=not _is_unicode(data))
        except _UnfaithfulError as error:
            reason = f"{error} Add by hand: {json.dumps({name: entry})}"
            raise SourceError(reason, source=str(self.path)) from None
        except (ValueError, RecursionError, AttributeError, TypeError):
            reason = f"is not JSON with an object {key!r}; it may have comments. Add by hand: "
            reason += json.dumps({name: entry})
            raise SourceError(reason, source=str(self.path)) from None
        return f"{text}\n" if before.endswith("\n") or not before else text

    def write(self, text: str) -> None:
        """Replace the file with a text, with its own line ends, byte order mark and mode.

        Raises:
            OutputError: It cannot be written, or has changed since it was read.
        """
        ends = "\r\n" if b"\r\n" in self.data else "\n"
        mark = _MARK if self.data.startswith(_MARK.encode()) else ""
        try:
            self.target.parent.mkdir(parents=True, exist_ok=True)
            if self.target.exists():
                self._check_unchanged()
            replace_file(self.target, (mark + text.replace("\n", ends)).encode())
        except OSError as error:
            reason = f"cannot be written ({error.strerror})."
            raise OutputError(reason, path=str(self.path)) from None

    def _check_unchanged(self) -> None:
        if not self.target.stat().st_mode & 0o222:
            raise OutputError("is read-only; allow writing and run again.", path=str(self.path))
        if self.target.read_bytes() != self.data:
            reason = "has changed meanwhile; nothing was written. Run again."
            raise OutputError(reason, path=str(self.path))


def read_client_file(path: Path) -> ClientFile:
    """Return a client's configuration; an empty one where there is none.

    Raises:
        SourceError: It cannot be read, or is not text in UTF-8.
    """
    try:
        target = path.resolve()
        status = target.stat()
        if not S_ISREG(status.st_mode):
            raise SourceError(_unreadable("not a regular file"), source=str(path))
        if status.st_size > _LARGEST:
            raise SourceError(_unreadable("too large"), source=str(path))
        data = target.read_bytes()
        data.decode()
    except FileNotFoundError:
        return ClientFile(path, target)
    except (OSError, RuntimeError, ValueError) as error:
        cause = getattr(error, "strerror", None)
        kind = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "not a valid path"
        raise SourceError(_unreadable(cause or kind), source=str(path)) from None
    return ClientFile(path, target, data)


def _unreadable(cause: str) -> str:
    return f"cannot be read ({cause})."


class _UnfaithfulError(Exception):
    """JSON that would not be the same when it is written again."""


def _check_unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        (twice, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise _UnfaithfulError(f"has the key {json.dumps(twice[:100])} twice in one object.")
    return value


def _parse_float(text: str) -> float:
    number = float(text)
    # Nothing of the file may change but the entry, and a float would round such a number.
    if Decimal(text) != Decimal(repr(number)):
        raise _UnfaithfulError(f"has the number {text[:40]}, which cannot be written unchanged.")
    return number


def _refuse_constant(text: str) -> float:
    raise ValueError(text)


def _is_unicode(data: Any) -> bool:
    # JSON may hold a lone surrogate as an escape, which UTF-8 cannot write.
    try:
        json.dumps(data, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
