"""Swagger 2.0 and OpenAPI 3.0, 3.1, 3.2 seen as one dialect: that of OpenAPI 3.

`Dialect` holds the few differences between versions of OpenAPI 3. Swagger 2.0 objects are written
anew as OpenAPI 3 on demand; schemas stay where they are.

Spec: Swagger 2.0; OpenAPI 3.0.4, 3.1.2, 3.2.0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.keyword_values import is_true

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
SUPPORTED = "Swagger 2.0 and OpenAPI 3.0, 3.1 and 3.2"

_VERSION = re.compile(r"3\.([012])(?:\.(\d+)\S*)?")
_SCHEMA_ENDS = frozenset({"name", "in", "required", "description", "collectionFormat", "schema"})
_PARAMETER = ("name", "in", "required", "description")
_STYLES = {"csv": "", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}
_DELIMITERS = {"csv": ",", "ssv": " ", "tsv": "\t", "pipes": "|"}
_FLOWS = {"application": "clientCredentials", "accessCode": "authorizationCode"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a document's version decides.

    Attributes:
        version: As the document writes it, for instance `"3.0.3"`.
        swagger: It is Swagger 2.0.
        minor: 0, 1 or 2 of OpenAPI 3; 0 for Swagger 2.0.
        printed: Its style tables print delimiters as 3.0.0 to 3.0.3 and 3.1.0 do.
    """

    version: str
    swagger: bool = False
    minor: int = 0
    printed: bool = False

    @property
    def methods(self) -> tuple[str, ...]:
        """The members of a path item that are operations; `trace` is meant where 2.0 has none."""
        return (*METHODS, "query") if self.minor >= 2 else METHODS  # noqa: PLR2004 -- OpenAPI 3.2

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


def read_dialect(root: dict[str, Any], name: str) -> Dialect:
    """Return the version of a document.

    Args:
        root: The parsed document.
        name: What messages call it.

    Raises:
        InvalidDocument: It names no version, or one that is not supported.
    """
    if "swagger" in root:
        version = root["swagger"]
        if str(version) in ("2.0", "2"):  # an unquoted 2.0 is a number, and meant well
            return Dialect("2.0", swagger=True)
        raise _unknown("swagger", version, name)
    if "openapi" not in root:
        reason = f"it has neither 'openapi' nor 'swagger'; this package reads {SUPPORTED}."
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


def parameter(declared: dict[str, Any]) -> dict[str, Any]:
    """Return a Swagger 2.0 parameter (not `body`, not `formData`) as OpenAPI 3 writes it.

    Spec: Swagger 2.0, "Parameter Object", `collectionFormat`.
    """
    out: dict[str, Any] = {key: declared[key] for key in _PARAMETER if key in declared}
    out["schema"] = schema(declared)
    location = declared.get("in")
    collection = _collection(declared)
    if declared.get("type") == "array" and location in ("path", "query", "header"):
        out["explode"] = collection == "multi"
        if _STYLES.get(collection):
            out["style"] = _STYLES[collection]
    return out


def _collection(declared: dict[str, Any]) -> str:
    """Return an array's `collectionFormat`; values that are not text fall back to the default."""
    collection = declared.get("collectionFormat")
    return collection if isinstance(collection, str) else "csv"


def inner_delimiters(declared: dict[str, Any]) -> tuple[str, ...]:
    """Return the delimiters of the arrays inside a 2.0 array, outermost first."""
    delimiters = []
    items = declared.get("items")
    while isinstance(items, dict) and items.get("type") == "array":
        delimiters.append(_DELIMITERS.get(_collection(items), ","))
        items = items.get("items")
    return tuple(delimiters)


def schema(declared: dict[str, Any]) -> dict[str, Any]:
    """Return the schema that is spread over a Swagger 2.0 parameter."""
    out = {key: value for key, value in declared.items() if key not in _SCHEMA_ENDS}
    if out.get("type") == "file":
        out |= {"type": "string", "format": "binary"}
    return out


def request_body(parameters: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any] | None:
    """Return the `body` and `formData` parameters of a 2.0 operation as a Request Body Object.

    Args:
        parameters: All parameters of the operation, references followed.
        consumes: The operation's media types.
    """
    for declared in parameters:
        if declared.get("in") == "body":
            media = {"schema": declared.get("schema")}
            return {
                "description": declared.get("description", ""),
                "required": is_true(declared.get("required")),
                "content": dict.fromkeys(consumes or ["application/json"], media),
            }
    fields = [declared for declared in parameters if declared.get("in") == "formData"]
    return _form(fields, consumes) if fields else None


def _form(fields: list[dict[str, Any]], consumes: list[str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    encoding: dict[str, Any] = {}
    for declared in fields:
        name = str(declared.get("name"))
        properties[name] = schema(declared)
        if "description" in declared:
            properties[name]["description"] = declared["description"]
        collection = _collection(declared)
        if declared.get("type") == "array" and collection != "multi":
            style = _STYLES.get(collection) or "form"
            inner = inner_delimiters(declared)
            encoding[name] = {"style": style, "explode": False, "x-inner": inner}
    required = [str(item.get("name")) for item in fields if is_true(item.get("required"))]
    whole = {"type": "object", "properties": properties, "required": required}
    return {
        "required": bool(required),
        "content": {_form_type(fields, consumes): {"schema": whole, "encoding": encoding}},
    }


def _form_type(fields: list[dict[str, Any]], consumes: list[str]) -> str:
    """Return the form's media type: multipart when it has a file, else the declared one."""
    forms = [kind for kind in consumes if kind.startswith(("multipart/", "application/x-www-form"))]
    if any(declared.get("type") == "file" for declared in fields):
        parts = [kind for kind in forms if kind.startswith("multipart/")]
        return parts[0] if parts else "multipart/form-data"
    encoded = [kind for kind in forms if kind.startswith("application/")]
    return (encoded or forms or ["application/x-www-form-urlencoded"])[0]


def servers(root: dict[str, Any], operation: dict[str, Any]) -> list[dict[str, Any]]:
    """Return where a Swagger 2.0 operation is served, as Server Objects.

    Without `host` the result is relative to the document's own address.

    Spec: Swagger 2.0, "Swagger Object", `host`, `basePath`, `schemes`.
    """
    base = root.get("basePath")
    base = "/" + base.strip("/") if isinstance(base, str) and base.strip("/") else ""
    host = root.get("host")
    if not isinstance(host, str) or not host:
        return [{"url": base or "/"}]
    schemes = operation.get("schemes") or root.get("schemes")
    listed = [schemes] if isinstance(schemes, str) else schemes
    listed = listed if isinstance(listed, list) else []
    known = [scheme for scheme in ("https", "http") if scheme in listed]
    if listed and not known:  # ws, wss: kept, so that the call can name it
        known = [str(listed[0])]
    if not known:
        return [{"url": f"//{host}{base}"}]
    return [{"url": f"{scheme}://{host}{base}"} for scheme in known]


def security_scheme(declared: dict[str, Any]) -> dict[str, Any]:
    """Return a Swagger 2.0 security definition as OpenAPI 3 writes it."""
    match declared.get("type"):
        case "basic":
            return {"type": "http", "scheme": "basic"}
        case "oauth2":
            flow = declared.get("flow")
            flow = _FLOWS.get(flow, flow) if isinstance(flow, str) else "implicit"
            keys = ("authorizationUrl", "tokenUrl", "scopes")
            return {
                "type": "oauth2",
                "flows": {flow: {key: declared[key] for key in keys if key in declared}},
            }
        case _:
            return declared
