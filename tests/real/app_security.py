"""Operations that ask who is calling, in every way that a plain credential can be sent."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Security
from fastapi.security import (
    APIKeyCookie,
    APIKeyHeader,
    APIKeyQuery,
    HTTPAuthorizationCredentials,
    HTTPBasic,
    HTTPBasicCredentials,
    HTTPBearer,
    OAuth2PasswordBearer,
)

security = APIRouter(prefix="/secure", tags=["security"])

SECRET = "s3cr3t key+/=&é"
"""Every character here has to survive its place; cookies and tokens take the plain part."""
PLAIN = "plain-s3cr3t.key"

_HEADER = APIKeyHeader(name="X-API-Key", scheme_name="headerKey")
_QUERY = APIKeyQuery(name="api_key", scheme_name="queryKey")
_COOKIE = APIKeyCookie(name="auth", scheme_name="cookieKey")
_BASIC = HTTPBasic(scheme_name="basicAuth")
_BEARER = HTTPBearer(scheme_name="bearerAuth")
_OAUTH = OAuth2PasswordBearer(tokenUrl="token", scheme_name="oauth", scopes={"read": "Read."})


def _checked(given: str, known: str) -> dict[str, Any]:
    if given != known:
        raise HTTPException(403, detail="That is not the key.")
    return {"welcome": True, "length": len(given)}


@security.get("/header")
async def with_header_key(key: Annotated[str, Depends(_HEADER)]) -> Any:
    return _checked(key, PLAIN)


@security.get("/query")
async def with_query_key(key: Annotated[str, Depends(_QUERY)], q: str = "") -> Any:
    return _checked(key, SECRET) | {"q": q}


@security.get("/cookie")
async def with_cookie_key(key: Annotated[str, Depends(_COOKIE)]) -> Any:
    return _checked(key, PLAIN)


@security.get("/basic")
async def with_basic(credentials: Annotated[HTTPBasicCredentials, Depends(_BASIC)]) -> Any:
    return _checked(credentials.password, PLAIN) | {"user": credentials.username}


@security.get("/bearer")
async def with_bearer(token: Annotated[HTTPAuthorizationCredentials, Depends(_BEARER)]) -> Any:
    return _checked(token.credentials, PLAIN) | {"scheme": token.scheme}


@security.get("/oauth")
async def with_oauth(token: Annotated[str, Security(_OAUTH, scopes=["read"])]) -> Any:
    return _checked(token, PLAIN)
