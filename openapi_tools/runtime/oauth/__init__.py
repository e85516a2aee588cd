"""OAuth 2 and OpenID Connect: what the user gives, and the tokens that come of it."""

from __future__ import annotations

from openapi_tools.runtime.oauth.channel import Channel
from openapi_tools.runtime.oauth.config import OAuth2
from openapi_tools.runtime.oauth.files import from_file
from openapi_tools.runtime.oauth.store import TokenStore
from openapi_tools.runtime.oauth.tokens import Tokens

__all__ = ["Channel", "OAuth2", "TokenStore", "Tokens", "from_file"]
