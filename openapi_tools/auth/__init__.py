"""A user's credentials, and the grant that they give to a call (OpenAPI 3.2.0, 4.27 and 4.30)."""

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
    describe_credential,
    hold,
    lasting,
)
from openapi_tools.errors import CallError, CredentialsError, OpenAPIToolsError
from openapi_tools.http_rules import parameter_key
from openapi_tools.model import Operation, SecurityScheme
from openapi_tools.redaction import MASK, Redactor
from openapi_tools.requests import RequestAuth, combine_auth, origin_of

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools.auth.schemes import Ask
    from openapi_tools.shared_state import SharedState

logger = logging.getLogger("openapi_tools")

_OWN = frozenset({"type", "in", "name", "scheme", "value"})
_OWN_EXAMPLE = "{'in': 'header', 'name': 'X-Key', 'value': …}"
_OWN_INSTRUCTION = f"Pass credentials={{{{{{name!r}}: {{{_OWN_EXAMPLE}}}}}}} to load_tools()."
_CHALLENGE = re.compile(r"\s*([A-Za-z][\w-]{1,30})(?=\s|,|$)")
_REMEMBERED = 256
_NAMED = 5


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """The origins to which credentials may go, and the address of a call's server."""

    server: str
    origins: frozenset[str]
    source: str = ""  # the origin of the document's URL
    lenient: bool = False  # the call may go without credentials
    client_brings: bool = False
    is_named: bool = False  # the setting `credential_origins` is given

    @property
    def inside(self) -> bool:
        """Whether the server has one of the origins."""
        origin = origin_of(self.server)
        return bool(origin) and origin in self.origins

    def refusal(self, what: str = "the operation") -> str:
        """Return why credentials do not go to the server, and the setting that sends them."""
        origin = origin_of(self.server)
        given = f"credentials are for {' or '.join(sorted(self.origins))}"
        if not self.origins and self.is_named:
            given = "setting credential_origins is empty, so credentials go nowhere"
        elif not self.origins:
            given = "document names no server of its own that credentials are for"
            if self.source:
                given = f"document came from {self.source}, and credentials stay there"
        named = tuple(sorted({*self.origins, origin}))
        return (
            f"{what} is served at {origin}, but the {given}. "
            f"To send them there, give Settings(credential_origins={named})."
        )


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
class Grant:
    """The credentials of a call, and a note why some are held back."""

    auth: RequestAuth = field(default_factory=RequestAuth)
    note: str = ""
    renewable: bool = False  # fetched for each call, and again after a 401; others are reused


NOTHING = Grant()  # the grant of a call that needs no credentials


class Credentials:
    """A user's credentials by scheme name; with `in`, `name`, `value` one declares its scheme."""

    def __init__(
        self,
        given: Mapping[str, Any],
        schemes: Mapping[str, SecurityScheme],
        *,
        redactor: Redactor | None = None,
        ca_file: Path | None = None,
        state: SharedState | None = None,
        user: str = "",
    ) -> None:
        self.redactor = Redactor() if redactor is None else redactor
        self._held: dict[str, Credential] = {}
        self._first: frozenset[str] = frozenset()
        self._own: tuple[str, ...] = ()
        self._overlays: dict[tuple[Any, ...], Credential] = {}
        self._schemes = schemes
        self.advice = CredentialAdvice()
        self._base = Scheme("", SecurityScheme(""), self.redactor, ca_file, state, user)
        for name, value in given.items():
            self._held[name] = self._hold(name, value, expand=True)

    def __repr__(self) -> str:
        return f"Credentials({', '.join(f'{name}={MASK}' for name in self._held)})"

    def _hold(self, name: str, value: Any, *, expand: bool) -> Credential:
        declared = self._schemes.get(name)
        if brings_scheme(value):
            if declared is None and name not in self._own:
                self._own = (*self._own, name)
            declared, value = _declared(name, value), value["value"]
        if declared is None:
            known = ", ".join(map(repr, self._schemes)) or "none at all"
            reason = f"the document has no security scheme {name!r}; it has {known}."
            raise CredentialsError(f"{reason} Another one is given as {_OWN_EXAMPLE}.", scheme=name)
        scheme = replace(self._base, name=name, declared=declared)
        return hold(scheme, value) if expand else self._remembered(scheme, value)

    def _remembered(self, scheme: Scheme, value: Any) -> Credential:
        """Return a credential for one call; tokens and certificates of an equal one are kept."""
        value = lasting(scheme, value)
        if not isinstance(value, Hashable) or isinstance(value, str | tuple):
            return hold(scheme, value, expand=False)
        key = (scheme.user, scheme.name, scheme.declared.type, type(value), value)
        if key not in self._overlays:
            while len(self._overlays) >= _REMEMBERED:
                self._overlays.pop(next(iter(self._overlays)), None)
            self._overlays[key] = hold(scheme, value, expand=False)
        return self._overlays[key]

    def overlaid(self, given: object, redactor: Redactor, user: str = "") -> Credentials:
        """Return a copy in which the given credentials, a user's, take precedence."""
        if given is None:
            return self
        if not isinstance(given, Mapping):
            reason = f"credentials are a mapping by scheme name, not {type(given).__name__}."
            raise CredentialsError(reason)
        both = Credentials({}, self._schemes, redactor=redactor)
        both.advice = self.advice
        both._base = replace(self._base, redactor=redactor, user=user)
        both._own, both._overlays, both._first = self._own, self._overlays, frozenset(given)
        added = {name: both._hold(name, value, expand=False) for name, value in given.items()}
        both._held = self._held | added
        return both

    @property
    def own_parameters(self) -> frozenset[tuple[str, str]]:
        """The parameters, by `parameter_key`, that schemes of the user's own fill in each call."""
        parts = combine_auth(self._held[name].masked for name in self._own)
        pairs = {"header": parts.headers, "query": parts.query, "cookie": parts.cookies}
        return frozenset(
            parameter_key(location, name) for location in pairs for name, _ in pairs[location]
        )

    def lacks_word(self, name: str) -> bool:
        """Tell whether a credential is a fixed header value without a space."""
        held = self._held.get(name)
        headers = held.fixed.headers if held is not None and held.fixed is not None else ()
        return any(" " not in text for _, text in headers)

    def missing_word(self, grant: Grant, challenge: str | None) -> str:
        """Return a hint if a server asks for another word before a key than was sent; or nothing.

        Spec: RFC 9110, section 11.6.1 (WWW-Authenticate).
        """
        keys = [text for name, text in grant.auth.headers if name.lower() == "authorization"]
        word = _CHALLENGE.match(challenge or "")
        if not keys or " " in keys[0] or word is None:
            return ""
        return (
            f"the server asks for {word[1]!r}, and the key was sent without a word before it; "
            f"give it as '{word[1]} …'"
        )

    async def grant(
        self,
        operation: Operation,
        policy: OriginPolicy,
        context: TokenContext,
        stale: Grant | None = None,
    ) -> Grant:
        """Return the grant of a call; `stale` is the one that was refused with 401."""
        requirement = self._chosen(operation)
        held = self._needed(requirement)
        if (held or policy.client_brings) and not policy.inside:
            wanted = {} not in operation.security if operation.security else bool(self._own)
            if policy.lenient or not wanted:
                return Grant(note=policy.refusal())
            raise CallError("credentials", f"{policy.refusal()} It was not sent.")
        if not held:
            if requirement is None and not policy.lenient and not policy.client_brings:
                reason = self.describe_missing(operation, "; the request was not sent")
                raise CallError("credentials", reason)
            return NOTHING
        parts = []
        for name, credential in held.items():
            if credential.fixed is not None:
                parts.append(credential.fixed)
            elif credential.ask is not None:
                scopes = (requirement or {}).get(name, ())
                own = replace(context, scopes=scopes, stale=stale.auth if stale else None)
                parts.append(await _asked(name, credential.ask, own))
        if sum(part.httpx_auth is not None or _authorizes(part) for part in parts) > 1:
            listed = ", ".join(f"{name!r:.100}" for name in held)
            reason = f"{listed} are required together, but all of them are sent as 'Authorization'."
            raise CallError("credentials", f"{reason} No request can carry both.")
        auth = combine_auth(parts)
        if auth.certificate is not None and not policy.server.lower().startswith("https:"):
            reason = "a client certificate is shown over https only, and the server is http"
            raise CallError("credentials", f"{reason}. It was not sent.")
        return Grant(auth, renewable=any(each.fixed is None for each in held.values()))

    def masked(self, operation: Operation, policy: OriginPolicy) -> Grant:
        """Return the grant of a call, with `***` in place of every value."""
        requirement = self._chosen(operation)
        held = self._needed(requirement)
        if (held or policy.client_brings) and not policy.inside:
            return Grant(note=policy.refusal())
        if requirement is None and not held:
            return Grant(note=self.describe_missing(operation))
        return Grant(combine_auth(credential.masked for credential in held.values()))

    def _needed(self, requirement: Iterable[str] | None) -> dict[str, Credential]:
        return {name: self._held[name] for name in (*self._own, *(requirement or ()))}

    def _chosen(self, operation: Operation) -> Mapping[str, tuple[str, ...]] | None:
        """Return the first alternative that can be met, an empty one last; None without any."""
        alternatives: Iterable[Mapping[str, tuple[str, ...]]] = operation.security
        if not alternatives:
            return {}
        if self._first:  # those with a credential of this call come first
            alternatives = sorted(alternatives, key=self._first.isdisjoint)
        for requirement in alternatives:
            if requirement and all(name in self._held for name in requirement):
                return requirement
        return {} if any(not requirement for requirement in operation.security) else None

    def describe_missing(self, operation: Operation, outcome: str = "") -> str:
        """Return which credentials are missing, and how to give them; empty if none is.

        Args:
            operation: The operation of a call.
            outcome: What became of the request, as `"; the request was not sent"`.
        """
        alternatives = ([name for name in r if name not in self._held] for r in operation.security)
        missing: list[list[str]] = []
        for names in sorted(filter(None, alternatives), key=len):
            if not any(set(shorter) <= set(names) for shorter in missing[:_NAMED]):
                missing.append(names)
        missing = missing[:_NAMED]
        if not missing:
            return ""
        listed = " or ".join(
            " and ".join(
                describe_credential(name, self._schemes.get(name)) for name in names[:_NAMED]
            )
            for names in missing
        )
        advice, name = self.advice, missing[0][0]
        if name in advice.variables:
            reason = f"the environment variable {advice.variables[name]} is not set"
            return f"Missing credential for {listed}: {reason}{advice.location}{outcome}."
        instruction = advice.instruction if name in self._schemes else _OWN_INSTRUCTION
        return f"Missing credential for {listed}{outcome}. {instruction.format(name=name[:100])}"


async def _asked(name: str, ask: Ask, context: TokenContext) -> RequestAuth:
    try:
        return await ask(context)
    except OpenAPIToolsError:
        raise
    except Exception as error:
        logger.exception("the credential for %r cannot be had", name)
        reason = f"a function that gives credentials failed ({type(error).__name__})"
        raise CallError("credentials", f"{reason}; see the log. It was not sent.") from None


def _authorizes(part: RequestAuth) -> bool:
    return any(name.lower() == "authorization" for name, _ in part.headers)


def brings_scheme(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a credential declares its own scheme."""
    return isinstance(value, Mapping) and "value" in value and _OWN.issuperset(value)


def _declared(name: str, given: Mapping[str, Any]) -> SecurityScheme:
    members = {key: given[key] for key in given if key != "value"}
    if not all(isinstance(member, str) for member in members.values()):
        reason = f"the scheme of {name!r} is given in texts, as {_OWN_EXAMPLE}."
        raise CredentialsError(reason, scheme=name)
    scheme = members.get("scheme", "").lower()
    kind = members.get("type") or ("http" if scheme else "apiKey")
    return SecurityScheme(
        kind, name=members.get("name", ""), location=members.get("in", ""), scheme=scheme
    )
