"""A file of tokens as a credential."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_store import TokenStore
from openapi_tools.errors import CredentialsError

if TYPE_CHECKING:
    from os import PathLike


def from_file(path: str | PathLike[str]) -> OAuth2:
    """Return the credential that a login has left in a file.

    Args:
        path: As given to `openapi-tools login … --token-file`.

    Raises:
        CredentialsError: There is no such file, others can read it, or it holds no token.
    """
    if not TokenStore(path).entries():
        reason = f"token file {str(path)!r} holds no token; log in: openapi-tools login SPEC"
        raise CredentialsError(f"{reason} --token-file {path}")
    return OAuth2(token_file=Path(path))
