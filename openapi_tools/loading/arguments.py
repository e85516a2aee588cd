"""Parameters -> arguments: which are for the model to set, and what it is told about each.

A parameter that was met before, by reference or written out to the letter, is known again.

Spec: OpenAPI 3.2.0, section 4.12 (Parameter Object); Swagger 2.0, "Parameter Object".
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from openapi_tools.errors import DocumentError
from openapi_tools.http_rules import header_key
from openapi_tools.loading import versions
from openapi_tools.loading.markdown import plain_text
from openapi_tools.loading.naming import are_portable
from openapi_tools.loading.operations import path_variables
from openapi_tools.loading.parameters import Listed, is_left_out
from openapi_tools.loading.schema_keywords import MAX_LITERAL, NOTHING, is_longer, is_true, uses_in
from openapi_tools.loading.schema_limits import compact, most_in
from openapi_tools.requests.encoding import OWN_HEADERS
from openapi_tools.visible_text import visible_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi_tools.loading.operations import Declared, Document
    from openapi_tools.model import SecurityScheme

_UNDECLARED = {"schema": {"type": "string"}}
"""A path variable without a parameter."""

OF_BODY: Final = frozenset({"body", "formData"})
"""Where a parameter of Swagger 2.0 stands that is the body or a part of it."""

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
_FLAT = frozenset({str, int, bool, type(None)})
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
        self.required = location == "path" or is_true(node.get("required"))
        self.schema: dict[str, Any] = _UNTOLD
        self.cost = _NO_COST


class Group:
    """Parameters that operations list together.

    Args:
        listed: In the order of the document; of two in one place the last counts.

    Attributes:
        of_body: Those that are the body or a part of it.
        fitting: Those that become arguments.
        path: The names of path parameters among these.
        told: Somebody has looked at what follows.
        properties: What the model is told, by their names on the wire.
        required: The names of those that the model has to give.
        cost: Of all their schemas.
        plain: Each argument can be called as its parameter is.
        schemas: Input schemas of operations that have no other arguments, or those of one of some
            bodies that many have.
    """

    __slots__ = (
        *("cost", "fitting", "of_body", "path", "plain", "properties", "required"),
        *("schemas", "told"),
    )

    def __init__(self, listed: Iterable[Offer]) -> None:
        offers = {offer.place: offer for offer in listed}.values()
        self.of_body = [offer.listed for offer in offers if offer.place[0] in OF_BODY]
        self.fitting = [offer for offer in offers if offer.offered]
        self.path = [offer.name for offer in self.fitting if offer.place[0] == "path"]
        self.told = False
        self.properties: dict[str, Any] = {}
        self.required = [offer.name for offer in self.fitting if offer.required]
        self.cost = _NO_COST
        self.plain = True
        self.schemas: dict[object, dict[str, Any]] = {}

    def tell(self) -> None:
        """Put together what the model is told of each."""
        fitting = self.fitting
        costs = [offer.cost for offer in fitting]
        self.properties = {offer.name: offer.schema for offer in fitting}
        apart = len(self.properties) == len(fitting)
        self.plain = apart and all(offer.plain for offer in fitting)
        uses = [cost.uses for cost in costs if cost.uses]
        most = sum([cost.most for cost in costs]) + FRAME * len(fitting)
        self.cost = Cost(NOTHING.union(*uses) if uses else NOTHING, most)
        self.told = True


class Offers:
    """Finds the arguments that the parameters of one document's operations become.

    Args:
        document: The document.
        schemes: Its security schemes; what they occupy is no argument.
    """

    def __init__(self, document: Document, schemes: Mapping[str, SecurityScheme]) -> None:
        self._document = document
        self._limit = document.settings.description_chars
        self._known: dict[str | int, Offer] = {}
        self._alike: dict[str, dict[bytes, Offer]] = {}
        self._foreign: dict[tuple[int, str], Offer] = {}
        self._groups: dict[tuple[Offer, ...], Group] = {}
        self._lists: dict[tuple[int, ...], Group] = {}
        self._undeclared: dict[str, Offer] = {}
        self._credentials = {
            (scheme.location, _key(scheme.location, scheme.name))
            for scheme in schemes.values()
            if scheme.type == "apiKey"
        }

    def of(self, declared: Declared) -> Group:
        """Return the parameters of an operation.

        Path parameters that the path has no place for become no arguments; those that it does not
        declare do.

        Raises:
            DocumentError: One is malformed or leads nowhere.
        """
        group = self._listed(declared)
        if not group.path and "{" not in declared.path:
            return group
        variables = path_variables(declared.path, group.path)
        if variables is group.path:
            return group
        declares, has = frozenset(group.path), frozenset(variables)
        if declares == has:
            return group
        missing = [name for name in variables if name not in declares]
        fitted = Group(
            [self._undeclared_offer(name, declared) for name in missing]
            + [each for each in group.fitting if each.place[0] != "path" or each.name in has]
        )
        fitted.of_body = group.of_body
        return fitted

    def _listed(self, declared: Declared) -> Group:
        """Return the parameters that an operation and its path list."""
        place = self._place(declared)
        group = self._lists.get(place)
        if group is None:
            group = self._lists[place] = self._group(declared)
        return group

    def _place(self, declared: Declared) -> tuple[int, ...]:
        """Return what is the same for operations that list the same parameters."""
        lists = declared.item.get("parameters"), declared.node.get("parameters")
        return (id(declared.resource), *map(id, lists))

    def _group(self, declared: Declared) -> Group:
        lists = declared.item.get("parameters"), declared.node.get("parameters")
        own = declared.resource is self._document.entry
        try:
            key = tuple(self._own(lists)) if own else self._foreign_offers(declared)
        except (DocumentError, TypeError):  # whoever reads whole lists says what is wrong where
            key = self._foreign_offers(declared)
        group = self._groups.get(key)
        if group is None:
            group = self._groups[key] = Group(key)
        return group

    def _own(self, lists: Iterable[Any]) -> list[Offer]:
        """Return what lists of the document itself hold.

        Raises:
            DocumentError: A parameter is malformed or leads nowhere.
            TypeError: They are no lists of objects.
        """
        known, meet = self._known, self._meet
        found: list[Offer] = []
        for listed in lists:
            if listed:
                if type(listed) is not list:
                    raise TypeError
                found += [
                    known.get(item["$ref"] if "$ref" in item else id(item)) or meet(item)
                    for item in listed
                ]
        return found

    def _meet(self, item: dict[str, Any]) -> Offer:
        """Return a parameter that is looked at for the first time."""
        if type(item) is not dict:
            raise TypeError
        if "$ref" in item:
            offer = self._offer(self._document.parameters.read(item))
            self._known[item["$ref"]] = offer
        else:
            offer = self._known[id(item)] = self._written_out(item)
        return offer

    def _written_out(self, item: dict[str, Any]) -> Offer:
        """Return a parameter that may say the same as another of that name."""
        name = item.get("name", "")
        alike = self._alike.get(name)
        if alike is None:  # the first, of which most have no second
            offer = self._offer(self._document.parameters.read(item))
            self._alike[name] = {b"": offer}
            return offer
        first = alike.pop(b"", None)
        if first is not None:
            alike[compact(first.listed.node)] = first
        text = compact(item)
        found = alike.get(text)
        if found is None:
            found = self._offer(self._document.parameters.read(item))
            if len(text) <= _LONGEST_ALIKE:
                alike[text] = found
        return found

    def _foreign_offers(self, declared: Declared) -> tuple[Offer, ...]:
        return tuple(map(self._foreign_offer, self._document.parameters.of(declared)))

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
        location, key = listed.location, _key(listed.location, listed.name)
        if location in OF_BODY or is_left_out(listed.node):
            return False
        if location == "header" and key in OWN_HEADERS:
            return False
        return (location, key) not in self._credentials

    def _undeclared_offer(self, name: str, declared: Declared) -> Offer:
        """Return a variable of a path as a parameter."""
        offer = self._undeclared.get(name)
        if offer is None:
            listed = Listed("path", name, _UNDECLARED, declared.resource)
            offer = self._undeclared[name] = Offer(listed, offered=True)
        return offer

    def look_at(self, group: Group) -> None:
        """Work out what the model is told of parameters.

        Raises:
            DocumentError: A schema is malformed or leads nowhere.
        """
        for offer in group.fitting:
            if offer.schema is _UNTOLD:
                self._tell(offer)
        group.tell()

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


def cost_of(schema: dict[str, Any]) -> Cost:
    """Return what a schema costs."""
    if "$ref" not in schema and _FLAT.issuperset(map(type, schema.values())):
        words = repr(schema)  # an escape makes one character two, or one that is not ASCII twelve
        return Cost(NOTHING, len(words) * (2 if words.isascii() else 12))
    text = compact(schema)
    most = 2 * len(text) if text.isascii() and b"\x7f" not in text else most_in(text)
    return Cost(uses_in(schema, text), most)
