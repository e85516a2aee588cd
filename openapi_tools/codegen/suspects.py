"""What looks like a secret and would be committed with a package."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.codegen.records import Record

_TELLING_NAME = re.compile(
    r"passw|secret|token|api[_-]?key|credential|private[_-]?key", re.IGNORECASE
)
_TELLING_VALUE = re.compile(
    r"(sk|pk|rk)[-_](live|test|proj)[-_]?[A-Za-z0-9]{8}|gh[pousr]_[A-Za-z0-9]{20}|AKIA[A-Z0-9]{16}"
    r"|xox[abposr]-[A-Za-z0-9-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
_HIDDEN = "//***@"
_SHORTEST = 8
_EXAMPLES = ("default", "const", "example", "examples", "enum")


def suspects(records: Iterable[Record]) -> Iterator[str]:
    """Yield a warning for each argument whose default or example looks like a secret.

    The value itself is not shown. Neither are user and password of a server's URL, which were left
    out when the document was loaded; each such server is a warning too.

    Args:
        records: The tools that are to be written down.
    """
    records = tuple(records)
    servers = (server.url for record in records for server in record.operation.servers)
    for url in dict.fromkeys(url for url in servers if _HIDDEN in url):
        yield f"the server {url!r:.100} has a user and a password, which are not written."
    for record in records:
        for name in dict.fromkeys(_found(record.input_schema)):
            yield f"{record.name}: the default or example of {name!r} looks like a secret."


def _found(schema: Any) -> Iterator[str]:
    """Yield the names of properties that hold such a value."""
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, dict):
            if any(_is_secret(name, value) for value in _values(node)):
                yield name
            for key, value in node.items():
                if key in ("properties", "$defs") and isinstance(value, dict):
                    waiting += value.items()
                elif key not in _EXAMPLES:
                    waiting.append((name, value))
        elif isinstance(node, list):
            waiting += [(name, value) for value in node]


def _values(node: dict[str, Any]) -> Iterator[str]:
    """Yield the texts that a schema gives as a value."""
    for keyword in _EXAMPLES:
        found = node.get(keyword)
        for value in found if isinstance(found, list) else [found]:
            if isinstance(value, str):
                yield value


def _is_secret(name: str, value: str) -> bool:
    if _TELLING_VALUE.search(value):
        return True
    return bool(_TELLING_NAME.search(name)) and len(value) >= _SHORTEST and _is_mixed(value)


def _is_mixed(value: str) -> bool:
    """Tell whether a text looks made by a machine: letters and digits in one word."""
    return (
        not re.search(r"\s", value)
        and bool(re.search(r"[A-Za-z]", value))
        and bool(re.search(r"[0-9]", value))
    )
