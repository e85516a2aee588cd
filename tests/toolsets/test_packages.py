"""What a generated package does: `load`, `mount`, and classes by name."""

from __future__ import annotations

import importlib
import re
import sys
from typing import Any

import pytest
from documents import document, operation
from packages import Coordinator, import_package

from openapi_tools import (
    CredentialsError,
    OpenAPIToolsError,
    OperationTool,
    Select,
    Settings,
    SettingsError,
    generate_package,
    load_tools,
)
from openapi_tools.runtime import load_package, tool_class

KEY = {"type": "apiKey", "name": "X-Key", "in": "header"}
PATHS = {
    "/cats": {"get": operation(operationId="list_cats", tags=["cats"], security=[{"key": []}])},
    "/cats/{id}": {
        "get": operation(
            operationId="get_cat",
            tags=["cats"],
            deprecated=True,
            parameters=[
                {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}}
            ],
        )
    },
    "/dogs": {"post": operation(operationId="add_dog", tags=["dogs"]),
              "get": operation(operationId="dogs_error", tags=["dogs"])},
    "/bad": {"get": operation(parameters=[{"$ref": "#/nowhere"}])},
}  # fmt: skip
PETS = document(
    PATHS,
    servers=[{"url": "http://127.0.0.1:9/v1"}],
    components={"securitySchemes": {"key": KEY, "basic": {"type": "http", "scheme": "basic"}}},
    webhooks={"adopted": {"post": operation()}},
)
NAMES = ["list_cats", "get_cat", "add_dog", "dogs_error"]
CLASSES = ["ListCats", "GetCat", "AddDog", "ToolDogsError"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A folder with the document's package, and its single module in a folder of its own."""
    folder = tmp_path_factory.mktemp("packages")
    generate_package(PETS, folder / "package", name="pets")
    generate_package(PETS, folder / "module", name="pets", layout="module")
    generate_package(
        PETS,
        folder / "shaped",
        name="shaped",
        settings=Settings(prefix="my_", media_types=["text/plain"]),
    )
    return folder


@pytest.fixture(params=["package", "module"])
def pets(request, written):
    """The generated package, freshly imported, in both layouts."""
    with import_package(written / request.param, "pets_tools") as package:
        yield package


@pytest.fixture
def package(written):
    """The generated package of many modules, freshly imported."""
    with import_package(written / "package", "pets_tools") as module:
        yield module


def submodules():
    return {name.partition(".")[2] for name in sys.modules if name.startswith("pets_tools.")}


def test_the_toolset_knows_what_the_loaded_one_knows(pets):
    loaded, toolset = load_tools(PETS), pets.load()

    assert toolset.skipped == loaded.skipped
    assert [entry.path for entry in toolset.skipped] == ["/bad"]
    assert toolset.security_schemes == loaded.security_schemes
    assert toolset.counts == loaded.counts
    assert (toolset.counts["webhooks"], toolset.counts["skipped"]) == (1, 1)
    assert toolset.document is None
    assert repr(toolset) == repr(loaded)

    toolset.counts["operations"] = 99
    assert pets.load().counts["operations"] == 5


def test_importing_the_package_imports_no_tool_and_a_class_its_own_module_only(package):
    assert submodules() == set()

    assert sorted(dir(package)) == sorted(["load", "mount", *CLASSES])
    assert submodules() == {"index"}

    assert issubclass(package.GetCat, OperationTool)
    assert package.GetCat.__module__ == "pets_tools.tools_cats"
    assert submodules() == {"index", "tools_cats"}


@pytest.mark.parametrize(
    ("select", "modules", "names"),
    [
        (Select(names=["*cat*"]), {"tools_cats"}, ["list_cats", "get_cat"]),
        (Select(names="add_dog"), {"tools_dogs"}, ["add_dog"]),
        (Select(names=[]), set(), []),
        (Select(tags="dogs"), {"tools_cats", "tools_dogs"}, ["add_dog", "dogs_error"]),
        (Select(names=["*cat*"], deprecated=False, where=lambda tool: tool.method == "GET"),
         {"tools_cats"}, ["list_cats"]),
        (None, {"tools_cats", "tools_dogs"}, NAMES),
    ],
)  # fmt: skip
def test_only_modules_that_may_hold_a_selected_tool_are_imported(package, select, modules, names):
    toolset = package.load(select=select)

    assert [tool.name for tool in toolset] == names
    assert submodules() == {"index", *modules}


def test_a_class_is_found_by_its_name_and_by_its_tools(pets):
    for name, tool in zip(CLASSES, NAMES, strict=True):
        class_ = getattr(pets, name)

        assert class_ is tool_class("pets_tools", name) is tool_class("pets_tools", tool)
        assert class_.name == tool

    names: dict[str, Any] = {}
    exec("from pets_tools import AddDog, ListCats, load\nfrom pets_tools import *", names)
    assert names["AddDog"]().method == "POST"
    assert {"mount", "load"} <= names.keys()


@pytest.mark.parametrize("name", ["Nothing", "nothing", "", "bad", "__wrapped__", "__path", "a.b"])
def test_what_is_not_there_is_an_attribute_error(package, name):
    with pytest.raises(AttributeError, match=f"module 'pets_tools' has no attribute '{name}'"):
        getattr(package, name)
    assert not hasattr(package, name)


def test_a_package_that_was_generated_again_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # as both are written in one second
    generate_package(document({"/a": {"get": operation(operationId="one")}}), tmp_path, name="pets")
    with import_package(tmp_path, "pets_tools") as package:
        assert package.One().path == "/a"
    generate_package(document({"/b": {"get": operation(operationId="two")}}), tmp_path, name="pets")
    importlib.invalidate_caches()

    with import_package(tmp_path, "pets_tools") as package:
        assert package.Two().path == "/b"
        assert not hasattr(package, "One")


@pytest.mark.parametrize("layout", ["package", "module"])
def test_a_package_may_stand_inside_another(tmp_path, layout):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "__init__.py").write_text("")
    generate_package(PETS, tmp_path / "own", name="pets", layout=layout)

    with import_package(tmp_path, "own"):
        pets = importlib.import_module("own.pets_tools")
        assert [tool.name for tool in pets.load()] == NAMES
        assert pets.AddDog.__module__.startswith("own.pets_tools")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"credentials": {"token": "x"}}, CredentialsError, "no security scheme 'token'; it has"),
        ({"client": object()}, SettingsError, "pass an httpx.AsyncClient"),
        (
            {"check_responses": True},
            SettingsError,
            "check_responses needs the document; load it with",
        ),
        ({"prefix": "my_"}, SettingsError, "prefix was decided when the package was generated"),
        ({"body": "nested"}, SettingsError, "body was decided when the package was generated"),
        ({"media_types": ["text/xml"]}, SettingsError, "media_types was decided when"),
        ({"settings": Settings(description_chars=99)}, SettingsError, "description_chars was dec"),
    ],
)
def test_options_that_do_not_fit_are_refused(pets, options, error, message):
    with pytest.raises(error, match=re.escape(message)):
        pets.load(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"prefix": "", "body": "flat", "media_types": (), "description_chars": 1024},
        {"settings": Settings(prefix="", body="flat")},
        {"check_responses": False, "timeout": 1, "concurrency": 2, "max_output_chars": 100},
        {"max_document_bytes": 5, "ref_urls": ["http://x"], "server_variables": {"a": "b"}},
        {"credentials": {"key": "x", "basic": ("me", "you")}},
        {"credentials": {}, "settings": None, "client": None, "select": None},
    ],
)
def test_options_that_say_what_was_decided_or_how_to_call_are_taken(pets, options):
    assert len(pets.load(**options)) == 4


def test_decided_settings_may_be_repeated_but_not_taken_back(written):
    with import_package(written / "shaped", "shaped_tools") as shaped:
        assert [tool.name for tool in shaped.load()] == [f"my_{name}" for name in NAMES]
        assert shaped.MyGetCat.name == "my_get_cat"
        assert len(shaped.load(prefix="my_", media_types=["text/plain"])) == 4
        for other in ({"prefix": ""}, {"prefix": "your_"}, {"media_types": []}):
            with pytest.raises(SettingsError, match="was decided when the package was generated"):
                shaped.load(**other)


async def test_settings_and_credentials_reach_the_wire(pets, recorder):
    options = {"base_url": recorder.url, "credentials": {"key": "s3cret"}}

    async with pets.load(**options) as toolset:
        result = await toolset.call("list_cats", {"_tool_call_id": "call-1"})
        refused = await toolset.call("get_cat", {"id": "one"})

    assert (result.success, result.tool_call_id) == (True, "call-1")
    (received,) = recorder.requests
    assert (received.method, received.target) == ("GET", "/cats")
    assert received.header("x-key") == "s3cret"
    assert refused.error["type"] == "invalid_input"


async def test_a_missing_credential_names_the_function_that_takes_it(pets):
    result = await pets.load().call("list_cats", {})

    assert str(result).endswith("Pass credentials={'key': …} to load().")


async def test_a_client_of_ones_own_is_used_and_stays_open(pets, recorder, library):
    async with library.AsyncClient(headers={"X-Own": "mine"}) as client:
        async with pets.load(base_url=recorder.url, client=client) as toolset:
            await toolset["add_dog"].execute({})
        assert not client.is_closed

    assert recorder.last.header("x-own") == "mine"


async def test_a_tool_made_by_itself_calls_the_documents_server(tmp_path, recorder):
    cats = {"/cats": {"get": operation(operationId="list_cats")}}
    generate_package(document(cats, servers=[{"url": recorder.url}]), tmp_path, name="own")

    with import_package(tmp_path, "own_tools") as module:
        tool = module.ListCats()
        result = await tool.execute({})
        refused = await tool.execute({"nothing": 1})
        await tool._find_caller()._session.sender.aclose()

    assert result.success
    assert recorder.requests[0].target == "/cats"
    assert refused.error["type"] == "invalid_input"
    assert repr(tool) == "<tool list_cats: GET /cats>"


@pytest.mark.parametrize(
    "fields", [{"base_url": "${URL}/v${ONE}"}, {"settings": {"base_url": "${URL}/v${ONE}"}}]
)
@pytest.mark.parametrize(("key", "sent"), [("${PETS_KEY}", "s3${ONE}"), ("x${ONE}:", "x1:")])
async def test_mount_reads_a_plans_configuration(pets, recorder, monkeypatch, fields, key, sent):
    for name, value in {"PETS_KEY": "s3${ONE}", "URL": recorder.url, "ONE": "1"}.items():
        monkeypatch.setenv(name, value)
    coordinator = Coordinator()
    config = {"credentials": {"key": key}, "select": {"tags": ["cats"], "deprecated": False}}

    cleanup = await pets.mount(coordinator, config | fields)
    result = await coordinator.tools["list_cats"].execute({})
    assert list(coordinator.tools) == ["list_cats"]
    await cleanup()

    assert result.success
    assert recorder.last.header("x-key") == sent
    assert recorder.last.target == "/v1/cats"
    assert coordinator.tools == {}


async def test_a_plan_without_configuration_gives_the_defaults(package):
    for nothing in ((), (None,), ({},)):
        coordinator = Coordinator()
        await (await package.mount(coordinator, *nothing))()


NO_ADDRESS = [
    (config, f"base_url: ${{{variable}}} is not an http://")
    for variable, address in [
        *(("WORD", "${WORD}"), ("FTP", "${FTP}"), ("USER", "${USER}")),
        ("HOST", "http://me:hunter2@${HOST}"),
    ]
    for config in ({"base_url": address}, {"settings": {"base_url": address}})
]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("config", "configuration: must be a mapping by name, not str"),
        ({1: 2}, "configuration: must be a mapping by name"),
        ({"spec": "x"}, "configuration: unknown key 'spec'; expected one of base_url"),
        ({"select": {"tag": "x"}}, "select: unknown key 'tag'; expected one of tags"),
        ({"select": ["x"]}, "select: must be a mapping by name, not list"),
        (
            {"select": {"tags": "x"}},
            "select: no tool has the tag 'x'. The document has the tags cats, dogs.",
        ),
        (
            {"select": {"names": "add_dgo"}},
            "no tool has the name 'add_dgo'; did you mean add_dog?",
        ),
        ({"settings": {"check_responses": True}}, "check_responses needs the document"),
        ({"credentials": "secret"}, "credentials: must be a mapping by name, not str"),
        ({"credentials": {"key": "${PETS_UNSET}"}}, "'key': the environment variable PETS_UNSET"),
        ({"base_url": "${PETS_UNSET}"}, "variable PETS_UNSET is not set"),
        ({"base_url": "museum"}, "base_url: the URL 'museum' must begin with http:// or https://"),
        *NO_ADDRESS,
        # Another fault beside an address is told as it is.
        ({"base_url": "${WORD}", "settings": {"timeout": -1}}, "timeout"),
    ],
)
async def test_a_configuration_that_does_not_fit_mounts_nothing(
    package, config, message, monkeypatch
):
    addresses = ("hunter2", "ftp://hunter2", "http://me:hunter2@x.example", "x.example")
    for name, value in zip(("WORD", "FTP", "USER", "HOST"), addresses, strict=True):
        monkeypatch.setenv(name, value)
    coordinator = Coordinator()

    with pytest.raises(OpenAPIToolsError, match=re.escape(message)) as caught:
        await package.mount(coordinator, config)

    kind = CredentialsError if "'key':" in message else SettingsError
    assert type(caught.value) is kind
    assert not any(word in str(caught.value) for word in ("hunter2", "secret"))
    assert coordinator.tools == {}


def test_a_package_that_is_none_is_an_import_error():
    with pytest.raises(ModuleNotFoundError):
        load_package("no_such_package")
