"""The order of a map in a document does not count as a change of a locked tool."""

import random
from functools import partial

import pytest
from documents import component, document, operation

from openapi_tools import generate_package, load_tools
from openapi_tools.changes import tool_lock

TEXT = {"type": "string"}


def thing(**properties):
    return {"type": "object", "properties": properties}


SHOP = document(
    {
        "/orders": {
            "post": operation(
                operationId="add_order",
                requestBody={
                    "required": True,
                    "content": {
                        "application/json": {"schema": component("Order")},
                        "application/x-www-form-urlencoded": {"schema": component("Order")},
                    },
                },
                responses={
                    "201": {
                        "description": "",
                        "content": {"application/json": {"schema": component("Many")}},
                    },
                    "404": {"description": "There is no such shop."},
                    "409": {"description": "The customer has an open order."},
                },
            ),
            "get": operation(
                operationId="list_orders",
                responses={
                    "200": {
                        "description": "",
                        "content": {"application/json": {"schema": component("Few")}},
                    }
                },
            ),
        },
        "/pets": {
            "post": operation(
                operationId="add_animal",
                requestBody={
                    "content": {
                        "multipart/form-data": {
                            "schema": component("Animal"),
                            "encoding": {
                                "image": {"contentType": "image/png"},
                                "tag": {"contentType": "text/plain"},
                            },
                        }
                    }
                },
            )
        },
    },
    servers=[{"url": "http://api.example.com"}],
    components={
        "schemas": {
            "Order": {
                "type": "object",
                "required": ["customer", "lines", "pet"],
                "properties": {
                    "customer": component("Person"),
                    "lines": {"type": "array", "items": component("Line")},
                    "pet": {
                        "oneOf": [
                            component("Pet"),
                            component("pet"),
                        ],
                        "discriminator": {
                            "propertyName": "kind",
                            "mapping": {
                                "cat": "#/components/schemas/Pet",
                                "dog": "#/components/schemas/pet",
                            },
                        },
                    },
                },
            },
            "Person": thing(name=TEXT, email=TEXT),
            "Line": thing(sku=TEXT, number=TEXT),
            "Pet": thing(kind=TEXT, owner=component("Person")),
            "pet": thing(kind=TEXT, line=component("Line")),
            "Pet_2": thing(kind=TEXT),
            "Many": thing(**{f"field_{n}": TEXT for n in range(9)}),
            "Few": thing(id=TEXT, name=TEXT, age=TEXT),
            "Animal": thing(image={"type": "string", "format": "binary"}, tag=TEXT),
        }
    },
)


def reorder(node, order):
    """Return JSON-native data whose maps have another order."""
    if isinstance(node, list):
        return [reorder(item, order) for item in node]
    if not isinstance(node, dict):
        return node
    return {name: reorder(node[name], order) for name in order(node)}


def shuffle(seed, names):
    return random.Random(seed).sample(list(names), len(names))


ORDERS = {
    "backwards": lambda names: list(names)[::-1],
    "sorted": sorted,
    "rotated": lambda names: [*list(names)[1:], *list(names)[:1]],
    **{f"shuffled {seed}": partial(shuffle, seed) for seed in range(5)},
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", ["lock", "package"])
@pytest.mark.parametrize("part", ["components", "all"])
async def test_the_order_of_a_map_does_not_quarantine(order, kind, part, tmp_path):
    path = tmp_path / "openapi-tools.lock"
    if kind == "lock":
        tool_lock.write_lock(tool_lock.make_lock(load_tools(SHOP), path))
    else:
        generate_package(SHOP, tmp_path / "out", name="shop")
        path = tmp_path / "out" / "manifest.json"
    other = reorder(SHOP, ORDERS[order])
    if part == "components":
        other = {**SHOP, "components": other["components"]}

    toolset = load_tools(other, config={"lock": str(path), "policy": "refuse"})

    accepted = {tool.name: tool.description for tool in load_tools(SHOP)}
    assert {tool.name: tool.description for tool in toolset} == accepted
    assert toolset.warnings == ()
    assert (
        tool_lock.find_lock_changes(tool_lock.read_lock(path), tool_lock.make_lock(toolset)) == []
    )


def test_a_change_beside_an_order_is_reported_without_the_order(tmp_path):
    other = reorder(SHOP, ORDERS["backwards"])
    other["components"]["schemas"]["Order"]["properties"]["lines"]["maxItems"] = 5
    locks = [tool_lock.make_lock(load_tools(root)) for root in (SHOP, other)]

    (change,) = tool_lock.find_lock_changes(*locks)

    assert change.lines == ("/lines: maxItems is 5 now",)
    assert change.counts == "1 argument changed"
