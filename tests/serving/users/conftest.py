"""An issuer and an API for tests of a server with many users, and the secrets of its tables."""

import pytest
from servers.authorization import SECRET
from servers.team import ALICE, BOB, api, issuer, running

__all__ = ["api", "issuer", "running"]


@pytest.fixture(autouse=True)
def secrets(monkeypatch):
    for name, value in {"SECRET": SECRET, "ALICE": ALICE, "BOB": BOB}.items():
        monkeypatch.setenv(name, value)
