"""A user's credentials, and those of one call (OpenAPI 3.2.0, sections 4.27 and 4.30)."""

from __future__ import annotations

import logging
import re
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeGuard

from openapi_tools.auth.schemes import (
    Credential,
    Scheme,
    TokenContext,
    cache_key,
    describe_credential,
    make_credential,
)
from openapi_tools.common.http_rules import parameter_key
from openapi_tools.common.options import type_name
from openapi_tools.errors import CallError, CredentialsError, OpenAPIToolsError
from openapi_tools.model import Operation, SecurityScheme
from openapi_tools.redaction import MASK, Redactor
from openapi_tools.requests import RequestAuth, combine_auth

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.auth.origin_policy import OriginPolicy
    from openapi_tools.auth.schemes import Ask
    from openapi_tools.state.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

_SCHEME_KEYS = frozenset({"type", "in", "name", "scheme", "value"})
_SCHEME_EXAMPLE = "{'in': 'header', 'name': 'X-Key', 'value': …}"
_SCHEME_INSTRUCTION = f"Pass credentials={{{{{{name!r}}: {{{_SCHEME_EXAMPLE}}}}}}} to load_tools()."
_CHALLENGE = re.compile(r"\s*([A-Za-z][\w-]{1,30})(?=\s|,|$)")
# Credentials of calls with tokens of their own; a forgotten one costs a token request, no
# error.
_MOST_REMEMBERED = 256
# A message for a model; some documents list dozens of alternatives.
_MOST_NAMED = 5


@dataclass(slots=True)
class CredentialAdvice:
    """What a message about a missing credential says to do.

    Attributes:
        instruction: How a user gives one; `{name}` is the scheme's name.
        variables: Environment variables that are not set, by the names of the schemes that a
            configuration reads from them.
        location: Where they are not set, as `" on the server"`.
    """

    instruction: str = "Pass credentials={{{name!r}: …}} to load_tools()."
    variables: Mapping[str, str] = field(default_factory=dict)
    location: str = ""


@dataclass(frozen=True, slots=True)
class CallCredentials:
    """The credentials of one call.

    Attributes:
        auth: What they add to the request.
        note: Why some are held back.
        renewable: They are fetched for each call, and again after a 401; others are reused.
    """

    auth: RequestAuth = field(default_factory=RequestAuth)
    note: str = ""
    renewable: bool = False


NO_CREDENTIALS = CallCredentials()  # of a call that needs none


class Credentials:
    """A user's credentials by scheme name; with `in`, `name`, `value` one declares its scheme."""

    def __init__(
        self,
        credentials: Mapping[str, Any],
        schemes: Mapping[str, SecurityScheme],
        *,
        redactor: Redactor | None = None,
        ca_file: Path | None = None,
        state: SharedState | None = None,
        user: str = "",
    ) -> None:
        self.redactor = Redactor() if redactor is None else redactor
        self._credentials: dict[str, Credential] = {}
        self._preferred: frozenset[str] = frozenset()
        self._user_schemes: tuple[str, ...] = ()
        self._call_credentials: dict[tuple[Any, ...], Credential] = {}
        self._schemes = schemes
        self.advice = CredentialAdvice()
        self._base_scheme = Scheme("", SecurityScheme(""), self.redactor, ca_file, state, user)
        for name, value in credentials.items():
            self._credentials[name] = self._add(name, value, expand=True)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}={MASK}' for name in self._credentials)})"

    def _add(self, name: str, value: Any, *, expand: bool) -> Credential:
        declared = self._schemes.get(name)
        if declares_scheme(value):
            if declared is None and name not in self._user_schemes:
                self._user_schemes = (*self._user_schemes, name)
            declared, value = _read_scheme(name, value), value["value"]
        if declared is None:
            names = ", ".join(map(repr, self._schemes)) or "none at all"
            reason = f"the document has no security scheme {name!r}; it has {names}."
            reason += f" To declare one, pass {_SCHEME_EXAMPLE}."
            raise CredentialsError(reason, scheme=name)
        scheme = replace(self._base_scheme, name=name, declared=declared)
        return make_credential(scheme, value) if expand else self._make_for_call(scheme, value)

    def _make_for_call(self, scheme: Scheme, value: Any) -> Credential:
        # Equal credentials of later calls share its tokens and its certificate's TLS context.
        value = cache_key(scheme, value)
        if not isinstance(value, Hashable) or isinstance(value, str | tuple):
            return make_credential(scheme, value, expand=False)
        key = (scheme.user, scheme.name, scheme.declared.type, type(value), value)
        if key not in self._call_credentials:
            while len(self._call_credentials) >= _MOST_REMEMBERED:
                self._call_credentials.pop(next(iter(self._call_credentials)), None)
            self._call_credentials[key] = make_credential(scheme, value, expand=False)
        return self._call_credentials[key]

    def with_overlay(self, credentials: object, redactor: Redactor, user: str = "") -> Credentials:
        """Return a copy in which the credentials of a call override these."""
        if credentials is None:
            return self
        if not isinstance(credentials, Mapping):
            kind = type(credentials).__name__
            reason = f"credentials must be a mapping by scheme name, not {kind}."
            raise CredentialsError(reason)
        overlay = Credentials({}, self._schemes, redactor=redactor)
        overlay.advice = self.advice
        overlay._base_scheme = replace(self._base_scheme, redactor=redactor, user=user)
        overlay._user_schemes = self._user_schemes
        overlay._call_credentials = self._call_credentials
        overlay._preferred = frozenset(credentials)
        overlay._credentials = dict(self._credentials)
        for name, value in credentials.items():
            # Only the user's own strings may name environment variables, not those of a call.
            overlay._credentials[name] = overlay._add(name, value, expand=False)
        return overlay

    @property
    def scheme_parameters(self) -> frozenset[tuple[str, str]]:
        """The parameters, by `parameter_key`, that schemes of the user's own fill in each call."""
        auth = combine_auth(self._credentials[name].masked for name in self._user_schemes)
        pairs = {"header": auth.headers, "query": auth.query, "cookie": auth.cookies}
        return frozenset(
            parameter_key(location, name) for location in pairs for name, _ in pairs[location]
        )

    def has_bare_key(self, name: str) -> bool:
        """Whether a credential is a fixed header value without a word, as `Bearer`, before it."""
        credential = self._credentials.get(name)
        if credential is None or credential.fixed is None:
            return False
        return any(" " not in value for _, value in credential.fixed.headers)

    def describe_missing_prefix(self, sent: CallCredentials, challenge: str | None) -> str:
        """Return a hint if a server asks for a word before a key that was sent without; or empty.

        Spec: RFC 9110, section 11.6.1 (WWW-Authenticate).
        """
        values = [text for name, text in sent.auth.headers if name.lower() == "authorization"]
        word = _CHALLENGE.match(challenge or "")
        if not values or " " in values[0] or word is None:
            return ""
        return (
            f"the server asks for {word[1]!r}, but the key was sent without that word; "
            f"write it as '{word[1]} …'"
        )

    async def resolve(
        self,
        operation: Operation,
        policy: OriginPolicy,
        context: TokenContext,
        stale: CallCredentials | None = None,
    ) -> CallCredentials:
        """Return the credentials of a call, and fetch tokens for it.

        Args:
            operation: The operation.
            policy: Where credentials may go.
            context: What a source of tokens gets.
            stale: Credentials that the API refused with 401.

        Raises:
            CallError: A credential is missing, must not go to the server, or cannot be fetched.
        """
        requirement = self._choose_requirement(operation)
        credentials = self._select_credentials(requirement)
        if (credentials or policy.client_adds_credentials) and not policy.allows_server:
            is_required = (
                {} not in operation.security if operation.security else bool(self._user_schemes)
            )
            if policy.lenient or not is_required:
                return CallCredentials(note=policy.describe_refusal())
            reason = f"{policy.describe_refusal()} The request was not sent."
            raise CallError("credentials", reason)
        if not credentials:
            if requirement is None and not policy.lenient and not policy.client_adds_credentials:
                reason = self.describe_missing(operation, "; the request was not sent")
                raise CallError("credentials", reason)
            return NO_CREDENTIALS
        scopes = requirement or {}
        parts = []
        for name, credential in credentials.items():
            if credential.fixed is not None:
                parts.append(credential.fixed)
            elif credential.ask is not None:
                scheme_context = replace(
                    context, scopes=scopes.get(name, ()), stale=stale.auth if stale else None
                )
                parts.append(await _ask_source(name, credential.ask, scheme_context))
        _check_parts(parts, credentials, policy)
        is_renewable = any(credential.fixed is None for credential in credentials.values())
        return CallCredentials(combine_auth(parts), renewable=is_renewable)

    def mask(self, operation: Operation, policy: OriginPolicy) -> CallCredentials:
        """Return the credentials of a call with `***` for every value; fetches nothing."""
        requirement = self._choose_requirement(operation)
        credentials = self._select_credentials(requirement)
        if (credentials or policy.client_adds_credentials) and not policy.allows_server:
            return CallCredentials(note=policy.describe_refusal())
        if requirement is None and not credentials:
            is_missing = not policy.lenient and not policy.client_adds_credentials
            return CallCredentials(note=self.describe_missing(operation) if is_missing else "")
        return CallCredentials(
            combine_auth(credential.masked for credential in credentials.values())
        )

    def _select_credentials(self, requirement: Iterable[str] | None) -> dict[str, Credential]:
        return {
            name: self._credentials[name] for name in (*self._user_schemes, *(requirement or ()))
        }

    def _choose_requirement(self, operation: Operation) -> Mapping[str, tuple[str, ...]] | None:
        # An empty alternative, which needs no credentials, comes last.
        alternatives: Iterable[Mapping[str, tuple[str, ...]]] = operation.security
        if not alternatives:
            return {}
        if self._preferred:  # those with a credential of this call come first
            # The sort is stable: within both groups the document's order stays.
            alternatives = sorted(alternatives, key=self._preferred.isdisjoint)
        for requirement in alternatives:
            if requirement and all(name in self._credentials for name in requirement):
                return requirement
        # `{}` makes credentials optional (OpenAPI, Operation Object): the call is sent without.
        return {} if any(not requirement for requirement in operation.security) else None

    def describe_missing(self, operation: Operation, outcome: str = "") -> str:
        """Return which credentials are missing, and how to pass them; empty if none is.

        Args:
            operation: The operation of a call.
            outcome: What became of the request, as `"; the request was not sent"`.
        """
        alternatives = (
            [name for name in r if name not in self._credentials] for r in operation.security
        )
        missing: list[list[str]] = []
        for names in sorted(filter(None, alternatives), key=len):
            if not any(set(shorter) <= set(names) for shorter in missing[:_MOST_NAMED]):
                missing.append(names)
        missing = missing[:_MOST_NAMED]
        if not missing:
            return ""
        schemes = " or ".join(
            " and ".join(
                describe_credential(name, self._schemes.get(name)) for name in names[:_MOST_NAMED]
            )
            for names in missing
        )
        advice, name = self.advice, missing[0][0]
        if name in advice.variables:
            reason = f"the environment variable {advice.variables[name]} is not set"
            return f"Missing credential for {schemes}: {reason}{advice.location}{outcome}."
        instruction = advice.instruction if name in self._schemes else _SCHEME_INSTRUCTION
        return f"Missing credential for {schemes}{outcome}. {instruction.format(name=name[:100])}"


def _check_parts(
    parts: list[RequestAuth], credentials: Mapping[str, Credential], policy: OriginPolicy
) -> None:
    if sum(part.httpx_auth is not None or _has_authorization(part) for part in parts) > 1:
        names = ", ".join(f"{name!r:.100}" for name in credentials)
        reason = f"{names} are required together, but all use the header 'Authorization'."
        raise CallError("credentials", f"{reason} A request can have only one.")
    has_certificate = any(part.certificate is not None for part in parts)
    if has_certificate and not policy.server.lower().startswith("https:"):
        reason = "a client certificate needs https, but the server's URL is http"
        raise CallError("credentials", f"{reason}. The request was not sent.")


async def _ask_source(name: str, ask: Ask, context: TokenContext) -> RequestAuth:
    try:
        return await ask(context)
    except OpenAPIToolsError:
        raise
    # Its message goes to the log only: it may hold the secret that it failed to get.
    except Exception as error:
        logger.exception("the function for the credential %r failed", name)
        reason = f"the function for the credential {name!r:.100} failed ({type(error).__name__})"
        reason += "; see the log. The request was not sent."
        raise CallError("credentials", reason) from None


def _has_authorization(part: RequestAuth) -> bool:
    return any(name.lower() == "authorization" for name, _ in part.headers)


def declares_scheme(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a credential declares its own scheme."""
    return isinstance(value, Mapping) and "value" in value and _SCHEME_KEYS.issuperset(value)


def _read_scheme(name: str, credential: Mapping[str, Any]) -> SecurityScheme:
    keys = {key: credential[key] for key in credential if key != "value"}
    if not all(isinstance(value, str) for value in keys.values()):
        reason = f"the keys of the scheme {name!r} must be strings, as in {_SCHEME_EXAMPLE}."
        raise CredentialsError(reason, scheme=name)
    scheme = keys.get("scheme", "").lower()
    kind = keys.get("type") or ("http" if scheme else "apiKey")
    return SecurityScheme(
        kind, name=keys.get("name", ""), location=keys.get("in", ""), scheme=scheme
    )


def check_credentials(credentials: Any) -> Mapping[str, Any]:
    """Return credentials by scheme name, none for None; CredentialsError for no mapping."""
    if credentials is None:
        return {}
    if isinstance(credentials, Mapping):
        return credentials
    form = '{"bearerAuth": "…"}'
    raise CredentialsError(
        f"credentials must be a mapping by scheme name, {form}, not {type_name(credentials)}; "
        "toolset.security_schemes has the names."
    )
