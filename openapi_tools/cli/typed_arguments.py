"""What is typed on a command line: arguments of a call, and their completion in bash, zsh and fish.

Arguments are `name=value`, `name=@file` and `name:=JSON`. `openapi-tools completion SHELL` prints a
script, which runs the program with the line up to the cursor and gets a line for each completion:
its kind (`plain` or `file`), its value and words about it. The program never writes to standard
error then, and the network is not used: documents at URLs come from the cache.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.shell_completion import CompletionItem, ShellComplete, split_arg_string

from openapi_tools.cli import PROGRAM, VARIABLE, clean, say, summary_of
from openapi_tools.cli import command_options as shared
from openapi_tools.common.setting_fields import setting_names
from openapi_tools.errors import there_are
from openapi_tools.json_values import follow_references
from openapi_tools.loading import cache
from openapi_tools.options import close_names
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi_tools.tools.toolset import Toolset

_FORMS = {"boolean": "; write true or false.", "integer": "; write digits, as 5."}
_TYPES = {"string", "array", "integer", "number", "boolean", "object", "null"}
_DEEPEST = 3
_SHELLS = ("bash", "zsh", "fish")
_LONGEST_WORDS = 60


class _File(NamedTuple):
    """The content of a file for an argument, and its name; empty for standard input."""

    content: bytes
    name: str


def read_arguments(
    pairs: tuple[str, ...], schema: dict[str, Any], names: Mapping[str, str]
) -> dict[str, Any]:
    """Return the arguments in `name=value` pairs, read by the input schema.

    `names` are the arguments by the API's own names, as of `find_api_names`.
    Text where the schema wants text, else JSON; an array also from several pairs of one name. Where
    it allows several types, JSON unless the text alone fits. click.UsageError for anything else.
    """
    properties = schema.get("properties", {})
    given: dict[str, list[str | _File]] = {}
    found: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise click.UsageError(f"{pair!r:.100} is not of the form name=value.")
        name = names.get(name, name)
        is_json = name not in properties and name.endswith(":")
        name = name.removesuffix(":") if is_json else name
        name = names.get(name, name)
        if name not in properties:
            close = close_names(name, properties)
            hint = f"; {there_are(properties)}." if close == "." else close
            raise click.UsageError(f"no argument is called {name!r:.100}{hint}")
        value = _value_of(name, text)
        if name in found or (is_json and name in given):
            raise click.UsageError(f"{name} is given twice.")
        if is_json:
            found[name] = _as_json(name, _text_in(name, value, {}), "JSON")
        else:
            given.setdefault(name, []).append(value)
    return found | {n: _read(n, texts, properties[n], schema) for n, texts in given.items()}


def _value_of(name: str, text: str) -> str | _File:
    """Return the text behind `name=`: itself, or a file for `@path` and `@-`."""
    if not text.startswith("@") or text.startswith("@@"):
        return text[1:] if text.startswith("@@") else text
    if text == "@-":
        return _File(shared.read_stdin(), "")
    path = Path(text[1:])
    try:
        path = path.expanduser()
        return _File(path.read_bytes(), path.name)
    except (OSError, RuntimeError) as error:  # RuntimeError: no such home
        why = getattr(error, "strerror", None) or error
        reason = f"{name}: the file {text[1:]!r:.100} cannot be read ({why})"
        raise click.UsageError(f"{reason}; write @@ for a text that begins with @.") from None


def _text_in(name: str, value: str | _File, schema: Mapping[str, Any]) -> str:
    """Return a value as text: a file's in UTF-8, or in base64 where the schema says so."""
    if isinstance(value, str):
        return value
    encoding = schema.get("contentEncoding", "")
    if "base64" in encoding or schema.get("format") == "byte":
        encode = base64.urlsafe_b64encode if "url" in encoding else base64.b64encode
        return encode(value.content).decode()
    try:
        return value.content.decode("utf-8-sig")
    except ValueError:
        raise click.UsageError(f"{name}: the file {value.name!r} is not text in UTF-8.") from None


def _as_json(name: str, text: str, kind: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        reason = f"{name}: {text!r:.100} is not valid JSON, but {kind} is expected"
        raise click.UsageError(reason + _FORMS.get(kind, ".")) from None


def _takes_file(schema: Any, root: dict[str, Any], depth: int = 0) -> bool:
    whole = follow_references(root, schema)
    members = whole.get("properties")
    if isinstance(members, dict) and {"base64", "text", "filename"} <= members.keys():
        return True
    branches = whole.get("anyOf") or () if depth < _DEEPEST else ()
    return any(_takes_file(branch, root, depth + 1) for branch in branches)


def read_json_argument(text: str) -> dict[str, Any]:
    """Return the object of `--json`: itself, `@file`, or `-` for standard input; UsageError."""
    try:
        if text == "-":
            text = shared.read_stdin().decode()
        elif text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 -- as the user wrote it
                text = file.read()
        value = json.loads(text)
    except OSError as error:
        raise click.UsageError(f"--json: {text[1:]!r}: {error.strerror}.") from None
    except (ValueError, RecursionError) as error:
        raise click.UsageError(f"--json is not valid JSON: {error}.") from None
    if not isinstance(value, dict):
        raise click.UsageError(f"--json must be an object, not {type(value).__name__}.")
    return value


def _read(name: str, values: list[str | _File], schema: Any, root: dict[str, Any]) -> Any:
    types, first, own = _types(schema, root), values[0], follow_references(root, schema)
    if types in ({"array"}, {"array", "null"}):
        return _read_array(name, values, own, root)
    if len(values) > 1:
        if types is None or "array" in types:
            return [_loose(_text_in(name, value, {}), {}, root) for value in values]
        raise click.UsageError(f"{name} is given {len(values)} times, but is not an array.")
    if isinstance(first, _File) and _takes_file(schema, root):
        named = {"filename": first.name} if first.name else {}
        return {"base64": base64.b64encode(first.content).decode(), **named}
    text = _text_in(name, first, own)
    if types is None or len(types) > 1:
        return _loose(text, schema, root)
    return text if types == {"string"} else _as_json(name, text, next(iter(types)))


def _read_array(
    name: str, values: list[str | _File], schema: Mapping[str, Any], root: dict[str, Any]
) -> Any:
    items = schema.get("items", {})
    if len(values) == 1 and not (isinstance(values[0], _File) and _takes_file(items, root)):
        value = _loose(_text_in(name, values[0], {}), schema, root)
        if isinstance(value, list) or value is None:
            return value
    return [_read(name, [value], items, root) for value in values]


def _loose(text: str, schema: Any, root: dict[str, Any]) -> Any:
    """Return a text of several allowed types as JSON, or unchanged if only that fits."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    checker = Checker({"properties": {"value": schema}, "$defs": root.get("$defs", {})})
    only_text = checker.fits({"value": text}) and not checker.fits({"value": value})
    return text if only_text else value


def _types(schema: Any, root: dict[str, Any]) -> set[str] | None:
    schema = follow_references(root, schema)
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind} if kind in _TYPES else None
    if isinstance(kind, list):
        return set(kind)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return {"string"}
    return None


def values_of(schema: Any, root: dict[str, Any], depth: int = 0) -> list[str]:
    """Return the values that an argument or a list's items take, as text, but for null.

    There are none where it takes others.
    """
    schema = follow_references(root, schema)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, list):
        return [v if v and isinstance(v, str) else json.dumps(v) for v in values if v is not None]
    if depth >= _DEEPEST:
        return []
    if "items" in schema:
        return values_of(schema["items"], root, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        parts = [follow_references(root, part) for part in schema.get(key) or ()]
        found = [values_of(part, root, depth + 1) for part in parts if part.get("type") != "null"]
        if any(found) if key == "allOf" else found and all(found):
            return list(dict.fromkeys(value for listed in found for value in listed))
    return []


@shared.command("completion")
def completion(shell: str) -> None:
    r"""Print the script that completes commands, options, tools and arguments in SHELL.

    \b
    bash: put into ~/.bashrc:     eval "$(openapi-tools completion bash)"
    zsh:  put into ~/.zshrc, behind compinit:
                                  eval "$(openapi-tools completion zsh)"
    fish: run once:               openapi-tools completion fish
                                  > ~/.config/fish/completions/openapi-tools.fish
    """
    say(_script(shell))


def _script(shell: str) -> str:
    return Path(__file__).with_name(f"completion.{shell}").read_text(encoding="utf-8").rstrip()


def answered(group: click.Group, instruction: str) -> int:
    """Answer a shell: `SHELL_complete` gets completions, `SHELL_source` a script."""
    shell, _, action = instruction.partition("_")
    if shell not in _SHELLS or action not in ("complete", "source"):
        return 1
    found = _script(shell)
    if action == "complete":
        found, cache.offline = "", True
        with contextlib.redirect_stderr(io.StringIO()), contextlib.suppress(Exception):
            found = _Line(group, {}, PROGRAM, VARIABLE).complete()
    if found:
        say(found.rstrip("\n"))
    return 0


class _Line(ShellComplete):
    """A line up to the cursor, from any shell.

    BREAKS are bash's ends of words; it has none in QUOTED, the end of the last word in quotes.
    """

    name = source_template = ""

    def get_completion_args(self) -> tuple[list[str], str]:
        """Return the words behind the program's name, and the incomplete one."""
        words, last = _line()
        option, equals, _ = last.partition("=")
        self.lead = option + equals if equals and option[:2] == "--" else ""
        marks = [mark for mark in "=:" if mark in os.environ.get("BREAKS", "")]
        before = last.removesuffix(os.environ.get("QUOTED", ""))
        breaks = [before.rfind(mark) for mark in marks]
        self.known = last[: max(breaks, default=-1) + 1]
        return words, last

    def format_completion(self, item: CompletionItem) -> str:
        """Return a line for the shell: what bash has already before its last break is left out."""
        value = clean(f"{self.lead if item.type == 'plain' else ''}{item.value}", lines=False)
        words = clean(str(item.help or ""), lines=False)[:_LONGEST_WORDS]
        return "\t".join((item.type, value.removeprefix(self.known), words))


def _line() -> tuple[list[str], str]:
    line = os.environ.get("COMP_LINE", "")
    words = split_arg_string(line)
    last = "" if not words or line[-1:].isspace() else words.pop()
    return words[1:], last


def attach(found: click.Command) -> None:
    """Have the parameters of a command complete what a document or the settings have."""
    for parameter in found.params:
        if values := VALUES.get(str(parameter.name)):
            parameter.shell_complete = partial(_completed, values)  # type: ignore[method-assign]


def _completed(
    values: Callable[[click.Context, str], Iterable[Any]], context: click.Context, incomplete: str
) -> list[CompletionItem]:
    words, _ = _line()
    if context.params.get("spec") is None and words[-1][:1] == "-":
        # An option without its value kept click from reading the words before it.
        facts: dict[str, Any] = {"parent": context.parent, "resilient_parsing": True}
        context = context.command.make_context(context.info_name, words[1:-1], **facts)
    with context.scope(cleanup=False):
        found = values(context, incomplete)
        items = [v if isinstance(v, CompletionItem) else CompletionItem(v) for v in found]
    return [item for item in items if item.value.startswith(incomplete)]


def _toolset(context: click.Context) -> Toolset:
    """Return the tools of SPEC, from the cache if it is a URL."""
    spec = context.params.get("spec")
    return shared.load(shared.source_of(None if spec == "-" else spec), stale=True)


def _arguments(context: click.Context, incomplete: str) -> Iterator[Any]:
    schema = shared.tool_of(_toolset(context), str(context.params["tool"])).input_schema
    given = {pair.partition("=")[0].rstrip(":") for pair in context.params["arguments"] or ()}
    name, equals, _ = incomplete.partition("=")
    for argument, entry in schema.get("properties", {}).items():
        if not equals and argument not in given:
            need = "required. " if argument in schema.get("required", ()) else ""
            words = follow_references(schema, entry).get("description", "")
            yield CompletionItem(f"{argument}=", help=f"{need}{words}")
        elif equals and argument == name:
            is_flag = follow_references(schema, entry).get("type") == "boolean"
            values = ["true", "false"] if is_flag else values_of(entry, schema)
            yield from (f"{argument}={value}" for value in values)


def _apis(context: click.Context) -> tuple[list[str], list[str]]:
    """Return the names of a server's APIs, and of its static tokens."""
    from openapi_tools.serving.serving_tables import read_serving  # which other words do not need

    serving = read_serving(context.params.get("spec") or shared.given_config() or "")
    auth = serving.serve.auth
    return [*serving.files, *serving.faults], [*(auth.tokens if auth is not None else ())]


VALUES: dict[str, Callable[[click.Context, str], Iterable[Any]]] = {
    **dict.fromkeys(
        ("spec", "old", "new"), lambda _, incomplete: [CompletionItem(incomplete, type="file")]
    ),
    **dict.fromkeys(
        ("tool", "names"),
        lambda context, _: (CompletionItem(t.name, help=summary_of(t)) for t in _toolset(context)),
    ),
    "arguments": _arguments,
    "tags": lambda context, _: dict.fromkeys(t for tool in _toolset(context) for t in tool.tags),
    "methods": lambda context, incomplete: (
        method.lower() if incomplete.islower() else method
        for method in sorted({tool.method for tool in _toolset(context)})
    ),
    "api": lambda context, _: _apis(context)[0],
    "as_user": lambda context, _: _apis(context)[1],
    "credentials": lambda context, _: (f"{name}=" for name in _toolset(context).security_schemes),
    "others": lambda *_: (f"{name}=" for name in sorted(setting_names())),
}
"""How a parameter is completed, by its name in every command."""
