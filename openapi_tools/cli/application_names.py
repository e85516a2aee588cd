"""Names of ASGI applications as SPEC: `module:attribute`, or `module:factory()`."""

from __future__ import annotations

import re
from pathlib import Path

from openapi_tools.errors import SourceError

CALL = "()"
"""The end of the name of a factory."""

_FILE = re.compile(r"(?P<path>[^:]+)\.py(?::(?P<attribute>[^:/\\]+))?")


def is_application(spec: str) -> bool:
    """Return whether SPEC names an application, and no file."""
    module, colon, attribute = spec.removesuffix(CALL).partition(":")
    parts = [*module.split("."), *attribute.split(".")]
    return bool(colon) and all(map(str.isidentifier, parts)) and not Path(spec).exists()


def check_application_file(spec: str) -> None:
    """Raise SourceError for `main.py:app` and `main.py`, the file in place of the module."""
    match = _FILE.fullmatch(spec)
    if match is None or not Path(f"{match['path']}.py").is_file():
        return
    folder, _, module = match["path"].replace("\\", "/").rpartition("/")
    name = f"{module}:{match['attribute'] or 'NAME'}" + (f" --app-dir {folder}" if folder else "")
    raise SourceError(f"this is a Python file; name an application in it as {name}.", source=spec)
