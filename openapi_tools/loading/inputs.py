"""Operation -> input schema, and which argument feeds which place.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); JSON Schema 2020-12.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openapi_tools.loading import security, versions
from openapi_tools.loading.arguments import FRAME, Argument, Cost, Offers, cost_of, media_type
from openapi_tools.loading.markdown import cut
from openapi_tools.loading.naming import are_portable, argument_names, is_other
from openapi_tools.loading.operations import plain_path
from openapi_tools.loading.request_bodies import Bodies, Content, named
from openapi_tools.loading.schema_keywords import as_boolean, is_true
from openapi_tools.loading.schema_limits import MAX_SCHEMA, shrink, size_of
from openapi_tools.loading.servers import servers
from openapi_tools.model import DEFAULT_STYLES, Operation, Parameter, Property, RequestBody
from openapi_tools.visible_text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.loading.arguments import Group
    from openapi_tools.loading.operations import Declared, Document
    from openapi_tools.loading.parameters import Listed
    from openapi_tools.loading.references import Resource
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


class _Body:
    """A body, and what the model is told of it.

    Args:
        content: The body.

    Attributes:
        members: The schemas of its arguments by their names in it, but for headers of parts.
        required: Those that the model has to give.
        cost: Of all their schemas, headers included.
        plain: Its arguments are called as its members are.
        shared: Other operations have the same.
    """

    __slots__ = ("content", "cost", "members", "plain", "required", "shared")

    def __init__(self, content: Content) -> None:
        schema = content.schema
        self.content = content
        self.shared = False
        self.members: dict[str, Any] = {"body": schema}
        if content.choices:
            self.members["media_type"] = _choice(content)
        self.required = list(self.members) if content.required else []
        if content.flat:
            self.members = schema.get("properties", {})
            needed = frozenset(schema.get("required", ()))
            self.required = [name for name in self.members if name in needed] if needed else []
        self.plain = not content.headers and are_portable(self.members)
        # Flat members stand in it as they are.
        uses, most = cost_of(schema)
        most += len(content.choices) * FRAME
        for header in content.headers:
            of_header = cost_of(header.schema)
            uses, most = uses | of_header.uses, most + of_header.most + FRAME
        self.cost = Cost(uses, most + FRAME * len(self.members))

    def arguments(self) -> list[Argument]:
        """Return its members, or one for all, then the headers of its parts."""
        content, required = self.content, frozenset(self.required)
        arguments = [
            Argument("body", name, schema, name in required)
            for name, schema in self.members.items()
        ]
        needed = frozenset(content.schema.get("required", ()))
        return arguments + [
            Argument(
                "header",
                f"{header.part}_{header.parameter.name}".replace("*", "items"),
                header.schema,
                required=header.required and content.required and header.part in needed,
            )
            for header in content.headers
        ]


class Inputs:
    """Builds the operations of one document.

    Args:
        document: The document.
        settings: As in `Settings`.
        schemes: The document's security schemes; what they occupy is no argument.
    """

    def __init__(
        self, document: Document, settings: Settings, schemes: Mapping[str, SecurityScheme]
    ) -> None:
        self._document = document
        self.description_chars = settings.description_chars
        self._bodies = Bodies(document, settings)
        self._offers = Offers(document, schemes)
        self._swagger = document.dialect.swagger
        self._shared: dict[tuple[Any, ...], _Body | None] = {}
        kinds = settings.media_types
        self._media_types = kinds if isinstance(kinds, dict) else {}

    def input_schema(self, declared: Declared, name: str) -> dict[str, Any]:
        """Return the schema of an operation's input: a closed object at the root.

        Args:
            declared: The operation.
            name: The tool's.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        group, body = self._read(declared, name)
        if body is not None and not body.shared:
            return self._schema(group, body)
        known = group.schemas.get(body)
        if known is None:
            known = group.schemas[body] = self._schema(group, body)
        schema = {**known, "properties": known["properties"].copy()}
        if "required" in schema:
            schema["required"] = schema["required"].copy()
        return schema

    def _schema(self, group: Group, body: _Body | None) -> dict[str, Any]:
        """Return the schema of the input that some parameters and a body make."""
        properties, required, plain = group.properties, group.required, group.plain
        uses, most = group.cost
        if body is not None:
            properties = {**properties, **body.members}
            required = required + body.required
            uses = uses | body.cost.uses if uses else body.cost.uses
            most += body.cost.most
            count = len(group.properties) + len(body.members)
            plain = plain and body.plain and len(properties) == count
        if not plain:
            arguments = _arguments(group, body)
            properties, required = _renamed(arguments, self.description_chars)
            most += 12 * sum(len(argument.wire) for argument in arguments)
        schema: dict[str, Any] = {"type": "object", "properties": properties}
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        return self._complete(schema, uses, most + FRAME)

    def _complete(self, schema: dict[str, Any], uses: frozenset[str], most: int) -> dict[str, Any]:
        """Return a schema with the definitions that it refers to, none too large for a model."""
        if not uses:
            return shrink(schema) if most > MAX_SCHEMA else schema
        schemas = self._document.schemas
        closure = schemas.closure(uses)
        fits = most + closure.most <= MAX_SCHEMA or (
            size_of(schema) + schemas.size_of(closure) <= MAX_SCHEMA
        )
        schema["$defs"] = closure.definitions
        return schema if fits else shrink(schema)

    def operation(self, declared: Declared, name: str) -> Operation:
        """Return how an operation is called.

        Args:
            declared: The operation.
            name: The tool's.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        document = self._document
        group, body = self._read(declared, name)
        listed = [offer.listed for offer in group.fitting]
        every = _arguments(group, body)
        names = argument_names([argument[:2] for argument in every])
        return Operation(
            method=declared.method,
            path=plain_path(declared.path, [found.name for found in listed]),
            operation_id=declared.operation_id,
            parameters=tuple(
                self._parameter(found, argument)
                for found, argument in zip(listed, names[: len(listed)], strict=True)
            ),
            body=_body(body, every[len(listed) :], names[len(listed) :]) if body else None,
            servers=servers(document, declared),
            security=security.requirements(document, declared.node),
            accept=document.accept(declared),
            tags=declared.tags,
            deprecated=declared.deprecated,
            extensions=_extensions(declared.node),
            response_headers=document.response_headers(declared),
        )

    def _read(self, declared: Declared, name: str) -> tuple[Group, _Body | None]:
        """Return an operation's parameters and its body."""
        group = self._offers.of(declared)
        has_body = group.of_body if self._swagger else "requestBody" in declared.node
        own = self._media_types.get(name, ())
        body = self._body(declared, group.of_body, own) if has_body else None
        if not group.told:
            self._offers.look_at(group)
        return group, body

    def _body(self, declared: Declared, listed: list[Listed], own: tuple[str, ...]) -> _Body | None:
        """Return an operation's body; one that only names a component, once for all."""
        found = self._document.request_body(declared, listed)
        if found is None:
            return None
        node, resource = found
        key = named(node) if resource is self._document.entry and not own else None
        if key is None:
            return self._of_node(node, resource, own)
        if key not in self._shared:
            body = self._shared[key] = self._of_node(node, resource)
            if body is not None:
                body.shared = True
        return self._shared[key]

    def _of_node(
        self, node: dict[str, Any], resource: Resource, own: tuple[str, ...] = ()
    ) -> _Body | None:
        """Return a body, None where it takes nothing."""
        content = self._bodies.read(node, resource, own)
        return None if content.is_empty else _Body(content)

    def _parameter(self, listed: Listed, argument: str) -> Parameter:
        """Return how a parameter is written."""
        node, location = self._offers.plain(listed), listed.location
        kind = media_type(node)
        explode = as_boolean(node.get("explode"))
        style = str(node.get("style", ""))
        style = style if not kind and style in _STYLES.get(location, ()) else ""
        shown = style or DEFAULT_STYLES.get(location, "form")
        return Parameter(
            listed.name,
            location,
            argument=argument,
            style=style,
            explode=None if kind else explode,
            allow_reserved=is_true(node.get("allowReserved")),
            media_type=kind,
            inner=versions.inner_delimiters(listed.node) if self._document.dialect.swagger else (),
            printed=self._document.dialect.printed and shown in _PRINTED,
        )


def _choice(content: Content) -> dict[str, Any]:
    """Return what the model is told of the media types that it may choose from."""
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


def _arguments(group: Group, body: _Body | None) -> list[Argument]:
    """Return all arguments, those of parameters first."""
    arguments = [Argument(*offer.place, offer.schema, offer.required) for offer in group.fitting]
    return arguments + body.arguments() if body is not None else arguments


def _renamed(arguments: list[Argument], limit: int) -> tuple[dict[str, Any], list[str]]:
    """Return the schemas of arguments by names that every provider takes, and those required.

    Args:
        arguments: In the order of the operation.
        limit: Most characters of a description.
    """
    names = argument_names([argument[:2] for argument in arguments])
    pairs = list(zip(names, arguments, strict=True))
    required = [name for name, argument in pairs if argument.required]
    return {name: _called(argument, name, limit) for name, argument in pairs}, required


def _called(argument: Argument, name: str, limit: int) -> dict[str, Any]:
    """Return an argument's schema; it tells the API's own name where the argument's does not."""
    schema, wire = argument.schema, argument.wire
    if not is_other(name, wire):
        return schema
    shown = f"`{wire}`" if wire.isprintable() and visible(wire) == wire else ascii(wire)
    words = f"Sent as {shown}. {schema.get('description', '')}".rstrip()
    return {**schema, "description": cut(words, limit)}


def _body(found: _Body, arguments: list[Argument], names: list[str]) -> RequestBody:
    """Return the body with the arguments that feed it."""
    content = found.content
    body = content.body()
    count = len(arguments) - len(content.headers)
    headers: dict[str, list[Parameter]] = {}
    for header, name in zip(content.headers, names[count:], strict=True):
        parameter = replace(header.parameter, argument=name)
        headers.setdefault(header.part, []).append(parameter)
    encodings = tuple(
        replace(encoding, headers=tuple(headers[encoding.name]))
        if encoding.name in headers
        else encoding
        for encoding in body.encodings
    )
    if content.choices:
        choices = tuple(replace(other, argument=names[0]) for other in body.choices)
        body = replace(body, choice=names[1], choices=choices)
    if not content.flat:
        return replace(body, argument=names[0], encodings=encodings)
    properties = tuple(
        Property(argument.wire, name)
        for argument, name in zip(arguments[:count], names[:count], strict=True)
    )
    return replace(body, properties=properties, encodings=encodings)
