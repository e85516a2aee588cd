"""Examples that a document has beside a schema: the first valid one is used.

Spec: OpenAPI 3.0.4 section 4.7.19, 3.1.2 section 4.8.19, 3.2.0 section 4.19 (Example Object), and
the fields `example` and `examples` of Parameter and Media Type Objects.
"""

from __future__ import annotations

import json
from itertools import islice
from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_values import as_dict
from openapi_tools.common.visible_text import strip_hidden_in
from openapi_tools.errors import DocumentError
from openapi_tools.loading.keyword_values import ABSENT, is_longer
from openapi_tools.loading.schema_examples import (
    DefinitionFinder,
    OpenDefinitionError,
    SchemaExamples,
    fits,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.common.json_values import Node
    from openapi_tools.loading.references import References, Resource
    from openapi_tools.loading.schemas import Schemas

# Each has to be compared with the schema, and generators write hundreds.
_MOST = 10  # examples of one value that are looked at
_OF_EXAMPLE = frozenset({"value", "dataValue", "serializedValue", "externalValue"})
_WORDS = frozenset({"summary", "description"})
_NAMED = ("examples", "x-examples")
# Beside the standard's names those of Swagger 2.0, which has examples in extensions only.
_SINGLE = ("example", "x-example")

_KEYWORDS = frozenset({*_SINGLE, *_NAMED})


def has_examples(holder: Node) -> bool:
    """Return whether a Parameter or Media Type Object has examples."""
    return not _KEYWORDS.isdisjoint(holder)


def example_values(holder: Node, resource: Resource, references: References) -> Iterator[Any]:
    """Yield the values of a Parameter or Media Type Object's examples, in their order."""
    yield from (holder[key] for key in _SINGLE if key in holder)
    for key in _NAMED:
        examples = holder.get(key)
        if isinstance(examples, list):  # as in a schema
            yield from examples
        for example in examples.values() if isinstance(examples, dict) else ():
            try:
                node = references.follow(example, resource).node
            except DocumentError:  # an unreadable example does not make the request unusable
                continue
            yield from _example_object_values(node)


def _example_object_values(node: Any) -> Iterator[Any]:
    if isinstance(node, dict) and (not _OF_EXAMPLE.isdisjoint(node) or node.keys() <= _WORDS):
        # Strings of `serializedValue` are written for the wire, and external ones are not fetched.
        yield from (node[key] for key in ("dataValue", "value") if key in node)
    else:  # a bare value in place of an Example Object
        yield node


def find_fitting_example(values: Iterable[Any], schema: Node, schemas: Schemas, limit: int) -> Any:
    """Return the first value of at most `limit` characters that fits a converted schema.

    It is read as it is meant, as JSON in a string; `ABSENT` where none fits.
    """
    definitions = DefinitionFinder(schemas.closed_definition)
    for value in islice(values, _MOST):
        if (meaning := _fit_example(value, schema, definitions, limit)) is not ABSENT:
            return meaning
    return ABSENT


def _fit_example(value: Any, schema: Node, definitions: DefinitionFinder, limit: int) -> Any:
    if is_longer(value, limit):
        return ABSENT
    value = strip_hidden_in(value)
    try:
        if fits(schema, value, definitions):
            return value  # most examples
        return SchemaExamples(schema, definitions).convert_value(value)
    except OpenDefinitionError:
        return ABSENT


def _read_object(value: Any) -> Node:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return as_dict(value)


def add_property_examples(
    properties: Node, values: Iterable[Any], schemas: Schemas, limit: int
) -> Node:
    """Return an object's properties, with examples for those that have none of their own.

    They are the valid parts of the first example whose parts are all valid, else of the first that
    has a valid part.
    """
    best: Node = {}
    definitions = DefinitionFinder(schemas.closed_definition)
    for value in islice(values, _MOST):
        fitting: Node = {}
        is_valid = True
        for name, part in _read_object(value).items():
            schema = properties.get(name)
            if schema is None or schemas.shows_examples(schema):
                continue
            meaning = _fit_example(part, schema, definitions, limit)
            if meaning is ABSENT:
                is_valid = False
            else:
                fitting[name] = meaning
        best = best or fitting
        if fitting and is_valid:
            best = fitting
            break
    with_examples = properties.copy()
    for name, part in best.items():
        with_examples[name] = {**properties[name], "examples": [part]}
    return with_examples
