"""Options that give credentials: no secret stands on a command line.

A value comes from the environment, a token from the file that `openapi-tools login` has left.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

_META = "openapi_tools.credentials"
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_FIELD = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_QUOTES = "in single quotes, so that the shell leaves it alone"
_FORMS = {
    "--credential": "'SCHEME=$NAME', or SCHEME=@FILE",
    "--header": "'NAME: $VAR'",
    "--bearer": "'$VAR'",
    "--basic": "'$USER:$PASSWORD'",
}


OPTIONS = "give --bearer '$VAR', --basic '$USER:$PASSWORD' or --header 'NAME: $VAR'"
"""How credentials are given that no document has to declare."""


def _remember(context: click.Context, parameter: click.Parameter, value: Any) -> None:
    context.meta.setdefault(_META, {})[parameter.name] = value


def _option(*names: str, **facts: Any) -> Callable[[Any], Any]:
    return click.option(*names, expose_value=False, callback=_remember, **facts)


_OPTIONS = (
    _option(
        "--credential",
        "credentials",
        multiple=True,
        metavar="SCHEME=$NAME",
        help="Take a scheme's credential from an environment variable; repeatable. Write it in "
        "single quotes, so that the shell leaves $NAME alone. SCHEME=@FILE takes the token that "
        "`openapi-tools login` left in a file.",
    ),
    _option(
        "--header",
        "headers",
        multiple=True,
        metavar="'NAME: $VAR'",
        help="Send a header, its value from an environment variable; repeatable.",
    ),
    _option("--bearer", metavar="'$VAR'", help="Send a token from an environment variable."),
    _option(
        "--basic",
        metavar="'$USER:$PASSWORD'",
        help="Send a user and a password from environment variables.",
    ),
    _option(
        "--credential-origin",
        "credential_origins",
        multiple=True,
        metavar="ORIGIN",
        help="Send credentials here, as https://api.example.com, and not to the document's own "
        "server; repeatable.",
    ),
    _option(
        "--anonymous",
        is_flag=True,
        help="Call operations without the credentials that they require and that are missing.",
    ),
)


def identifying(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options for credentials; `load` heeds them."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def given_credentials() -> dict[str, Any]:
    """Return the credentials that the options of this command give.

    A wrong value is never shown: the shell may have expanded the variable.

    Raises:
        click.UsageError: A value is not of the form that the option takes, or no such variable.
        CredentialsError: No such file, or no token in it.
    """
    given = _given()
    found = read_credentials(given.get("credentials", ()))
    for text in given.get("headers", ()):
        name, value = _header(text)
        found[f"--header {name}"] = {"in": "header", "name": name, "value": value}
    if (text := given.get("bearer")) is not None:
        found["--bearer"] = {"scheme": "bearer", "value": Secret(_value(text, "--bearer"))}
    if (text := given.get("basic")) is not None:
        found["--basic"] = {"scheme": "basic", "value": _pair(text)}
    return found


def given_settings() -> dict[str, Any]:
    """Return the members of `Settings` that the options of this command give."""
    given = _given()
    members = {name: given.get(name) for name in ("credential_origins", "anonymous")}
    return {name: value for name, value in members.items() if value}


def _given() -> dict[str, Any]:
    found: dict[str, Any] = click.get_current_context().meta.get(_META, {})
    return found


def read_credentials(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return credentials by scheme name: values of environment variables, or tokens in files.

    Raises:
        click.UsageError: No `=`, or no such variable.
        CredentialsError: No such file, or no token in it.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        scheme, equals, reference = pair.partition("=")
        if scheme and reference.startswith("@"):
            from openapi_tools.auth.tokens import from_file

            found[scheme] = from_file(reference[1:])
        elif not scheme or not equals:
            raise _refusal("--credential")
        else:
            # As it stands: nothing in it is a variable any more.
            found[scheme] = Secret(_value(reference, "--credential", f" {scheme!r:.100}"))
    return found


def _value(reference: str, option: str, which: str = "") -> str:
    """Return the value of the variable that a whole text names, with or without a `$`."""
    match = _NAME.fullmatch(reference)
    if match is None or not (reference.startswith("$") or match[1] in os.environ):
        raise _refusal(option, which)
    return _variable(match[1], option, which)


def _variable(name: str, option: str, which: str = "") -> str:
    value = os.environ.get(name)
    if not value:
        state = "empty" if value == "" else "not set"
        raise click.UsageError(f"{option}{which}: the environment variable {name:.100} is {state}.")
    return value


def _header(text: str) -> tuple[str, Secret]:
    """Return a header's name and value; every variable in the value is filled in."""
    name, colon, value = text.partition(":")
    if not colon or not _FIELD.fullmatch(name) or not _VARIABLE.search(value):
        raise _refusal("--header")
    which = f" {name!r:.100}"
    return name, Secret(_filled(value.strip(), "--header", which))


def _filled(text: str, option: str, which: str = "") -> str:
    return _VARIABLE.sub(lambda match: _variable(match[1] or match[2], option, which), text)


def _pair(text: str) -> tuple[str, Secret]:
    """Return user and password; the password is a variable, and the user may be one."""
    user, colon, password = text.partition(":")
    if not colon or not _VARIABLE.fullmatch(password):
        raise _refusal("--basic")
    return _filled(user, "--basic"), Secret(_filled(password, "--basic"))


def _refusal(option: str, which: str = "") -> click.UsageError:
    reason = f"{option}{which} names no environment variable that is set"
    return click.UsageError(f"{reason}; it wants {_FORMS[option]}, {_QUOTES}.")
