"""An authorization server for the tests of OAuth 2."""

import pytest
from servers.authorization import authorization_server


@pytest.fixture(scope="module")
def running():
    with authorization_server() as state:
        yield state


@pytest.fixture
def server(running):
    running.reset()
    return running
