"""The shape of the code, where a machine can judge it; import-linter judges the layers."""

import ast

import house
import pytest

import openapi_tools

MODULES = house.modules_of(house.PACKAGE)
HTTP_CLIENTS = {"httpcore", "httpx", "httpx2"}
HTTP_HOMES = ("auth/", "requests/", "transport/")
"""The seam to the HTTP client: no other package has it at run time, however it would import it."""


def name_of(path):
    return path.relative_to(house.PACKAGE).as_posix()


def imports_at_run_time(node):
    """The packages that a module imports in any way and anywhere, but for type checkers alone."""
    if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        return set().union(*map(imports_at_run_time, node.orelse))
    names = set().union(*map(imports_at_run_time, ast.iter_child_nodes(node)))
    if isinstance(node, ast.Import):
        names |= {alias.name for alias in node.names}
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names.add(node.module)
    elif isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
        words = (word.value for word in node.args if isinstance(word, ast.Constant))
        names |= {word for word in words if isinstance(word, str)}
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short_and_so_are_its_functions(path):
    nodes = ast.walk(house.tree_of(path))
    functions = [node for node in nodes if isinstance(node, house.FUNCTIONS)]
    long = {f.name: f.end_lineno - f.lineno for f in functions if f.end_lineno - f.lineno >= 50}
    wide = [f.name for f in functions if len(f.args.posonlyargs + f.args.args) > 6]

    assert house.lines_of([path]) <= 400
    assert long == {}
    assert wide == []


@pytest.mark.parametrize(
    "code",
    [
        "import httpx",
        "import httpx._client as client",
        "from httpx import URL",
        "def send():\n    import httpx",
        "class Client:\n    from httpx import AsyncClient",
        "if TYPE_CHECKING:\n    import ssl\nelse:\n    import httpx",
        "try:\n    import httpx2\nexcept ImportError:\n    import httpx",
        "client = importlib.import_module('httpx').AsyncClient()",
        "client = __import__('httpx').AsyncClient()",
    ],
)
def test_an_import_of_any_kind_is_seen(code):
    assert "httpx" in imports_at_run_time(ast.parse(code))


@pytest.mark.parametrize(
    "code",
    [
        "if TYPE_CHECKING:\n    import httpx",
        "if typing.TYPE_CHECKING:\n    import ssl\n    from httpx import URL",
        "lines = ['import httpx', 'httpx.get(url)']",
        "from openapi_tools.transport import httpx2_client",
    ],
)
def test_imports_for_type_checkers_and_text_are_none(code):
    assert "httpx" not in imports_at_run_time(ast.parse(code))


def test_the_http_client_is_behind_one_seam():
    speakers = {
        name_of(path) for path in MODULES if HTTP_CLIENTS & imports_at_run_time(house.tree_of(path))
    }

    assert {name for name in speakers if not name.startswith(HTTP_HOMES)} == set()
    assert speakers


def test_urls_are_read_in_one_place():
    readers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(house.tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "httpx.URL"
    }

    assert readers == {"transport/urls.py"}


def test_every_exception_is_caught_in_one_place_of_a_call_only():
    catchers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(house.tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in ("Exception", "BaseException"))
        and not isinstance(node.body[-1], ast.Raise)  # tidying up lets it pass
    }

    assert catchers == {
        "tools/caller.py",
        "tools/tool_call_reader.py",  # a foreign call object is code of others
        "toolsets/pages.py",  # functions for progress are code of users
        "tools/guardrails.py",  # users' guardrails raise anything, and mean a refusal
        "redaction/__init__.py",  # what is logged may fail to be shown
        "observability/__init__.py",  # subscribers are code of users
        "conformance/exchange_check.py",  # openapi-core raises anything, here and in lint
        "conformance/document_check.py",
        "cli/application_lifespan.py",  # applications are code of users
        "testing/evaluation/model_replies.py",  # models are code of users
        "contracts/mcp_exchange.py",  # handlers are code of users, and a client waits
        "serving/served_apis.py",  # a fault in one document ends neither the others nor a schedule
    }


def test_every_public_name_can_be_imported_and_is_documented():
    for name in openapi_tools.__all__:
        value = getattr(openapi_tools, name)
        assert name == "__version__" or value.__doc__

    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        openapi_tools.nothing  # noqa: B018 -- the look is what is tested
    assert dir(openapi_tools) == sorted(openapi_tools.__all__)


def test_no_private_attribute_of_another_library_is_used():
    assert house.private_uses(MODULES) == ()


def test_every_file_has_a_name_of_its_own_and_is_worth_one():
    assert house.shared_names(MODULES) == ()
    assert house.small_modules(MODULES) == ()


def test_a_module_gives_a_name_once():
    tests = house.modules_of(house.ROOT / "tests")

    assert house.names_given_twice([*MODULES, *tests]) == ()


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("def load(): pass\nload = {}", ("sample.py load",)),
        ("class A: pass\ndef A(): pass", ("sample.py A",)),
        ("x: int = 1\nasync def x(): pass", ("sample.py x",)),
        ("x = 1\nx = 2\ndef f(): x = 3", ()),
        ("@overload\ndef f(a): pass\n@overload\ndef f(b): pass\ndef f(c): pass", ()),
    ],
)
def test_a_name_that_is_given_twice_is_seen(code, names, tmp_path):
    path = tmp_path / "sample.py"
    path.write_text(code)

    assert house.names_given_twice([path]) == names
