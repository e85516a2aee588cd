"""`openapi-tools login`: interactive login that keeps the token in a file."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openapi_tools.auth import OriginPolicy
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.login import Login, Plan
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.tokens import Stored, TokenStore
from openapi_tools.cli import clean, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import CallError, there_are
from openapi_tools.redaction import Redactor
from openapi_tools.requests import server_url
from openapi_tools.settings import Settings
from openapi_tools.transport.connection_pool import ConnectionPool
from openapi_tools.transport.network_policy import policy_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from openapi_tools.model import Operation, SecurityScheme
    from openapi_tools.tools.toolset import Toolset

_T = TypeVar("_T")
_TYPES = ("oauth2", "openIdConnect")
_OPTIONS = {
    "Settings(base_url=…)": "--base-url",
    "OAuth2(token_url=…)": "--token-url",
    "OAuth2(authorization_url=…)": "--authorization-url",
    "OAuth2(device_authorization_url=…)": "--device-authorization-url",
}


@shared.command("login")
def login(spec: str, scheme: str | None, *, token_file: Path, **options: Any) -> int:
    """Log in for SCHEME of SPEC and keep the token in a file.

    SCHEME may be left out where the document has one scheme for OAuth 2 or OpenID Connect. Then
    `openapi-tools call SPEC … --credential SCHEME=@FILE` uses the token.
    """
    toolset = shared.load(shared.source_of(spec), base_url=options["base_url"])
    name, found = _scheme(toolset.security_schemes, scheme)
    store = TokenStore(token_file)
    store.entries()  # errors of the file come before the browser opens
    config = _config(toolset, name, found, options)
    try:
        stored = _stored(toolset, found, config, {**options, "name": name})
    except CallError as error:
        text = str(error)
        for named, option in _OPTIONS.items():
            text = text.replace(named, option)
        remark(f"openapi-tools: error: {text}")
        return 1
    store.save(stored)
    remark(f"logged in; the token is in {token_file}.")
    if stored.token.refresh is None:
        remark("the server gave no refresh token: log in again when this one has expired.")
    say(clean(f"--credential '{stored.scheme}=@{token_file}'", lines=False))
    return 0


def _scheme(schemes: Mapping[str, Any], wanted: str | None) -> tuple[str, SecurityScheme]:
    fitting = {name: scheme for name, scheme in schemes.items() if scheme.type in _TYPES}
    if wanted is None and len(fitting) == 1:
        return next(iter(fitting.items()))
    if wanted in fitting:
        return str(wanted), fitting[wanted]
    if not fitting:
        raise click.UsageError("the document has no scheme for OAuth 2 or OpenID Connect.")
    if wanted is None:
        raise click.UsageError(f"say which scheme is meant: {', '.join(map(repr, fitting))}.")
    known = there_are(map(repr, fitting))
    raise click.UsageError(f"no scheme to log in for is named {wanted!r:.100}; {known}.")


def _config(toolset: Toolset, name: str, scheme: SecurityScheme, options: dict[str, Any]) -> OAuth2:
    secret = None
    if reference := options["client_secret"]:
        if not reference.startswith("$"):
            raise click.UsageError(
                "--client-secret wants '$NAME', NAME being an environment variable."
            )
        secret = shared.read_credentials((f"client-secret={reference}",))["client-secret"]
    given = ("client_id", "token_url", "authorization_url", "device_authorization_url")
    required = {
        scope
        for tool in toolset
        for requirement in tool.operation.security
        for scope in requirement.get(name, ())
    }
    flow = "deviceAuthorization" if options["device"] else "authorizationCode"
    listed = scheme.flows.get(flow, {}).get("scopes")
    usual = sorted(required or (listed if isinstance(listed, dict) else ()))
    return OAuth2(
        client_secret=secret,
        scopes=options["scopes"] or usual,
        **{key: options[key] for key in given},
    )


def _stored(toolset: Toolset, scheme: Any, config: OAuth2, options: dict[str, Any]) -> Stored:
    """Return the token of a login; the user may have to agree before anything is sent."""
    settings, session = Settings(base_url=options["base_url"]), toolset.session
    server = server_url(_operation(toolset, options["name"]), settings)
    device, limit = options["device"], options["timeout"]

    async def done(act: Callable[[Login], Awaitable[_T]]) -> _T:
        policy = policy_of(settings, public_document=session.provenance.public)
        async with ConnectionPool(settings, policy) as transport:
            bounds = OriginPolicy(server, session.origins)
            channel = Channel.over(transport, bounds, Redactor().learn)
            attempt = Login(config, scheme, name=options["name"], channel=channel)
            try:
                async with asyncio.timeout(limit):
                    return await act(attempt)
            except TimeoutError:
                raise CallError("timeout", f"no approval within {limit:g} s.") from None

    plan = asyncio.run(done(lambda attempt: attempt.plan(device=device)))
    _agree(plan, options)
    return asyncio.run(done(lambda attempt: _agreed(attempt, plan, options)))


def _operation(toolset: Toolset, name: str) -> Operation:
    operations = [tool.operation for tool in toolset]
    if not operations:
        raise click.UsageError("the document has no operation to log in for.")
    needing = (o for o in operations if any(name in names for names in o.security))
    return next(needing, operations[0])


def _agree(plan: Plan, options: dict[str, Any]) -> None:
    """Show the endpoints of the login, and ask if they are at another origin."""
    key = "device_authorization_url" if options["device"] else "authorization_url"
    remark(f"authorization: {getattr(plan.config, key)}")
    remark(f"token: {plan.config.token_url}")
    if not plan.elsewhere or options["yes"]:
        return
    remark("these endpoints of the document are not at the API's own origin.")
    if not _is_person_there():
        raise click.UsageError("to agree to that add --yes, or name the endpoints yourself.")
    if not click.confirm("Log in there?", err=True):
        raise click.ClickException("nothing was sent.")


async def _agreed(attempt: Login, plan: Plan, options: dict[str, Any]) -> Stored:
    def show(url: str) -> None:
        remark(f"open this in a browser: {url}")
        if not options["no_browser"]:
            webbrowser.open(url)

    if options["device"]:
        return await attempt.by_device(
            plan, show=lambda code: remark(f"open {code.url} and enter the code {code.user_code}")
        )
    port = options["port"]
    try:
        return await attempt.by_browser(plan, port=port, show=show, tell=remark)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        raise click.ClickException(
            f"port {port} cannot be listened on ({reason}); give another."
        ) from None


def _is_person_there() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
