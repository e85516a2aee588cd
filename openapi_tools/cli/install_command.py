"""`openapi-tools install` writes a server into the configuration of an MCP client."""

from __future__ import annotations

import difflib
import json
import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import click

from openapi_tools.cli import PROGRAM, clean, command, imported, remark, say
from openapi_tools.cli import command_options as shared
from openapi_tools.errors import OutputError, SourceError
from openapi_tools.serving.serving_tables import has_apis, read_serving

_CLIENTS: dict[str, dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("clients.toml").read_text(encoding="utf-8")
)
_FILES = ("--config", "--overlay", "--ca-file", "--download-dir")
_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_NOT_WRITTEN = 1


@command("install", context_settings={"ignore_unknown_options": True})
@click.argument("client", type=click.Choice(list(_CLIENTS)))
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="[SPEC] [SERVE-OPTIONS]...")
@click.option("--url", metavar="URL", help="Connect to this server instead of starting one.")
@click.option("--name", metavar="NAME", help="The server's name; by default the document's title.")
@click.option(
    *("--file", "path"), type=click.Path(path_type=Path, dir_okay=False), metavar="FILE",
    help="Write this file instead of the client's usual one.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Write without asking.")
def install(
    client: str,
    *,
    arguments: tuple[str, ...],
    url: str | None,
    name: str | None,
    path: Path | None,
    yes: bool,
) -> int:
    """Have an MCP client start `openapi-tools serve` with SPEC and these options.

    Shows how the client's configuration changes, and asks before it is written. Credentials stay
    in environment variables.
    """
    facts = _CLIENTS[client]
    if url is None:
        name, entry = _started(facts, name, arguments)
    elif arguments or "url" not in facts:
        raise click.UsageError(
            "--url is for a server that runs: leave out SPEC." if arguments
            else f"{client} starts its servers itself; give SPEC instead of --url."
        )  # fmt: skip
    else:
        kind = {"type": facts["type"]} if "type" in facts else {}
        name, entry = name or PROGRAM, {**kind, facts["url"]: url}
    place = path or Path(facts.get(sys.platform, facts["file"])).expanduser()
    return _written(place, facts["key"], name, entry, yes=yes)


def _started(
    facts: dict[str, str], name: str | None, arguments: tuple[str, ...]
) -> tuple[str, dict[str, Any]]:
    """Return a server's name and entry; a document is loaded, so that mistakes show now."""
    with imported("serve").make_context(f"{PROGRAM} serve", list(arguments)) as context:
        if context.params["transport"] == "http":
            raise click.UsageError("a client starts a server over stdio; for http give --url.")
        spec, title = context.params["spec"], PROGRAM
        if spec == "-":
            raise click.UsageError("SPEC cannot come from standard input: the client speaks there.")
        if spec and spec.endswith(".toml") and has_apis(spec):
            read_serving(spec)
            arguments = (*arguments, "--transport", "stdio")
        else:
            document = shared.load(shared.source_of(spec)).document
            title = str(document["info"].get("title", ""))
    words = re.findall(r"[a-z0-9]+", title.lower())
    variables = dict.fromkeys(_VARIABLE.findall(" ".join(arguments)))
    form = facts.get("env")
    if variables and form is None:
        listed = " and ".join(variables)
        remark(f"note: this client must get {listed} from the environment that it is started in.")
    program = Path(sys.argv[0]).resolve()
    is_script = program.stem == PROGRAM
    start = [str(program)] if is_script else [sys.executable, "-m", "openapi_tools"]
    entry: dict[str, Any] = {"command": start[0]}
    entry["args"] = [*start[1:], "serve", *_absolute(arguments, spec)]
    if variables and form is not None:
        entry["env"] = {variable: form % variable for variable in variables}
    return name or "-".join(words)[:40] or PROGRAM, entry


def _absolute(arguments: tuple[str, ...], spec: str | None) -> list[str]:
    """Return arguments whose files are found from any folder."""
    made, before = [], ""
    for argument in arguments:
        option, equals, value = argument.partition("=")
        if before in _FILES or argument == spec:
            made.append(_found(argument))
        else:
            made.append(f"{option}={_found(value)}" if equals and option in _FILES else argument)
        before = argument
    return made


def _found(text: str) -> str:
    return str(Path(text).resolve()) if Path(text).exists() else text


def _written(place: Path, key: str, name: str, entry: dict[str, Any], *, yes: bool) -> int:
    """Show what changes in a client's configuration, and write it when that is wanted."""
    before = _read(place)
    after = _with_server(before, place, key, name, entry)
    if before == after:
        say(f"{place}: {name} is there already; nothing changes.")
        return 0
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), str(place), n=1)
    say(clean("\n".join(line.rstrip("\n") for line in lines)))
    if not yes and not (sys.stdin and sys.stdin.isatty() and click.confirm("Write it?", err=True)):
        remark("not written; --yes writes it without asking.")
        return _NOT_WRITTEN
    part = place.with_name(f"{place.name}.{os.getpid()}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(after, encoding="utf-8")
        if place.exists():
            part.chmod(place.stat().st_mode)
        part.replace(place.resolve())
    except OSError as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(place)) from None
    remark(f"written; restart the client, or have it read {place} again.")
    return 0


def _read(place: Path) -> str:
    try:
        return place.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise SourceError(f"cannot be read ({reason}).", source=str(place)) from None


def _with_server(before: str, place: Path, key: str, name: str, entry: dict[str, Any]) -> str:
    """Return a client's configuration with a server; the rest, and its indentation, stay."""
    try:
        data = json.loads(before or "{}")
        servers = data.setdefault(key, {})
        servers[name] = entry
    except (ValueError, RecursionError, AttributeError, TypeError):
        shown = json.dumps({name: entry})
        reason = f"is not JSON with an object {key!r}; it may have comments. Add by hand: {shown}"
        raise SourceError(reason, source=str(place)) from None
    indent = re.search(r"\n([ \t]+)\S", before)
    text = json.dumps(data, indent=indent[1] if indent else 2, ensure_ascii=False)
    return text + "\n" * (before.endswith("\n") or not before)
