"""Which tools a search finds, and in which order."""

import gc
import threading
from pathlib import Path

import documents
import pytest
from packages import import_package

from openapi_tools import Toolset, load_tools
from openapi_tools.errors import SettingsError
from openapi_tools.runtime import Operation, OperationTool
from openapi_tools.tools.session import open_session

ROOT = Path(__file__).parents[2]
GOTIFY = ROOT / "specs" / "gotify.json"


def document(title, *operations):
    paths = {}
    for method, path, summary in operations:
        paths.setdefault(path, {})[method] = documents.operation(summary=summary)
    return documents.document(paths, info={"title": title, "version": "1"})


SHOP = document(
    "Shop",
    ("get", "/orders", "List the orders"),
    ("post", "/orders", "Place an order"),
    ("get", "/products", "List the products"),
    ("delete", "/products/{productId}", "Remove a product from the shop"),
    ("get", "/shippingAddresses", "List addresses"),
)
ZOO = document(
    "Zoo", ("get", "/animals", "List the animals"), ("get", "/orders", "Zoological orders")
)


def names(toolset, query, limit=8):
    return [hit.tool.name for hit in toolset.search(query, limit)]


@pytest.fixture
def shop():
    return load_tools(SHOP)


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("placing orders", "post_orders"),
        ("REMOVE PRODUCTS", "delete_products_product_id"),
        ("shipping address", "get_shipping_addresses"),
        ("what are the products", "get_products"),
    ],
)
def test_the_best_tool_comes_first(shop, query, first):
    assert names(shop, query)[0] == first


def test_hits_have_their_tool_and_fall_in_score(shop):
    hits = shop.search("list orders")

    assert [hit.tool for hit in hits] == [shop[hit.tool.name] for hit in hits]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert all(hit.score > 0 for hit in hits)


@pytest.mark.parametrize("query", ["", "  \n ", "the of and", "xylophone", "!?/{}", "\ud800"])
def test_a_query_without_a_match_finds_nothing(shop, query):
    assert shop.search(query) == []


@pytest.mark.parametrize("query", [None, 3, b"orders", ["orders"]])
def test_a_query_is_a_text(shop, query):
    with pytest.raises(SettingsError, match="query must be a string"):
        shop.search(query)


@pytest.mark.parametrize("limit", [0, -1, True, 2.0, "8", None])
def test_a_limit_is_a_number_above_zero(shop, limit):
    with pytest.raises(SettingsError, match="limit must be a whole number above 0"):
        shop.search("orders", limit)


def test_several_lines_share_the_hits_in_turn(shop):
    first = ["post_orders", "delete_products_product_id"]
    assert names(shop, "place order\nremove product", 2) == first
    both = names(shop, "order\n\norder\nproducts", 8)
    assert len(both) == len(set(both))


def test_equal_scores_keep_the_order_of_the_document(shop):
    hits = names(shop, "list", 3)

    assert hits == [tool.name for tool in shop if tool.name in hits]


def test_a_selection_finds_its_own_tools_only(shop):
    reads = shop.select({"methods": ["get"]})

    assert names(reads, "orders") == ["get_orders"]
    assert names(reads.select({"paths": ["/products"]}), "orders products") == ["get_products"]


def test_a_union_searches_all_documents_and_knows_their_new_names(shop):
    both = Toolset.union(shop, load_tools(ZOO))

    assert set(names(both, "orders")) >= {"shop_get_orders", "zoo_get_orders"}
    assert names(both, "animals") == ["get_animals"]
    assert names(both.select({"names": ["zoo_*"]}), "orders") == ["zoo_get_orders"]
    assert all(hit.tool is both[hit.tool.name] for hit in both.search("orders"))


def test_a_union_of_selections_keeps_to_them(shop):
    both = Toolset.union(load_tools(ZOO), shop.select({"methods": ["post"]}))

    hits = sorted(names(both, "list orders products"))
    assert hits == ["get_animals", "get_orders", "post_orders"]


def test_in_a_task_of_several_clauses_the_best_tool_of_each_counts_more(shop):
    one, several = (
        {hit.tool.name: hit.score for hit in shop.search(task)}
        for task in ("place an order then list products", "place an order, then list products")
    )

    assert several["get_products"] > one["get_products"]
    assert list(several)[:2] == ["post_orders", "get_products"]


def test_a_long_query_finds_tools(shop):
    assert names(shop, "orders " + " ".join(map("w{}".format, range(150_000))))
    assert names(shop, "orders, " * 20_000)[0] in ("get_orders", "post_orders")
    assert names(shop, "nothing\n" * 40 + "orders")[0] in ("get_orders", "post_orders")


def test_needs_name_the_tools_of_the_toolset_alone():
    toolset = load_tools(GOTIFY)
    (hit,) = [h for h in toolset.search("delete a message") if h.tool.name == "delete_message"]
    first, *rest = hit.needs["id"]

    assert hit.needs == toolset.producers("delete_message")
    assert all(name in toolset for name in (first, *rest))
    without = toolset.select({"exclude": {"names": [first]}})
    assert first not in without.producers("delete_message").get("id", ())
    both = Toolset.union(toolset, load_tools(GOTIFY))
    assert both.producers("gotify_rest_api_delete_message")["id"][0] == f"gotify_rest_api_{first}"
    with pytest.raises(KeyError, match="no tool is called"):
        toolset.producers("else")


class Lamp(OperationTool):
    """A tool of a user's own."""

    name = "switch_lamp"
    description = "Switch a lamp"
    input_schema = {  # noqa: RUF012 -- as generated tools have it
        "type": "object",
        "properties": {"colour": {"enum": ["crimson", 3]}, "self": {"$ref": "#"}, "odd": True},
        "allOf": [{"properties": {"brightness": {"$ref": "#/$defs/level"}}}],
        "$defs": {"level": {"description": "Between dim and dazzling"}},
    }
    operation = Operation("POST", "/lamp", tags=("home",))


@pytest.mark.parametrize("query", ["lamps", "home", "crimson", "bright", "dazzling", "colours"])
def test_tools_of_the_users_own_are_found_by_every_field(query):
    assert names(Toolset([Lamp()], open_session()), query) == ["switch_lamp"]


def test_the_tools_of_a_generated_package_are_found():
    loaded = load_tools(ROOT / "specs" / "museum.yaml")

    with import_package(ROOT / "generated" / "museum", "museum_tools") as package:
        assert names(package.load(), "buy tickets")[0] == names(loaded, "buy tickets")[0]


def test_searches_in_several_threads_find_the_same():
    toolset, results = load_tools(GOTIFY), []
    query = "delete a message\nlist clients"
    threads = [
        threading.Thread(target=lambda: results.append(names(toolset, query))) for _ in "1234"
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == [names(load_tools(GOTIFY), query)] * 4


def test_the_garbage_collector_is_paused_while_an_index_is_built():
    states = []

    class Watching(OperationTool):
        name = "watch"
        input_schema = {"type": "object", "properties": {}}  # noqa: RUF012 -- as generated
        operation = Operation("GET", "/watch")

        @property
        def description(self):
            states.append(gc.isenabled())
            return "Watch"

    hits = Toolset([Watching()], open_session()).search("watch")

    assert [hit.tool.name for hit in hits] == ["watch"]
    assert states
    assert not any(states)
    assert gc.isenabled()
