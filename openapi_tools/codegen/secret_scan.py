"""Warn about values in a package that look like secrets, before it is committed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.codegen.package_data import Record

_SECRET_NAME = re.compile(
    r"passw|secret|token|api[_-]?key|credential|private[_-]?key", re.IGNORECASE
)
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk)[-_](live|test|proj)[-_]?[A-Za-z0-9]{8}|gh[pousr]_[A-Za-z0-9]{20}|AKIA[A-Z0-9]{16}"
    r"|xox[abposr]-[A-Za-z0-9-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY|eyJ[\w-]{10,}\.eyJ[\w-]{10,}\."
)
_MACHINE_MADE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])\S{8,}")
_HIDDEN = "//***@"
_EXAMPLES = ("default", "const", "example", "examples", "enum")


def secret_warnings(records: Iterable[Record]) -> Iterator[str]:
    """Yield a warning for each argument whose default or example looks like a secret.

    The value itself is not shown. A server whose user and password were left out when the document
    was loaded gives a warning too.
    """
    records = tuple(records)
    servers = (server.url for record in records for server in record.operation.servers)
    for url in dict.fromkeys(url for url in servers if _HIDDEN in url):
        yield f"the server {url!r:.100} has a user and a password, which are not written."
    for record in records:
        for name in dict.fromkeys(_secret_properties(record.input_schema)):
            yield f"{record.name}: the default or example of {name!r} looks like a secret."


def _secret_properties(schema: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, dict):
            if any(_is_secret(name, value) for value in _example_texts(node)):
                yield name
            for key, value in node.items():
                if key in ("properties", "$defs") and isinstance(value, dict):
                    waiting += value.items()
                elif key not in _EXAMPLES:
                    waiting.append((name, value))
        elif isinstance(node, list):
            waiting += [(name, value) for value in node]


def _example_texts(node: dict[str, Any]) -> Iterator[str]:
    for keyword in _EXAMPLES:
        found = node.get(keyword)
        for value in found if isinstance(found, list) else [found]:
            if isinstance(value, str):
                yield value


def _is_secret(name: str, value: str) -> bool:
    if _SECRET_VALUE.search(value):
        return True
    return bool(_SECRET_NAME.search(name) and _MACHINE_MADE.fullmatch(value))
