"""Parameter Objects -> parameters of operations, and the arguments that feed them.

Spec: OpenAPI 3.2.0, section 4.12; Swagger 2.0, "Parameter Object".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openapi_tools.errors import DocumentError, InvalidDocument
from openapi_tools.http_rules import header_key
from openapi_tools.json_values import compact
from openapi_tools.loading import versions
from openapi_tools.loading.keyword_values import MAX_LITERAL, is_longer, is_true
from openapi_tools.requests.encoding import OWN_HEADERS, is_cookie_name, is_token
from openapi_tools.requests.server_urls import VARIABLE
from openapi_tools.visible_text import plain_text, visible_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.loading.operations import Document, OperationNode
    from openapi_tools.loading.references import References, Resource
    from openapi_tools.model import SecurityScheme

OF_BODY: Final = frozenset({"body", "formData"})
"""Locations of Swagger 2.0 whose parameters make the body."""

_OPERATOR = re.compile(r"\{[.;?]|\*\}")
_UNSENDABLE = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")
_NAME_TESTS: dict[Any, Callable[[str], bool]] = {
    "query": bool,
    "header": is_token,
    "cookie": is_cookie_name,
}


class ParameterNode(NamedTuple):
    """A parameter that an operation lists.

    Attributes:
        location: Its `in`.
        name: On the wire.
        node: The Parameter Object, as the document has it.
        resource: Its document.
    """

    location: str
    name: str
    node: dict[str, Any]
    resource: Resource


class Argument(NamedTuple):
    """One argument of a tool.

    Attributes:
        location: The parameter's, or `body`.
        wire: Its name there.
        schema: What the model is told.
        required: The model has to give it.
        parameter: The parameter that it feeds; None for a body.
    """

    location: str
    wire: str
    schema: dict[str, Any]
    required: bool
    parameter: ParameterNode | None = None


class Parameters:
    """Reads the parameters of one document, each list once.

    Args:
        references: Resolves `$ref`.
        dialect: Says where parameters may be.
    """

    def __init__(self, references: References, dialect: versions.Dialect) -> None:
        self._source = references.entry.name
        self._references = references
        self._version = dialect.version
        self._locations = _locations(dialect)
        self._lists: dict[tuple[int, int], list[ParameterNode]] = {}
        self._referred: dict[tuple[int, str], ParameterNode] = {}

    def of(self, operation: OperationNode) -> list[ParameterNode]:
        """Return an operation's parameters, its own over those of its path.

        `body` and `formData` of Swagger 2.0 are among them. Of two with the same place and name in
        one list the last counts.

        Spec: OpenAPI 3.1.2, section 4.8.9, `parameters`.

        Raises:
            DocumentError: One is malformed or leads nowhere.
        """
        above, own = (
            self._listed(operation, operation.item),
            self._listed(operation, operation.node),
        )
        if not above or not own:
            return above or own
        return list({node[:2]: node for node in (*above, *own)}.values())

    def _listed(self, operation: OperationNode, holder: dict[str, Any]) -> list[ParameterNode]:
        """Return the parameters that an operation or its path item lists."""
        listed = holder.get("parameters")
        if listed is None:
            return []
        key = (id(operation.resource), id(listed))
        found = self._lists.get(key)
        if found is None:
            above = operation.pointer if holder is operation.node else operation.path_pointer
            nodes = self._read_list(listed, operation.resource, f"{above}/parameters")
            found = self._lists[key] = list({node[:2]: node for node in nodes}.values())
        return found

    def _read_list(self, listed: Any, resource: Resource, pointer: str) -> Iterator[ParameterNode]:
        if not isinstance(listed, list):
            reason = "'parameters' must be an array."
            raise InvalidDocument(reason, source=self._source, pointer=pointer)
        for index, item in enumerate(listed):
            try:
                yield self._read(item, resource)
            except DocumentError as error:
                error.source, error.pointer = self._source, f"{pointer}/{index}"
                raise

    def _read(self, item: Any, resource: Resource) -> ParameterNode:
        """Return an item of a list, references followed."""
        if not isinstance(item, dict) or "$ref" not in item:
            return self._checked(item, resource)
        if not isinstance(item["$ref"], str):
            return self._checked(*self._references.follow(item, resource)[:2])
        key = (id(resource), item["$ref"])
        if key not in self._referred:
            target = self._references.follow(item, resource)
            self._referred[key] = self._checked(target.node, target.resource)
        return self._referred[key]

    def _checked(self, node: Any, resource: Resource) -> ParameterNode:
        """Return a parameter with a name and a location."""
        if not isinstance(node, dict):
            raise InvalidDocument(f"a parameter must be an object, not {node!r:.60}.")
        location, name = node.get("in"), node.get("name")
        if location == "querystring" and not name:  # the whole query needs no name on the wire
            name = location
        if not isinstance(name, str) or not name:
            raise InvalidDocument(f"'name' of a parameter is {name!r:.60}; give it a text.")
        if not isinstance(location, str) or location not in self._locations:
            allowed = ", ".join(self._locations)
            reason = f"'in' is {location!r:.60}; {self._version} has {allowed}."
            raise InvalidDocument(reason)
        if not _is_legible(name) and not is_left_out(node):
            reason = f"the name of the {location} parameter {name!r:.60} cannot be sent."
            raise InvalidDocument(reason)
        return ParameterNode(location, name, node, resource)


def is_left_out(node: Mapping[str, Any]) -> bool:
    """Tell whether requests leave a parameter out because its name cannot be sent.

    Args:
        node: A Parameter Object; a required one with control characters in its name is an error.
    """
    location, name = node.get("in"), node.get("name")
    if location not in _NAME_TESTS or not isinstance(name, str):
        return False
    if not _is_legible(name):
        return not is_true(node.get("required"))
    return not _NAME_TESTS[location](name)


def _is_legible(name: str) -> bool:
    """Tell whether a name is free of control characters and halves of characters."""
    return name.isprintable() or not _UNSENDABLE.search(name)


def _locations(dialect: versions.Dialect) -> tuple[str, ...]:
    """Return the values that a parameter's `in` may have."""
    if dialect.swagger:
        return ("path", "query", "header", "body", "formData")
    more = ("querystring",) if dialect.minor >= 2 else ()  # noqa: PLR2004 -- 3.2
    return ("path", "query", "header", "cookie", *more)


class Arguments:
    """Makes the arguments that feed the parameters of one document's operations.

    Args:
        document: The document.
        schemes: Its security schemes; parameters that they fill are left out.
    """

    def __init__(self, document: Document, schemes: Mapping[str, SecurityScheme]) -> None:
        self._document = document
        self._limit = document.settings.description_chars
        self._known: dict[int, Argument | None] = {}
        self._alike: dict[tuple[int, bytes], Argument | None] = {}
        self._credentials = {
            (scheme.location, _key(scheme.location, scheme.name))
            for scheme in schemes.values()
            if scheme.type == "apiKey"
        }

    def of(self, operation: OperationNode) -> list[Argument]:
        """Return the arguments of an operation's parameters, undeclared path variables first.

        Path parameters without a place in the path are left out.

        Raises:
            DocumentError: A parameter is malformed or leads nowhere.
        """
        found = map(self._argument, self._document.parameters.of(operation))
        arguments = [argument for argument in found if argument is not None]
        known = [argument.wire for argument in arguments if argument.location == "path"]
        variables = path_variables(operation.path, known)
        if variables is known:
            return arguments
        declares, has = frozenset(known), frozenset(variables)
        missing = [name for name in variables if name not in declares]
        return [
            *[self._undeclared(name, operation.resource) for name in missing],
            *[each for each in arguments if each.location != "path" or each.wire in has],
        ]

    def _is_offered(self, parameter: ParameterNode) -> bool:
        """Tell whether the model sets a parameter."""
        location, key = parameter.location, _key(parameter.location, parameter.name)
        if location in OF_BODY or is_left_out(parameter.node):
            return False
        if location == "header" and key in OWN_HEADERS:
            return False
        return (location, key) not in self._credentials

    def _argument(self, parameter: ParameterNode) -> Argument | None:
        """Return the argument of a parameter; one for all that say the same to the letter."""
        node = id(parameter.node)
        if node not in self._known:
            key = (id(parameter.resource), compact(parameter.node))
            if key not in self._alike:
                self._alike[key] = self._made(parameter) if self._is_offered(parameter) else None
            self._known[node] = self._alike[key]
        return self._known[node]

    def _undeclared(self, name: str, resource: Resource) -> Argument:
        """Return the argument of a path variable without a parameter."""
        return self._made(ParameterNode("path", name, {"schema": {"type": "string"}}, resource))

    def _made(self, parameter: ParameterNode) -> Argument:
        location, name, node, _ = parameter
        schema = self._described(node, self._schema(parameter))
        required = location == "path" or is_true(node.get("required"))
        return Argument(location, name, schema, required, parameter)

    def _schema(self, parameter: ParameterNode) -> dict[str, Any]:
        """Return a parameter's converted schema, that of its `content` where it has one."""
        node, resource = self.modern(parameter), parameter.resource
        schema = node.get("schema")
        kind = media_type(node)
        if kind:
            target = self._document.references.follow(node["content"][kind], resource)
            schema = target.node.get("schema") if isinstance(target.node, dict) else None
            resource = target.resource
        return self._document.schemas.convert(schema, resource)

    def modern(self, parameter: ParameterNode) -> dict[str, Any]:
        """Return a Parameter Object as OpenAPI 3 writes it."""
        swagger = self._document.dialect.swagger and "schema" not in parameter.node
        return versions.parameter(parameter.node) if swagger else parameter.node

    def _described(self, node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's schema with the parameter's own words."""
        out = dict(schema)
        described = node.get("description")
        if isinstance(described, str) and described:
            out["description"] = plain_text(described, self._limit)
        if is_true(node.get("deprecated")):
            out["deprecated"] = True
        if "example" in node and "examples" not in out and not is_longer(node, MAX_LITERAL):
            out["examples"] = [visible_in(node["example"])]
        return out


def _key(location: str, name: str) -> str:
    return header_key(name) if location == "header" else name


def media_type(node: dict[str, Any]) -> str:
    """Return the media type of a parameter with `content`."""
    content = node.get("content")
    return next(iter(content), "") if isinstance(content, dict) else ""


def path_variables(path: str, names: list[str]) -> list[str]:
    """Return the names between braces in a path, spelled as in `plain_path`, each once.

    Args:
        path: As in the document.
        names: The path parameters that are declared; the same list where they are the variables.
    """
    if _variables(path) == names:
        return names
    return list(dict.fromkeys(_variables(plain_path(path, names))))


def _variables(path: str) -> list[str]:
    return [name for name in VARIABLE.findall(path) if "/" not in name]


def plain_path(path: str, names: list[str]) -> str:
    """Return a path without the RFC 6570 operators around declared names: `{;id*}` is `{id}`.

    The parameter says the same as `style` and `explode`.

    Args:
        path: As in the document.
        names: The path parameters that are declared.
    """
    known = frozenset(names)

    def spelled(variable: re.Match[str]) -> str:
        name = variable[1].lstrip(".;?").rstrip("*")
        changes = variable[1] not in known and name in known and "/" not in name
        return f"{{{name}}}" if changes else variable[0]

    return VARIABLE.sub(spelled, path)


def has_operators(path: str) -> bool:
    """Tell whether `plain_path` may change a path."""
    return _OPERATOR.search(path) is not None
