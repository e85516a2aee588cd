"""The documents that mutations start from."""

import itertools
import json
from functools import cache
from pathlib import Path

import corpus
import hostile_documents
import yaml
from documents import document, operation

ROOT = Path(__file__).parents[2]
_LARGEST = 40_000
_LEAST = 300


@cache
def documents():
    """Return documents by name, small ones first: published ones and some made for it."""
    seeds = {"every style": json.dumps(every_style()).encode(), "large": json.dumps(odd()).encode()}
    for name in ("a backslash and a quote", *list(hostile_documents.PAYLOADS)[::12]):
        if text := hostile_documents.PAYLOADS.get(name):
            seeds[f"hostile {name}"] = json.dumps(hostile_documents.hostile(text)).encode()
    files = [*(ROOT / "specs").glob("*.*"), *(entry.file for entry in corpus.entries())]
    for file in files:
        if file.suffix != ".md" and file.is_file() and _LEAST < file.stat().st_size < _LARGEST:
            seeds[file.name] = file.read_bytes()
    return dict(sorted(seeds.items(), key=lambda item: len(item[1])))


@cache
def value(name):
    """Return a document as a value; None for what is not JSON or YAML."""
    data = documents()[name]
    try:
        document = json.loads(data) if data.lstrip()[:1] == b"{" else yaml.safe_load(data)
        return json.loads(json.dumps(document, default=str))
    except (ValueError, TypeError, yaml.YAMLError):
        return None


@cache
def names():
    """Return the names of the documents that are values."""
    return [name for name in documents() if value(name) is not None]


_ANY = {"type": ["string", "number", "boolean", "null"]}
SHAPES = {
    "primitive": _ANY,
    "array": {"type": "array", "items": _ANY, "maxItems": 50},
    "object": {"type": "object", "additionalProperties": _ANY},
    "free": {},
    "strict": {
        "oneOf": [{"type": "string", "pattern": "^(a+)+$"}, {"$ref": "#/components/schemas/Tree"}]
    },
}
STYLES = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form", "cookie"),
}
MEDIA_TYPES = (
    *("application/json", "application/merge-patch+json", "application/x-www-form-urlencoded"),
    *("multipart/form-data", "text/plain", "application/octet-stream", "application/jsonl"),
    *("application/xml", "image/png"),
)
SCHEMES = {
    "header key": {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
    "query key": {"type": "apiKey", "in": "query", "name": "api_key"},
    "cookie key": {"type": "apiKey", "in": "cookie", "name": "session"},
    "bearer": {"type": "http", "scheme": "bearer"},
}
_TREE = {
    "type": "object",
    "properties": {"value": {"type": "integer", "minimum": 0, "multipleOf": 3},
                   "tags": {"type": "array", "uniqueItems": True, "contains": {"type": "string"}},
                   "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
    "patternProperties": {"^x-": {"not": {"type": "null"}}},
    "unevaluatedProperties": False,
    "required": ["value"],
}  # fmt: skip


def _style_operation():
    """Return an operation for each style and shape of a parameter, beside another parameter."""
    paths = {}
    beside = {"name": "y", "in": "query", "schema": {}}
    for location, styles in STYLES.items():
        for style, explode, shape in itertools.product(styles, (True, False), SHAPES):
            parameter = {"name": "x", "in": location, "required": True, "schema": SHAPES[shape]}
            parameter |= {"style": style, "explode": explode, "allowReserved": shape == "free"}
            end = "/{x}" if location == "path" else ""
            path = f"/{location}/{style}/{explode}/{shape}{end}"
            paths[path] = {"get": operation(parameters=[parameter, beside])}
    return paths


def every_style():
    """Return a document with an operation for each style, shape and kind of body.

    All of them need every kind of credentials.
    """
    paths = _style_operation()
    for kind, shape in itertools.product(MEDIA_TYPES, SHAPES):
        paths[f"/{kind}/{shape}"] = {"post": taking(kind, SHAPES[shape])}
    properties = {"a": {}, "b": _ANY, "f": {"type": "string", "contentMediaType": "image/png"}}
    whole = {"type": "object", "properties": properties}
    for kind, style in itertools.product(MEDIA_TYPES[2:4], STYLES["query"]):
        encoding = {"a": {"style": style, "headers": {"X-Part": {"schema": {}}}}}
        paths[f"/{kind}/style/{style}"] = {"put": taking(kind, whole, encoding=encoding)}
    paths["/free/{a}/{b}.json/x{c}"] = {"delete": operation()}
    return document(
        paths,
        openapi="3.2.0",
        servers=[{"url": "https://api.test/base/path"}],
        components={"schemas": {"Tree": _TREE}, "securitySchemes": SCHEMES},
        security=[{name: [] for name in SCHEMES}],
    )


def taking(kind, schema, **media_type):
    """Return an operation that takes a body."""
    return operation(requestBody={"content": {kind: {"schema": schema, **media_type}}})


def odd():
    """Return a document with references, inheritance, discriminators, webhooks and the like."""
    pet = {
        "type": "object",
        "discriminator": {"propertyName": "kind", "mapping": {"cat": "#/components/schemas/Cat"}},
        "properties": {"kind": {"type": "string"}, "owner": {"$ref": "#/components/schemas/Owner"}},
    }
    cat = {
        "allOf": [{"$ref": "#/components/schemas/Pet"}, {"required": ["kind"]}],
        "minimum": 1e308,
    }
    owner = {"properties": {"pets": {"items": {"$ref": "#/components/schemas/Pet"}}}}
    both = {"oneOf": [{"$ref": "#/components/schemas/Cat"}, {"enum": [1, "1", None, 1.0]}]}
    item = {"parameters": [{"$ref": "#/components/parameters/P"}], "summary": "s"}
    call = {"{$request.body#/url}": {"post": operation()}}
    paths = {
        "/a/{id}": {**item, "get": operation(operationId="a", tags=["t"]), "x-a": [{}]},
        "/b": {"post": {**taking("application/json", both), "callbacks": {"c": call}}},
        "/c": {"$ref": "#/components/pathItems/I"},
    }
    components = {
        "schemas": {"Pet": pet, "Cat": cat, "Owner": owner},
        "parameters": {"P": {"name": "id", "in": "path", "required": True, "schema": {}}},
        "pathItems": {"I": {"get": operation(security=[])}},
        "securitySchemes": SCHEMES,
    }
    return document(paths, components=components, webhooks={"w": paths["/b"]}, servers=[])
