"""Security requirements and credentials -> what is added to a request.

Spec: OpenAPI 3.1.2, sections 4.8.27 (Security Scheme) and 4.8.30 (Security Requirement); RFC 7617
(basic), RFC 6750 (bearer).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import CredentialsError
from openapi_tools.runtime.additions import Additions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openapi_tools.model import Operation, SecurityScheme

MASK = "***"
_BEARER_TYPES = ("oauth2", "openIdConnect")


class Credentials:
    """The credentials that a user gave for the schemes of one document.

    Args:
        given: By scheme name: a text for an API key or a token, `(user, password)` or
            `"user:password"` for basic; `pydantic.SecretStr` wherever a text may stand.
        schemes: The document's security schemes.

    Raises:
        CredentialsError: A name that the document does not have, or a value of the wrong kind; the
            value itself is never shown.
    """

    __slots__ = ("_additions", "_first", "_schemes")

    def __init__(self, given: Mapping[str, Any], schemes: Mapping[str, SecurityScheme]) -> None:
        self._additions: dict[str, Callable[[bool], Additions]] = {}
        self._first: frozenset[str] = frozenset()
        self._schemes = schemes
        for name, value in given.items():
            if name not in schemes:
                known = ", ".join(map(repr, schemes)) or "none at all"
                reason = f"the document has no security scheme {name!r}; it has {known}."
                raise CredentialsError(reason, scheme=name)
            self._additions[name] = _adder(name, schemes[name], value)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}={MASK}' for name in self._additions)})"

    def overlaid(self, given: object) -> Credentials:
        """Return these credentials with others in front of them.

        Args:
            given: By scheme name, for one call; None for none.

        Raises:
            CredentialsError: As for a new instance; or it is no mapping.
        """
        if given is None:
            return self
        if not isinstance(given, Mapping):
            reason = f"credentials are a mapping by scheme name, not {type(given).__name__}."
            raise CredentialsError(reason)
        both = Credentials(given, self._schemes)
        both._first = frozenset(both._additions)
        both._additions = {**self._additions, **both._additions}
        return both

    def additions(self, operation: Operation, *, masked: bool = False) -> Additions:
        """Return what the first requirement that the credentials satisfy adds to a request.

        An empty requirement is what is left when no other is satisfied, wherever it stands: the
        order of alternatives says nothing, and a credential is given in order to be sent.

        Args:
            operation: Its `security` lists alternatives; all schemes of one are needed.
            masked: Put `***` in place of every value.
        """
        for requirement in self._in_order(operation):
            if requirement and all(name in self._additions for name in requirement):
                parts = [self._additions[name](masked) for name in requirement]
                return Additions(
                    headers=tuple(pair for part in parts for pair in part.headers),
                    query=tuple(pair for part in parts for pair in part.query),
                    cookies=tuple(pair for part in parts for pair in part.cookies),
                )
        return Additions()

    def _in_order(self, operation: Operation) -> Iterable[Iterable[str]]:
        """Return the alternatives, those first for which this call brings a credential."""
        if not self._first:
            return operation.security
        return sorted(operation.security, key=self._first.isdisjoint)

    def missing(self, operation: Operation) -> tuple[str, ...]:
        """Return the schemes that lack a credential; none when a requirement is satisfied.

        Args:
            operation: As in `additions`.
        """
        requirements = [requirement for requirement in operation.security if requirement]
        if any(all(name in self._additions for name in names) for names in requirements):
            return ()
        asked = dict.fromkeys(name for names in requirements for name in names)
        return tuple(name for name in asked if name not in self._additions)


def _adder(name: str, scheme: SecurityScheme, value: object) -> Callable[[bool], Additions]:
    """Return a function that gives what one credential adds, in clear or masked.

    The secret lives in the function's closure, where no `repr` and no `vars` shows it.
    """
    if scheme.type == "apiKey":
        return _key_adder(name, scheme, _secret(name, value))
    if scheme.type == "http" and scheme.scheme == "basic":
        secret = base64.b64encode(_user_and_password(name, value).encode()).decode()
        return _header_adder("Authorization", "Basic ", secret)
    if scheme.type in _BEARER_TYPES or (scheme.type == "http" and scheme.scheme == "bearer"):
        return _header_adder("Authorization", "Bearer ", _secret(name, value))
    kind = f"{scheme.type} {scheme.scheme}".strip()
    raise CredentialsError(f"security scheme {name!r} is {kind!r}, not supported.", scheme=name)


def _key_adder(name: str, scheme: SecurityScheme, secret: str) -> Callable[[bool], Additions]:
    if scheme.location not in ("header", "query", "cookie") or not scheme.name:
        place = f"{scheme.location!r} named {scheme.name!r}"
        reason = f"security scheme {name!r} puts its key in {place}, which no request has."
        raise CredentialsError(reason, scheme=name)
    if scheme.location == "header":
        return _header_adder(scheme.name, "", secret)
    field = "query" if scheme.location == "query" else "cookies"
    return lambda masked: Additions(**{field: ((scheme.name, MASK if masked else secret),)})


def _header_adder(header: str, prefix: str, secret: str) -> Callable[[bool], Additions]:
    return lambda masked: Additions(headers=((header, prefix + (MASK if masked else secret)),))


def _user_and_password(name: str, value: object) -> str:
    if isinstance(value, tuple | list) and len(value) == 2:  # noqa: PLR2004 -- a pair
        user, password = (_secret(name, part, empty=True) for part in value)
        return f"{user}:{password}"
    text = _secret(name, value)
    if ":" not in text:
        reason = f"security scheme {name!r} is basic; give (user, password) or 'user:password'."
        raise CredentialsError(reason, scheme=name)
    return text


def _secret(name: str, value: object, *, empty: bool = False) -> str:
    """Return a credential as text that may stand in a header."""
    plain = getattr(value, "get_secret_value", None)
    text = plain() if callable(plain) else value
    if not isinstance(text, str):
        reason = f"the credential for {name!r} must be a text, not {type(value).__name__}."
        raise CredentialsError(reason, scheme=name)
    text = text.strip()
    if not text and not empty:
        raise CredentialsError(f"the credential for {name!r} is empty.", scheme=name)
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise CredentialsError(f"the credential for {name!r} is no text.", scheme=name)
    if any(character < " " or character == "\x7f" for character in text):
        reason = f"the credential for {name!r} holds a line break or control character."
        raise CredentialsError(reason, scheme=name)
    return text
