"""Whatever bytes are taken for a document: tools, or an error of ours."""

from __future__ import annotations

import pytest
from fuzz.loading import LOADING

pytestmark = pytest.mark.untraced


@pytest.mark.long
def test_any_bytes_load_or_are_refused():
    assert LOADING.spend() > 0
