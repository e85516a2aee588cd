"""Why an input that fits its schema may still be refused: what no request can carry.

Each reason is worked out from the arguments alone, so that an error result without one is a fault.
"""

import re
from urllib.parse import unquote

from wire_bodies import whole
from wire_values import ABSENT, keys_in, leaves, text_of, without_empty

_HEADER = re.compile(r"(?:[!-~\xa0-\xff](?:[\t !-~\xa0-\xff]*[!-~\xa0-\xff])?)?")
_COOKIE = re.compile(r"(?:[!-:<-~](?:[ -:<-~]*[!-:<-~])?)?")
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+(?:\s*;.*)?")
_CONTROL = re.compile(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f]")
_CHARSETS = {"us-ascii": "ascii", "iso-8859-1": "latin-1"}
_VARIABLE = re.compile(r"\{([^{}]*)\}")


def reasons(operation, arguments):
    """Yield every reason to refuse a call."""
    for parameter in operation.parameters:
        if parameter.argument in arguments:
            yield from _of_parameter(parameter, arguments[parameter.argument])
    yield from _of_path(operation, arguments)
    if operation.body is not None:
        yield from _of_body(operation.body, arguments)


def _of_parameter(parameter, value):
    if parameter.media_type and "json" not in parameter.media_type:
        if isinstance(value, list | dict) and "form-urlencoded" not in parameter.media_type:
            yield "an array or object as text"
        if value is None and parameter.location != "querystring":
            yield "null as text"
    sent = without_empty(value)
    texts = [] if sent is ABSENT or "json" in parameter.media_type else list(leaves(sent))
    match parameter.location:
        case "header":
            if not _NAME.fullmatch(parameter.name):
                yield "a name that no header can have"
            line = ",".join(texts)
            if not all(map(_HEADER.fullmatch, [line, *texts[:1], *texts[-1:]])):
                yield "text that no header can carry"
        case "cookie":
            names = [parameter.name, *(value if isinstance(value, dict) else ())]
            if not all(map(_NAME.fullmatch, names)):
                yield "a name that no cookie can have"
            if parameter.style == "cookie" and not all(map(_COOKIE.fullmatch, texts)):
                yield "text that no cookie can carry"


def _of_path(operation, arguments):
    """Yield what would make the path another one: gaps, and `.` or `..` however encoded."""
    template = operation.path.partition("#")[0].partition("?")[0]
    values = {}
    for parameter in operation.parameters:
        if parameter.location == "path":
            value = arguments.get(parameter.argument)
            if value is None:
                yield "null in a path"
            values[parameter.name] = _path_text(parameter, value)
            if any(_has_dots(text) for text in leaves(value)):
                yield "a step to another path"
    if _has_dots(_VARIABLE.sub(lambda match: values.get(match[1], ""), template)):
        yield "a step to another path"
    names = _VARIABLE.findall(template)
    at_end = bool(names) and template.endswith("/{" + names[-1] + "}")
    if any(not values.get(name) for name in (names[:-1] if at_end else names)):
        yield "a gap in the path"


def _path_text(parameter, value):
    if without_empty(value) is ABSENT:
        return ""
    joint = "." if parameter.style == "label" and (parameter.explode or parameter.printed) else ","
    prefix = {"label": ".", "matrix": f";{parameter.name}="}.get(parameter.style, "")
    texts = list(leaves(without_empty(value)))
    if isinstance(value, dict) and parameter.explode:
        texts = [f"{name}={text}" for name, text in zip(texts[::2], texts[1::2], strict=True)]
    return prefix + joint.join(texts)


def _has_dots(text):
    for _ in range(9):
        for segment in re.split(r"[/\\]", text):
            bare = re.sub(r"[\x00-\x20\x7f]", "", re.split(r"[;?#]", segment)[0])
            if bare in (".", ".."):
                return True
        text = unquote(text)
    return False


def _of_body(body, arguments):
    value = whole(body, arguments)
    kind = body.media_type.lower()
    for header in (header for encoding in body.encodings for header in encoding.headers):
        if header.argument in arguments:
            yield from _of_parameter(header, arguments[header.argument])
    if value is ABSENT:
        return
    if not _MEDIA_TYPE.fullmatch(kind):
        yield "no media type in the document"
    if body.file:
        yield from _of_file(value)
    elif re.match(r"multipart/|application/x-www-form", kind):
        yield from _of_properties(body, value, multipart=kind.startswith("multipart/"))
    elif not re.search(r"json|\*", kind):
        if value is None or isinstance(value, list | dict):
            yield "no text"
        yield from _of_charset(kind, value)


def _of_charset(kind, value):
    match = re.search(r'charset="?([\w-]+)', kind)
    try:
        text_of(value).encode(_CHARSETS.get(match[1] if match else "", "utf-8"))
    except UnicodeEncodeError:
        yield "characters that the charset does not have"


def _of_properties(body, value, *, multipart):
    if not isinstance(value, dict):
        if isinstance(value, list) or value is None or multipart:
            yield "a form or multipart body that is no object"
        return
    encodings = {encoding.name: encoding for encoding in body.encodings}
    styled = {encoding.name for encoding in body.encodings if encoding.style}
    names = [*value, *(key for name in styled & value.keys() for key in keys_in(value[name]))]
    if multipart and any(map(_CONTROL.search, names)):
        yield "control characters in the name of a part"
    for name, property_value in value.items():
        encoding = encodings.get(name)
        if encoding is None:
            continue
        kind = encoding.content_type
        for item in property_value if isinstance(property_value, list) else [property_value]:
            if encoding.file and item is not None:
                yield from _of_file(item)
            elif kind and not re.search(r"json|\*", kind) and not encoding.style:
                if isinstance(item, list | dict):
                    yield "an array or object as text"
                yield from _of_charset(kind, item)


def _of_file(value):
    if not isinstance(value, dict):
        yield "no file"
        return
    if "base64" in value and not re.fullmatch(
        r"(?:[A-Za-z0-9+/]*|[A-Za-z0-9_-]*)=*", value["base64"]
    ):
        yield "no base64"
    if len(value.get("base64", "").rstrip("=")) % 4 == 1:
        yield "no base64"
    if not _MEDIA_TYPE.fullmatch(value.get("content_type", "a/b")) or "*" in value.get(
        "content_type", ""
    ):
        yield "no media type"
    if "content_type" in value:
        yield "perhaps a media type that the document does not list"
    if re.search(r"[\x00-\x1f\x7f]", value.get("filename", "")):
        yield "control characters in the name of a file"
