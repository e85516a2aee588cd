"""What tests of trust share."""

import socket

import pytest
from servers.recorder import Recorder


@pytest.fixture
def no_network(monkeypatch):
    """Refuse every connection and every look-up of a name, and return those that were tried."""
    tried = []

    def refuse(*arguments, **_):
        tried.append(arguments)
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


@pytest.fixture
async def sink():
    """Another origin than that of `recorder`."""
    async with Recorder() as running:
        yield running
