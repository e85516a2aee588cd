"""Binary answers as files in the user's own folder."""

from __future__ import annotations

import mimetypes
import os
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from pathlib import Path

_EXTENDED = re.compile(
    r"filename\*\s*=\s*(?:utf-8|iso-8859-1)'[^']{0,30}'([^;\s]{1,600})", re.IGNORECASE
)
_PLAIN = re.compile(r'filename\s*=\s*(?:"((?:[^"\\]|\\.){0,600})"|([^;\s]{1,600}))', re.IGNORECASE)
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_DEVICE = re.compile(r"(?:aux|con|nul|prn|com\d|lpt\d)(?:\.|$)", re.IGNORECASE)
_STEM, _SUFFIX = 80, 16
_TRIES = 1000


def write_download(folder: Path, content: bytes, *, disposition: str, media_type: str) -> Path:
    """Write bytes to a new file and return where it is.

    The server's name for it is a hint: no folder of it counts, only plain characters are kept, and
    no file that exists is touched.

    Spec: RFC 6266, section 4.3.

    Args:
        folder: Made when it does not exist.
        content: The file.
        disposition: The answer's `Content-Disposition`; empty when it has none.
        media_type: Decides the ending when the name has none.

    Raises:
        OSError: It cannot be written; nothing is left behind.
    """
    folder.mkdir(parents=True, exist_ok=True)
    stem, suffix = file_name(disposition, media_type)
    for number in range(_TRIES):
        path = folder / f"{stem}{f'-{number}' if number else ''}{suffix}"
        try:
            opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        try:
            with os.fdopen(opened, "wb") as file:
                file.write(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        return path
    raise FileExistsError(f"{folder} holds {_TRIES} files of that name")


def file_name(disposition: str, media_type: str) -> tuple[str, str]:
    """Return a safe name as its stem and its ending: `("report", ".pdf")`."""
    named = _PLAIN.search(disposition)
    extended = _EXTENDED.search(disposition)
    name = unquote(extended[1]) if extended else (named[1] or named[2] or "") if named else ""
    name = _UNSAFE.sub("_", re.split(r"[/\\]", name)[-1]).lstrip("._-")
    stem, dot, ending = name.rpartition(".")
    if not dot:
        stem, ending = name, (mimetypes.guess_extension(media_type) or ".bin")[1:]
    suffix = f".{ending}"
    stem = stem[:_STEM].rstrip(".") or "download"
    return (f"_{stem}" if _DEVICE.match(stem) else stem), suffix[:_SUFFIX].rstrip(".")
