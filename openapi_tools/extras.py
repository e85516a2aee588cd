"""Packages that only an extra brings: what to say where one is missing."""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from shlex import quote
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from openapi_tools.errors import MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "openapi-tools"


@contextmanager
def requiring(extra: str) -> Iterator[None]:
    """Turn a failing import into a `MissingExtraError` that names the extra to install."""
    try:
        yield
    except ImportError as error:
        raise missing_extra(error.name, extra) from error


def missing_extra(package: str | None, extra: str) -> MissingExtraError:
    """Return the error for a package that an extra brings, with the command that installs it."""
    return MissingExtraError(f"{package} is not installed: {install_command(extra)}", extra=extra)


def install_command(extra: str) -> str:
    """Return the command that adds an extra, from the place where this package came from.

    Spec: PEP 610 (`direct_url.json`); PEP 508, for the form `name[extra] @ url`.
    """
    from importlib import metadata  # takes 10 ms

    origin: dict[str, dict[str, str]] = {}
    with suppress(metadata.PackageNotFoundError):
        text = metadata.distribution(_NAME).read_text("direct_url.json")
        origin = json.loads(text or "{}")
    url = str(origin.get("url", ""))
    if origin.get("dir_info", {}).get("editable"):
        return f"pip install --editable {quote(f'{unquote(urlsplit(url).path)}[{extra}]')}"
    control = origin.get("vcs_info", {}).get("vcs")
    place = f" @ {control}+{url}" if control else f" @ {url}" if url else ""
    return f"pip install {quote(f'{_NAME}[{extra}]{place}')}"
