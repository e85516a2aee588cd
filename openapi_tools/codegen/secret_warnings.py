"""Values of a document that look like secrets, before they are written to a package."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.api_files import name_credentials
from openapi_tools.common.options import find_variables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.codegen.package_data import PackageData, ToolRecord
    from openapi_tools.tools.tool import OperationTool

_SECRET_NAME = re.compile(r"(?i)passw|secret|token|api[_-]?key|credential|private[_-]?key")
_SECRET_VALUE = re.compile(
    r"(sk|pk|rk)[-_](live|test|proj)[-_]?[A-Za-z0-9]{8}|gh[pousr]_[A-Za-z0-9]{20}|AKIA[A-Z0-9]{16}"
    r"|xox[abposr]-[A-Za-z0-9-]{10}|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|(?<![\w-])eyJ[\w-]{10,}+\.eyJ[\w-]{10,}+\."
)
_MACHINE_MADE = re.compile(r"(?=.*[A-Za-z])(?=.*[0-9])\S{8,}")
_HIDDEN = "//***@"
_EXAMPLES = ("default", "const", "example", "examples", "enum")


def secret_warnings(records: Iterable[ToolRecord | OperationTool]) -> Iterator[str]:
    """Yield a warning for each default, example or server that looks like a secret, without it."""
    records = tuple(records)
    servers = (server.url for record in records for server in record.operation.servers)
    for url in dict.fromkeys(url for url in servers if _HIDDEN in url):
        yield (
            f"the server {url!r:.100} has a user and a password, "
            "which were not written to the package."
        )
    for record in records:
        for name in dict.fromkeys(_secret_properties(record.input_schema)):
            yield f"{record.name}: the default or example of {name!r} looks like a secret."


def variable_warnings(data: PackageData) -> Iterator[str]:
    """Yield a warning for each variable that a skill reads, and that has a value already.

    A document chooses the names: one that is called "AWS" gets `$AWS_SECRET_ACCESS_KEY`.
    """
    operations = [record.operation for record in data.records]
    credentials = name_credentials(data.api, operations, data.schemes)
    urls = dict.fromkeys(server.url for each in operations for server in each.servers)
    place = f"{next(iter(urls), ''):.100}" or "the API"
    for variable in find_variables([value for _, _, value in credentials]):
        if variable in os.environ:
            yield (
                f"{variable} is set here, and calls of the skill send its value to {place}; "
                "pass another name of the API (name) if it is not for that."
            )


def looks_like_secret(name: str, text: str) -> bool:
    """Return whether the value of a name looks like a password, a token or a key."""
    is_named_so = _SECRET_NAME.search(name) and _MACHINE_MADE.fullmatch(text)
    return bool(is_named_so or _SECRET_VALUE.search(text))


def _secret_properties(schema: Any) -> Iterator[str]:
    waiting: list[tuple[str, Any]] = [("", schema)]
    while waiting:
        name, node = waiting.pop()
        if isinstance(node, dict):
            examples = [node.get(keyword) for keyword in _EXAMPLES]
            values = [value for e in examples for value in (e if isinstance(e, list) else [e])]
            texts = [value for value in values if isinstance(value, str)]
            if any(looks_like_secret(name, text) for text in texts):
                yield name
            for key, value in node.items():
                if key in ("properties", "$defs") and isinstance(value, dict):
                    waiting += value.items()
                elif key not in _EXAMPLES:
                    waiting.append((name, value))
        elif isinstance(node, list):
            waiting += [(name, value) for value in node]
