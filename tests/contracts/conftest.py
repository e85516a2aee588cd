"""What the tests of the coordinators share."""

import pytest
from pet_shop import toolsets

pytest.register_assert_rewrite("conformance")


@pytest.fixture(params=["loaded", "generated"])
def shop(request, recorder, tmp_path):
    """The pet shop's tools: of the document, and of a package made from it."""
    yield from toolsets(request.param, tmp_path, recorder.url)
