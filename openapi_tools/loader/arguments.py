"""Parameters -> arguments: which are for the model to set, and what it is told about each.

A parameter that was met before, by reference or written out to the letter, is known again.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); Swagger 2.0, "Parameter Object".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openapi_tools.errors import DocumentError
from openapi_tools.loader import versions
from openapi_tools.loader.budget import compact, most_in
from openapi_tools.loader.keywords import MAX_LITERAL, NOTHING, is_longer, uses_in
from openapi_tools.loader.naming import are_portable
from openapi_tools.loader.operations import path_variables
from openapi_tools.loader.parameters import Listed
from openapi_tools.loader.texts import plain_text
from openapi_tools.runtime.escapes import OWN_HEADERS, is_token

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.loader.operations import Declared, Document
    from openapi_tools.model import SecurityScheme

_UNDECLARED = {"schema": {"type": "string"}}
"""A path variable without a parameter."""

OF_BODY: Final = frozenset({"body", "formData"})
"""Where a parameter of Swagger 2.0 stands that is the body or a part of it."""

_NO_COOKIE = re.compile(r"[;=,\s]")
_LONGEST_ALIKE = 2_000
"""Characters of a parameter that is compared with others that may say the same."""

FRAME: Final = 150
"""No argument's name, and no root of a schema, takes more characters beside the schemas in it."""


class Argument(NamedTuple):
    """One argument: where it goes, and what the model is told about it.

    Attributes:
        location: The parameter's, or `body`.
        wire: Its name there.
        schema: What the model is told.
        required: The model has to give it.
    """

    location: str
    wire: str
    schema: dict[str, Any]
    required: bool


class Cost(NamedTuple):
    """What schemas cost.

    Attributes:
        uses: The definitions that they refer to.
        most: No fewer characters than they take as JSON.
    """

    uses: frozenset[str]
    most: int


_NO_COST = Cost(NOTHING, 0)
_UNTOLD: dict[str, Any] = {}


class Offer:
    """A parameter as an argument.

    Args:
        listed: The parameter.
        offered: It is for the model to set.

    Attributes:
        name: On the wire.
        place: Its `in` and its name.
        plain: Its name can be the argument's.
        required: The model has to give it.
        schema: What the model is told, when somebody has looked.
        cost: Of the schema.
    """

    __slots__ = ("cost", "listed", "name", "offered", "place", "plain", "required", "schema")

    def __init__(self, listed: Listed, *, offered: bool) -> None:
        location, name, node, _ = listed
        self.listed = listed
        self.name = name
        self.place = (location, name)
        self.offered = offered
        self.plain = are_portable([name])
        self.required = location == "path" or node.get("required") is True
        self.schema: dict[str, Any] = _UNTOLD
        self.cost = _NO_COST


class Offers:
    """Finds the arguments that the parameters of one document's operations become.

    Args:
        document: The document.
        schemes: Its security schemes; what they occupy is no argument.
    """

    def __init__(self, document: Document, schemes: Mapping[str, SecurityScheme]) -> None:
        self._document = document
        self._limit = document.settings.description_chars
        self._known: dict[str | int | bytes, Offer] = {}
        self._foreign: dict[tuple[int, str], Offer] = {}
        self._undeclared: dict[str, Offer] = {}
        self._credentials = {
            (scheme.location, scheme.name.lower() if scheme.location == "header" else scheme.name)
            for scheme in schemes.values()
            if scheme.type == "apiKey"
        }

    def of(self, declared: Declared) -> list[Offer]:
        """Return the parameters of an operation; those that are not offered are among them.

        Raises:
            DocumentError: One is malformed or leads nowhere.
        """
        if declared.resource is self._document.entry:
            try:
                return self._own(declared)
            except (DocumentError, TypeError):
                pass  # whoever reads whole lists says what is wrong where
        return list(map(self._foreign_offer, self._document.parameters.of(declared)))

    def _own(self, declared: Declared) -> list[Offer]:
        """Return the parameters of one of the document's own operations.

        Raises:
            DocumentError: One is malformed or leads nowhere.
            TypeError: They are no list of objects.
        """
        known = self._known
        found: dict[tuple[str, str], Offer] = {}
        for holder in (declared.item, declared.node):
            listed = holder.get("parameters", ())
            if listed and type(listed) is not list:
                raise TypeError
            for item in listed or ():
                offer = known.get(item["$ref"] if "$ref" in item else id(item))
                if offer is None:
                    offer = self._meet(item)
                found[offer.place] = offer  # of two in one place the last counts
        return [*found.values()]

    def _meet(self, item: dict[str, Any]) -> Offer:
        """Return a parameter that is looked at for the first time."""
        if type(item) is not dict:
            raise TypeError
        key = item["$ref"] if "$ref" in item else id(item)
        text = compact(item) if type(key) is int else b""
        offer = self._known.get(text)
        if offer is None:
            offer = self._offer(self._document.parameters.read(item))
            if 0 < len(text) <= _LONGEST_ALIKE:
                self._known[text] = offer
        self._known[key] = offer
        return offer

    def _foreign_offer(self, listed: Listed) -> Offer:
        """Return a parameter of an operation that stands in another file, or that is wrong."""
        key = (id(listed.node), listed.name)
        offer = self._foreign.get(key)
        if offer is None:
            offer = self._foreign[key] = self._offer(listed)
        return offer

    def _offer(self, listed: Listed) -> Offer:
        return Offer(listed, offered=self._is_offered(listed))

    def _is_offered(self, listed: Listed) -> bool:
        """Tell whether a parameter is for the model to set."""
        location, name = listed.location, listed.name
        if location == "header":
            name = name.lower()
            if name in OWN_HEADERS or not is_token(name):
                return False
        elif location == "cookie" and _NO_COOKIE.search(name):
            return False
        return location not in OF_BODY and (location, name) not in self._credentials

    def fitting(self, offers: list[Offer], declared: Declared) -> list[Offer]:
        """Return the parameters that become arguments of an operation, with their schemas.

        Path parameters that the path has no place for are left out; those that it does not declare
        are added.

        Raises:
            DocumentError: A schema is malformed or leads nowhere.
        """
        fitting = self._fitting(offers, declared)
        for offer in fitting:
            if offer.schema is _UNTOLD:
                self._tell(offer)
        return fitting

    def _fitting(self, offers: list[Offer], declared: Declared) -> list[Offer]:
        offers = [offer for offer in offers if offer.offered]
        known = [offer.place[1] for offer in offers if offer.place[0] == "path"]
        if not known and "{" not in declared.path:
            return offers
        variables = path_variables(declared.path, known)
        if variables is known:
            return offers
        declares, has = frozenset(known), frozenset(variables)
        missing = [
            self._offer_undeclared(name, declared) for name in variables if name not in declares
        ]
        kept = [offer for offer in offers if offer.place[0] != "path" or offer.place[1] in has]
        return missing + kept

    def _offer_undeclared(self, name: str, declared: Declared) -> Offer:
        """Return a variable of a path as a parameter."""
        offer = self._undeclared.get(name)
        if offer is None:
            listed = Listed("path", name, _UNDECLARED, declared.resource)
            offer = self._undeclared[name] = Offer(listed, offered=True)
        return offer

    def _tell(self, offer: Offer) -> None:
        """Work out what the model is told of a parameter."""
        offer.schema = self._words(offer.listed.node, self._schema(offer.listed))
        offer.cost = cost_of(offer.schema)

    def _schema(self, listed: Listed) -> dict[str, Any]:
        """Return a parameter's converted schema, that of its `content` where it has one."""
        node, resource = self.plain(listed), listed.resource
        schema = node.get("schema")
        kind = media_type(node)
        if kind:
            target = self._document.references.follow(node["content"][kind], resource)
            schema = target.node.get("schema") if isinstance(target.node, dict) else None
            resource = target.resource
        return self._document.schemas.convert(schema, resource)

    def plain(self, listed: Listed) -> dict[str, Any]:
        """Return a Parameter Object as OpenAPI 3 writes it."""
        swagger = self._document.dialect.swagger and "schema" not in listed.node
        return versions.parameter(listed.node) if swagger else listed.node

    def _words(self, node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
        """Return a parameter's schema with what the parameter itself says of it."""
        out = dict(schema)
        described = node.get("description")
        if isinstance(described, str) and described:
            out["description"] = plain_text(described, self._limit)
        if node.get("deprecated") is True:
            out["deprecated"] = True
        if "example" in node and "examples" not in out and not is_longer(node, MAX_LITERAL):
            out["examples"] = [node["example"]]
        return out


def media_type(node: dict[str, Any]) -> str:
    """Return the media type of a parameter with `content`."""
    content = node.get("content")
    return next(iter(content), "") if isinstance(content, dict) else ""


def cost_of(schema: dict[str, Any]) -> Cost:
    """Return what a schema costs."""
    text = compact(schema)
    return Cost(uses_in(schema, text), most_in(text))
