"""A whole request on the wire, compared with the arguments that it came from."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, unquote_plus

import wire_bodies
from wire_bodies import take
from wire_values import (
    ABSENT,
    Place,
    leaves,
    losses,
    matches,
    read,
    read_items,
    read_properties,
    without_empty,
)

_PATH = Place(unquote)
_QUERY = Place(unquote_plus)
_COOKIE = Place(unquote)
_RAW = Place(str, is_raw=True)
_MESSAGE = {
    *("host", "accept", "accept-encoding", "connection", "user-agent", "cookie"),
    *("content-type", "content-length"),
}
_VARIABLE = re.compile(r"\{([^{}]*)\}")


class Comparison(NamedTuple):
    """What a comparison found."""

    faults: list[str]
    untold: list[str]
    compared: int


def compare(operation, arguments, recorded, base):
    faults = list(_faults(operation, arguments, recorded, base))
    untold = [fault for fault in faults if fault.startswith("~")]
    return Comparison(
        [fault for fault in faults if not fault.startswith("~")],
        untold,
        len(arguments) - len(untold),
    )


def _faults(operation, arguments, recorded, base):
    if recorded.method != operation.method:
        yield f"method {recorded.method}"
    path, _, query = recorded.target.partition("?")
    template, _, fixed_query = operation.path.partition("#")[0].partition("?")
    yield from _path_faults(operation, arguments, (base + template, path))
    fixed_count = fixed_query.count("&") + 1 if fixed_query else 0
    pieces = query.split("&") if query else []
    yield from _path_faults(operation, arguments, (fixed_query, "&".join(pieces[:fixed_count])))
    yield from _query_faults(operation, arguments, pieces[fixed_count:])
    yield from _header_faults(operation, arguments, recorded)
    yield from _cookie_faults(operation, arguments, recorded.header("cookie") or "")
    if operation.body is not None:
        yield from wire_bodies.faults(operation.body, arguments, recorded)
    elif recorded.body:
        yield f"a body {recorded.body!r:.100}"


def _parameters_at(operation, arguments, location):
    return [p for p in operation.parameters if p.location == location and p.argument in arguments]


def _path_faults(operation, arguments, pair):
    template, path = pair
    pieces = _VARIABLE.split(template)
    parameters = {p.name: p for p in _parameters_at(operation, arguments, "path")}
    readings = list(_readings(pieces, path))
    if not readings:
        yield f"path {path} for {template}"
    elif not any(
        all(_path_says(parameters.get(name), arguments, raw) for name, raw in reading)
        for reading in readings
    ):
        lost = [
            loss for p in parameters.values() for loss in losses(p, arguments[p.argument], _PATH)
        ]
        yield f"~{lost[0]}" if lost else f"path {path} for {template} of {arguments}"


def _readings(pieces, text):
    literal = _literal(pieces[0]).match(text)
    if literal is None:
        return
    text = text[literal.end() :]
    if len(pieces) == 1:
        if not text:
            yield []
        return
    longest = len(text.partition("/")[0])
    for end in range(longest, -1, -1):
        for reading in _readings(pieces[2:], text[end:]):
            yield [(pieces[1], text[:end]), *reading]


def _literal(text):
    characters = (f"(?:{re.escape(c)}|{re.escape(quote(c, safe=''))})" for c in text)
    return re.compile("".join(characters))


def _path_says(parameter, arguments, raw):
    if parameter is None:
        return False
    want = without_empty(arguments[parameter.argument])
    if want is ABSENT:
        return not raw
    return matches(_read_path(parameter, raw, want), want)


def _read_path(parameter, raw, hint):
    if parameter.style == "label":
        return _label(parameter, raw[1:], hint) if raw.startswith(".") else ABSENT
    if parameter.style == "matrix":
        return _matrix(parameter, raw[1:], hint) if raw.startswith(";") else ABSENT
    if isinstance(hint, dict) and parameter.explode and not parameter.media_type:
        return read_properties(raw.split(","), _PATH)
    return read(parameter, raw, hint, _PATH)


def _label(parameter, raw, hint):
    if parameter.explode and isinstance(hint, list):
        return read_items(parameter, raw.split("."), hint, _PATH)
    if parameter.explode and isinstance(hint, dict):
        return read_properties(raw.split("."), _PATH)
    return read(parameter, raw, hint, _PATH)


def _matrix(parameter, raw, hint):
    pairs = [piece.partition("=") for piece in raw.split(";")]
    items = [(unquote(name), text) for name, _, text in pairs]
    return take(parameter, hint, items, _PATH)[0]


def _query_faults(operation, arguments, pieces):
    for parameter in _parameters_at(operation, arguments, "querystring"):
        yield from _querystring_faults(parameter, arguments[parameter.argument], "&".join(pieces))
        return
    pairs = [(unquote_plus(name), raw) for name, _, raw in (p.partition("=") for p in pieces)]
    listed = _parameters_at(operation, arguments, "query")
    names = [p.name for p in listed]
    claimed, ambiguous = 0, False
    for parameter in listed:
        value = arguments[parameter.argument]
        lost = list(losses(parameter, value, _QUERY))
        if _shares_names(parameter, value, listed, names, arguments):
            lost.append("an exploded object's member is named like another parameter")
            ambiguous = True
        wire, count = take(parameter, value, pairs, _QUERY)
        claimed += count
        want = without_empty(
            value, deep=parameter.style == "deepObject" and not parameter.media_type
        )
        if parameter.media_type and value is None:
            want = ABSENT
        elif parameter.media_type:
            want = value
        yield from _disagreements(parameter, wire, want, lost)
    if claimed != len(pairs) and not ambiguous:
        yield f"pairs beyond the arguments: {pairs!r:.300}"


def _disagreements(parameter, wire, want, lost):
    if lost:
        yield f"~{lost[0]}"
    elif not _content_says(parameter, wire, want):
        yield f"{parameter.location} {parameter.name}: {wire!r:.200} for {want!r:.200}"


def _content_says(parameter, wire, want):
    if "json" in parameter.media_type and isinstance(want, str) and isinstance(wire, str):
        return wire.startswith('"') and matches(f"[{wire}]", [want])
    return matches(wire, want)


def _shares_names(parameter, value, listed, names, arguments):
    """Return whether the names that a parameter writes are also written by another one."""
    if parameter.media_type:
        return False
    parameter_name = parameter.name
    if parameter.style == "deepObject":
        return any(name.startswith(f"{parameter_name}[") for name in names)
    spread = [
        p
        for p in listed
        if isinstance(arguments[p.argument], dict)
        and p.explode
        and p.style != "deepObject"
        and not p.media_type
    ]
    written = [key for p in spread for key in arguments[p.argument]]
    if parameter in spread:
        return len(set(written)) < len(written) or bool(
            {*names, ""} & {k.partition("[")[0] for k in value}
        )
    return parameter_name in written


def _querystring_faults(parameter, value, query):
    want = without_empty(value)
    if "form-urlencoded" in parameter.media_type and isinstance(want, dict):
        pairs = parse_qsl(query, keep_blank_values=True)
        wire: Any = {}
        for name, text in pairs:
            wire.setdefault(name, []).append(text)
        flat = {
            name: [item for item in property_value if item is not None]
            if isinstance(property_value, list)
            else [property_value]
            for name, property_value in want.items()
        }
        if not matches(wire, {name: items for name, items in flat.items() if items}):
            yield f"query {query!r:.200} for {value!r:.200}"
    elif not _content_says(parameter, unquote(query) if query else ABSENT, want):
        yield f"query {query!r:.200} for {value!r:.200}"


def _header_faults(operation, arguments, recorded):
    listed = _parameters_at(operation, arguments, "header")
    sent = {name.lower() for name, _ in recorded.headers}
    for extra in sent - _MESSAGE - {p.name.lower() for p in listed}:
        yield f"a header that was not given: {extra}"
    for parameter in listed:
        value = arguments[parameter.argument]
        lost = list(losses(parameter, value, _RAW))
        want = (
            without_empty(value)
            if not parameter.media_type
            else (ABSENT if value is None else value)
        )
        raw = recorded.header(parameter.name)
        if raw is None or lost:
            wire: Any = ABSENT
        elif isinstance(want, dict) and parameter.explode and not parameter.media_type:
            wire = read_properties(raw.split(","), _RAW)
        else:
            wire = read(parameter, raw, want, _RAW)
        yield from _disagreements(parameter, wire, want, lost)


def _cookie_faults(operation, arguments, header):
    listed = _parameters_at(operation, arguments, "cookie")
    raw_names = {p.name for p in listed if p.style == "cookie"}
    pairs = []
    for piece in header.split("; ") if header else []:
        whole = raw_names or piece.partition("=")[0] in raw_names
        for pair in [piece] if whole else piece.split("&"):
            name, _, raw = pair.partition("=")
            pairs.append((name if whole else unquote(name), raw))
    claimed, ambiguous = 0, False
    for parameter in listed:
        value = arguments[parameter.argument]
        place = _RAW if parameter.style == "cookie" else _COOKIE
        wire, count = take(parameter, value, pairs, place)
        claimed += count
        want = without_empty(value)
        lost = list(losses(parameter, value, place))
        if parameter.allow_reserved and any("&" in text for text in leaves(value)):
            lost.append("allowReserved sends & as it is in a cookie")
        ambiguous = ambiguous or bool(lost)
        yield from _disagreements(parameter, wire, want, lost)
    if claimed != len(pairs) and not ambiguous:
        yield f"cookies beyond the arguments: {header!r:.200}"
