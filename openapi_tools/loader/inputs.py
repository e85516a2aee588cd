"""Operation -> input schema, and which argument feeds which place.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); JSON Schema 2020-12.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.loader import security, versions
from openapi_tools.loader.bodies import Bodies, Content
from openapi_tools.loader.budget import MAX_SCHEMA, compact, most_of, shrink, size_of
from openapi_tools.loader.keywords import MAX_LITERAL, is_longer, uses_of
from openapi_tools.loader.naming import argument_names
from openapi_tools.loader.operations import path_variables, plain_path
from openapi_tools.loader.parameters import Listed
from openapi_tools.loader.servers import servers
from openapi_tools.loader.texts import plain_text
from openapi_tools.model import DEFAULT_STYLES, Operation, Parameter, Property, RequestBody
from openapi_tools.runtime.escapes import OWN_HEADERS, is_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.loader.operations import Declared, Document
    from openapi_tools.model import SecurityScheme
    from openapi_tools.runtime.settings import Settings

_STYLES = {
    "path": {"simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "query": {"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"},
    "header": {"simple", "spaceDelimited", "pipeDelimited", "tabDelimited"},
    "cookie": {"form", "cookie"},
}
_UNDECLARED = {"schema": {"type": "string"}}
"""A path variable without a parameter; one node for all, as nodes are remembered by identity."""

_PRINTED = frozenset({"pipeDelimited", "deepObject", "label"})
_OF_BODY = frozenset({"body", "formData"})
_NO_COOKIE = re.compile(r"[;=,\s]")
_MOST_EXTENSIONS = 32
_LONGEST_EXTENSION = 64
_LONGEST_ALIKE = 2_000
"""Characters of parameters and members that are kept for operations that say the same."""


_FRAME = 150
"""No argument's name, and no root of a schema, takes more characters beside the schemas in it."""


class _Told(NamedTuple):
    """What the model is told about an argument, the definitions it refers to, its largest size."""

    schema: dict[str, Any]
    uses: frozenset[str]
    most: int


class _Argument(NamedTuple):
    """One argument: where it goes, and what the model is told about it."""

    location: str
    wire: str
    told: _Told
    required: bool


class _Arguments(NamedTuple):
    """All arguments of an operation: those of its parameters, then those of its body."""

    listed: list[Listed]
    of_body: list[_Argument]
    content: Content | None
    every: list[_Argument]
    names: list[str]


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
        self._known: dict[tuple[int, str], _Argument] = {}
        self._written: dict[tuple[int, str, bytes], _Argument] = {}
        self._of_members: dict[int, _Told] = {}
        self._credentials = {
            (scheme.location, scheme.name.lower() if scheme.location == "header" else scheme.name)
            for scheme in schemes.values()
            if scheme.type == "apiKey"
        }

    def input_schema(self, declared: Declared) -> dict[str, Any]:
        """Return the schema of an operation's input: a closed object at the root.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        schemas = self._document.schemas
        _, _, _, every, names = self._arguments(declared)
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {
                name: argument.told.schema for name, argument in zip(names, every, strict=True)
            },
        }
        required = [name for name, argument in zip(names, every, strict=True) if argument.required]
        if required:
            schema["required"] = required
        schema["additionalProperties"] = False
        bound = _FRAME + sum(_FRAME + argument.told.most for argument in every)
        uses = frozenset().union(*(argument.told.uses for argument in every))
        if not uses:
            return shrink(schema) if bound > MAX_SCHEMA else schema
        closure = schemas.closure(uses)
        fits = bound + closure.size <= MAX_SCHEMA or size_of(schema) + closure.size <= MAX_SCHEMA
        schema["$defs"] = closure.definitions
        return schema if fits else shrink(schema)

    def operation(self, declared: Declared) -> Operation:
        """Return how an operation is called.

        Raises:
            DocumentError: Something in it is malformed or leads nowhere.
        """
        document = self._document
        listed, of_body, content, _, names = self._arguments(declared)
        return Operation(
            method=declared.method,
            path=plain_path(declared.path, [found.name for found in listed]),
            operation_id=declared.operation_id,
            parameters=tuple(
                self._parameter(found, name)
                for found, name in zip(listed, names[: len(listed)], strict=True)
            ),
            body=_body(content, of_body, names[len(listed) :]) if content else None,
            servers=servers(document, declared),
            security=security.requirements(document, declared),
            accept=document.accept(declared),
            tags=declared.tags,
            deprecated=declared.deprecated,
            extensions=_extensions(declared.node),
        )

    def _arguments(self, declared: Declared) -> _Arguments:
        """Return the arguments of an operation with their names."""
        document = self._document
        every = document.parameters.of(declared)
        listed = _of_path([found for found in every if self._is_offered(found)], declared)
        body = document.request_body(declared, every)
        content = self._bodies.read(*body) if body is not None else None
        if content is not None and content.is_empty:
            content = None
        of_body = self._body_arguments(content) if content else []
        arguments = [*map(self._argument, listed), *of_body]
        names = argument_names([argument[:2] for argument in arguments])
        return _Arguments(listed, of_body, content, arguments, names)

    def _body_arguments(self, content: Content) -> list[_Argument]:
        """Return the arguments of a body: its members or one for all, then the headers of parts."""
        told = self._member
        required = frozenset(content.schema.get("required", ()))
        if content.flat:
            arguments = [
                _Argument("body", name, told(schema), name in required)
                for name, schema in content.schema.get("properties", {}).items()
            ]
        else:
            arguments = [_Argument("body", "body", told(content.schema), content.body.required)]
        arguments += [
            _Argument(
                "header",
                f"{header.part}_{header.parameter.name}".replace("*", "items"),
                told(header.schema),
                required=header.required and content.body.required and header.part in required,
            )
            for header in content.headers
        ]
        return arguments

    def _is_offered(self, listed: Listed) -> bool:
        """Tell whether a parameter is for the model to set."""
        location, name = listed.location, listed.name
        if location == "header":
            name = name.lower()
            if name in OWN_HEADERS or not is_token(name):
                return False
        elif location == "cookie" and _NO_COOKIE.search(name):
            return False
        return location not in _OF_BODY and (location, name) not in self._credentials

    def _argument(self, listed: Listed) -> _Argument:
        """Return the argument for a parameter; worked out once for each."""
        _, name, node, _ = listed
        argument = self._known.get((id(node), name))
        if argument is None:
            argument = self._known[id(node), name] = self._alike(listed)
        return argument

    def _alike(self, listed: Listed) -> _Argument:
        """Return the argument for a parameter; for those that say the same to the letter, one."""
        location, name, node, resource = listed
        text = compact(node) if type(node) is dict else b""
        key = (id(resource), name, text)
        argument = self._written.get(key)
        if argument is None:
            required = location == "path" or node.get("required") is True
            schema = self._words(node, self._schema(listed))
            argument = _Argument(location, name, _told(schema), required)
            if 0 < len(text) <= _LONGEST_ALIKE:
                self._written[key] = argument
        return argument

    def _member(self, schema: dict[str, Any]) -> _Told:
        """Return what the model is told about a member of a body; worked out once for each."""
        told = self._of_members.get(id(schema))
        if told is None:
            told = _told(schema)
            if told.most <= 6 * _LONGEST_ALIKE:  # longer ones are converted for each body
                self._of_members[id(schema)] = told  # which keeps the schema, and so its identity
        return told

    def _schema(self, listed: Listed) -> dict[str, Any]:
        """Return a parameter's converted schema, that of its `content` where it has one."""
        node, resource = self._plain(listed), listed.resource
        schema = node.get("schema")
        kind = _media_type(node)
        if kind:
            target = self._document.references.follow(node["content"][kind], resource)
            schema = target.node.get("schema") if isinstance(target.node, dict) else None
            resource = target.resource
        return self._document.schemas.convert(schema, resource)

    def _plain(self, listed: Listed) -> dict[str, Any]:
        """Return a Parameter Object as OpenAPI 3 writes it."""
        swagger = self._document.dialect.swagger and "schema" not in listed.node
        return versions.parameter(listed.node) if swagger else listed.node

    def _words(self, node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's schema with what the parameter itself says of it."""
        out = dict(schema)
        described = node.get("description")
        if isinstance(described, str) and described:
            out["description"] = plain_text(described, self.description_chars)
        if node.get("deprecated") is True:
            out["deprecated"] = True
        if "example" in node and "examples" not in out and not is_longer(node, MAX_LITERAL):
            out["examples"] = [node["example"]]
        return out

    def _parameter(self, listed: Listed, argument: str) -> Parameter:
        """Return how a parameter is written."""
        node, location = self._plain(listed), listed.location
        kind = _media_type(node)
        explode = node.get("explode")
        style = str(node.get("style", ""))
        style = style if not kind and style in _STYLES.get(location, ()) else ""
        shown = style or DEFAULT_STYLES.get(location, "form")
        return Parameter(
            listed.name,
            location,
            argument=argument,
            style=style,
            explode=explode if isinstance(explode, bool) and not kind else None,
            allow_reserved=node.get("allowReserved") is True,
            media_type=kind,
            inner=versions.inner_delimiters(listed.node) if self._document.dialect.swagger else (),
            printed=self._document.dialect.printed and shown in _PRINTED,
        )


def _extensions(node: dict[str, Any]) -> tuple[str, ...]:
    """Return the names of an operation's flags: `x-` members that are `true`.

    Spec: OpenAPI 3.2.0, section 4.37, Specification Extensions.
    """
    names = [
        name
        for name, value in node.items()
        if value is True
        and name.startswith("x-")
        and len(name) <= _LONGEST_EXTENSION
        and name.isprintable()
    ]
    return tuple(sorted(names)[:_MOST_EXTENSIONS])


def _media_type(node: dict[str, Any]) -> str:
    """Return the media type of a parameter with `content`."""
    content = node.get("content")
    return next(iter(content), "") if isinstance(content, dict) else ""


def _of_path(listed: list[Listed], declared: Declared) -> list[Listed]:
    """Leave out path parameters that the path has no place for; add those it does not declare."""
    known = [found.name for found in listed if found.location == "path"]
    variables = path_variables(declared.path, known)
    if variables == known:
        return listed
    declares, has = frozenset(known), frozenset(variables)
    missing = [
        Listed("path", name, _UNDECLARED, declared.resource)
        for name in variables
        if name not in declares
    ]
    return missing + [found for found in listed if found.location != "path" or found.name in has]


def _told(schema: dict[str, Any]) -> _Told:
    return _Told(schema, uses_of(schema).every, most_of(schema))


def _body(content: Content, arguments: list[_Argument], names: list[str]) -> RequestBody:
    """Return the body with the arguments that feed it."""
    count = len(arguments) - len(content.headers)
    headers: dict[str, list[Parameter]] = {}
    for header, name in zip(content.headers, names[count:], strict=True):
        parameter = replace(header.parameter, argument=name)
        headers.setdefault(header.part, []).append(parameter)
    encodings = tuple(
        replace(encoding, headers=tuple(headers[encoding.name]))
        if encoding.name in headers
        else encoding
        for encoding in content.body.encodings
    )
    if not content.flat:
        return replace(content.body, argument=names[0], encodings=encodings)
    properties = tuple(
        Property(argument.wire, name)
        for argument, name in zip(arguments[:count], names[:count], strict=True)
    )
    return replace(content.body, properties=properties, encodings=encodings)
