"""A generated tool equals the loaded one, attribute by attribute and byte by byte."""

from __future__ import annotations

import random
import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

import corpus
import pytest
from packages import SPECS, describe_tools, differences, import_package, lint

from openapi_tools import OpenAPIToolsError, Select, Settings, generate_package, load_tools
from openapi_tools.testing import sample

if TYPE_CHECKING:
    from pathlib import Path

    from openapi_tools import Toolset

pytestmark = pytest.mark.untraced

BASE = "https://api.example.com/base"
LITTLE = 50_000
"""Documents of fewer bytes are written as a single module too."""
CHOSEN = 40
"""Of documents with more tools, so many are drawn for a look at what they send."""
CALLED = 8
"""So many of a document's tools are called."""
LONGEST = 1_500
"""Lines of a module that holds more than one thing."""
THING = re.compile(r"^(?:class |[A-Z][A-Z0-9_]*[0-9a-f_]*: )", re.MULTILINE)
TALKATIVE = ("openai/openapi.yaml", "docker/swagger.yaml", "slack/slack_web_openapi_v2.json")
"""Published documents whose tools are called as well; bodies of every kind."""
IN_PATH = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}


class Case(NamedTuple):
    """A document and how its API is called; each has a name of its own, as all meet here."""

    title: str
    file: Path
    api: str

    @property
    def package(self) -> str:
        return f"{self.api}_tools"


class Pair(NamedTuple):
    """The same tools, loaded and generated."""

    loaded: Toolset
    generated: Toolset
    folder: Path


CASES = [
    Case(title, file, f"document_{number}")
    for number, (title, file) in enumerate(
        [
            *((f"specs/{path.name}", path) for path in SPECS),
            *((entry.path, entry.file) for entry in corpus.entries()),
        ]
    )
]
SMALL = [case for case in CASES if case.file.stat().st_size < LITTLE]
CALLED_CASES = [case for case in CASES if case.title in TALKATIVE or case.file in SPECS]
USUAL = {case.title for case in (*SMALL[::8], *CALLED_CASES)}
"""Documents of every run; the others are long ones."""


def parameters(chosen):
    """Return documents for `parametrize`; a skipped one stands for those not at hand."""
    listed = [
        pytest.param(case, id=case.title, marks=() if case.title in USUAL else pytest.mark.long)
        for case in chosen
    ]
    return listed if corpus.entries() else [*listed, *corpus.parameters([])]


@pytest.fixture(scope="module", params=parameters(CASES))
def case(request):
    return request.param


@pytest.fixture(scope="module")
def pair(case, tmp_path_factory):
    """The tools of a document both ways; the files of some packages take megabytes."""
    folder = tmp_path_factory.mktemp(case.api)
    report = generate_package(case.file, folder, name=case.api)
    names = some_of(report.tools, CHOSEN)
    with import_package(folder, case.package) as package:
        how = how_to_call(package.load(select=Select(names=names)))
        generated = package.load(select=Select(names=names), **how)
    yield Pair(load_tools(case.file, **how), generated, folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def single(case, tmp_path_factory):
    folder = tmp_path_factory.mktemp(case.api)
    generate_package(case.file, folder, name=case.api, layout="module")
    return folder


@pytest.mark.long
def test_a_package_says_what_the_loaded_tools_say(case, pair):
    with import_package(pair.folder, case.package) as package:
        assert differences(describe_tools(package.load()), describe_tools(pair.loaded)) == []


@pytest.mark.parametrize("case", parameters(SMALL), indirect=True)
def test_a_single_module_says_what_the_loaded_tools_say(case, pair, single):
    with import_package(single, case.package) as module:
        assert differences(describe_tools(module.load()), describe_tools(pair.loaded)) == []


def test_a_path_with_operators_in_its_braces_is_the_same_both_ways(tmp_path):
    paths = {path: {"get": {"parameters": [IN_PATH]}} for path in ("/a/{.id*}", "/b/{;id}")}
    head = {"openapi": "3.1.0", "info": {"title": "Operators", "version": "1"}}
    document = {**head, "paths": paths}
    generate_package(document, tmp_path, name="operators")

    with import_package(tmp_path, "operators_tools") as package:
        generated = [tool.path for tool in package.load()]

    assert generated == [tool.path for tool in load_tools(document)] == ["/a/{id}", "/b/{id}"]


@pytest.mark.long
def test_ruff_leaves_a_package_as_it_is(pair):
    assert lint(pair.folder) == ""


@pytest.mark.parametrize("case", parameters(SMALL), indirect=True)
def test_ruff_leaves_a_single_module_as_it_is(single):
    assert lint(single) == ""


@pytest.mark.long
def test_modules_of_a_package_are_short(pair):
    modules = [*pair.folder.glob("*_tools/tools*.py"), *pair.folder.glob("*_tools/schemas*.py")]
    texts = {path.name: path.read_text(encoding="utf-8") for path in modules}

    long = [name for name, text in texts.items() if text.count("\n") > LONGEST]

    assert [name for name in long if len(THING.findall(texts[name])) > 1] == []


@pytest.mark.long
def test_a_generated_tool_would_send_what_the_loaded_one_would(case, pair, same_boundaries):
    differing = [
        tool.name
        for tool in pair.generated
        for arguments in (sample(tool.input_schema, tool.input_schema), {}, {"no": "argument"})
        if preview(tool, arguments) != preview(pair.loaded[tool.name], arguments)
    ]

    assert differing == []


@pytest.fixture
def same_boundaries(monkeypatch):
    """Let the same text stand between the parts of a body each time, not a random one."""
    monkeypatch.setattr("secrets.token_hex", lambda size: "0f" * size)


def preview(tool, arguments):
    try:
        request = tool.preview(arguments)
    except OpenAPIToolsError as error:
        return type(error), str(error)
    url = request.url
    address = url.raw_scheme, url.netloc, url.raw_path
    return request.method, address, request.headers.raw, request.content


def some_of(names, most):
    """Return all names or, of many, some: the same in every run, in their order."""
    if len(names) <= most:
        return list(names)
    return [names[at] for at in sorted(random.Random(0).sample(range(len(names)), most))]


def how_to_call(toolset):
    """Return credentials for every scheme that is supported, and a server where there is none."""
    schemes = toolset.security_schemes.items()
    supported = [
        name for name, it in schemes if it.type != "mutualTLS" and it.scheme != "negotiate"
    ]
    urls = [server.url for tool in toolset for server in tool.operation.servers[:1]]
    everywhere = len(urls) == len(toolset) and all("://" in url for url in urls)
    return {
        "credentials": dict.fromkeys(supported, "user:password"),
        "settings": Settings() if everywhere else Settings(base_url=BASE),
    }


@pytest.mark.parametrize("case", parameters(CALLED_CASES), indirect=True)
async def test_a_server_receives_the_same_bytes(case, pair, recorder, same_boundaries):
    names = some_of([tool.name for tool in pair.generated], CALLED)
    with import_package(pair.folder, case.package) as package:
        generated = package.load(select=Select(names=names), base_url=recorder.url, anonymous=True)
    settings = Settings(base_url=recorder.url, anonymous=True)
    loaded = load_tools(case.file, settings=settings)

    async with generated, loaded:
        results = await call_all(generated, names), await call_all(loaded, names)

    sent = [request.raw for request in recorder.requests]
    half = len(sent) // 2
    assert results[0] == results[1]
    assert sent[:half] == sent[half:]
    assert half >= CALLED // 2


async def call_all(toolset, names):
    return [
        (await tool.execute(sample(tool.input_schema, tool.input_schema))).model_dump()
        for tool in map(toolset.__getitem__, names)
    ]
