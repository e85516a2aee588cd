"""`openapi-tools install`: the server in the configuration of an MCP client."""

from __future__ import annotations

import difflib
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from openapi_tools.cli.application_names import is_application
from openapi_tools.cli.client_files import read_client_file
from openapi_tools.cli.command_options import config_option, option_values
from openapi_tools.cli.install_bundle import write_bundle
from openapi_tools.cli.output import PROGRAM, clean, print_note, print_text, print_wrapped
from openapi_tools.cli.serve_arguments import parse_serve_options
from openapi_tools.cli.tool_loading import is_stream, load_spec
from openapi_tools.configuration.config_file import list_variables
from openapi_tools.configuration.toml_tables import has_apis
from openapi_tools.serving.serving_tables import read_serving

_CLIENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
)
_FILE_OPTIONS = ("--config", "--overlay", "--ca-file", "--download-dir", "--app-dir")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_NOT_WRITTEN = 1


def install_server(
    client: str | None,
    *,
    arguments: tuple[str, ...],
    bundle: Path | None,
    url: str | None,
    name: str | None,
    path: Path | None,
    yes: bool,
) -> int:
    """Add a server to the configuration of an MCP client, or write it as a bundle."""
    if bundle is not None:
        if url is not None or path is not None:
            raise click.UsageError("--url and --file are for a client's configuration.")
        if client in _CLIENTS:
            raise click.UsageError(f"--bundle is for any client; leave out {client}.")
        bundle_arguments = arguments if client is None else (client, *arguments)
        return write_bundle(bundle, bundle_arguments, name=name, yes=yes)
    if client is None:
        raise click.UsageError(f"name a client, {', '.join(_CLIENTS)}; or write a --bundle.")
    facts = _CLIENTS[client]
    if url is None:
        name, entry = _create_entry(facts, name, arguments)
    elif arguments:
        raise click.UsageError("--url is for a server that is already running; leave out SPEC.")
    elif "url" not in facts:
        raise click.UsageError(f"{client} can only start servers; pass SPEC instead of --url.")
    else:
        kind = {"type": facts["type"]} if "type" in facts else {}
        name, entry = name or PROGRAM, {**kind, facts["url"]: url}
    file = path or Path(facts.get(sys.platform, facts["file"])).expanduser()
    return _write_entry(file, facts["key"], name, entry, yes=yes)


def _create_entry(
    facts: dict[str, str], name: str | None, arguments: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    with parse_serve_options(arguments) as context:
        spec = context.params["spec"]
        if context.params["transport"] == "http":
            raise click.UsageError("a client starts a server over stdio; for http use --url.")
        if is_stream(spec):
            raise click.UsageError(
                "SPEC cannot be a pipe, or standard input, which the client uses."
            )
        configuration = spec if spec and spec.endswith(".toml") else config_option()
        # What the server is to load is loaded here once, so that mistakes show now.
        if spec and spec.endswith(".toml") and has_apis(spec):
            read_serving(spec)
            title, arguments = PROGRAM, (*arguments, "--transport", "stdio")
        else:
            title = str(load_spec(spec).document["info"].get("title", ""))
            if is_application(spec or "") and option_values().get("app_dir") is None:
                arguments = (*arguments, "--app-dir", ".")
    variables = dict.fromkeys(_VARIABLE.findall(" ".join(arguments)))
    if configuration:
        variables |= dict.fromkeys(list_variables(configuration))
    syntax = facts.get("env")
    if variables and syntax is None:
        names = " and ".join(variables)
        print_note(f"note: start this client in an environment that has {names}.")
    entry = _start_command(_resolve_files(arguments, spec))
    if variables and syntax is not None:
        entry["env"] = {variable: syntax % variable for variable in variables}
    words = re.findall(r"[a-z0-9]+", title.lower())
    return name or "-".join(words)[:40] or PROGRAM, entry


def _start_command(arguments: list[str]) -> dict[str, Any]:
    program = Path(sys.argv[0]).resolve()
    is_script = program.stem == PROGRAM
    start = [str(program)] if is_script else [sys.executable, "-m", "openapi_tools"]
    return {"command": start[0], "args": [*start[1:], "serve", *arguments]}


def _resolve_files(arguments: tuple[str, ...], spec: str | None) -> list[str]:
    # A client starts servers in any folder, so paths are absolute.
    def resolve(text: str) -> str:
        return str(Path(text).resolve()) if Path(text).exists() else text

    resolved = []
    for previous, argument in zip(("", *arguments), arguments, strict=False):
        option, equals, value = argument.partition("=")
        if previous in _FILE_OPTIONS or argument == spec:
            resolved.append(resolve(argument))
        elif equals and option in _FILE_OPTIONS:
            resolved.append(f"{option}={resolve(value)}")
        else:
            resolved.append(argument)
    return resolved


def _write_entry(path: Path, key: str, name: str, entry: dict[str, Any], *, yes: bool) -> int:
    file = read_client_file(path)
    text = file.with_server(key, name, entry)
    if file.text == text:
        print_wrapped(f"{path}: {name} is already there; nothing changes.")
        return 0
    # The file is the user's, and another program's: nothing is written unseen.
    lines = difflib.unified_diff(file.text.splitlines(), text.splitlines(), str(path), n=1)
    print_text(clean("\n".join(line.rstrip("\n") for line in lines)))
    is_terminal = sys.stdin is not None and sys.stdin.isatty()
    if not yes and not (is_terminal and click.confirm("Write it?", err=True)):
        print_note("not written; --yes writes it without asking.")
        return _NOT_WRITTEN
    file.write(text)
    print_note(f"written; restart the client, or have it reload {path}.")
    return 0
