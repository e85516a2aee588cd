"""Path keys in the notations of gateways and frameworks, and values of several segments."""

import pytest
from documents import document, operation
from packages import import_package

from openapi_tools import load_tools
from openapi_tools.generate import generate_package
from openapi_tools.testing import mock_api

STRING = {"type": "string"}


def api(path, names, *, openapi="3.1.1", schema=STRING, above=False, **fields):
    parameter_type = dict(schema) if openapi == "2.0" else {"schema": schema}
    listed = [{"name": name, "in": "path", "required": True, **parameter_type} for name in names]
    item = {"get": operation(operationId="do")}
    (item if above else item["get"])["parameters"] = listed
    return document({path: item}, openapi=openapi, **fields)


async def call_operation(root, arguments, url, **options):
    """Return the result of a call, and the warnings of the document."""
    async with load_tools(root, base_url=url, **options) as toolset:
        return await toolset.call("do", arguments), toolset.warnings


FILES = {"p": "a/b c/d.txt"}
SEGMENTS = [
    ("/f/{p+}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{+p}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p*}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{*p}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{**p}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p=**}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p=projects/*}", {"p": "projects/x y"}, "/f/projects/x%20y"),
    ("/f/{p=projects/*/topics/*}:go", {"p": "projects/x/topics/y"}, "/f/projects/x/topics/y:go"),
    ("/f/{p:path}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p:.*}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p: .+}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p:[a-z/ .]+}", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{/p*}", FILES, "/f//a/b%20c/d.txt"),
    ("/f/:p*", FILES, "/f/a/b%20c/d.txt"),
    ("/f/<path:p>", FILES, "/f/a/b%20c/d.txt"),
    ("/f/[...p]", FILES, "/f/a/b%20c/d.txt"),
    ("/f/{p+}/acl", {"p": "a/b"}, "/f/a/b/acl"),
    ("/f/{p+}", {"p": "a/"}, "/f/a/"),
    ("/f/{p+}", {"p": "a%2Fb"}, "/f/a%252Fb"),
]
ONE_SEGMENT = [
    ("/u/:id", {"id": "a/b"}, "/u/a%2Fb"),
    ("/u/:a/posts/:b", {"a": "1", "b": "2"}, "/u/1/posts/2"),
    ("/u/:a-:b", {"a": "1", "b": "2"}, "/u/1-2"),
    ("/u/:id(\\d+)/x", {"id": "7"}, "/u/7/x"),
    ("/u/:id?", {"id": "7"}, "/u/7"),
    ("/u/<id>", {"id": "7"}, "/u/7"),
    ("/u/<int:id>", {"id": "7"}, "/u/7"),
    ("/u/[id]", {"id": "7"}, "/u/7"),
    ("/u/{id:int}", {"id": "a/b"}, "/u/a%2Fb"),
    ("/u/{id:[0-9]{3}}", {"id": "123"}, "/u/123"),
    ("/u/{id:[^/]+}", {"id": "a/b"}, "/u/a%2Fb"),
    ("/u/{id?}", {"id": "7"}, "/u/7"),
    ("/u/{name=*}", {"name": "a/b"}, "/u/a%2Fb"),
    ("/u{/id}", {"id": "7"}, "/u/7"),
    ("/u/{id}{?page,size}", {"id": "7"}, "/u/7"),
]


@pytest.mark.parametrize(("path", "arguments", "target"), SEGMENTS + ONE_SEGMENT)
async def test_a_notation_is_read_as_its_variables(path, arguments, target, recorder):
    if path == "/f/{/p*}":  # its own slash is part of the expression
        path, target = "/f{/p*}", target.replace("//", "/")

    result, warnings = await call_operation(api(path, arguments), arguments, recorder.url)

    assert recorder.last.target == target, result
    assert [w for w in warnings if f"/paths/{path.replace('/', '~1')}/get: " in w], warnings
    assert len(recorder.requests) == 1


@pytest.mark.parametrize("openapi", ["2.0", "3.0.3", "3.1.1", "3.2.0"])
@pytest.mark.parametrize("above", [False, True])
@pytest.mark.parametrize("path", ["/f/{p+}", "/f/:p*"])
async def test_the_notations_are_read_in_every_version_and_place(openapi, above, path, recorder):
    root = api(path, ["p"], openapi=openapi, above=above)

    await call_operation(root, {"p": "a/b"}, recorder.url)

    assert recorder.last.target == "/f/a/b"


@pytest.mark.parametrize("path", ["/f/{p+}", "/f/{p=projects/*}", "/f/{*p}"])
async def test_an_undeclared_variable_loses_its_operator_too(path, recorder):
    await call_operation(api(path, []), {"p": "a/b"}, recorder.url)

    assert recorder.last.target == "/f/a/b"


async def test_a_parameter_that_is_declared_with_its_operator_takes_slashes(recorder):
    await call_operation(api("/f/{p+}", ["p+"]), {"p": "a/b"}, recorder.url)

    assert recorder.last.target == "/f/a/b"


@pytest.mark.parametrize(
    ("path", "names", "arguments", "target"),
    [
        ("/v1/{name}:cancel", ["name"], {"name": "x"}, "/v1/x:cancel"),
        ("/v1/{name}:cancel", ["name", "cancel"], {"name": "x"}, "/v1/x:cancel"),
        ("/items/:publish", [], {}, "/items/:publish"),
        ("/items/{id}/:publish", ["id"], {"id": "7"}, "/items/7/:publish"),
        ("/files/{p}", ["p"], {"p": "a/b"}, "/files/a%2Fb"),
        ("/x/<b>", [], {}, "/x/%3Cb%3E"),
    ],
)
async def test_what_is_no_variable_stays(path, names, arguments, target, recorder):
    await call_operation(api(path, names), arguments, recorder.url)

    assert recorder.last.target == target


async def test_a_list_in_the_notation_of_rfc_6570_is_written_by_its_style(recorder):
    schema = {"type": "array", "items": STRING}

    await call_operation(api("/f/{p*}", ["p"], schema=schema), {"p": ["a/b", "c"]}, recorder.url)

    assert recorder.last.target == "/f/a%2Fb,c"


STEPS_AWAY = ["..", ".", "../admin", "..\\admin", "%2e%2e", "%252e%252e", "..;/x", "..%00", " .."]
REFUSED = [
    *("/etc/passwd", "//evil.example/x", "a//b", "a/b?x=1", "a#b", "a\\b", "https://evil.example"),
    *("a/%2e%2e/b", "a/..%2fb", "../x", "a/./b", "a/%252e%252e/b"),
]


@pytest.mark.parametrize("value", [*STEPS_AWAY, *REFUSED])
@pytest.mark.parametrize("path", ["/f/{p+}", "/f/{p=**}/x", "/f/:p*"])
async def test_slashes_open_no_way_out(value, path, recorder):
    result, _ = await call_operation(api(path, ["p"]), {"p": value}, recorder.url)

    assert result.error["type"] == "invalid_input"
    assert "/p" in result.error["message"]
    assert recorder.requests == []


def test_a_generated_package_and_the_path_of_a_tool_have_plain_variables(tmp_path):
    root = {**api("/f/{p+}", ["p"]), "servers": [{"url": "https://files.example.com/v1"}]}
    generate_package(root, tmp_path / "out", name="files")

    (loaded,) = load_tools(root)
    with import_package(tmp_path / "out", "files_tools") as package:
        (tool,) = package.load()
        assert tool.path == loaded.path == "/f/{p}"
        assert tool.operation == loaded.operation
        url = str(tool.preview({"p": "a/b"}).url)

    assert url == "https://files.example.com/v1/f/a/b"
    assert "Slashes" in loaded.input_schema["properties"]["p"]["description"]


@pytest.mark.parametrize(
    ("path", "value"),
    [("/f/{p+}", "a/b"), ("/u/:p", "7"), ("/v1/{p=projects/*}", "projects/x"), ("{p}", "/a/b/")],
)
async def test_the_mock_finds_the_operation(path, value):
    root = {**api(path, ["p"]), "servers": [{"url": "https://files.example.com"}]}
    mock = mock_api(root)

    async with mock.client() as client, load_tools(root, client=client) as toolset:
        result = await toolset.call("do", {"p": value})

    assert result.success, result
    assert (mock.calls[0].tool, mock.problems) == ("do", [])


HREFS = [
    ("{href}", "/pulp/api/v3/tasks/1/", "/pulp/api/v3/tasks/1/"),
    ("{href}", "pulp/tasks/1", "/pulp/tasks/1"),
    ("{href}versions/", "/repositories/r 1/", "/repositories/r%201/versions/"),
    ("{href}", "{url}/pulp/tasks/1/", "/pulp/tasks/1/"),
]


@pytest.mark.parametrize(("path", "value", "target"), HREFS)
@pytest.mark.parametrize("openapi", ["2.0", "3.0.3", "3.1.1"])
async def test_a_path_that_begins_with_a_variable_takes_a_path(
    path, value, target, openapi, recorder
):
    value = value.replace("{url}", recorder.url)

    _, warnings = await call_operation(
        api(path, ["href"], openapi=openapi), {"href": value}, recorder.url
    )

    assert recorder.last.target == target
    assert any("begins with {href}" in warning for warning in warnings)


@pytest.mark.parametrize(
    ("value", "target"),
    [
        ("/api/v3/tasks/1/", "/api/v3/tasks/1/"),
        ("/tasks/1/", "/api/v3/tasks/1/"),
        ("{url}/api/v3/tasks/1/", "/api/v3/tasks/1/"),
    ],
)
async def test_such_a_path_may_begin_with_the_servers_own(value, target, recorder):
    base = f"{recorder.url}/api/v3"

    await call_operation(
        api("{href}", ["href"]), {"href": value.replace("{url}", recorder.url)}, base
    )

    assert recorder.last.target == target


@pytest.mark.parametrize(
    "value",
    [
        *("//evil.example/x", "http://evil.example/x", "HTTPS://evil.example/x", "/a//b", "/a?b=1"),
        *("/a#b", "/../x", "/%2e%2e/x", "/a/%252e%252e/x", "{url}.evil.example/x", "\\\\evil\\x"),
        *("{url}@evil.example/x", "{url}/a?b=1", "{url}/../x", "///x", "/ ../x"),
    ],
)
async def test_no_value_of_such_a_path_leaves_the_server(value, recorder):
    value = value.replace("{url}", recorder.url)

    result, _ = await call_operation(api("{href}", ["href"]), {"href": value}, recorder.url)

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []


async def test_a_whole_address_below_another_base_path_is_refused(recorder):
    result, _ = await call_operation(
        api("{href}", ["href"]), {"href": f"{recorder.url}/admin"}, f"{recorder.url}/api"
    )

    assert "is not a URL of this API" in result.error["message"]
    assert recorder.requests == []


def test_paths_of_many_tools_stay_readable():
    paths = {f"/{n}/{{p+}}": {"get": operation()} for n in range(20)}

    toolset = load_tools(document(paths))

    assert {tool.path for tool in toolset} == {f"/{n}/{{p}}" for n in range(20)}
