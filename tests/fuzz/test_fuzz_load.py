"""Whatever bytes are taken for a document: tools, or an error of ours."""

from __future__ import annotations

from fuzz.loading import LOADING


def test_any_bytes_load_or_are_refused():
    assert LOADING.spend() > 0
