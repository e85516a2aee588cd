"""Examples of JSON bodies and responses in documents, judged by the document's own schema.

Read from the documents with nothing of the package, so that the two can be compared.
"""

from typing import Any, NamedTuple
from urllib.parse import unquote

import corpus
from jsonschema import Draft4Validator
from jsonschema.exceptions import _WrappedReferencingError
from openapi_schema_validator import OAS30Validator, OAS31Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4, DRAFT202012

_DOCUMENT = "urn:document"


class Example(NamedTuple):
    """A value that a document shows for a body, and whether the document's schema accepts it."""

    method: str
    path: str
    media_type: str
    value: Any
    is_valid: bool


def examples(root, version):
    """Yield every example that a document gives for a JSON body."""
    accepts = _judge(root, version)
    for method, path, media_type, holder, schema, place in json_bodies(root, version):
        for value in example_values(root, holder, schema):
            yield Example(method, path, media_type, value, accepts(value, place))


def json_bodies(root, version):
    """Yield (method, path, media type, Media Type Object, schema, reference to the schema)."""
    for method, path, node, place in corpus.operations_of(root):
        find_bodies = _of_swagger if version == "2.0" else _of_openapi
        for media_type, holder, steps in find_bodies(root, node, place):
            if "schema" in holder and _is_json(media_type):
                reference = "/".join(["#", *map(_escape, steps), "schema"])
                yield method, path, media_type, holder, holder["schema"], reference


class Response(NamedTuple):
    """A JSON response of success that a document shows, and whether its schema accepts it."""

    method: str
    path: str
    status: int
    media_type: str
    value: Any
    is_valid: bool


def example_responses(root, version):
    """Yield every example that a document gives for a JSON response of success."""
    accepts = _judge(root, version)
    for method, path, node, place in corpus.operations_of(root):
        for code, response, steps in _successes(root, node, place):
            listed = _of_swagger_response if version == "2.0" else _of_response
            for media_type, holder, inner in listed(response, steps):
                schema = holder.get("schema", {})
                reference = "/".join(["#", *map(_escape, inner), "schema"])
                for value in example_values(root, holder, schema):
                    is_valid = "schema" not in holder or accepts(value, reference)
                    yield Response(method, path, code, media_type, value, is_valid)


def _successes(root, node, place):
    """Yield (status, Response Object, its place) of the responses of success."""
    responses = node.get("responses")
    for code, item in responses.items() if isinstance(responses, dict) else ():
        response, steps = _follow(root, item, [*place, "responses", code])
        if str(code).startswith("2") and isinstance(response, dict):
            yield int(str(code).upper().replace("X", "0")), response, steps


def _of_response(response, steps):
    content = response.get("content")
    for media_type, holder in content.items() if isinstance(content, dict) else ():
        if isinstance(holder, dict) and _is_json(media_type):
            yield media_type, holder, [*steps, "content", media_type]


def _of_swagger_response(response, steps):
    examples = response.get("examples")
    listed = {key: value for key, value in (examples or {}).items() if _is_json(key)}
    for media_type, value in (listed or {"application/json": None}).items():
        example = {"example": value} if listed else {}
        schema = {"schema": response["schema"]} if "schema" in response else {}
        yield media_type, {**schema, **example}, steps


def _escape(step):
    return str(step).replace("~", "~0").replace("/", "~1").replace("%", "%25")


def of_body(schema, body):
    """Return an input schema that asks for the body's arguments only."""
    fed = {body.argument, *(item.argument for item in body.properties)}
    return {**schema, "required": [name for name in schema.get("required", ()) if name in fed]}


def as_arguments(value, body):
    """Return a whole body as the arguments that feed it."""
    if body.argument:
        return {body.argument: value}
    if not isinstance(value, dict):
        return value
    names = {item.name: item.argument for item in body.properties}
    return {names.get(name, f"{name} is no argument"): each for name, each in value.items()}


def _is_json(media_type):
    essence = media_type.partition(";")[0].strip().lower()
    return essence in ("application/json", "text/json") or essence.endswith("+json")


def _of_openapi(root, node, place):
    body, steps = _follow(root, node.get("requestBody"), [*place, "requestBody"])
    content = body.get("content") if isinstance(body, dict) else None
    for media_type, holder in content.items() if isinstance(content, dict) else ():
        if isinstance(holder, dict):
            yield media_type, holder, [*steps, "content", media_type]


def _of_swagger(root, node, place):
    consumes = node.get("consumes") or root.get("consumes") or ["application/json"]
    for index, item in enumerate(node.get("parameters") or ()):
        parameter, steps = _follow(root, item, [*place, "parameters", index])
        if isinstance(parameter, dict) and parameter.get("in") == "body":
            yield consumes[0], parameter, steps


def _follow(root, node, steps):
    """Return a node, or what it refers to, and the steps to that."""
    if not isinstance(node, dict) or "$ref" not in node:
        return node, steps
    if not node["$ref"].startswith("#/"):
        return None, steps
    names = unquote(node["$ref"].removeprefix("#/")).split("/")
    return corpus.follow(root, node), [n.replace("~1", "/").replace("~0", "~") for n in names]


def example_values(root, holder, schema):
    """Yield the examples of a media type and of its schema."""
    if "example" in holder:
        yield holder["example"]
    listed = holder.get("examples")
    for item in listed.values() if isinstance(listed, dict) else ():
        example = corpus.follow(root, item)
        if isinstance(example, dict):
            yield from (example[key] for key in ("value", "dataValue") if key in example)
    target = corpus.follow(root, schema)
    if isinstance(target, dict):
        if "example" in target:
            yield target["example"]
        listed = target.get("examples")
        yield from listed if isinstance(listed, list) else ()


def _judge(root, version):
    """Return a function that tells whether the schema at a place accepts a value.

    It reads the document's own schemas with the validators of other people, and says False where
    they cannot.
    """
    specification = DRAFT202012 if version in ("3.1", "3.2") else DRAFT4
    # A root `id` or `$self` would move the document; references in it are local.
    resource = Resource(contents=root, specification=specification)
    registry = Registry().with_resource(_DOCUMENT, resource)
    kind = {"2.0": Draft4Validator, "3.0": OAS30Validator}.get(version, OAS31Validator)

    def accepts(value, place):
        validator = kind({"$ref": _DOCUMENT + place}, registry=registry)
        try:
            return bool(validator.is_valid(value))
        except (_WrappedReferencingError, RecursionError):
            return False

    return accepts
