"""Operation -> input schema, and which argument feeds which parameter.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); JSON Schema 2020-12.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common import visible_text
from openapi_tools.common.http_rules import (
    essence,
    is_json,
    is_sequential,
    parameter_key,
    should_keep_header,
)
from openapi_tools.common.json_schema import schema_types
from openapi_tools.common.json_values import Node, as_dict, as_list, is_string, is_true
from openapi_tools.errors import DocumentError
from openapi_tools.loading import document as documents
from openapi_tools.loading import versions
from openapi_tools.loading.page_detection import detect_paging
from openapi_tools.loading.parameters import InputArgument, Parameters
from openapi_tools.loading.request_bodies import Content, RequestBodies
from openapi_tools.loading.schema_components import complete_schema
from openapi_tools.model import Operation, Parameter, Property, RequestBody
from openapi_tools.requests.encoding import OWN_HEADERS, is_token
from openapi_tools.requests.path_notations import read_template

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.loading.document import Document, OperationNode, ParameterNodes
    from openapi_tools.loading.references import Resource, Target
    from openapi_tools.loading.schemas import Schemas
    from openapi_tools.model import Paging
    from openapi_tools.requests.path_notations import PathTemplate

_BELOW_400 = re.compile("[23](?:[0-9]{2}|XX)")
_MOST_COMPARED = 3  # properties of a body that is compared with others
_SENDABLE = re.compile(r"[ -+\--~]*")  # printable ASCII but a comma


class Inputs:
    """Builds operations and their inputs; parameters that security schemes fill are left out."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._limit = document.settings.description_chars
        self._bodies = RequestBodies(document)
        self._parameters = Parameters(document)
        self._contents: dict[tuple[int, bytes | int, tuple[str, ...]], Content] = {}
        self._schemas: dict[tuple[int, ...], tuple[Node, list[InputArgument]]] = {}
        self._lists: dict[int, tuple[list[InputArgument], frozenset[str]]] = {}
        self._shared_arguments: dict[tuple[int, bytes], InputArgument | None] = {}
        self._credentials: dict[tuple[str, str], list[str]] = {}
        for name, scheme in document.security.schemes.items():
            if scheme.type == "apiKey":
                place = parameter_key(scheme.location, scheme.name)
                self._credentials.setdefault(place, []).append(name)

    def input_schema(self, operation: OperationNode, kinds: tuple[str, ...]) -> Node:
        """Return the schema of an input; `kinds` are the media types that the user asks for."""
        parameters = self._document.parameters(operation)
        content = self._body_content(operation, parameters, kinds)
        arguments = self._input_arguments(operation, parameters)
        key = (id(content), *map(id, arguments))
        if key not in self._schemas:
            schema = self._build_schema(arguments + _body_arguments(content))
            self._schemas[key] = (schema, arguments)  # an id is unique while its object lives
        schema = self._schemas[key][0].copy()
        schema["properties"] = schema["properties"].copy()
        if "required" in schema:
            schema["required"] = schema["required"].copy()
        return schema

    def _build_schema(self, arguments: list[InputArgument]) -> Node:
        properties: Node = {}
        required: list[str] = []
        for name, argument in zip(visible_text.argument_names(arguments), arguments, strict=True):
            is_own = name == argument.wire
            properties[name] = argument.schema if is_own else self._argument_schema(argument, name)
            if argument.required:
                required.append(name)
        schema: Node = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return complete_schema(schema, self._document.schemas.closure)

    def _argument_schema(self, argument: InputArgument, name: str) -> Node:
        schema, wire = argument.schema, argument.wire
        if not visible_text.hides_wire_name(name, wire):
            return schema
        written_name = visible_text.quote_name(wire)
        description = f"Sent as {written_name}. {schema.get('description', '')}".rstrip()
        return {**schema, "description": visible_text.truncate_text(description, self._limit)}

    def operation(self, operation: OperationNode, kinds: tuple[str, ...]) -> Operation:
        """Return how an operation is called; arguments and errors are as of `input_schema`."""
        document = self._document
        parameters = document.parameters(operation)
        template = self._template(operation, parameters)
        content = self._body_content(operation, parameters, kinds)
        arguments, of_body = self._input_arguments(operation, parameters), _body_arguments(content)
        names = visible_text.argument_names(arguments + of_body)
        count = len(arguments)
        result = Operation(
            method=operation.method,
            path=template.path,
            operation_id=operation.operation_id,
            parameters=tuple(map(self._parameters.parameter, arguments, names)),
            body=_build_body(content, of_body, names[count:]) if content else None,
            servers=document.servers(operation),
            security=self._security_requirements(operation),
            accept=self._accepted_media_types(operation),
            tags=operation.tags,
            deprecated=operation.deprecated,
            extensions=operation.flags,
            response_headers=self._response_headers(operation),
            redirects=_redirect_statuses(operation),
        )
        schemas = {name: each.schema for each, name in zip(arguments + of_body, names, strict=True)}
        paging = self._detect_paging(operation, result, schemas)
        return result if paging is None else replace(result, paging=paging)

    def _security_requirements(
        self, operation: OperationNode
    ) -> tuple[dict[str, tuple[str, ...]], ...]:
        declared = self._document.security.requirements(operation.node, operation.resource)
        if not self._credentials:
            return declared
        requirements = declared
        for (location, name), (node, _) in self._document.parameters(operation).items():
            schemes = self._credentials.get(parameter_key(location, name), ())
            if schemes and not any(
                s in alternative for alternative in requirements for s in schemes
            ):
                needed = is_true(node.get("required")) and not any(declared)
                requirements = _add_key_scheme(requirements, schemes, needed=needed)
        return requirements

    def _detect_paging(
        self, node: OperationNode, operation: Operation, schemas: Node
    ) -> Paging | None:
        if operation.method not in ("GET", "POST", "QUERY"):
            return None
        return detect_paging(
            operation,
            schemas,
            node=node.node,
            resource=node.resource,
            follow=self._follow_reference,
            resolve=self._document.schemas.content,
        )

    def _follow_reference(self, node: Any, resource: Resource) -> Target | None:
        try:
            return self._document.references.follow(node, resource)
        except DocumentError:  # an unreadable response does not make the request unusable
            return None

    def response_schema(self, operation: OperationNode) -> Node | None:
        """Return the schema of successful JSON responses; None if one of them can be anything."""
        schemas, converted = self._document.response_schemas, []
        try:
            for kind, node, resource in self._response_media_types(operation):
                if is_sequential(kind) or essence(kind) == "text/event-stream":
                    return None  # a list of what its schema describes
                if is_json(kind):
                    target = self._document.references.follow(node, resource)
                    one = schemas.convert(as_dict(target.node).get("schema"), target.resource)
                    converted += [one] if one not in converted else []
            return _complete_response_schema(converted, schemas) if all(converted) else None
        except DocumentError:  # as in `_responses`
            return None

    def _body_content(
        self, operation: OperationNode, parameters: ParameterNodes, kinds: tuple[str, ...]
    ) -> Content | None:
        body = self._document.request_body(operation, parameters)
        if body is None:
            return None
        node, resource = body
        key = (*self._body_key(node, resource), kinds)
        if key not in self._contents:
            self._contents[key] = self._bodies.read(node, resource, kinds)
        content = self._contents[key]
        is_empty = content.flat and not content.required and not content.schema.get("properties")
        return None if is_empty else content

    def _body_key(self, node: Node, resource: Resource) -> tuple[int, bytes | int]:
        # Generators repeat small bodies. Large ones are seldom equal, and to write them in order to
        # compare them costs more than to read one twice.
        media_type = as_dict(next(iter(as_dict(node.get("content")).values()), None))
        properties = as_dict(as_dict(media_type.get("schema")).get("properties"))
        if len(properties) > _MOST_COMPARED:
            return id(resource), id(node)
        return id(resource), resource.key(node)

    def _input_arguments(
        self, operation: OperationNode, parameters: ParameterNodes
    ) -> list[InputArgument]:
        arguments, declared = self._list_arguments(parameters)
        variables = read_template(operation.path, declared).variables
        if variables.keys() == declared and not any(variables.values()):
            return arguments
        missing = [name for name in variables if name not in declared]
        text, resource = {"schema": {"type": "string"}}, operation.resource
        return [
            self._allow_slashes(each) if each.location == "path" and variables[each.wire] else each
            for each in (
                *[self._parameters.argument("path", name, text, resource) for name in missing],
                *[each for each in arguments if each.location != "path" or each.wire in variables],
            )
        ]

    def _allow_slashes(self, argument: InputArgument) -> InputArgument:
        kinds = schema_types(self._document.schemas.content(argument.schema))
        is_styled = as_dict(argument.node).get("style", "simple") != "simple"
        if is_styled or (kinds and "string" not in kinds):  # a list in the notation of RFC 6570
            return argument
        text = argument.schema.get("description", "")
        description = f"{text} Slashes separate segments of the path.".strip()
        return argument._replace(
            schema={**argument.schema, "description": description}, slashes=True
        )

    def _template(self, operation: OperationNode, parameters: ParameterNodes) -> PathTemplate:
        return read_template(operation.path, self._list_arguments(parameters)[1])

    def _list_arguments(
        self, parameters: ParameterNodes
    ) -> tuple[list[InputArgument], frozenset[str]]:
        key = id(parameters)
        if key not in self._lists:
            arguments = []
            for (location, name), (node, resource) in parameters.items():
                if (argument := self._argument(location, name, node, resource)) is not None:
                    arguments.append(argument)
            declared = frozenset(each.wire for each in arguments if each.location == "path")
            self._lists[key] = arguments, declared
        return self._lists[key]

    def _argument(
        self, location: str, name: str, node: Node, resource: Resource
    ) -> InputArgument | None:
        key = id(resource), resource.key(node)
        if key not in self._shared_arguments:
            is_offered = self._is_offered(location, name, node)
            self._shared_arguments[key] = (
                self._parameters.argument(location, name, node, resource) if is_offered else None
            )
        return self._shared_arguments[key]

    def _is_offered(self, location: str, name: str, node: Node) -> bool:
        place = parameter_key(location, name)
        if location in versions.OF_BODY or place in self._credentials:
            return False
        is_own = location == "header" and place[1] in OWN_HEADERS
        return not is_own and not documents.is_left_out(node)

    def _accepted_media_types(self, operation: OperationNode) -> tuple[str, ...]:
        kinds: Iterable[str] = (kind for kind, *_ in self._response_media_types(operation))
        if self._document.dialect.swagger:
            kinds = self._produced_media_types(operation)
        clean = [
            kind
            for kind in dict.fromkeys(islice(kinds, documents.MAX_CHOICES))
            if "/" in kind and _SENDABLE.fullmatch(kind)
        ]
        return tuple(sorted(clean, key=lambda kind: "json" not in kind.lower()))

    def _response_media_types(
        self, operation: OperationNode
    ) -> Iterator[tuple[str, Any, Resource]]:
        only = len(as_dict(operation.node.get("responses"))) == 1
        for status, response, resource in self._responses(operation):
            if status.startswith("2") or (status == "default" and only):
                content = as_dict(response.get("content"))
                if self._document.dialect.swagger:
                    content = dict.fromkeys(self._produced_media_types(operation), response)
                yield from ((kind, node, resource) for kind, node in content.items())

    def _produced_media_types(self, operation: OperationNode) -> list[str]:
        produces = operation.node.get("produces", self._document.root.get("produces"))
        return list(filter(is_string, as_list(produces)))

    def _response_headers(self, operation: OperationNode) -> tuple[str, ...]:
        nodes = (as_dict(response.get("headers")) for _, response, _ in self._responses(operation))
        names = (name.lower() for node in nodes for name in node)
        kept = (name for name in names if is_token(name) and should_keep_header(name) is None)
        return tuple(islice(dict.fromkeys(kept), documents.MAX_CHOICES))

    def _responses(self, operation: OperationNode) -> Iterator[tuple[str, Node, Resource]]:
        for status, node in as_dict(operation.node.get("responses")).items():
            try:
                response, resource, _ = self._document.references.follow(node, operation.resource)
            except DocumentError:  # an unreadable response does not make the request unusable
                continue
            if isinstance(response, dict):
                yield str(status), response, resource


def _add_key_scheme(
    requirements: tuple[dict[str, tuple[str, ...]], ...], schemes: Iterable[str], *, needed: bool
) -> tuple[dict[str, tuple[str, ...]], ...]:
    alternatives = requirements or ({},)
    keyed = tuple({**each, scheme: ()} for scheme in schemes for each in alternatives)
    return keyed if needed else keyed + alternatives


def _redirect_statuses(operation: OperationNode) -> tuple[str, ...]:
    statuses = (str(status).upper() for status in as_dict(operation.node.get("responses")))
    below = sorted(status for status in statuses if _BELOW_400.fullmatch(status))
    is_redirect = any(status[0] == "3" and status != "304" for status in below)
    return tuple(below) if is_redirect else ()


def _complete_response_schema(alternatives: list[Node], schemas: Schemas) -> Node | None:
    if not alternatives:
        return None
    schema = alternatives[0] if len(alternatives) == 1 else {"anyOf": alternatives}
    whole = complete_schema(
        {"type": "object", "properties": {"response": schema}}, schemas.closure, cut=False
    )
    return {**whole["properties"]["response"], **{k: whole[k] for k in whole if k == "$defs"}}


def _body_arguments(content: Content | None) -> list[InputArgument]:
    if content is None:
        return []
    needed = frozenset(content.schema.get("required", ()))
    if content.flat:
        properties = content.schema.get("properties", {})
        arguments = [
            InputArgument("body", name, properties[name], name in needed) for name in properties
        ]
    else:
        arguments = [InputArgument("body", "body", content.schema, content.required)]
    if content.choices:
        kinds = [content.media_type, *(other.media_type for other in content.choices)]
        description = "The media type of the body."
        schema = {"type": "string", "enum": kinds, "description": description}
        arguments.append(InputArgument("body", "media_type", schema, content.required))
    return arguments + [
        InputArgument(
            "header",
            f"{header.part}_{header.parameter.name}".replace("*", "items"),
            header.schema,
            required=header.required and content.required and header.part in needed,
        )
        for header in content.headers
    ]


def _build_body(content: Content, arguments: list[InputArgument], names: list[str]) -> RequestBody:
    body = content.body()
    count = len(arguments) - len(content.headers)
    headers: dict[str, list[Parameter]] = {}
    for header, name in zip(content.headers, names[count:], strict=True):
        parameter = replace(header.parameter, argument=name)
        headers.setdefault(header.part, []).append(parameter)
    encodings = tuple(
        replace(encoding, headers=tuple(headers.get(encoding.name, ())))
        for encoding in body.encodings
    )
    if content.choices:
        choices = tuple(replace(other, argument=names[0]) for other in body.choices)
        body = replace(body, choice=names[1], choices=choices)
    if not content.flat:
        return replace(body, argument=names[0], encodings=encodings)
    pairs = zip(arguments[:count], names[:count], strict=True)
    properties = tuple(Property(argument.wire, name) for argument, name in pairs)
    return replace(body, properties=properties, encodings=encodings)
