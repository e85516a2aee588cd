"""Whatever is handed to a tool, and whatever a server answers: a result, and no request astray."""

from __future__ import annotations

import pytest
from fuzz.executing import EXECUTING

pytestmark = pytest.mark.untraced


@pytest.mark.long
def test_any_value_ends_as_a_result():
    assert EXECUTING.spend() > 0
