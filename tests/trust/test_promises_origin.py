"""What a document says of itself that others rely on: its own servers, and its flags."""

import pytest
from documents import document, operation, tools
from packages import imported

from openapi_tools import Select, Settings, generate_package, load_tools
from openapi_tools.loading.operations import Document
from openapi_tools.loading.references import Resource
from openapi_tools.loading.versions import root_servers
from openapi_tools.model import Server, ServerVariable

HOME, OTHER = "https://api.example.com/v1", "https://other.example.com"
ADDRESS = "https://docs.example.com/specs/api.json"
LAYOUTS = ["package", "module"]


def home(root, uri=""):
    """Return the document's own servers."""
    return root_servers(Document(Resource(root, uri), Settings()))


def api(*servers, **members):
    """Return a document whose first operation has servers of its own."""
    own = {"get": operation(operationId="own", servers=list(servers))} if servers else {}
    return document({"/own": own, "/x": {"get": operation(operationId="x")}}, **members)


@pytest.mark.parametrize(
    ("root", "uri", "urls"),
    [
        (api({"url": OTHER}, servers=[{"url": HOME}, {"url": OTHER}]), "", [HOME, OTHER]),
        (api({"url": OTHER}, servers=[{"url": "/v1"}]), ADDRESS, ["https://docs.example.com/v1"]),
        (api({"url": OTHER}, servers=[{"url": "/v1"}]), "", ["/v1"]),
        (api({"url": OTHER}), ADDRESS, ["https://docs.example.com/"]),
        (api({"url": OTHER}, {"url": HOME}), "", [OTHER, HOME]),
        (api({"url": OTHER}, servers="nonsense"), "", [OTHER]),
        (api({"url": OTHER}, servers=[7, {"url": 7}]), "", ["/"]),
        (api(), "", ["/"]),
        (document({}), "", []),
        (document({}), ADDRESS, ["https://docs.example.com/"]),
        (api(openapi="2.0", host="h.example", basePath="/b"), "", ["https://h.example/b"]),
        (api(openapi="2.0", basePath="/b"), ADDRESS, ["https://docs.example.com/b"]),
        (api(openapi="2.0"), "", ["/"]),
    ],
    ids=[
        *("several", "relative", "relative, no address", "none", "those of the first operation"),
        *("no list", "odd members", "nothing", "no operations", "no operations, address"),
        *("2.0", "2.0 without host", "2.0 without anything"),
    ],
)
def test_a_document_has_servers_of_its_own_or_those_of_its_first_operation(root, uri, urls):
    assert [server.url for server in home(root, uri)] == urls


def test_a_documents_own_server_has_its_variables_and_no_password():
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    servers = [{"url": "https://me:hunter2@{region}.example.com", "variables": variables}]

    found = home(api(servers=servers))

    assert found == (
        Server("https://***@{region}.example.com", {"region": ServerVariable("eu", ("eu", "us"))}),
    )


def servers_in(root, folder, layout, **options):
    """Return what a generated package says of the document's own servers."""
    generate_package(root, folder, name="origin", layout=layout, **options)
    with imported(folder, "origin_tools") as package:
        return (package if layout == "module" else __import__("origin_tools.index").index).SERVERS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "root",
    [
        api({"url": OTHER}, servers=[{"url": HOME}]),
        api({"url": OTHER},
            servers=[{"url": "https://{v}.example.com", "variables": {"v": {"default": "a"}}}]),
        api({"url": OTHER}, {"url": HOME}),
        api({"url": OTHER}, servers=[{"url": "/v1"}]),
        api(servers=[{"url": HOME}]),
        api(openapi="2.0", host="h.example", basePath="/b", schemes=["http"]),
        document({}),
    ],
    ids=["other", "variables", "of the first operation", "relative", "plain", "2.0", "empty"],
)  # fmt: skip
def test_a_package_knows_the_servers_of_its_document(root, layout, tmp_path):
    assert servers_in(root, tmp_path, layout) == home(root)


@pytest.mark.parametrize(
    "servers",
    [[{"url": HOME}], [{"url": OTHER}, {"url": HOME}]],
    ids=["that server again", "another one"],
)
def test_a_selection_never_makes_another_server_the_documents_own(servers, tmp_path):
    root = api(*servers, servers=[{"url": HOME}])

    found = servers_in(root, tmp_path, "package", select=Select(names="own"))

    # None at all means that credentials go nowhere by default.
    assert found in ((Server(HOME),), ())
    assert found or servers[0]["url"] == OTHER


FLAGS = {
    "x-openai-isConsequential": True,
    "x-b": True,
    "x-a": True,
    "x-false": False,
    "x-text": "true",
    "x-number": 1,
    "x-object": {"a": True},
    "x-none": None,
    "X-upper": True,
    "deprecated": True,
    "x-" + "l" * 62: True,
    "x-" + "l" * 63: True,
    "x-\x1b[31m": True,
    "x-\ud800": True,
}


def test_flags_are_the_extensions_that_are_true_in_order_of_their_names():
    toolset = tools({"/x": {"get": operation(**FLAGS), "x-item": True}}, **{"x-root": True})

    (tool,) = toolset
    assert tool.operation.extensions == (
        *("x-a", "x-b", f"x-{'l' * 62}", "x-openai-isConsequential"),
    )


def test_at_most_32_flags_are_kept_the_same_whatever_their_order():
    names = [f"x-{number:04}" for number in range(1000)]
    one, other = (
        load_tools(document({"/x": {"get": operation(**dict.fromkeys(order, True))}}))["get_x"]
        for order in (names, names[::-1])
    )

    assert one.operation.extensions == other.operation.extensions == tuple(names[:32])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_generated_tool_has_the_flags_of_the_loaded_one(layout, tmp_path):
    root = document({"/x": {"post": operation(operationId="x", **FLAGS)}})

    generate_package(root, tmp_path, name="origin", layout=layout)

    with imported(tmp_path, "origin_tools") as package:
        generated = package.load()["x"].operation
    assert generated.extensions
    assert generated == load_tools(root)["x"].operation
