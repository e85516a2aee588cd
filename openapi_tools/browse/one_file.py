"""The page as one file that needs no server: the same bytes for the same tools."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.browse.page_data import PageData
from openapi_tools.providers.definitions import PROFILES
from openapi_tools.search.costs import estimate_tokens

if TYPE_CHECKING:
    from openapi_tools.tools.toolset import Toolset

ASSETS = Path(__file__).parent
PAGE = "page.html"
_SCRIPT = re.compile(r'<script src="([a-z]+\.js)" defer></script>')
_STYLE = '<link rel="stylesheet" href="page.css">'
_MARK = "\x01"
"""Begins a text that is a number of the pool; a text that begins so gets another one."""
_LEAST = 60  # characters of a value that is worth a place in the pool


def page(toolset: Toolset, changes: list[dict[str, Any]] | None = None) -> str:
    """Return the page as one HTML file, which asks nothing of any server.

    Tokens are estimated, not counted, so that it is the same where other packages are installed.
    """
    data = PageData(toolset, changes, ("estimated", estimate_tokens))
    pool, whole = pooled(
        {
            "index": data.index(),
            "costs": {profile: data.costs(profile) for profile in PROFILES},
            "tools": {tool.name: data.details(tool) for tool in toolset},
        }
    )
    scripts = [_asset(name) for name in _SCRIPT.findall(_asset(PAGE))]
    style = _asset("page.css")
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_digest, scripts))}; "
        f"style-src {_digest(style)}; img-src data:; base-uri 'none'; form-action 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    )
    html = _SCRIPT.sub("", _asset(PAGE)).replace(_STYLE, f"<style>{style}</style>")
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    inlined = [f"<script>{script}</script>" for script in scripts]
    facts = f'<script type="application/json" id="data">{as_html(whole | {"pool": pool})}</script>'
    return html.replace("<head>", f"<head>\n{meta}").replace(
        "</body>", "\n".join([facts, *inlined, "</body>"])
    )


def as_html(value: Any) -> str:
    r"""Return JSON that cannot end the script element around it: `<` is `\u003c`."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def pooled(value: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the values that occur repeatedly, and the value with their numbers in place of them.

    Schemas of one document share most of their parts; each is written once.
    """
    counts: Counter[bytes] = Counter()
    digests: dict[int, bytes] = {}
    _count(value, counts, digests)
    pool: list[Any] = []
    numbers: dict[bytes, str] = {}

    def short(node: Any) -> Any:
        digest = digests.get(id(node), b"")
        if counts[digest] <= 1:
            return inner(node)
        if digest not in numbers:
            made = inner(node)
            numbers[digest] = f"{_MARK}{len(pool)}"
            pool.append(made)
        return numbers[digest]

    def inner(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: short(part) for key, part in node.items()}
        if isinstance(node, list | tuple):
            return [short(part) for part in node]
        return f"{_MARK}{node}" if isinstance(node, str) and node.startswith(_MARK) else node

    return pool, inner(value)


def _count(node: Any, counts: Counter[bytes], digests: dict[int, bytes]) -> None:
    """Count the equal objects, arrays and texts that are long enough; `digests` are by id."""
    if not isinstance(node, dict | list | str):
        return
    if id(node) not in digests:
        text = json.dumps(node)
        if len(text) < _LEAST:
            return
        digests[id(node)] = hashlib.blake2b(text.encode(), digest_size=16).digest()
    counts[digests[id(node)]] += 1
    if counts[digests[id(node)]] == 1:
        parts = node.values() if isinstance(node, dict) else node
        for part in () if isinstance(node, str) else parts:
            _count(part, counts, digests)


def _asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
