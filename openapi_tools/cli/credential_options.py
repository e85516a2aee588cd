"""Credentials from the options of a command.

A credential comes from the environment, or from the file that `openapi-tools login` has written: no
secret is on a command line. A wrong value is never printed, as the shell may have expanded the
variable already.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import click

from openapi_tools.auth.token_store import read_login
from openapi_tools.cli.command_options import option_values
from openapi_tools.common.options import close_names
from openapi_tools.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Sequence

_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
_NAME = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")
_FIELD_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
# A token rather than a name: long, with digits and letters of both cases.
_TOKEN = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z])\w{16,}")
_QUOTES = "in single quotes, so that the shell does not expand it"
_FORMS = {
    "--credential": "'SCHEME=$NAME', or SCHEME=@FILE",
    "--header": "'NAME: $VAR'",
    "--bearer": "'$VAR'",
    "--basic": "'$USER:$PASSWORD'",
    "--model-key": "'$NAME'",
}


def read_credential_options() -> dict[str, Any]:
    """Return the credentials that the options of this command name."""
    values = option_values()
    credentials = read_credentials(values.get("credentials", ()))
    for text in values.get("headers", ()):
        name, colon, value = text.partition(":")
        if not colon or not _FIELD_NAME.fullmatch(name) or not _VARIABLE.search(value):
            raise _form_error("--header")
        secret = Secret(_expand_variables(value.strip(), "--header", f" {name!r:.100}"))
        credentials[f"--header {name}"] = {"in": "header", "name": name, "value": secret}
    if (text := values.get("bearer")) is not None:
        secret = Secret(_value_of_variable(text, "--bearer"))
        credentials["--bearer"] = {"scheme": "bearer", "value": secret}
    if (text := values.get("basic")) is not None:
        credentials["--basic"] = {"scheme": "basic", "value": _read_basic(text)}
    return credentials


def _read_basic(text: str) -> tuple[str, Secret]:
    user, colon, password = text.partition(":")  # the user need not be a variable
    if colon and _VARIABLE.fullmatch(password):
        return _expand_variables(user, "--basic"), Secret(_expand_variables(password, "--basic"))
    if colon or not _VARIABLE.fullmatch(text):
        raise _form_error("--basic")
    user, colon, password = _expand_variables(text, "--basic").partition(":")
    if not colon:
        reason = "--basic: the value of the environment variable is not 'user:password'"
        raise click.UsageError(f"{reason}; write {_FORMS['--basic']}, {_QUOTES}.")
    return user, Secret(password)


def read_credentials(pairs: Sequence[str]) -> dict[str, Any]:
    """Return credentials by scheme name: values of environment variables, or tokens in files."""
    credentials: dict[str, Any] = {}
    for pair in pairs:
        scheme, equals, reference = pair.partition("=")
        if scheme and reference.startswith("@"):
            credentials[scheme] = read_login(reference[1:])
        elif not scheme or not equals or not reference.strip("="):
            # A token in base64 ends in equals signs, so that all of this may be one.
            raise _form_error("--credential")
        else:
            # The value of a variable is taken literally, whatever characters it has.
            value = _value_of_variable(reference, "--credential", f" {scheme!r:.100}")
            credentials[scheme] = Secret(value)
    return credentials


def read_secret(reference: str, option: str) -> Secret:
    """Return the value of the environment variable that an option names."""
    return Secret(_value_of_variable(reference, option))


def _value_of_variable(reference: str, option: str, subject: str = "") -> str:
    match = _NAME.fullmatch(reference)
    if match is None or not (reference.startswith("$") or match[1] in os.environ):
        raise _form_error(option, subject)
    return _read_variable(match[1], option, subject)


def _read_variable(name: str, option: str, subject: str) -> str:
    value = os.environ.get(name)
    if not value:
        state = "empty." if value == "" else f"not set{close_names(name, os.environ, most=1)}"
        if _TOKEN.fullmatch(name):
            raise _form_error(option, subject)
        reason = f"the environment variable {name:.100} is {state}"
        raise click.UsageError(f"{option}{subject}: {reason}")
    return value


def _expand_variables(text: str, option: str, subject: str = "") -> str:
    return _VARIABLE.sub(lambda match: _read_variable(match[1] or match[2], option, subject), text)


def _form_error(option: str, subject: str = "") -> click.UsageError:
    reason = f"{option}{subject} does not name an environment variable that is set"
    return click.UsageError(f"{reason}; write {_FORMS[option]}, {_QUOTES}.")
