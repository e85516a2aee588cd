"""What the tests of the page share."""

import pytest
from browse_pages import MUSEUM, browsing


@pytest.fixture(scope="module")
def museum_page():
    """The page of the museum, whose calls its document answers."""
    with browsing(MUSEUM, "--mock") as page:
        yield page
