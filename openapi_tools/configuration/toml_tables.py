"""Tables of a TOML file, with the lines of their keys for messages; nothing is validated here."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from openapi_tools.errors import SettingsError

if TYPE_CHECKING:
    import os

Lines = dict[tuple[str, ...], int]
"""Line numbers of keys in a file, from 1."""

_PROJECT = ("tool", "openapi-tools")
_MOST_BYTES = 1_000_000
# `tomllib` gives no positions of keys, so lines are found by these patterns; they are for
# messages only.
_HEADER = re.compile(r"\s*+\[{1,2}+(?P<keys>[^\]]++)\]{1,2}+\s*+(?:#.*)?$")
_ONE = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_PAIR = re.compile(rf"\s*(?P<keys>{_ONE}(?:\s*\.\s*{_ONE})*)\s*=")
_KEY = re.compile(_ONE)


def has_apis(path: str | os.PathLike[str]) -> bool:
    """Return whether a file configures a server.

    Raises:
        SettingsError: The file cannot be read.
    """
    return not {"apis", "serve"}.isdisjoint(read_tables(Path(path))[0])


def read_tables(path: Path) -> tuple[dict[str, Any], Lines]:
    """Return the tables of a TOML file, and the lines of their keys.

    Raises:
        SettingsError: The file cannot be read, or is not TOML.
    """
    text = _read_text(path)
    data: Any = _parse_toml(text, path)
    lines = find_key_lines(text)
    if path.name == "pyproject.toml":
        for key in _PROJECT:
            data = data.get(key) if isinstance(data, dict) else None
        if not isinstance(data, dict):
            raise SettingsError(f"{path}: the file has no table [{'.'.join(_PROJECT)}].")
        lines = {keys[2:]: number for keys, number in lines.items() if keys[:2] == _PROJECT}
        # Of the same table, but for `openapi-tools generate`, which reads it itself.
        data.pop("generate", None)
    return data, lines


def _read_text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        if len(data) > _MOST_BYTES:
            raise SettingsError(f"{path}: larger than {_MOST_BYTES} bytes.")
        return data.decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}).") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: this is not UTF-8 text.") from None


def _parse_toml(text: str, path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        line = re.search(r"at line (\d+)", str(error))
        place = f"{path}:{line[1]}" if line else path
        raise SettingsError(f"{place}: this is not TOML: {error!s:.200}.") from None


def locate_message(name: str, lines: Lines, place: tuple[str, ...], reason: str) -> str:
    """Return a message with the file, the line and the keys of a fault."""
    numbers = (lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in lines)
    line = next(numbers, 0)
    keys = ".".join(key if re.fullmatch(r"[\w-]+", key) else json.dumps(key) for key in place)
    return f"{name}{f':{line}' if line else ''}: {f'{keys}: ' if keys else ''}{reason}"


def find_key_lines(text: str) -> Lines:
    """Return the line of each key of a TOML text, if the key begins its line."""
    numbers: Lines = {}
    table: tuple[str, ...] = ()
    quotes = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if not quotes:
            if header := _HEADER.match(line):
                table = _split_keys(header["keys"])
                numbers.setdefault(table, number)
            elif pair := _PAIR.match(line):
                numbers.setdefault((*table, *_split_keys(pair["keys"])), number)
        for mark in re.findall(r"\"\"\"|'''", line):  # of a text of several lines
            quotes = "" if mark == quotes else quotes or mark
    return numbers


def _split_keys(text: str) -> tuple[str, ...]:
    return tuple(key.strip("\"'") for key in _KEY.findall(text))
