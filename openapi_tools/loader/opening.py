"""From the bytes of a document to the document: by its outline where it is large, else parsed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from openapi_tools.loader.limits import DUPLICATES_BYTES
from openapi_tools.loader.parse import parse
from openapi_tools.loader.references import Resource

if TYPE_CHECKING:
    from openapi_tools.loader.fetching import Fetched
    from openapi_tools.loader.index import Facts, Label
    from openapi_tools.loader.kept import Usable
    from openapi_tools.loader.source import Source
    from openapi_tools.runtime.settings import Settings

READER_VARIABLE = "OPENAPI_TOOLS_JSON"
"""Environment variable; where it is `exact`, all of a document is parsed."""


class Slot(NamedTuple):
    """Where a document is to be kept.

    Attributes:
        name: Of the file.
        label: All of it but the number of tools.
    """

    name: str
    label: Label


class Found(NamedTuple):
    """A document, from the cache or not.

    Attributes:
        entry: The document.
        remarks: What its parser remarked, and how old a copy is where that matters.
        usable: What is known of its operations; None when it was parsed.
        slot: Where it is to be kept; None when it is, or is not to be.
        is_tree: Nothing in it stands in two places.
    """

    entry: Resource
    remarks: tuple[str, ...] = ()
    usable: Usable | Facts | None = None
    slot: Slot | None = None
    is_tree: bool = True


def open_document(found: Source | Fetched, settings: Settings, slot: Slot | None = None) -> Found:
    """Return the document in some bytes.

    Args:
        found: The bytes, and where they came from.
        settings: What tools look like.
        slot: Where it is to be kept.

    Raises:
        DocumentError: It cannot be parsed.
    """
    return _outlined(found, settings, slot) or _parsed(found, slot)


def _outlined(found: Source | Fetched, settings: Settings, slot: Slot | None) -> Found | None:
    """Return a large document of which all is well, without a parse."""
    data = found.data or b""
    # Below that size repeated keys are looked for, which takes a parse.
    if len(data) <= DUPLICATES_BYTES or os.environ.get(READER_VARIABLE) == "exact":
        return None
    from openapi_tools.loader.glance import glance
    from openapi_tools.loader.outline import outline

    root = outline(data, found.name)
    if root is None:
        return None
    entry = _resource(found, root)
    usable = glance(entry, settings)
    return Found(entry, usable=usable, slot=slot) if usable is not None else None


def _parsed(found: Source | Fetched, slot: Slot | None) -> Found:
    parsed = parse(found.data or b"", name=found.name)
    entry = _resource(found, parsed.root)
    return Found(entry, parsed.warnings, slot=slot, is_tree=parsed.is_tree)


def _resource(found: Source | Fetched, root: object) -> Resource:
    return Resource(root, found.uri, found.name, public=found.public)
