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
    from openapi_tools.toolsets.toolset import Toolset

ASSETS = Path(__file__).parent
PAGE = "page.html"
_SCRIPT = re.compile(r'<script src="([a-z_]+\.js)"(?: defer)?></script>\n')
_STYLE = re.compile(r'<link rel="stylesheet" href="([a-z_]+\.css)">\n')
# Marks a string as an index of the pool; a string that starts with it gets a second one.
_MARK = "\x01"
_LEAST = 60  # characters of JSON; shorter values are not worth an entry in the pool


def render_page(toolset: Toolset, changes: list[dict[str, Any]] | None = None) -> str:
    """Return the page as one HTML file, which needs no server.

    Tokens are estimated, not counted, so that the file does not depend on installed packages.
    """
    data = PageData(toolset, changes, counting=("estimated", estimate_tokens))
    pool, whole = pool_values(
        {
            "index": data.index(),
            "costs": {profile: data.costs(profile) for profile in PROFILES},
            "needs": data.needs(),
            "words": data.words(),
            "tools": {tool.name: data.details(tool) for tool in toolset},
        }
    )
    data_json = json_for_html(whole | {"pool": pool})
    return _inline_assets(f'<script type="application/json" id="data">{data_json}</script>\n')


def _inline_assets(data: str) -> str:
    # A script that the page defers reads the data, so both stand at its end. The others run
    # before the page is displayed: they choose its colours.
    html = _read_asset(PAGE)
    styles = [_read_asset(name) for name in _STYLE.findall(html)]
    scripts = {tag[0]: _read_asset(tag[1]) for tag in _SCRIPT.finditer(html)}
    policy = (
        f"default-src 'none'; script-src {' '.join(map(_csp_hash, scripts.values()))}; "
        f"style-src {' '.join(map(_csp_hash, styles))}; img-src data:; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    last = [data]
    for tag, script in scripts.items():
        element = f"<script>{script}</script>\n"
        html = html.replace(tag, "" if " defer" in tag else element)
        last += [element] if " defer" in tag else []
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    html = _STYLE.sub("", html).replace("</head>", f"{''.join(map(_write_style, styles))}</head>")
    return html.replace("<head>", f"<head>\n{meta}").replace("</body>", f"{''.join(last)}</body>")


def _write_style(style: str) -> str:
    return f"<style>{style}</style>\n"


def json_for_html(value: Any) -> str:
    r"""Return JSON that cannot close the script element around it: `<` is `\u003c`."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")


def pool_values(value: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Return the parts that occur repeatedly, and the value with their indexes instead.

    Schemas of one document share most of their parts; each is written once.
    """
    counts: Counter[bytes] = Counter()
    digests: dict[int, bytes] = {}
    _count_values(value, counts, digests)
    pool: list[Any] = []
    numbers: dict[bytes, str] = {}

    def replace_value(node: Any) -> Any:
        digest = digests.get(id(node), b"")
        if counts[digest] <= 1:
            return replace_parts(node)
        if digest not in numbers:
            replaced = replace_parts(node)
            numbers[digest] = f"{_MARK}{len(pool)}"
            pool.append(replaced)
        return numbers[digest]

    def replace_parts(node: Any) -> Any:
        if isinstance(node, dict):
            return {key: replace_value(part) for key, part in node.items()}
        if isinstance(node, list | tuple):
            return [replace_value(part) for part in node]
        return f"{_MARK}{node}" if isinstance(node, str) and node.startswith(_MARK) else node

    return pool, replace_parts(value)


def _count_values(node: Any, counts: Counter[bytes], digests: dict[int, bytes]) -> None:
    # Counts equal objects, arrays and strings that are long enough; `digests` are by `id()`.
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
            _count_values(part, counts, digests)


def _read_asset(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8")


def _csp_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
