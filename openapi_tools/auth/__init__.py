"""Credentials: which a call needs, where they may go, and how tokens are fetched."""

from openapi_tools.auth.credentials import (
    NO_CREDENTIALS,
    CallCredentials,
    CredentialAdvice,
    Credentials,
    check_credentials,
    declares_scheme,
)
from openapi_tools.auth.origin_policy import OriginPolicy

__all__ = [
    "NO_CREDENTIALS",
    "CallCredentials",
    "CredentialAdvice",
    "Credentials",
    "OriginPolicy",
    "check_credentials",
    "declares_scheme",
]
