"""`openapi-tools login`: interactive login that stores the token in a file."""

from __future__ import annotations

import asyncio
import sys
import webbrowser
from typing import TYPE_CHECKING, Any, TypeVar

import click

from openapi_tools.auth import OriginPolicy
from openapi_tools.auth.authorization_server import Channel
from openapi_tools.auth.login import Login, LoginPlan
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_store import TokenStore
from openapi_tools.cli.credential_options import read_credentials
from openapi_tools.cli.output import clean, print_link, print_note, print_text
from openapi_tools.cli.tool_loading import load_spec
from openapi_tools.errors import CallError
from openapi_tools.redaction import Redactor
from openapi_tools.requests import server_url
from openapi_tools.settings import Settings
from openapi_tools.transport.connection_pool import ConnectionPool
from openapi_tools.transport.network_policy import policy_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping
    from pathlib import Path

    from openapi_tools.auth.tokens import StoredToken
    from openapi_tools.model import Operation, SecurityScheme
    from openapi_tools.toolsets.toolset import Toolset

_T = TypeVar("_T")
_TYPES = ("oauth2", "openIdConnect")
_OPTIONS = {
    "Settings(base_url=…)": "--base-url",
    "OAuth2(token_url=…)": "--token-url",
    "OAuth2(authorization_url=…)": "--authorization-url",
    "OAuth2(device_authorization_url=…)": "--device-authorization-url",
}


def log_in(spec: str, scheme: str | None, *, token_file: Path, **options: Any) -> int:
    """Log in for SCHEME of SPEC and store the token in a file."""
    toolset = load_spec(spec, {"base_url": options["base_url"]})
    name, definition = _choose_scheme(toolset.security_schemes, scheme)
    store = TokenStore(token_file)
    store.entries()  # report errors of the file before the browser opens
    config = _create_config(toolset, name, definition, options)
    try:
        stored = _request_token(toolset, definition, config, {**options, "name": name})
    except CallError as error:
        text = str(error)
        for argument, option in _OPTIONS.items():
            text = text.replace(argument, option)
        print_note(f"openapi-tools: error: {text}")
        return 1
    store.save(stored)
    print_note(f"logged in; the token is in {token_file}.")
    if stored.token.refresh is None:
        print_note("the server returned no refresh token; log in again when this one has expired.")
    print_text(clean(f"--credential '{stored.scheme}=@{token_file}'", lines=False))
    return 0


def _choose_scheme(schemes: Mapping[str, Any], name: str | None) -> tuple[str, SecurityScheme]:
    candidates = {name: scheme for name, scheme in schemes.items() if scheme.type in _TYPES}
    if name is None and len(candidates) == 1:
        return next(iter(candidates.items()))
    if name in candidates:
        return str(name), candidates[name]
    if not candidates:
        raise click.UsageError(
            "the document has no scheme for OAuth 2 or OpenID Connect; commands that call take a "
            "credential as --credential 'SCHEME=$NAME'."
        )
    names = ", ".join(map(repr, candidates))
    if name is None:
        raise click.UsageError(f"the document has several schemes; name one of {names}.")
    raise click.UsageError(f"{name!r:.100} is not a scheme to log in for; expected one of {names}.")


def _create_config(
    toolset: Toolset, name: str, scheme: SecurityScheme, options: dict[str, Any]
) -> OAuth2:
    secret = None
    if reference := options["client_secret"]:
        # A secret in an argument is in the shell's history and in the list of processes.
        if not reference.startswith("$"):
            raise click.UsageError(
                "--client-secret takes '$NAME', where NAME is an environment variable."
            )
        secret = read_credentials((f"client-secret={reference}",))["client-secret"]
    fields = ("client_id", "token_url", "authorization_url", "device_authorization_url")
    required = {
        scope
        for tool in toolset
        for requirement in tool.operation.security
        for scope in requirement.get(name, ())
    }
    flow = "deviceAuthorization" if options["device"] else "authorizationCode"
    declared = scheme.flows.get(flow, {}).get("scopes")
    default_scopes = sorted(required or (declared if isinstance(declared, dict) else ()))
    return OAuth2(
        client_secret=secret,
        scopes=options["scopes"] or default_scopes,
        **{key: options[key] for key in fields},
    )


def _request_token(
    toolset: Toolset, scheme: Any, config: OAuth2, options: dict[str, Any]
) -> StoredToken:
    settings, session = Settings(base_url=options["base_url"]), toolset.session
    server = server_url(_find_operation(toolset, options["name"]), settings)
    device, limit = options["device"], options["timeout"]

    async def run_login(step: Callable[[Login], Awaitable[_T]]) -> _T:
        policy = policy_of(settings, public_document=session.provenance.public)
        async with ConnectionPool(settings, policy) as transport:
            bounds = OriginPolicy(server, session.origins)
            channel = Channel.for_call(transport, bounds, Redactor().learn)
            login = Login(config, scheme, name=options["name"], channel=channel)
            try:
                async with asyncio.timeout(limit):
                    return await step(login)
            except TimeoutError:
                raise CallError("timeout", f"not approved within {limit:g} s.") from None

    plan = asyncio.run(run_login(lambda login: login.make_plan(device=device)))
    _confirm_endpoints(plan, options)  # before anything else is sent
    return asyncio.run(run_login(lambda login: _wait_for_token(login, plan, options)))


def _find_operation(toolset: Toolset, name: str) -> Operation:
    operations = [tool.operation for tool in toolset]
    if not operations:
        raise click.UsageError("the document has no operation to log in for.")
    protected = (
        operation
        for operation in operations
        if any(name in requirement for requirement in operation.security)
    )
    return next(protected, operations[0])


def _confirm_endpoints(plan: LoginPlan, options: dict[str, Any]) -> None:
    key = "device_authorization_url" if options["device"] else "authorization_url"
    print_note(f"authorization: {getattr(plan.config, key)}")
    print_note(f"token: {plan.config.token_url}")
    if not plan.foreign_urls or options["yes"]:
        return
    print_note("these endpoints of the document are not at the API's own origin.")
    if not _has_terminal():
        raise click.UsageError("add --yes to accept that, or name the endpoints with options.")
    if not click.confirm("Log in there?", err=True):
        raise click.ClickException("nothing was sent.")


async def _wait_for_token(login: Login, plan: LoginPlan, options: dict[str, Any]) -> StoredToken:
    def show_url(url: str) -> None:
        print_link("open this in a browser:", url)
        if not options["no_browser"]:
            webbrowser.open(url)

    if options["device"]:
        return await login.log_in_by_device(
            plan,
            show=lambda code: print_note(f"open {code.url} and enter the code {code.user_code}"),
        )
    port = options["port"]
    try:
        return await login.log_in_by_browser(plan, port=port, show=show_url, report=print_note)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).partition(" (")[0]
        raise click.ClickException(
            f"cannot listen on port {port} ({reason}); choose another one."
        ) from None


def _has_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()
