"""A document's version and servers, and objects of Swagger 2.0 as OpenAPI 3 has them.

`Dialect` holds the few differences between versions of OpenAPI 3. Swagger 2.0 objects become
OpenAPI 3 on demand; schemas stay in place.

Spec: Swagger 2.0; OpenAPI 3.0.4; 3.1.2, sections 4.8.27 and 4.8.30; 3.2.0, sections 4.6 and 4.8.5.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from openapi_tools.errors import DocumentError, InvalidDocument
from openapi_tools.http_rules import WEB, folded
from openapi_tools.json_values import Node, as_dict, as_list, as_string, is_true
from openapi_tools.loading.type_names import main_type
from openapi_tools.model import Server, ServerVariable
from openapi_tools.visible_text import user_in, without_user

if TYPE_CHECKING:
    from openapi_tools.loading.operations import Document, OperationNode

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
SUPPORTED = "Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2"
_OTHERS = {
    "overlay": "an overlay, which is given beside the document (--overlay, overlays=[…])",
    "arazzo": "an Arazzo description",
    "asyncapi": "an AsyncAPI document",
    "swaggerVersion": "a document of Swagger 1, which has to be converted",
    "item": "a Postman collection, which has to be exported as OpenAPI",
    "$schema": "a JSON Schema",
    "discoveryVersion": "a Google API Discovery document",
    "log": "an HTTP archive (HAR)",
    "data": "an API's answer, not its description",
}
"""Other documents, by a member that they have."""

_VERSION = re.compile(r"3\.([012])(?:\.(\d++)\S*+)?")
_SCHEMA_ENDS = frozenset({"name", "in", "required", "description", "collectionFormat", "schema"})
_KEPT = frozenset(
    {"name", "in", "required", "description", "deprecated", "schema", "content", "style", "explode"}
    | {"allowReserved", "allowEmptyValue", "example", "examples"}
)
_OF_2 = frozenset(
    {"type", "format", "items", "enum", "default", "collectionFormat", "pattern", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "uniqueItems"}
    | {"minLength", "maxLength", "minItems", "maxItems"}
)
"""Keywords that a parameter of Swagger 2.0 has, and one of OpenAPI 3 has in its schema."""

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
_STYLES = {"csv": "", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_DELIMITERS = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|"}
_WORDS = ("title", "description", "default", "example", "examples", "deprecated")
_UNIONS = frozenset({"$ref", "allOf", "anyOf", "oneOf", "not", "if"})
_LIMITS = frozenset({"enum", "const", "pattern", "minLength", "properties", "items"})
"""Keywords that may refuse an empty string."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a document's version decides; where `printed`, its style tables print delimiters."""

    version: str
    swagger: bool = False
    minor: int = 0
    printed: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The members of a path item that are operations; `trace` also in 2.0, which lacks it."""
        return (*METHODS, "query") if self.minor >= 2 else METHODS  # noqa: PLR2004 -- OpenAPI 3.2

    @property
    def leftovers(self) -> tuple[str, ...]:
        """The values of `in` that another version has; they are read with a warning."""
        return ("cookie",) if self.swagger else ("body", "formData")

    @property
    def locations(self) -> tuple[str, ...]:
        """The values that a parameter's `in` may have."""
        if self.swagger:
            return ("path", "query", "header", "body", "formData")
        more = ("querystring",) if self.minor >= 2 else ()  # noqa: PLR2004 -- OpenAPI 3.2
        return ("path", "query", "header", "cookie", *more)

    @property
    def modern(self) -> bool:
        """Whether schemas are JSON Schema 2020-12 (3.1 and later)."""
        return self.minor >= 1


def read_dialect(root: Node, name: str) -> Dialect:
    """Return the version of a document; `InvalidDocument` where it is not supported."""
    if "swagger" in root:
        version = root["swagger"]
        if str(version) in ("2.0", "2"):  # an unquoted 2.0 is a number; accepted
            return Dialect("2.0", swagger=True)
        raise _unknown("swagger", version, name)
    if "openapi" not in root:
        told = (words for key, words in _OTHERS.items() if key in root)
        what = f" and looks like {words}" if (words := next(told, "")) else ""
        reason = f"it has neither 'openapi' nor 'swagger'{what}; this package reads {SUPPORTED}."
        raise InvalidDocument(reason, source=name)
    version = root["openapi"]
    match = _VERSION.fullmatch(str(version)) if isinstance(version, str | float) else None
    if match is None:
        raise _unknown("openapi", version, name)
    minor, patch = int(match[1]), int(match[2] or 0)
    printed = bool(match[2]) and (minor, patch) in {(0, 0), (0, 1), (0, 2), (0, 3), (1, 0)}
    return Dialect(str(version), minor=minor, printed=printed)


def _unknown(member: str, version: object, name: str) -> InvalidDocument:
    reason = f"{member!r} is {version!r:.60}; this package reads {SUPPORTED}."
    return InvalidDocument(reason, source=name, pointer=f"/{member}")


def location_of(written: object) -> object:
    """Return a parameter's `in` as the standard writes it; anything else stays."""
    return _LOCATIONS.get(folded(written), written) if isinstance(written, str) else written


def is_of_2(declared: Node) -> bool:
    """Tell whether a parameter has its schema spread over it, as in Swagger 2.0."""
    return "schema" not in declared and "content" not in declared and not _OF_2.isdisjoint(declared)


def parameter(declared: Node, *, swagger: bool) -> Node:
    """Return a parameter (not `body`, not `formData`) as OpenAPI 3 writes it.

    Documents of 3.x, too, may have the parts of Swagger 2.0; a list without `collectionFormat` is
    written there as 3.x says.
    """
    is_spread = "schema" not in declared and (swagger or is_of_2(declared))
    if not is_spread and "collectionFormat" not in declared:
        return declared
    out = {key: declared[key] for key in _KEPT if key in declared}
    if is_spread:
        out["schema"] = schema(declared)
    collection, node = _collection(declared), as_dict(out.get("schema"))
    is_told = swagger or "collectionFormat" in declared
    is_list = main_type(node) == "array" and out.get("in") in ("path", "query", "header")
    if is_list and is_told and out.keys().isdisjoint({"style", "explode"}):
        out["explode"] = collection == "multi"
        if _STYLES.get(collection):
            out["style"] = _STYLES[collection]
    return out


def _collection(declared: Node) -> str:
    collection = declared.get("collectionFormat")
    return collection if isinstance(collection, str) else "csv"


def inner_delimiters(declared: Node) -> tuple[str, ...]:
    """Return the delimiters of the arrays inside a 2.0 array, outermost first."""
    delimiters = []
    items = declared.get("items")
    while isinstance(items, dict) and main_type(items) == "array":
        delimiters.append(_DELIMITERS.get(_collection(items), ","))
        items = items.get("items")
    return tuple(delimiters)


def schema(declared: Node) -> Node:
    """Return the schema that is spread over a Swagger 2.0 parameter, or its own."""
    out = {key: value for key, value in declared.items() if key not in _SCHEMA_ENDS}
    if isinstance(declared.get("schema"), dict):
        out = dict(declared["schema"])
    if out.get("type") == "file":
        out |= {"type": "string", "format": "binary"}
    return out


def with_empty(declared: Any) -> Any:
    """Return a Schema Object that also takes an empty string, for `allowEmptyValue`.

    Spec: Swagger 2.0 and OpenAPI 3.0.4, section 4.7.12.2.2, Parameter Object.
    """
    if not isinstance(declared, dict) or _takes_empty(declared):
        return declared
    kind, values = declared.get("type"), declared.get("enum")
    if kind == "string" and isinstance(values, list) and declared.keys().isdisjoint(_UNIONS):
        return {**declared, "enum": values if "" in values else [*values, ""]}
    words = {key: declared[key] for key in _WORDS if key in declared}
    rest = {key: value for key, value in declared.items() if key not in words}
    return {**words, "anyOf": [rest, {"type": "string", "enum": [""]}]}


def _takes_empty(declared: Node) -> bool:
    kinds = declared.get("type", "string")
    is_string = "string" in (kinds if isinstance(kinds, list) else [kinds])
    return is_string and declared.keys().isdisjoint(_UNIONS | _LIMITS)


def request_body(parameters: list[Node], consumes: list[str]) -> Node | None:
    """Return the `body` and `formData` parameters of a 2.0 operation as a Request Body Object."""
    for declared in parameters:
        if declared.get("in") == "body":
            media = {"schema": declared.get("schema", schema(declared))}
            return {
                "description": declared.get("description", ""),
                "required": is_true(declared.get("required")),
                "content": dict.fromkeys(consumes or ["application/json"], media),
            }
    fields = [declared for declared in parameters if declared.get("in") == "formData"]
    return _form(fields, consumes) if fields else None


def response(declared: Node, produces: list[str]) -> Node:
    """Return a Swagger 2.0 response as OpenAPI 3 writes it; `produces` are its media types."""
    # Spec: OpenAPI 2.0, Response Object, Headers Object and Example Object.
    out: Node = {key: declared[key] for key in ("description",) if key in declared}
    headers = as_dict(declared.get("headers")).items()
    out["headers"] = {
        name: {**header, "schema": schema(header)}
        for name, header in headers
        if isinstance(header, dict)
    }
    examples, body = as_dict(declared.get("examples")), as_dict(declared.get("schema"))
    if "schema" not in declared and not examples:
        return out
    # Without `produces` the standard says nothing about the media type.
    kinds = [*examples, *(produces or ["*/*"] * (not examples))]
    if body.get("type") == "file":
        body, kinds = schema(body), produces or ["application/octet-stream"]
    media = {"schema": body} if body else {}
    out["content"] = {
        kind: {**media, "example": examples[kind]} if kind in examples else media for kind in kinds
    }
    return out


def _form(fields: list[Node], consumes: list[str]) -> Node:
    properties: Node = {}
    encoding: Node = {}
    for declared in fields:
        name = str(declared.get("name"))
        properties[name] = schema(declared)
        if is_true(declared.get("allowEmptyValue")) and declared.get("type") != "file":
            properties[name] = with_empty(properties[name])
        if "description" in declared:
            properties[name]["description"] = declared["description"]
        collection = _collection(declared)
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
    if any(map(_is_upload, fields)):
        parts = [kind for kind in forms if kind.startswith("multipart/")]
        return parts[0] if parts else "multipart/form-data"
    encoded = [kind for kind in forms if kind.startswith("application/")]
    return (encoded or forms or ["application/x-www-form-urlencoded"])[0]


def swagger_servers(root: Node, operation: Node) -> list[Node]:
    """Return Server Objects; without `host` they are relative to the document's own address."""
    base = root.get("basePath")
    base = "/" + base.strip("/") if isinstance(base, str) and base.strip("/") else ""
    host = root.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base or "/"}]
    schemes = operation.get("schemes") or root.get("schemes")
    listed = [schemes] if isinstance(schemes, str) else as_list(schemes)
    known = [scheme for scheme in ("https", "http") if scheme in listed]
    known = known or [str(scheme) for scheme in listed[:1]]  # ws, wss: so that the call can name it
    return [{"url": f"{scheme}://{host}{base}"} for scheme in known] or [{"url": f"//{host}{base}"}]


def servers(document: Document, declared: OperationNode) -> tuple[Server, ...]:
    """Return an operation's servers, its path's, or the document's (OpenAPI 3.2.0, 4.8.5)."""
    if document.dialect.swagger:
        return _listed(document, swagger_servers(document.root, declared.node))
    levels = (declared.node, declared.item, document.root)
    listed = next((level["servers"] for level in levels if level.get("servers")), None)
    return _shared(document, listed) or (_server(document, {"url": "/"}),)


def root_servers(document: Document) -> tuple[Server, ...]:
    """Return the servers that credentials belong to: the document's, its address, or its first."""
    if document.dialect.swagger:
        return _listed(document, swagger_servers(document.root, {}))
    if named := _shared(document, document.root.get("servers")):
        return named
    if WEB.match(document.entry.uri):
        return (_server(document, {"url": "/"}),)
    operations = (each for each in document.operations() if not isinstance(each, DocumentError))
    first = next(operations, None)
    return servers(document, first) if first is not None else ()


def _shared(document: Document, nodes: Any) -> tuple[Server, ...]:
    if not isinstance(nodes, list):
        return ()
    return document.shared("servers", nodes, lambda listed: _listed(document, listed))


def _listed(document: Document, nodes: list[Any]) -> tuple[Server, ...]:
    return tuple(_server(document, node) for node in nodes if isinstance(node, dict))


def _server(document: Document, node: Node) -> Server:
    url = as_string(node.get("url")).strip() or "/"
    base = document.entry.uri if WEB.match(document.entry.uri) else ""
    if url.startswith("//"):  # Swagger 2.0 without `schemes` may have no address to take it from
        url = f"{base.partition(':')[0] or 'https'}:{url}"
    elif base and "://" not in url.split("?", 1)[0] and not url.startswith("{"):
        url = urljoin(base, url)
    user = user_in(url)
    variables = {}
    for name, variable in as_dict(node.get("variables")).items():
        if isinstance(variable, dict) and f"{{{name}}}" not in user:
            allowed = tuple(without_user(str(value)) for value in as_list(variable.get("enum")))
            default = variable.get("default", allowed[0] if allowed else "")
            variables[name] = ServerVariable(without_user(_scalar(default)), allowed)
    return Server(without_user(url), variables)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, str | int | float) else ""
