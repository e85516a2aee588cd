"""Whatever document a package is generated from: data, and nothing that runs."""

from __future__ import annotations

import pytest
from fuzz.generating import GENERATING

pytestmark = pytest.mark.untraced


@pytest.mark.long
def test_any_document_becomes_harmless_code():
    assert GENERATING.spend() > 0
