"""The harnesses: any document, any input and any answer, within a budget of CPU."""

import pytest
from fuzz.executing import EXECUTING
from fuzz.generating import GENERATING
from fuzz.loading import LOADING

pytestmark = [pytest.mark.untraced, pytest.mark.long]


@pytest.mark.parametrize("harness", [LOADING, EXECUTING, GENERATING], ids=lambda it: it.name)
def test_nothing_is_found_within_the_budget(harness):
    assert harness.spend() > 0
