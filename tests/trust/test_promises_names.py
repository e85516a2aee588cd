"""Names, servers and flags of a document: portable, distinct, and leading nowhere else."""

import json
import re

import pytest
from documents import document, operation, tools
from hostile_packages import DEVICES
from packages import import_package
from servers.site import Site, SiteResponse
from trust.promises import an_object, component, load_quietly

from openapi_tools import Select, generate_package, load_tools
from openapi_tools.conformance.document_check import find_document_errors
from openapi_tools.model import Server, ServerVariable

TOOL = re.compile(r"[a-z_][a-z0-9_]{0,63}")
ARGUMENT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
STEM = re.compile(r"[a-z][a-z0-9_]{0,90}(_[0-9a-f]{6})?")
each_layout = pytest.mark.parametrize("layout", ["package", "module"])


def with_ids(*ids):
    """Return paths whose operations have these ids."""
    return {f"/{number}": {"get": operation(operationId=i)} for number, i in enumerate(ids)}


@pytest.mark.parametrize(
    "ids",
    [
        ("", "!!!", "???", "🚀", "🚀🚀", "博物館", "1st", "404", "_", "__", " "),
        ("caf\u00e9", "cafe\u0301", "cafe"),
        ("\ufb01le", "file", "\U0001d420\U0001d41e\U0001d42d", "get", "\uff47\uff45\uff54"),
        ("list", "l\u0456st", "li\u200bst", "li\u00adst", "\u202elist", "l\u0131st", "LIST"),
        ("getPet", "GetPet", "get_pet", "get-pet", "get pet", "GETPET"),
        ("x" * 300, "x" * 299, "x" * 64 + "y", "x" * 64),
        ("class", "match", "None", "__init__", "__main__", "mro", "print", "_"),
    ],
    ids=["odd", "normal forms", "compatibility", "alike", "case", "long", "reserved"],
)
def test_ids_that_look_or_clean_alike_give_portable_names_that_differ(ids):
    names = [tool.name for tool in tools(with_ids(*ids))]

    assert len({name.casefold() for name in names}) == len(ids)
    assert all(TOOL.fullmatch(name) for name in names), names
    assert names == [tool.name for tool in tools(with_ids(*ids))]


@pytest.mark.parametrize("look_alike", ["l\u0456st", "li\u200bst", "li\u00adst", "\u202elist"])
def test_a_name_that_only_looks_like_another_is_seen_to_differ_and_noted(look_alike):
    paths = with_ids("list", look_alike)
    plain, other = tools(paths)
    (finding,) = find_document_errors(document(paths))

    assert plain.name == "list"
    assert re.search(r"_[0-9a-f]{6}$", other.name)
    assert (finding.pointer, finding.severity) == ("/paths/~11/get/operationId", "note")
    assert finding.message.isascii()


TAGS = [
    *("CON", "nul", "com1", "aux.txt", "-rf", ".git", ".github/workflows", "__pycache__"),
    *("x" * 300, "../../x", "/etc/passwd", "C:\\x", "\\\\server\\share", "a\0b", "..", ".", "~"),
    *("", "🚀", "json", "typing", "conftest", "sitecustomize", "index", "schemas", "__init__"),
    *("Tools", "tools"),
]


@each_layout
def test_tags_ids_and_components_become_files_with_safe_names_inside_the_folder(layout, tmp_path):
    paths = with_ids(*TAGS)
    for tag, item in zip(TAGS, paths.values(), strict=True):
        item["get"]["tags"] = [tag]
    escaped = [tag.replace("~", "~0").replace("/", "~1").replace("%", "%25") for tag in TAGS]
    schema = an_object({f"p{n}": component(token) for n, token in enumerate(escaped)})
    body = {"content": {"application/json": {"schema": schema}}}
    paths["/body"] = {"post": operation(operationId="body", requestBody=body)}
    schemas = {tag: {"type": "object", "description": "word " * 60} for tag in TAGS}
    root = document(paths, components={"schemas": schemas})
    output = tmp_path / "out"

    report = generate_package(root, output, name="safe", layout=layout)

    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(report.tools) == len(TAGS) + 1
    assert all(path.is_relative_to(output) for path in files)
    assert len({str(path).casefold() for path in files}) == len(files)
    for path in files:
        assert len(path.name.encode()) <= 100
        assert not DEVICES.match(path.name)
        assert not path.name.startswith(("-", "."))
    modules = [path.stem for path in output.glob("safe_tools/*.py") if path.stem != "__init__"]
    assert all(STEM.fullmatch(stem) for stem in modules), modules


async def request_of(tool, sent, arguments):
    """Return the one request that a call makes."""
    result = await tool.execute(arguments)
    assert not result.is_error, result.output
    (request,) = sent
    return request


async def test_one_name_in_five_places_is_five_arguments_that_reach_their_places():
    text = {"type": "string"}
    places = ("path", "query", "header", "cookie")
    parameters = [{"name": "id", "in": p, "required": True, "schema": text} for p in places]
    schema = {**an_object({"id": text}), "required": ["id"]}
    body = {"content": {"application/json": {"schema": schema}}, "required": True}
    paths = {"/{id}": {"post": operation(parameters=parameters, requestBody=body)}}
    (tool,), sent = load_quietly(document(paths))

    arguments = {f"id_{location}": location for location in (*places, "body")}
    request = await request_of(tool, sent, arguments)

    assert request.url.raw_path == b"/path?id=query"
    assert request.headers["id"] == "header"
    assert request.headers["cookie"] == "id=cookie"
    assert json.loads(request.content) == {"id": "body"}


WIRE_NAMES = [
    *("filter[status]", "$top", "@type", "a b", "a-b", "a.b", "a_b", "A_B", "self", "input"),
    *("headers", "_tool_call_id", "config", "1st", "é", "日本", "x[]", "x", "x" * 300, "class"),
    "...",
]


async def test_any_parameter_name_becomes_a_portable_argument_and_reaches_the_wire_unchanged():
    parameters = [{"name": n, "in": "query", "schema": {"type": "string"}} for n in WIRE_NAMES]
    (tool,), sent = load_quietly(document({"/x": {"get": operation(parameters=parameters)}}))
    arguments = list(tool.input_schema["properties"])

    request = await request_of(tool, sent, {name: str(n) for n, name in enumerate(arguments)})

    assert all(ARGUMENT.fullmatch(name) for name in arguments), arguments
    assert len(set(arguments)) == len(WIRE_NAMES)
    assert request.url.params.multi_items() == [(name, str(n)) for n, name in enumerate(WIRE_NAMES)]


@pytest.mark.parametrize(
    "parameter",
    [
        *({}, {"in": "query"}, {"name": "", "in": "query"}, {"name": "a"}, None, "a", 7, []),
        *({"name": "a", "in": "moon"}, {"name": "a", "in": None}),
        *({"name": 7, "in": "query"}, {"name": ["a"], "in": "query"}),
        {"name": "a\r\nX: 1", "in": "header", "required": True},
        {"name": "a\0", "in": "query", "required": True},
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_an_empty_or_illegal_parameter_skips_its_operation_with_a_place(parameter):
    toolset = tools({"/x": {"get": operation(parameters=[parameter])}, "/y": {"get": operation()}})

    assert [tool.path for tool in toolset] == ["/y"]
    (skipped,) = toolset.skipped
    assert skipped.pointer.startswith("/paths/~1x/get/parameters/0")
    assert skipped.reason


def test_of_a_parameter_that_stands_twice_in_one_place_the_last_counts():
    twice = [{"name": "a", "in": "query", "schema": {"type": t}} for t in ("string", "integer")]

    (tool,) = tools({"/x": {"get": operation(parameters=twice)}})

    assert tool.input_schema["properties"] == {"a": {"type": "integer"}}
    assert len(tool.operation.parameters) == 1


HOME, OTHER = "https://api.example.com/v1", "https://other.example.com"


def api(*servers, **fields):
    """Return a document whose first operation has servers of its own."""
    path_item = {"get": operation(operationId="own", servers=list(servers))} if servers else {}
    return document({"/own": path_item, "/x": {"get": operation(operationId="x")}}, **fields)


def servers_in(source, folder, layout="package", **options):
    """Return what a generated package says of the document's own servers."""
    generate_package(source, folder, name="origin", layout=layout, **options)
    with import_package(folder, "origin_tools") as package:
        return (package if layout == "module" else __import__("origin_tools.index").index).SERVERS


DOCUMENT_SERVERS = {
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
@pytest.mark.parametrize("name", DOCUMENT_SERVERS)
def test_a_document_has_servers_of_its_own_or_those_of_its_first_operation(name, layout, tmp_path):
    root, urls = DOCUMENT_SERVERS[name]

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
    with Site(lambda _: SiteResponse(root)) as site:
        (server,) = servers_in(f"{site.url}/specs/api.json", tmp_path)

    assert server.url == site.url + path


def test_a_documents_own_server_has_its_variables_and_no_password(tmp_path):
    variables = {"region": {"default": "eu", "enum": ["eu", "us"]}}
    servers = [{"url": "https://me:hunter2@{region}.example.com", "variables": variables}]

    result = servers_in(api(servers=servers), tmp_path)

    assert result == (
        Server("https://***@{region}.example.com", {"region": ServerVariable("eu", ("eu", "us"))}),
    )


@pytest.mark.parametrize(
    "servers",
    [[{"url": HOME}], [{"url": OTHER}, {"url": HOME}]],
    ids=["that server again", "another one"],
)
def test_a_selection_never_makes_another_server_the_documents_own(servers, tmp_path):
    root = api(*servers, servers=[{"url": HOME}])

    result = servers_in(root, tmp_path, select=Select(names="own"))

    # None at all means that credentials go nowhere by default.
    assert result in ((Server(HOME),), ())
    assert result or servers[0]["url"] == OTHER


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
    with import_package(tmp_path, "origin_tools") as package:
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
