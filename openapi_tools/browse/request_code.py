"""A previewed request as a command of curl, and as Python code with httpx."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi_tools.requests import Preview

_OWN = frozenset({"host", "content-length", "connection", "accept-encoding", "user-agent"})
"""Headers that each client writes by itself."""
_STEERING = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""Characters that a terminal acts on where they are pasted: one may end the line in quotes."""


def code_of(preview: Preview, *, whole: bool = True) -> dict[str, str]:
    """Return the request for `curl` and for `httpx`; `***` is where a credential belongs.

    A body that the preview does not have as a `whole` text is read from a file `body`; by curl one
    with control characters, too.
    """
    return {
        "curl": " \\\n  ".join(_curl(preview, whole=whole)),
        "httpx": "\n".join(_httpx(preview, whole=whole)),
    }


def _headers(preview: Preview) -> list[tuple[str, str]]:
    return [(name, value) for name, value in preview.headers if name.lower() not in _OWN]


def _curl(preview: Preview, *, whole: bool) -> Iterator[str]:
    # With `-X HEAD`, curl would wait for a body. Without `--globoff`, brackets are patterns.
    method = "--head" if preview.method == "HEAD" else f"-X {shlex.quote(preview.method)}"
    yield f"curl --globoff --path-as-is {method} {shlex.quote(preview.url)}"
    for name, value in _headers(preview):
        # curl does not send `name:`; it sends an empty header for `name;`.
        yield f"-H {shlex.quote(f'{name}: {value}' if value else f'{name};')}"
    if preview.body is not None:
        is_shown = whole and not _STEERING.search(preview.body)
        yield f"--data-raw {shlex.quote(preview.body)}" if is_shown else "--data-binary @body"


def _httpx(preview: Preview, *, whole: bool) -> Iterator[str]:
    yield "import httpx\n"
    yield "response = httpx.request("
    yield f"    {preview.method!r},"
    yield f"    {preview.url!r},"
    if headers := _headers(preview):
        yield "    headers=["
        yield from (f"        ({name!r}, {value!r})," for name, value in headers)
        yield "    ],"
    if preview.body is not None:
        content = f"{preview.body!r}.encode()" if whole else 'open("body", "rb").read()'
        yield f"    content={content},"
    yield ")"
