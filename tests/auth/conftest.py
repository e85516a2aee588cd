"""An authorization server for the tests of OAuth 2."""

from servers.authorization import running, server

__all__ = ["running", "server"]
