"""What the tests of the page share."""

import pytest
from browse_pages import MUSEUM, browsing_here


@pytest.fixture(scope="module")
def museum_page():
    """The page of the museum, whose calls its document answers."""
    with browsing_here(MUSEUM, "--mock") as page:
        yield page
