"""Make the names in generated files from an allow-list, whatever the document says.

Names have ASCII letters, digits and `_` only. Module files begin with `tools` or `schemas`, so that
none is a keyword, a device, a dunder or a module of Python's own.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from typing import TYPE_CHECKING

from openapi_tools.codegen.literals import Code
from openapi_tools.tools.packages import class_name

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST = 60
_LONGEST_API = 40
_LONGEST_TITLE = 28
_HASH = 6
_OTHER = re.compile(r"[^a-z0-9]+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOISE = {
    *("api", "apis", "http", "interface", "of", "official", "openapi", "rest", "s"),
    *("spec", "specification", "swagger", "the", "web"),
}
_API = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*")
TAKEN_CONSTANTS = {
    *("INDEX", "SECURITY_SCHEMES", "SKIPPED", "COUNTS", "SETTINGS"),
    *("SERVERS", "SERVERS_BY_URL", "TYPE_CHECKING"),
}
_TAKEN_CLASSES = {
    *TAKEN_CONSTANTS,
    *("Any", "ClassVar", "Ellipsis", "False", "None", "NotImplemented", "True"),
    *("Encoding", "Operation", "OperationTool", "Parameter", "Property", "RequestBody"),
    *("SecurityScheme", "Server", "ServerVariable", "Skipped", "Select", "Settings", "Toolset"),
    *("GeneratorExit", "KeyboardInterrupt", "StopAsyncIteration", "StopIteration", "SystemExit"),
    *("Awaitable", "Callable", "Mapping"),
}
_TAKEN_ENDS = ("Error", "Exception", "ExceptionGroup", "Warning")  # of Python's own classes


def slug(text: str) -> str:
    """Return the words of `[a-z0-9]` in a text, joined by `_`."""
    return _OTHER.sub("_", _HUMP.sub("_", text).lower()).strip("_")


def api_name(title: str) -> str:
    """Return an API's name from its document's title: `museum` for `"The Museum API 1.0"`."""
    plain = unicodedata.normalize("NFKD", title[:200]).encode("ascii", "ignore").decode()
    words = _OTHER.sub("_", plain.lower()).strip("_").split("_")
    telling = [word for word in words if word not in _NOISE and not word.isdigit()]
    name = ""
    for word in telling or words:
        if len(name) + len(word) < _LONGEST_TITLE:
            name = f"{name}_{word}".strip("_")
    name = name if name[:1].isalpha() else f"api_{name}".strip("_")
    return name if is_api_name(name) else "api"


def is_api_name(name: str) -> bool:
    """Tell whether a user's name can be the name of an API."""
    return bool(_API.fullmatch(name)) and len(name) <= _LONGEST_API and name != "openapi"  # ours


def digest(text: str) -> str:
    """Return a short hash of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


class Names:
    """Gives each name once, except those that are taken."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = set(taken)

    def claim(self, wanted: str, *, whose: str) -> Code:
        """Return the wanted name, or one with a hash of `whose` when it is taken or too long."""
        name, attempt = wanted, whose
        while name in self._taken or len(name) > _LONGEST + _HASH:
            name = f"{wanted[: _LONGEST - 1]}_{digest(attempt)}"
            attempt += "*"
        self._taken.add(name)
        return Code(name)


class ClassNames(Names):
    """Gives the classes of tools their names in CapWords."""

    def claim_for(self, tool: str) -> Code:
        """Return the name of a tool's class: `IssuesList` for `issues_list`."""
        name = class_name(tool)
        if not name[:1].isalpha() or name in _TAKEN_CLASSES or name.endswith(_TAKEN_ENDS):
            name = f"Tool{name}"
        if name in self._taken:
            name += digest(tool).upper()
        return self.claim(name, whose=tool)


def constant_name(text: str) -> str:
    """Return a constant's name: `PULL_REQUEST` for `PullRequest`."""
    name = slug(text).upper()
    return name if name[:1].isalpha() else f"SCHEMA_{name}".rstrip("_")
