"""`--credential scheme=$NAME` or `scheme=@FILE`: no secret stands on a command line.

A value comes from the environment, a token from the file that `openapi-tools login` has left.
"""

from __future__ import annotations

import os
import re
from typing import Any

import click

from openapi_tools.runtime.redaction import Secret

_NAME = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def read_credentials(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return credentials by scheme name: values of environment variables, or tokens in files.

    What stands after `=` is shown only where it begins with `$`: otherwise the shell may have put
    the value in, which is a secret.

    Raises:
        click.UsageError: No `=`, or no such variable.
        CredentialsError: No such file, or no token in it.
    """
    found: dict[str, Any] = {}
    for pair in pairs:
        scheme, equals, reference = pair.partition("=")
        if scheme and reference.startswith("@"):
            from openapi_tools.runtime.oauth import from_file

            found[scheme] = from_file(reference[1:])
            continue
        match = _NAME.fullmatch(reference)
        value = os.environ.get(match.group(1)) if match else None
        if not equals or not scheme:
            message = (
                "--credential wants scheme=$NAME, NAME being an environment variable, or "
                "scheme=@FILE."
            )
            raise click.UsageError(message)
        if match and not value and reference.startswith("$"):
            message = (
                f"--credential {scheme!r:.100}: the environment variable {match.group(1):.100} "
                f"is {'empty' if value == '' else 'not set'}."
            )
            raise click.UsageError(message)
        if not value:
            message = (
                f"--credential {scheme!r:.100}: what stands after '=' names no environment "
                f"variable that is set; write '{scheme:.100}=$NAME', in single quotes."
            )
            raise click.UsageError(message)
        found[scheme] = Secret(value)  # as it stands: nothing in it is a variable any more
    return found
