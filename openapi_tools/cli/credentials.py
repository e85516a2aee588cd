"""`--credential scheme=$NAME`: secrets come from the environment, never from the command line."""

from __future__ import annotations

import os
import re

import click

_NAME = re.compile(r"\$?\{?([A-Za-z_][A-Za-z0-9_]*)\}?")


def read_credentials(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return credentials by scheme name, each the value of the environment variable given for it.

    What stands after `=` is shown only where it begins with `$`: otherwise the shell may have put
    the value in, which is a secret.

    Raises:
        click.UsageError: No `=`, or no such variable.
    """
    found = {}
    for pair in pairs:
        scheme, equals, reference = pair.partition("=")
        match = _NAME.fullmatch(reference)
        value = os.environ.get(match.group(1)) if match else None
        if not equals or not scheme:
            message = "--credential wants scheme=$NAME, NAME being an environment variable."
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
        found[scheme] = value
    return found
