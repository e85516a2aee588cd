"""`name=value` on a command line -> arguments of a tool."""

from __future__ import annotations

import difflib
import json
from typing import Any

import click

from openapi_tools.cli.spec_argument import read_stdin
from openapi_tools.json_pointer import unescape
from openapi_tools.validation.tool_input import Checker

_JSON_TYPES = {"integer", "number", "boolean", "object", "null"}


def read_arguments(pairs: tuple[str, ...], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments that `name=value` pairs stand for, read by the input schema.

    Text where the schema wants text; JSON where it wants a number, a boolean, an object or an
    array; an array also from several pairs of one name. Where it allows several types, JSON unless
    the text alone fits.

    Raises:
        click.UsageError: No `=`, an unknown name, a name given twice, or no JSON.
    """
    properties = schema.get("properties", {})
    given: dict[str, list[str]] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            message = f"{pair!r:.100} is no name=value."
            raise click.UsageError(message)
        if name not in properties:
            raise click.UsageError(_unknown(name, list(properties)))
        given.setdefault(name, []).append(text)
    return {name: _read(name, texts, properties[name], schema) for name, texts in given.items()}


def read_json_argument(text: str) -> dict[str, Any]:
    """Return the object that `--json` gives: itself, `@file`, or `-` for standard input.

    Raises:
        click.UsageError: It cannot be read, or is no JSON object.
    """
    try:
        if text == "-":
            text = read_stdin().decode()
        elif text.startswith("@"):
            with open(text[1:], encoding="utf-8") as file:  # noqa: PTH123 -- as the user wrote it
                text = file.read()
        value = json.loads(text)
    except OSError as error:
        message = f"--json: {text[1:]!r}: {error.strerror}."
        raise click.UsageError(message) from None
    except (ValueError, RecursionError) as error:
        message = f"--json is no JSON: {error}."
        raise click.UsageError(message) from None
    if not isinstance(value, dict):
        message = f"--json must be an object, not {type(value).__name__}."
        raise click.UsageError(message)
    return value


def _unknown(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"no argument is named {name!r:.100}; did you mean {' or '.join(close)}?"
    return f"no argument is named {name!r:.100}; there are {', '.join(known) or 'none'}."


def _read(name: str, texts: list[str], schema: Any, root: dict[str, Any]) -> Any:
    """Return one argument's value."""
    types = _types(schema, root)
    if types == {"array"} or (types is not None and types == {"array", "null"}):
        return _read_array(name, texts, resolved(schema, root), root)
    if len(texts) > 1:
        if types is None or "array" in types:
            return [_loose(text, {}, root) for text in texts]
        message = f"{name} is given {len(texts)} times, but is no array."
        raise click.UsageError(message)
    text = texts[0]
    if types is None or len(types) > 1:
        return _loose(text, schema, root)
    return text if types == {"string"} else _json(name, text, next(iter(types)))


def _read_array(name: str, texts: list[str], schema: Any, root: dict[str, Any]) -> Any:
    """Return an array: one text of JSON, or an item for each text."""
    if len(texts) == 1:
        value = _loose(texts[0], schema, root)
        if isinstance(value, list) or value is None:
            return value
    items = schema.get("items", {})
    return [_read(name, [text], items, root) for text in texts]


def _json(name: str, text: str, kind: str) -> Any:
    """Return text that has to be JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        message = f"{name}: {text!r:.100} is no JSON, but {kind} is expected."
        raise click.UsageError(message) from None


def _loose(text: str, schema: Any, root: dict[str, Any]) -> Any:
    """Return a text of several allowed types as JSON, or as it is if only that fits."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    checker = Checker({"properties": {"value": schema}, "$defs": root.get("$defs", {})})
    only_text = checker.fits({"value": text}) and not checker.fits({"value": value})
    return text if only_text else value


def resolved(schema: Any, root: dict[str, Any]) -> dict[str, Any]:
    """Return a schema without a `$ref` at its root; an input schema's lead into `$defs`."""
    for _ in range(16):
        reference = schema.get("$ref") if isinstance(schema, dict) else None
        if not isinstance(reference, str) or not reference.startswith("#/$defs/"):
            break
        name = unescape(reference.removeprefix("#/$defs/"))
        schema = root.get("$defs", {}).get(name, {})
    return schema if isinstance(schema, dict) else {}


def _types(schema: Any, root: dict[str, Any]) -> set[str] | None:
    """Return the types that a schema allows, None when it does not say."""
    schema = resolved(schema, root)
    kind = schema.get("type")
    if isinstance(kind, str):
        return {kind} if kind in {*_JSON_TYPES, "string", "array"} else None
    if isinstance(kind, list):
        return set(kind)
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    if isinstance(values, list) and all(isinstance(value, str) for value in values):
        return {"string"}
    return None
