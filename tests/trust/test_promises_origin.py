"""What a document says of itself that others rely on: its own servers, and its flags."""

import pytest
from documents import document, operation
from packages import imported
from servers.site import Said, Site

from openapi_tools import Select, generate_package, load_tools
from openapi_tools.model import Server, ServerVariable

HOME, OTHER = "https://api.example.com/v1", "https://other.example.com"
each_layout = pytest.mark.parametrize("layout", ["package", "module"])


def api(*servers, **members):
    """Return a document whose first operation has servers of its own."""
    own = {"get": operation(operationId="own", servers=list(servers))} if servers else {}
    return document({"/own": own, "/x": {"get": operation(operationId="x")}}, **members)


def servers_in(source, folder, layout="package", **options):
    """Return what a generated package says of the document's own servers."""
    generate_package(source, folder, name="origin", layout=layout, **options)
    with imported(folder, "origin_tools") as package:
        return (package if layout == "module" else __import__("origin_tools.index").index).SERVERS


OWN = {
    "several": (api({"url": OTHER}, servers=[{"url": HOME}, {"url": OTHER}]), [HOME, OTHER]),
    "relative": (api({"url": OTHER}, servers=[{"url": "/v1"}]), ["/v1"]),
    "of the first operation": (api({"url": OTHER}, {"url": HOME}), [OTHER, HOME]),
    "no list": (api({"url": OTHER}, servers="nonsense"), [OTHER]),
    "odd members": (api({"url": OTHER}, servers=[7, {"url": 7}]), ["/"]),
    "nothing": (api(), ["/"]),
    "no operations": (document({}), []),
    "2.0": (api(openapi="2.0", host="h.example", basePath="/b"), ["https://h.example/b"]),
    "2.0 over http": (api(openapi="2.0", host="h", schemes=["http"]), ["http://h"]),
    "2.0 without anything": (api(openapi="2.0"), ["/"]),
}


@each_layout
@pytest.mark.parametrize("name", OWN)
def test_a_document_has_servers_of_its_own_or_those_of_its_first_operation(name, layout, tmp_path):
    root, urls = OWN[name]

    assert [server.url for server in servers_in(root, tmp_path, layout)] == urls


@pytest.mark.parametrize(
    ("root", "path"),
    [
        (api({"url": OTHER}, servers=[{"url": "/v1"}]), "/v1"),
        (api({"url": OTHER}), "/"),
        (document({}), "/"),
        (api(openapi="2.0", basePath="/b"), "/b"),
    ],
    ids=["relative", "none", "no operations", "2.0 without host"],
)
def test_servers_of_a_document_from_a_url_are_relative_to_that(root, path, tmp_path):
    with Site(lambda _: Said(root)) as site:
        (server,) = servers_in(f"{site.url}/specs/api.json", tmp_path)

    assert server.url == site.url + path


def test_a_documents_own_server_has_its_variables_and_no_password(tmp_path):
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    servers = [{"url": "https://me:hunter2@{region}.example.com", "variables": variables}]

    found = servers_in(api(servers=servers), tmp_path)

    assert found == (
        Server("https://***@{region}.example.com", {"region": ServerVariable("eu", ("eu", "us"))}),
    )


@pytest.mark.parametrize(
    "servers",
    [[{"url": HOME}], [{"url": OTHER}, {"url": HOME}]],
    ids=["that server again", "another one"],
)
def test_a_selection_never_makes_another_server_the_documents_own(servers, tmp_path):
    root = api(*servers, servers=[{"url": HOME}])

    found = servers_in(root, tmp_path, select=Select(names="own"))

    # None at all means that credentials go nowhere by default.
    assert found in ((Server(HOME),), ())
    assert found or servers[0]["url"] == OTHER


FLAGS = dict.fromkeys(
    (
        *("x-openai-isConsequential", "x-b", "x-a", "X-upper", "deprecated"),
        *(f"x-{'l' * 62}", f"x-{'l' * 63}", "x-\x1b[31m", "x-\ud800"),
    ),
    True,
) | {"x-false": False, "x-text": "true", "x-number": 1, "x-object": {"a": True}, "x-none": None}


@each_layout
def test_flags_are_the_extensions_that_are_true_in_order_of_their_names(layout, tmp_path):
    paths = {"/x": {"get": operation(operationId="x", **FLAGS), "x-item": True}}
    root = document(paths, **{"x-root": True})
    generate_package(root, tmp_path, name="origin", layout=layout)
    with imported(tmp_path, "origin_tools") as package:
        generated = package.load()["x"].operation

    assert generated == load_tools(root)["x"].operation
    assert generated.extensions == (*("x-a", "x-b", f"x-{'l' * 62}", "x-openai-isConsequential"),)


def test_at_most_32_flags_are_kept_the_same_whatever_their_order():
    names = [f"x-{number:04}" for number in range(1000)]
    one, other = (
        load_tools(document({"/x": {"get": operation(**dict.fromkeys(order, True))}}))["get_x"]
        for order in (names, names[::-1])
    )

    assert one.operation.extensions == other.operation.extensions == tuple(names[:32])
