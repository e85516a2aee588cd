"""What the tests of the page share."""

import pytest
from browse_driver import Browser, start_chromium
from browse_pages import MUSEUM, browsing, browsing_here


@pytest.fixture(scope="module")
def museum_page():
    """The page of the museum, whose calls are served from its document."""
    with browsing_here(MUSEUM, "--mock") as page:
        yield page


@pytest.fixture(scope="module")
def github_page(shared):
    """The page of GitHub's 1,223 operations."""
    with browsing(shared / "corpus" / "github" / "api.github.com.json", "--mock") as page:
        yield page


@pytest.fixture(scope="module")
def chromium():
    driver = start_chromium()
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium):
    """A page in Chromium, which ends without an error in the console."""
    browser = Browser(chromium)
    yield browser
    assert browser.read_errors() == []
