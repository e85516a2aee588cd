"""Messages of the package for people at a command line: options instead of Python arguments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openapi_tools.cli.command_options import option_settings
from openapi_tools.cli.output import print_note

if TYPE_CHECKING:
    from openapi_tools.generate import Report
    from openapi_tools.toolsets.toolset import Toolset

CREDENTIAL_OPTIONS = "--bearer '$VAR', --basic '$USER:$PASSWORD' or --header 'NAME: $VAR'"
"""The hint on credentials that the document does not declare."""

_OWN_CREDENTIAL = re.compile(
    r"a credential with a scheme of its own, credentials=\{[^{}]*\{[^{}]*\}\}, or a client [^.]*+"
)
_OTHER_CREDENTIAL = re.compile(r"To declare one, pass \{[^{}]*\}\.")
_TOOL_COUNT = re.compile(r"(among [\d,]{1,12} tools?)\.$")
_PAIR = "pass (user, password) or 'user:password'"
_BASE_URL = re.compile(r"Settings\(base_url='([^']*)'\)")
_ORIGINS = re.compile(r"Settings\(credential_origins=\(([^()]*+)\)\)")
_SETTING = re.compile(r"Settings\((\w+)=…\)")


def use_option_names(message: object) -> str:
    """Return a message with command-line options in place of Python arguments."""
    text = _OWN_CREDENTIAL.sub(CREDENTIAL_OPTIONS, str(message))
    text = _OTHER_CREDENTIAL.sub(f"To declare one, pass {CREDENTIAL_OPTIONS}.", text)
    text = _TOOL_COUNT.sub(r"\1; `openapi-tools list SPEC` lists them.", text)
    text = text.replace(_PAIR, "the environment variable must hold user:password")
    text = _BASE_URL.sub(r"--base-url \1", text)
    text = _ORIGINS.sub(_name_origin_options, text)
    return _SETTING.sub(_name_setting_option, text)


def _name_origin_options(match: re.Match[str]) -> str:
    origins = re.findall(r"'([^']*)'", match[1])
    return " ".join(f"--credential-origin {origin}" for origin in origins)


def _name_setting_option(match: re.Match[str]) -> str:
    name = match[1]
    return f"--{name}".replace("_", "-") if name in option_settings() else f"--set {name}=…"


def report_skipped(source: Toolset | Report) -> None:
    """Write the skipped operations and the warnings to standard error."""
    for entry in source.skipped:
        print_note(f"skipped {entry.method} {entry.path} at {entry.pointer}: {entry.reason}")
    for warning in source.warnings:
        print_note(f"warning: {use_option_names(warning)}")
