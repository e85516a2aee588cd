"""A document's version, its Server Objects, and objects of Swagger 2.0 as OpenAPI 3 has them.

`Dialect` holds the few differences between versions of OpenAPI 3. Objects of Swagger 2.0 are
converted on demand; schemas stay in place.

Spec: Swagger 2.0; OpenAPI 3.0.4; 3.1.2, sections 4.8.27 and 4.8.30; 3.2.0, sections 4.6 and 4.8.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from openapi_tools.common.http_rules import WEB_URL
from openapi_tools.common.json_values import Node, as_dict, as_list, as_string, is_true
from openapi_tools.common.visible_text import fold_name, mask_user, url_user
from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.type_names import main_type
from openapi_tools.model import Server, ServerVariable

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
OF_BODY = frozenset({"body", "formData"})  # locations of Swagger 2.0 that make the body
SUPPORTED = "Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2"
# Other documents, by a property that they have.
_OTHER_FORMATS = {
    "overlay": "an overlay, which is passed along with the document (--overlay, overlays=[…])",
    "arazzo": "an Arazzo description",
    "asyncapi": "an AsyncAPI document",
    "swaggerVersion": "a Swagger 1 document, which must be converted to OpenAPI",
    "item": "a Postman collection, which has to be exported as OpenAPI",
    "$schema": "a JSON Schema",
    "discoveryVersion": "a Google API Discovery document",
    "log": "an HTTP archive (HAR)",
    "data": "a response of an API, not its description",
}

# Possessive quantifiers: a hostile version costs no more than its length.
_VERSION = re.compile(r"3\.([012])(?:\.(\d++)\S*+)?")
_NOT_OF_SCHEMA = frozenset({"name", "in", "required", "description", "collectionFormat", "schema"})
_PARAMETER_KEYS = frozenset(
    {"name", "in", "required", "description", "deprecated", "schema", "content", "style", "explode"}
    | {"allowReserved", "allowEmptyValue", "example", "examples"}
)
# Keywords that a parameter of Swagger 2.0 has, and one of OpenAPI 3 has in its schema.
_SPREAD_KEYWORDS = frozenset(
    {"type", "format", "items", "enum", "default", "collectionFormat", "pattern", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"}
    | {"minLength", "maxLength", "minItems", "maxItems"}
)

_LOCATIONS = {
    "path": "path",
    "query": "query",
    "header": "header",
    "headers": "header",
    "cookie": "cookie",
    "cookies": "cookie",
    "body": "body",
    "querystring": "querystring",
    **dict.fromkeys(("formdata", "form"), "formData"),
}
_STANDARD_LOCATIONS = frozenset(_LOCATIONS.values())
_STYLES = {"csv": "", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_DELIMITERS = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|"}
_ANNOTATIONS = ("title", "description", "default", "example", "examples", "deprecated")
_UNIONS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "if"})
# Keywords that may refuse an empty string.
_LIMITS = frozenset({"enum", "const", "pattern", "minLength", "properties", "items"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a document's version decides.

    `printed` is for 3.0.0 to 3.0.3 and 3.1.0, whose tables of styles print delimiters unencoded.
    """

    version: str
    swagger: bool = False
    minor: int = 0
    printed: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The keys of a path item that are operations; `trace` also in 2.0, which has none."""
        return (*METHODS, "query") if self.minor >= 2 else METHODS  # noqa: PLR2004 -- OpenAPI 3.2

    @property
    def leftovers(self) -> tuple[str, ...]:
        """The values of `in` that other versions have; they are read with a warning."""
        return ("cookie",) if self.swagger else ("body", "formData")

    @property
    def locations(self) -> tuple[str, ...]:
        """The values that a parameter's `in` may have."""
        if self.swagger:
            return ("path", "query", "header", "body", "formData")
        newer = ("querystring",) if self.minor >= 2 else ()  # noqa: PLR2004 -- OpenAPI 3.2
        return ("path", "query", "header", "cookie", *newer)

    @property
    def modern(self) -> bool:
        """Whether schemas are JSON Schema 2020-12 (3.1 and later)."""
        return self.minor >= 1


def read_dialect(root: Node, name: str) -> Dialect:
    """Return the version of a document; `InvalidDocument` where it is not supported."""
    if "swagger" in root:
        version = root["swagger"]
        if str(version) in ("2.0", "2"):  # an unquoted 2.0 is a number
            return Dialect("2.0", swagger=True)
        raise _unsupported_version("swagger", version, name)
    if "openapi" not in root:
        kinds = (kind for key, kind in _OTHER_FORMATS.items() if key in root)
        looks = f" and looks like {kind}" if (kind := next(kinds, "")) else ""
        reason = f"it has neither 'openapi' nor 'swagger'{looks}; this package reads {SUPPORTED}."
        raise InvalidDocument(reason, source=name)
    version = root["openapi"]
    match = _VERSION.fullmatch(str(version)) if isinstance(version, str | float) else None
    if match is None:
        raise _unsupported_version("openapi", version, name)
    minor, patch = int(match[1]), int(match[2] or 0)
    # Later tables of styles show the delimiters percent-encoded, as they are sent.
    printed = bool(match[2]) and (minor, patch) in {(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)}
    return Dialect(str(version), minor=minor, printed=printed)


def _unsupported_version(key: str, version: object, name: str) -> InvalidDocument:
    reason = f"{key!r} is {version!r:.60}; this package reads {SUPPORTED}."
    return InvalidDocument(reason, source=name, pointer=f"/{key}")


def standard_location(written: object) -> object:
    """Return a parameter's `in` as the standard writes it; anything else stays."""
    if not isinstance(written, str) or written in _STANDARD_LOCATIONS:
        return written
    return _LOCATIONS.get(fold_name(written), written)


def has_spread_schema(declared: Node) -> bool:
    """Return whether a parameter has its schema spread over it, as in Swagger 2.0."""
    return (
        "schema" not in declared
        and "content" not in declared
        and not _SPREAD_KEYWORDS.isdisjoint(declared)
    )


def convert_parameter(declared: Node, *, swagger: bool) -> Node:
    """Return a parameter (not `body`, not `formData`) as OpenAPI 3 writes it.

    Documents of 3.x, too, may have the parts of Swagger 2.0; a list without `collectionFormat` is
    written there as 3.x says.
    """
    is_spread = "schema" not in declared and (swagger or has_spread_schema(declared))
    if not is_spread and "collectionFormat" not in declared:
        return declared
    converted = {key: declared[key] for key in _PARAMETER_KEYS if key in declared}
    if is_spread:
        converted["schema"] = parameter_schema(declared)
    collection, node = _collection_format(declared), as_dict(converted.get("schema"))
    is_written = swagger or "collectionFormat" in declared
    is_list = main_type(node) == "array" and converted.get("in") in ("path", "query", "header")
    if is_list and is_written and converted.keys().isdisjoint({"style", "explode"}):
        converted["explode"] = collection == "multi"
        if _STYLES.get(collection):
            converted["style"] = _STYLES[collection]
    return converted


def _collection_format(declared: Node) -> str:
    collection = declared.get("collectionFormat")
    return collection if isinstance(collection, str) else "csv"


def inner_delimiters(declared: Node) -> tuple[str, ...]:
    """Return the delimiters of the arrays inside a 2.0 array, outermost first."""
    delimiters = []
    items = declared.get("items")
    while isinstance(items, dict) and main_type(items) == "array":
        delimiters.append(_DELIMITERS.get(_collection_format(items), ","))
        items = items.get("items")
    return tuple(delimiters)


def parameter_schema(declared: Node) -> Node:
    """Return the schema that is spread over a Swagger 2.0 parameter, or its own."""
    out = {key: value for key, value in declared.items() if key not in _NOT_OF_SCHEMA}
    if isinstance(declared.get("schema"), dict):
        out = dict(declared["schema"])
    if out.get("type") == "file":
        out |= {"type": "string", "format": "binary"}
    return out


def allow_empty_string(declared: Any) -> Any:
    """Return a Schema Object that also takes an empty string, for `allowEmptyValue`.

    Spec: Swagger 2.0 and OpenAPI 3.0.4, section 4.7.12.2.2, Parameter Object.
    """
    if not isinstance(declared, dict) or _allows_empty_string(declared):
        return declared
    kind, values = declared.get("type"), declared.get("enum")
    if kind == "string" and isinstance(values, list) and declared.keys().isdisjoint(_UNIONS):
        return {**declared, "enum": values if "" in values else [*values, ""]}
    annotations = {key: declared[key] for key in _ANNOTATIONS if key in declared}
    rest = {key: value for key, value in declared.items() if key not in annotations}
    return {**annotations, "anyOf": [rest, {"type": "string", "enum": [""]}]}


def _allows_empty_string(declared: Node) -> bool:
    kinds = declared.get("type", "string")
    is_string = "string" in (kinds if isinstance(kinds, list) else [kinds])
    return is_string and declared.keys().isdisjoint(_UNIONS | _LIMITS)


def convert_request_body(parameters: list[Node], consumes: list[str]) -> Node | None:
    """Return the `body` and `formData` parameters of a 2.0 operation as a Request Body Object."""
    for declared in parameters:
        if declared.get("in") == "body":
            media = {"schema": declared.get("schema", parameter_schema(declared))}
            return {
                "description": declared.get("description", ""),
                "required": is_true(declared.get("required")),
                "content": dict.fromkeys(consumes or ["application/json"], media),
            }
    fields = [declared for declared in parameters if declared.get("in") == "formData"]
    return _form_body(fields, consumes) if fields else None


def convert_response(declared: Node, produces: list[str]) -> Node:
    """Return a Swagger 2.0 response as OpenAPI 3 writes it; `produces` are its media types.

    Spec: Swagger 2.0, Response Object, Headers Object and Example Object.
    """
    converted: Node = {key: declared[key] for key in ("description",) if key in declared}
    headers = as_dict(declared.get("headers")).items()
    converted["headers"] = {
        name: {**header, "schema": parameter_schema(header)}
        for name, header in headers
        if isinstance(header, dict)
    }
    examples, body = as_dict(declared.get("examples")), as_dict(declared.get("schema"))
    if "schema" not in declared and not examples:
        return converted
    # Without `produces` the standard says nothing about the media type.
    kinds = [*examples, *produces] or ["*/*"]
    if body.get("type") == "file":
        body, kinds = parameter_schema(body), produces or ["application/octet-stream"]
    media = {"schema": body} if body else {}
    converted["content"] = {
        kind: {**media, "example": examples[kind]} if kind in examples else media for kind in kinds
    }
    return converted


def _form_body(fields: list[Node], consumes: list[str]) -> Node:
    properties: Node = {}
    encoding: Node = {}
    for declared in fields:
        name = str(declared.get("name"))
        properties[name] = parameter_schema(declared)
        if is_true(declared.get("allowEmptyValue")) and declared.get("type") != "file":
            properties[name] = allow_empty_string(properties[name])
        if "description" in declared:
            properties[name]["description"] = declared["description"]
        collection = _collection_format(declared)
        # `multi` is what OpenAPI 3 does with a list in a form by default.
        if main_type(declared) == "array" and collection != "multi":
            style = _STYLES.get(collection) or "form"
            inner = inner_delimiters(declared)
            encoding[name] = {"style": style, "explode": False, "x-inner": inner}
    required = [str(item.get("name")) for item in fields if is_true(item.get("required"))]
    whole = {"type": "object", "properties": properties, "required": required}
    return {
        "required": bool(required),
        "content": {_form_type(fields, consumes): {"schema": whole, "encoding": encoding}},
    }


def _is_upload(declared: Node) -> bool:
    return "file" in (declared.get("type"), as_dict(declared.get("items")).get("type"))


def _form_type(fields: list[Node], consumes: list[str]) -> str:
    forms = [kind for kind in consumes if kind.startswith(("multipart/", "application/x-www-form"))]
    # Files need multipart, whatever the operation says that it consumes.
    if any(map(_is_upload, fields)):
        parts = [kind for kind in forms if kind.startswith("multipart/")]
        return parts[0] if parts else "multipart/form-data"
    encoded = [kind for kind in forms if kind.startswith("application/")]
    return (encoded or forms or ["application/x-www-form-urlencoded"])[0]


def swagger_servers(root: Node, operation: Node) -> list[Node]:
    """Return Server Objects for `host`, `basePath` and `schemes`.

    Without `host` they are relative to the document's own address.
    """
    base = root.get("basePath")
    base = "/" + base.strip("/") if isinstance(base, str) and base.strip("/") else ""
    host = root.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base or "/"}]
    schemes = operation.get("schemes") or root.get("schemes")
    listed = [schemes] if isinstance(schemes, str) else as_list(schemes)
    # Calls go to the first server, so https comes first.
    usable = [scheme for scheme in ("https", "http") if scheme in listed]
    usable = usable or [str(each) for each in listed[:1]]  # ws, wss: so that a call can name it
    return [{"url": f"{scheme}://{host}{base}"} for scheme in usable] or [
        {"url": f"//{host}{base}"}
    ]


def read_server(node: Node, address: str) -> Server:
    """Return a Server Object as plain data, with its URL resolved.

    Spec: OpenAPI 3.2.0, section 4.6 (relative references in URLs).

    Args:
        node: The object.
        address: The URL of the document, or the path of its file.
    """
    url = as_string(node.get("url")).strip() or "/"
    base = address if WEB_URL.match(address) else ""
    if url.startswith("//"):  # Swagger 2.0 without `schemes`: that of the document, if it has one
        url = f"{base.partition(':')[0] or 'https'}:{url}"
    elif base and "://" not in url.split("?", 1)[0] and not url.startswith("{"):
        url = urljoin(base, url)
    # Credentials in a server's URL would be in messages, generated files and logs.
    user = url_user(url)
    variables = {}
    for name, variable in as_dict(node.get("variables")).items():
        if isinstance(variable, dict) and f"{{{name}}}" not in user:
            allowed = tuple(mask_user(str(value)) for value in as_list(variable.get("enum")))
            default = variable.get("default", allowed[0] if allowed else "")
            variables[name] = ServerVariable(mask_user(_write_scalar(default)), allowed)
    return Server(mask_user(url), variables)


def _write_scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
