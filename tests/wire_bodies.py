"""Bodies on the wire, read back by nothing of the package.

Spec: OpenAPI 3.2.0, sections 4.13 to 4.15; RFC 2046, section 5.1; RFC 7464; RFC 7578.
"""

from __future__ import annotations

import base64
import json
import re
from typing import NamedTuple
from urllib.parse import unquote_plus

from wire_values import (
    ABSENT,
    Place,
    losses,
    matches,
    read,
    read_deep,
    read_items,
    same_json,
    without_empty,
)

from openapi_tools.model import Encoding, Parameter

_FORM = Place(unquote_plus, space="+")
_PART = Place(str, is_raw=True)
_ESCAPED = re.compile(r"%(?:0D|0A|22)")


class Part(NamedTuple):
    """A part of a multipart body."""

    name: str
    filename: str
    headers: dict[str, str]
    content: bytes


def whole(body, arguments):
    if body.argument:
        return arguments.get(body.argument, ABSENT)
    values = {p.name: arguments[p.argument] for p in body.properties if p.argument in arguments}
    return values if values or body.required else ABSENT


def faults(body, arguments, recorded):
    value = whole(body, arguments)
    kind = recorded.header("content-type") or ""
    if value is ABSENT:
        if recorded.body or kind:
            yield f"a body that was not given: {kind} {recorded.body!r:.80}"
        return
    if body.file:
        if recorded.body != content_of(value):
            yield f"file {recorded.body!r:.100}"
        return
    if "*" not in body.media_type and _essence(kind) != _essence(body.media_type):
        yield f"Content-Type {kind}"
    elif _essence(kind).startswith("multipart/"):
        yield from _multipart_faults(body, arguments, value, parts(kind, recorded.body))
    else:
        yield from _content_faults(body, value, kind, recorded.body)


def _content_faults(body, value, kind, data):
    essence = _essence(kind)
    if _is_json(essence):
        if not same_json(json.loads(data), value):
            yield f"JSON {data!r:.200}"
    elif essence == "application/x-www-form-urlencoded":
        yield from _form_faults(body, value, data.decode())
    elif "json" in essence:
        yield from _sequence_faults(value, data, b"\x1e" if "seq" in essence else b"")
    else:
        charset = re.search(r"charset=\"?([\w-]+)", kind)
        text = data.decode(charset[1] if charset else "utf-8")
        if not matches(text, value):
            yield f"text {text!r:.200}"


def _essence(media_type):
    return media_type.partition(";")[0].strip().lower()


def _is_json(essence):
    return essence in ("application/json", "text/json") or essence.endswith("+json")


def _sequence_faults(value, data, before):
    if isinstance(value, str):
        if data != value.encode():
            yield f"lines {data!r:.200}"
        return
    lines = data.split(b"\n")
    items = value if isinstance(value, list) else [value]
    if (
        lines.pop() != b""
        or not all(line.startswith(before) for line in lines)
        or not same_json([json.loads(line.removeprefix(before)) for line in lines], items)
    ):
        yield f"sequence {data!r:.200}"


def content_of(file):
    if "text" in file:
        return file["text"].encode()
    text = file["base64"].rstrip("=").translate(str.maketrans("-_", "+/"))
    return base64.b64decode(text + "=" * (-len(text) % 4))


def _form_faults(body, value, text):
    if not isinstance(value, dict):
        if not matches(text, value):
            yield f"form {text!r:.200}"
        return
    pairs = [pair.partition("=") for pair in text.split("&")] if text else []
    form_pairs = [(unquote_plus(name), raw) for name, _, raw in pairs]
    yield from _property_faults(body, value, form_pairs, _FORM)


def _property_faults(body, value, pairs, place):
    encodings = {encoding.name: encoding for encoding in body.encodings}
    if _shares_names(encodings, value):
        yield "~members that share a name"
        return
    claimed = 0
    for name, property_value in value.items():
        encoding = encodings.get(name) or Encoding(name)
        if encoding.style:
            parameter = parameter_of(encoding)
            lost = list(losses(parameter, property_value, place))
            wire, count = take(parameter, property_value, pairs, place)
            claimed += count
            want = without_empty(property_value, deep=encoding.style == "deepObject")
            if lost:
                yield f"~{lost[0]}"
            elif not matches(wire, want):
                yield f"{name}: {wire!r:.200} for {want!r:.200}"
        else:
            texts = [place.decode(text) for pair_name, text in pairs if pair_name == name]
            claimed += len(texts)
            yield from _plain_faults(encoding, property_value, texts)
    if claimed != len(pairs):
        yield f"pairs beyond the arguments: {pairs!r:.200}"


def items_of(value):
    return [i for i in (value if isinstance(value, list) else [value]) if i is not None]


def _shares_names(encodings, value):
    """Return whether properties that an exploded object spreads may be named like others."""
    exploded = {
        e.name for e in encodings.values() if e.explode and e.style not in ("", "deepObject")
    }
    spread = [m for name, m in value.items() if name in exploded and isinstance(m, dict)]
    return len(spread) > 1 or any(property_value.keys() & value.keys() for property_value in spread)


def parameter_of(encoding):
    return Parameter(
        encoding.name,
        "query",
        style=encoding.style,
        explode=encoding.explode,
        allow_reserved=encoding.allow_reserved,
        inner=encoding.inner,
    )


def take(parameter, hint, pairs, place):
    """Read a parameter from pairs of decoded name and raw value; return how many belong to it."""
    name = parameter.name
    if parameter.style == "deepObject" and not parameter.media_type:
        deep = [
            (key[len(name) :], place.decode(raw))
            for key, raw in pairs
            if key == name or key.startswith(f"{name}[")
        ]
        return (read_deep(deep, hint) if deep else ABSENT), len(deep)
    if isinstance(hint, dict) and parameter.explode and not parameter.media_type:
        values = {key: place.decode(raw) for key, raw in pairs if key in hint}
        return values or ABSENT, sum(key in hint for key, _ in pairs)
    raws = [raw for key, raw in pairs if key == name]
    if not raws:
        return ABSENT, 0
    if isinstance(hint, list) and parameter.explode and not parameter.media_type:
        items = [item for item in hint if item is not None]
        return read_items(parameter, raws, items, place), len(raws)
    if len(raws) > 1:
        return raws, len(raws)
    expected_items = [item for item in hint if item is not None] if isinstance(hint, list) else hint
    return read(parameter, raws[0], expected_items, place), 1


def _plain_faults(encoding, property_value, texts):
    items = items_of(property_value)
    if len(items) != len(texts):
        yield f"{encoding.name}: {len(texts)} times for {items!r:.200}"
        return
    for item, text in zip(items, texts, strict=True):
        if encoding.file and not isinstance(item, str):
            right = base64.b64decode(text) == content_of(item)
        elif _is_json(_essence(encoding.content_type)):
            right = same_json(json.loads(text), item)
        else:
            right = matches(text, item)
        if not right:
            yield f"{encoding.name}: {text!r:.200} for {item!r:.200}"


def parts(content_type, data):
    match = re.search(r'boundary="?([^";]+)', content_type)
    assert match, f"no boundary in {content_type}"
    boundary = b"--" + match[1].encode()
    first, *pieces, last = (b"\r\n" + data).split(b"\r\n" + boundary)
    assert (first, last) == (b"", b"--\r\n"), "not closed by its boundary"
    return [_part(piece) for piece in pieces]


def _part(piece):
    head, _, content = piece.removeprefix(b"\r\n").partition(b"\r\n\r\n")
    lines = [line.partition(b":") for line in head.split(b"\r\n")]
    headers = {
        name.decode().lower(): value.decode(_charset_of(name)).strip() for name, _, value in lines
    }
    disposition = headers.get("content-disposition", "")
    parameters = dict(re.findall(r'; (name|filename)="([^"]*)"', disposition))
    return Part(
        _unescape(parameters.get("name", "")),
        _unescape(parameters.get("filename", "")),
        headers,
        content,
    )


def _charset_of(name):
    """Return in what a header of a part is written: names are UTF-8 (RFC 7578, section 5.1)."""
    return "utf-8" if name.lower() == b"content-disposition" else "latin-1"


def _unescape(name):
    return name.replace("%0D", "\r").replace("%0A", "\n").replace("%22", '"')


def _multipart_faults(body, arguments, value, sent_parts):
    if isinstance(value, list):
        if len(sent_parts) != len(value) or not all(
            matches(part.content.decode(), item)
            for part, item in zip(sent_parts, value, strict=True)
        ):
            yield f"parts {sent_parts!r:.200}"
        return
    if any(_ESCAPED.search(name) for name in value):
        yield "~%22 inside the name of a part"
        return
    encodings = {encoding.name: encoding for encoding in body.encodings}
    if _shares_names(encodings, value):
        yield "~members that share a name"
        return
    plain = {n: m for n, m in value.items() if not (n in encodings and encodings[n].style)}
    for name, property_value in plain.items():
        named_parts = [part for part in sent_parts if part.name == name]
        encoding = encodings.get(name) or encodings.get("*") or Encoding(name)
        yield from _part_faults(encoding, property_value, named_parts, arguments)
    pairs = [(part.name, part.content.decode()) for part in sent_parts if part.name not in plain]
    yield from _property_faults(
        body, {name: value[name] for name in value.keys() - plain.keys()}, pairs, _PART
    )


def _part_faults(encoding, property_value, named_parts, arguments):
    items = items_of(property_value)
    if len(items) != len(named_parts):
        yield f"{encoding.name}: {len(named_parts)} parts for {items!r:.200}"
        return
    for item, part in zip(items, named_parts, strict=True):
        if encoding.file and not isinstance(item, str):
            if part.content != content_of(item):
                yield f"{encoding.name}: {part.content!r:.100} for {item!r:.100}"
            want = item.get("filename", part.filename)
            if part.filename != want and not _ESCAPED.search(want):
                yield f"{encoding.name}: called {part.filename!r}"
            kind = item.get("content_type")
            if kind is not None and part.headers.get("content-type") != kind:
                yield f"{encoding.name}: {part.headers}"
        else:
            yield from _plain_faults(encoding, [item], [part.content.decode()])
        for header in encoding.headers:
            if header.argument in arguments and not list(
                losses(header, arguments[header.argument], _PART)
            ):
                raw = part.headers.get(header.name.lower())
                want = without_empty(arguments[header.argument])
                wire = ABSENT if raw is None else read(header, raw, want, _PART)
                if not matches(wire, want):
                    yield f"{encoding.name}: header {header.name} {raw!r}"
