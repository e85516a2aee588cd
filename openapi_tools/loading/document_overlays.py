"""The overlays of one load, from any source, and their application to the document.

Spec: Overlay Specification 1.2.0; `openapi_tools.loading.overlays` reads them, and
`openapi_tools.loading.overlay_actions` applies them.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urljoin, urlsplit

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.json_values import as_dict, dump_json_bytes
from openapi_tools.common.options import type_name
from openapi_tools.errors import InvalidDocument, InvalidOverlay, SettingsError
from openapi_tools.loading.plain_data import MAX_DEPTH, as_plain_data
from openapi_tools.loading.source import Parsed, parse_document

if TYPE_CHECKING:
    from openapi_tools.loading.overlays import Overlay
    from openapi_tools.loading.source import Source


class Overlays:
    """The overlays of one load; their `digest` is of names and contents, or empty."""

    def __init__(self, sources: Sequence[Source] = ()) -> None:
        self._sources = [
            source if source.name else replace(source, name=f"overlays[{index}]")
            for index, source in enumerate(sources)
        ]
        self._overlays: list[Overlay] | None = None if sources else []
        # Mappings are read now, as their digest is of their data.
        self._parsed = [
            None if source.value is None else _parse_overlay(source) for source in self._sources
        ]
        parts = [
            part
            for source, parsed in zip(self._sources, self._parsed, strict=True)
            for part in (source.name, source.digest if parsed is None else _digest(parsed.root))
        ]
        self.digest = _digest(parts) if parts else ""
        self._remarks: list[str] = []

    def check(self) -> None:
        """Check them all, or raise InvalidOverlay for the first mistake."""
        if self._overlays is None:
            # Start-up time: few loads have overlays.
            from openapi_tools.loading import json_paths, overlay_actions, overlays

            self._apply, self._queries = overlay_actions.apply_overlays, json_paths.Queries()
            parsed = [
                (source.name, each or _parse_overlay(source))
                for source, each in zip(self._sources, self._parsed, strict=True)
            ]
            self._overlays = [
                overlays.read_overlay(each.root, name, self._queries) for name, each in parsed
            ]
            self._remarks = [f"{name}: {note}" for name, each in parsed for note in each.warnings]

    def apply(self, root: Any, *addresses: str) -> tuple[Any, list[str]]:
        """Return a document with the overlays applied, and warnings; `addresses` are its own."""
        self.check()
        if not self._overlays:
            return root, []
        # OpenAPI 3.2.0, 4.1.2.2.1: `$self` is the document's URI wherever it was retrieved.
        self_uri = as_dict(root).get("$self")
        addresses = (*addresses, self_uri) if isinstance(self_uri, str) else addresses
        mismatches = [
            f"{source.name}#/extends: {overlay.extends!r:.200} is not the document that is loaded."
            for source, overlay in zip(self._sources, self._overlays, strict=True)
            if _extends_another(overlay.extends, _base_uri(overlay, source), addresses)
        ]
        root, warnings = self._apply(root, self._overlays, self._queries, max_depth=MAX_DEPTH)
        return root, [*self._remarks, *mismatches, *warnings]


def list_overlays(overlays: Any) -> list[Any]:
    """Return the overlays that a caller passes, one or several, as a list; SettingsError."""
    if isinstance(overlays, str | os.PathLike | bytes | Mapping):
        return [overlays]
    if not isinstance(overlays, list | tuple):
        form = 'a list of URLs, paths, dicts or strings, as ["overlay.yaml"]'
        raise SettingsError(f"overlays: expected {form}, not {type_name(overlays)}.")
    return list(overlays)


def _digest(value: Any) -> str:
    return hashlib.sha256(dump_json_bytes(value)).hexdigest()


def _parse_overlay(source: Source) -> Parsed:
    try:
        if source.value is not None:
            return Parsed(as_plain_data(source.value, name=source.name))
        return parse_document(source.data or b"", name=source.name, expected="'overlay'")
    except InvalidDocument as error:
        raise InvalidOverlay(error.reason, source=source.name, pointer=error.pointer) from None


def _base_uri(overlay: Overlay, source: Source) -> str:
    # Overlay 1.2.0, "Establishing the Base URI": `$self` counts before the address.
    try:
        return urljoin(source.uri, overlay.uri) if overlay.uri else source.uri
    except ValueError:  # not a URL
        return source.uri


def _extends_another(extends: str, base: str, addresses: Sequence[str]) -> bool:
    try:
        if WEB_URL.match(extends) or WEB_URL.match(base):
            target = _bare_url(urljoin(base, extends))
            places = [_bare_url(address) for address in addresses if WEB_URL.match(address)]
        else:
            path = Path(base).parent / unquote(urlsplit(extends).path)
            target = os.path.realpath(path)
            places = [os.path.realpath(a) for a in addresses if a and not WEB_URL.match(a)]
            places = places if base or path.is_absolute() else []
    except ValueError:  # not a URL, or not a path
        return True
    return bool(extends and places) and target not in places


def _bare_url(url: str) -> str:
    # One document may be named with or without a user or a query.
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}".lower()
