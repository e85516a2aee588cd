"""The shape of the code, where a machine can judge it; import-linter judges the layers."""

import ast

import house
import pytest

import openapi_tools

MODULES = house.modules_of(house.PACKAGE)
HTTP_HOMES = (
    *(
        "auth/",
        "requests/",
        "responses/",
        "tools/",
        "toolsets/",
        "transport/",
        "testing/",
        "conformance/",
    ),
    *("loading/fetching.py", "common/http_rules.py", "cli/call_command.py"),
)


def name_of(path):
    return path.relative_to(house.PACKAGE).as_posix()


def imports_at_run_time(node):
    """The packages that a module imports, anywhere but under TYPE_CHECKING."""
    found = set()
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in child.names}
        elif isinstance(child, ast.ImportFrom) and child.module and not child.level:
            found.add(child.module.partition(".")[0])
        else:
            found |= imports_at_run_time(child)
    return found


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_a_module_is_short_and_so_are_its_functions(path):
    nodes = ast.walk(house.tree_of(path))
    functions = [node for node in nodes if isinstance(node, house.FUNCTIONS)]
    long = {f.name: f.end_lineno - f.lineno for f in functions if f.end_lineno - f.lineno >= 50}
    wide = [f.name for f in functions if len(f.args.posonlyargs + f.args.args) > 6]

    assert house.lines_of([path]) <= 400
    assert long == {}
    assert wide == []


def test_http_is_spoken_in_few_places_only():
    speakers = {
        name_of(path)
        for path in MODULES
        if {"httpx", "httpcore"} & imports_at_run_time(house.tree_of(path))
    }

    assert {name for name in speakers if not name.startswith(HTTP_HOMES)} == set()


def test_urls_are_read_in_one_place():
    readers = {
        name_of(path)
        for path in MODULES
        for node in ast.walk(house.tree_of(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "httpx.URL"
    }

    assert readers == {"common/http_rules.py"}


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
