"""Operation -> input schema, and which argument feeds which place.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); JSON Schema 2020-12.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from openapi_tools.loading import versions
from openapi_tools.loading.keyword_values import as_boolean, is_true
from openapi_tools.loading.naming import argument_names, is_other
from openapi_tools.loading.parameters import Argument, Arguments, media_type, plain_path
from openapi_tools.loading.request_bodies import Bodies, Content
from openapi_tools.loading.schema_limits import complete
from openapi_tools.loading.servers_and_security import requirements, servers
from openapi_tools.model import DEFAULT_STYLES, Operation, Parameter, Property, RequestBody
from openapi_tools.visible_text import cut, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.loading.operations import Document, OperationNode
    from openapi_tools.loading.parameters import ParameterNode
    from openapi_tools.model import SecurityScheme
    from openapi_tools.settings import Settings

_STYLES = {
    "path": {"simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "query": {"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"},
    "header": {"simple", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "cookie": {"form", "cookie"},
}
_PRINTED = frozenset({"pipeDelimited", "deepObject", "label"})
_MOST_EXTENSIONS = 32
_LONGEST_EXTENSION = 64


class Inputs:
    """Builds the operations of one document and the schemas of their inputs.

    Args:
        document: The document.
        settings: As in `Settings`.
        schemes: The document's security schemes; parameters that they fill are left out.
    """

    def __init__(
        self, document: Document, settings: Settings, schemes: Mapping[str, SecurityScheme]
    ) -> None:
        self._document = document
        self._settings = settings
        self._arguments = Arguments(document, schemes)

    @cached_property
    def _bodies(self) -> Bodies:
        return Bodies(self._document, self._settings)

    def input_schema(self, operation: OperationNode, name: str) -> dict[str, Any]:
        """Return the schema of an operation's input: a closed object at the root.

        Args:
            operation: The operation.
            name: The tool's.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        content = self._content(operation, name)
        arguments = self._arguments.of(operation) + _body_arguments(content)
        names = argument_names([argument[:2] for argument in arguments])
        pairs = list(zip(names, arguments, strict=True))
        properties = {name: self._named(argument, name) for name, argument in pairs}
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required := [name for name, argument in pairs if argument.required]:
            schema["required"] = required
        schema["additionalProperties"] = False
        return complete(schema, self._document.schemas.closure)

    def _named(self, argument: Argument, name: str) -> dict[str, Any]:
        """Return an argument's schema, with the API's own name if the argument's lost it."""
        schema, wire = argument.schema, argument.wire
        if not is_other(name, wire):
            return schema
        shown = f"`{wire}`" if wire.isprintable() and visible(wire) == wire else ascii(wire)
        words = f"Sent as {shown}. {schema.get('description', '')}".rstrip()
        return {**schema, "description": cut(words, self._settings.description_chars)}

    def operation(self, operation: OperationNode, name: str) -> Operation:
        """Return how an operation is called.

        Args:
            operation: The operation.
            name: The tool's.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        document = self._document
        content = self._content(operation, name)
        arguments, of_body = self._arguments.of(operation), _body_arguments(content)
        names = argument_names([argument[:2] for argument in arguments + of_body])
        count = len(arguments)
        return Operation(
            method=operation.method,
            path=plain_path(operation.path, [argument.wire for argument in arguments]),
            operation_id=operation.operation_id,
            parameters=tuple(
                self._parameter(argument.parameter, name)
                for argument, name in zip(arguments, names[:count], strict=True)
                if argument.parameter is not None
            ),
            body=_body(content, of_body, names[count:]) if content else None,
            servers=servers(document, operation),
            security=requirements(document, operation.node),
            accept=document.accept(operation),
            tags=operation.tags,
            deprecated=operation.deprecated,
            extensions=_extensions(operation.node),
            response_headers=document.response_headers(operation),
        )

    def _content(self, operation: OperationNode, name: str) -> Content | None:
        """Return an operation's body, None where it takes nothing."""
        found = self._document.request_body(operation)
        if found is None:
            return None
        kinds = self._settings.media_types
        own = kinds.get(name, ()) if isinstance(kinds, dict) else ()
        content = self._bodies.read(*found, own)
        return None if content.is_empty else content

    def _parameter(self, parameter: ParameterNode, argument: str) -> Parameter:
        """Return how a parameter is written."""
        node, location = self._arguments.modern(parameter), parameter.location
        kind = media_type(node)
        style = str(node.get("style", ""))
        style = style if not kind and style in _STYLES.get(location, ()) else ""
        shown = style or DEFAULT_STYLES.get(location, "form")
        dialect = self._document.dialect
        return Parameter(
            parameter.name,
            location,
            argument=argument,
            style=style,
            explode=None if kind else as_boolean(node.get("explode")),
            allow_reserved=is_true(node.get("allowReserved")),
            media_type=kind,
            inner=versions.inner_delimiters(parameter.node) if dialect.swagger else (),
            printed=dialect.printed and shown in _PRINTED,
        )


def _body_arguments(content: Content | None) -> list[Argument]:
    """Return a body's members, or one argument for all of it, then the headers of its parts."""
    if content is None:
        return []
    needed = frozenset(content.schema.get("required", ()))
    if content.flat:
        members = content.schema.get("properties", {})
        arguments = [Argument("body", name, members[name], name in needed) for name in members]
    else:
        arguments = [Argument("body", "body", content.schema, content.required)]
    if content.choices:
        arguments.append(Argument("body", "media_type", _choice(content), content.required))
    return arguments + [
        Argument(
            "header",
            f"{header.part}_{header.parameter.name}".replace("*", "items"),
            header.schema,
            required=header.required and content.required and header.part in needed,
        )
        for header in content.headers
    ]


def _choice(content: Content) -> dict[str, Any]:
    """Return the schema of the choice between media types."""
    kinds = [content.media_type, *(other.media_type for other in content.choices)]
    return {"type": "string", "enum": kinds, "description": "The media type of the body."}


def _extensions(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of an operation's flags: `x-` members that are `true`.

    Spec: OpenAPI 3.2.0, section 4.37, Specification Extensions.
    """
    names = [
        name
        for name in node
        if name.startswith("x-")
        and len(name) <= _LONGEST_EXTENSION
        and name.isprintable()
        and node[name] is True
    ]
    return tuple(sorted(names)[:_MOST_EXTENSIONS])


def _body(content: Content, arguments: list[Argument], names: list[str]) -> RequestBody:
    """Return a body with the names of the arguments that feed it."""
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
