"""An issuer and an API for tests of a server with many users."""

from servers.team import api, issuer, running

__all__ = ["api", "issuer", "running"]
