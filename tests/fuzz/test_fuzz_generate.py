"""Whatever document a package is generated from: data, and nothing that runs."""

from __future__ import annotations

from fuzz.generating import GENERATING


def test_any_document_becomes_harmless_code():
    assert GENERATING.spend() > 0
