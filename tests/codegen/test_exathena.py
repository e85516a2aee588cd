"""`--target exathena`: which files there are, what is left out of them, and what stands already."""

import re
from pathlib import Path

import pytest
from documents import document, operation, with_body
from elixir import GOLDEN, check_format, compile_project, evaluate, needs_elixir
from hostile_documents import hostile
from packages import bytes_in

from openapi_tools import Select, generate_package
from openapi_tools.codegen.elixir_literals import UnwritableInElixir
from openapi_tools.codegen.elixir_project import operation_data
from openapi_tools.codegen.package_plan import ModuleNames
from openapi_tools.errors import SettingsError
from openapi_tools.model import Encoding, Operation, Parameter, RequestBody, SecurityScheme

SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"
TWO = document({"/a": {"get": operation(operationId="a"), "put": operation(operationId="b")}})


def generate(source, folder, **options):
    return generate_package(source, folder, name="pets", target="exathena", **options)


def test_the_petstore_is_the_golden_one(tmp_path):
    report = generate_package(SPEC, tmp_path / "out", name="petstore", target="exathena")

    assert bytes_in(tmp_path / "out") == bytes_in(GOLDEN)
    assert len(report.tools) == 19
    assert report.skipped == ()


@pytest.mark.parametrize(
    ("servers", "written"),
    [
        ([{"url": "https://api.example/v1/"}], '"https://api.example/v1"'),
        ([{"url": "https://{x}.example", "variables": {"x": {"default": "a"}}}],
         '"https://a.example"'),
        ([{"url": "/v1"}], "nil"),
        ([{"url": "https://me:hunter2@api.example"}], "nil"),
        ([{"url": "ftp://api.example"}], "nil"),
        ([], "nil"),
    ],
)  # fmt: skip
def test_the_documents_server_stands_in_for_a_base_url(tmp_path, servers, written):
    generate(document(TWO["paths"], servers=servers), tmp_path)

    files = {name: data.decode() for name, data in bytes_in(tmp_path).items()}
    assert f"  @server {written}\n" in files["lib/pets_tools/http.ex"]
    assert not [name for name, text in files.items() if "hunter2" in text]


@needs_elixir
async def test_without_any_server_a_call_halts_the_run(tmp_path):
    generate(document(TWO["paths"], servers=[]), tmp_path / "project")
    assert compile_project(tmp_path / "project", tmp_path / "compiled") == ""

    script = "say.(PetsTools.Tools.A.execute(%{}, nil))"
    (line,) = await evaluate(tmp_path / "compiled", script)

    assert line.startswith("halt pets_tools: no base_url is configured")


@pytest.mark.long
@pytest.mark.parametrize("text", ["Schön \u202e#{x}", "\0\x1b\n```elixir\nx\n```", '" <> x <> """'])
def test_texts_of_a_document_are_data_in_every_file(tmp_path, text):
    generate(hostile(text), tmp_path / "hostile")
    generate(TWO, tmp_path / "plain")

    plain = bytes_in(tmp_path / "plain")
    for path, data in bytes_in(tmp_path / "hostile").items():
        if path.endswith((".ex", ".exs")):
            written = data.decode().replace("\\#{", "")
            assert written.count("#{") == plain.get(path, b"").count(b"#{"), path


@needs_elixir
def test_hostile_documents_compile_and_are_laid_out_as_mix_format_does(tmp_path):
    for number, text in enumerate(['#{System.halt(3)} """ \\', "~s(x)\n  :a", "é \u202e" * 60]):
        generate(hostile(text), tmp_path / str(number))

        assert compile_project(tmp_path / str(number), tmp_path / "out") == ""
    assert not check_format(tmp_path)


def test_what_the_helper_cannot_call_and_what_has_another_server_is_left_out(tmp_path):
    paths = {
        **with_body({"type": "object"}, kind="multipart/form-data"),
        "/up": {"patch": operation(servers=[{"url": "https://up.example"}])},
        **TWO["paths"],
    }

    report = generate(document(paths, servers=[{"url": "https://api.example"}]), tmp_path)
    patched = generate(document(paths), tmp_path / "up", select=Select(methods=["PATCH"]))

    assert (report.tools, patched.tools, patched.skipped) == (("a", "b"), ("patch_up",), ())
    multipart, other = report.skipped
    assert (multipart.pointer, multipart.method) == ("/paths/~1x/post", "POST")
    assert multipart.reason == "its body is multipart, which the Elixir helper does not write."
    assert other.path == "/up"
    assert "'https://up.example'" in other.reason
    assert "POST /x: its body is multipart" in (tmp_path / "README.md").read_text()
    assert not list(tmp_path.rglob("post_x.ex"))


def test_no_tool_at_all_is_an_error(tmp_path):
    schema = {"type": "object"}
    source = document(with_body(schema, kind="multipart/form-data"))

    with pytest.raises(SettingsError, match=r"target: no tool can be written .* multipart"):
        generate(source, tmp_path)
    assert generate(document({}), tmp_path).tools == ()


FORM = "application/x-www-form-urlencoded"
CHOICE = RequestBody("a/b", "body", choice="kind", choices=(RequestBody("c/d", "body"),))
PIPES = {"style": "pipeDelimited", "explode": False, "printed": True}
PARAMETERS = [
    (Parameter("q", "querystring"), "whole query string"),
    (Parameter("q", "query", inner=(",",)), "lists in lists"),
    (Parameter("a b", "header"), "is not valid for a header"),
    (Parameter("a;", "cookie"), "is not valid for a cookie"),
    (Parameter("q", "query", style="x"), "the style 'x'"),
    (Parameter("q", "query", media_type="text/csv"), "content of its own"),
    (Parameter("q", "query", **PIPES), "'|' between its values"),
]
BODIES = [
    (RequestBody("nothing", "body"), "which is none"),
    (RequestBody("multipart/mixed", "body"), "multipart"),
    (RequestBody("*/*", "body"), "may be anything"),
    (RequestBody("text/plain; charset=utf-16", "body"), "utf-16"),
    (CHOICE, "the model chooses"),
    *(
        (RequestBody(FORM, "body", encodings=(encoding,)), reason)
        for encoding, reason in (
            (Encoding("m", file=True), "'a file'"),
            (Encoding("m", content_type="text/csv"), "'text/csv'"),
            (Encoding("m", inner=(",",)), "'lists in lists'"),
            (Encoding("m", style="x"), "style 'x'"),
        )
    ),
]
OBSTACLES = [
    (Operation("COPY", "/"), "method 'COPY'"),
    (Operation("GET", "/?a|b"), "'|' in its query"),
    (Operation("GET", "/\ud800"), "lone surrogate"),
    *((Operation("GET", "/", parameters=(one,)), reason) for one, reason in PARAMETERS),
    *((Operation("POST", "/", body=body), reason) for body, reason in BODIES),
]


@pytest.mark.parametrize(("called", "reason"), OBSTACLES, ids=[reason for _, reason in OBSTACLES])
def test_what_the_helper_cannot_do_is_reported(called, reason):
    with pytest.raises(UnwritableInElixir, match=re.escape(reason)):
        operation_data("x", called, {})


@pytest.mark.parametrize(
    ("scheme", "location"),
    [
        (SecurityScheme("apiKey", "X-Key", "header"), (":header", "X-Key")),
        (SecurityScheme("apiKey", "Authorization", "header"), (":header", "Authorization")),
        (SecurityScheme("apiKey", "Host", "header"), (":unsupported", "")),
        (SecurityScheme("apiKey", "k", "query"), (":query", "k")),
        (SecurityScheme("apiKey", "k", "cookie"), (":cookie", "k")),
        (SecurityScheme("apiKey", "k=", "cookie"), (":unsupported", "")),
        (SecurityScheme("apiKey", "k", "body"), (":unsupported", "")),
        (SecurityScheme("http", scheme="basic"), (":basic", "authorization")),
        (SecurityScheme("http", scheme="bearer"), (":bearer", "authorization")),
        (SecurityScheme("http", scheme="digest"), (":unsupported", "")),
        (SecurityScheme("oauth2"), (":bearer", "authorization")),
        (SecurityScheme("openIdConnect"), (":bearer", "authorization")),
        (SecurityScheme("mutualTLS"), (":unsupported", "")),
    ],
)
def test_where_a_credential_goes(scheme, location):
    called = Operation("GET", "/", security=({"s": ()}, {}))

    assert operation_data("x", called, {"s": scheme})["security"] == [[("s", *location)], []]
    assert operation_data("x", called, {})["security"] == [[("s", ":unsupported", "")], []]


def test_names_differ_also_where_case_does_not_count():
    names = ModuleNames()
    claimed = [names.claim(tool) for tool in ("getPet", "get_pet", "GETPET", "getpet", "_", "con")]

    for kind in (0, 1):
        assert len({pair[kind].lower() for pair in claimed}) == len(claimed)
    assert claimed[0] == ("GetPet", "get_pet")
    assert claimed[-1] == ("Con", "con_tool")
    assert all(re.fullmatch(r"[A-Z][A-Za-z0-9_]*", module) for module, _ in claimed)
    other = ModuleNames()
    other.claim(claimed[1][0])  # a tool of the name that the second one got
    assert [other.claim(tool)[0] for tool in ("getPet", "get_pet")] == [
        "GetPet",
        f"{claimed[1][0]}X",
    ]


@pytest.mark.parametrize(
    ("version", "written"),
    [("1.2.3", "1.2.3"), ("1.0.27-SNAPSHOT", "0.1.0"), ('"#{x}', "0.1.0"), ("01.2.3", "0.1.0")],
)
def test_the_project_has_the_documents_version_where_mix_takes_it(tmp_path, version, written):
    generate({**TWO, "info": {"title": "t", "version": version}}, tmp_path)

    assert f'version: "{written}",' in (tmp_path / "mix.exs").read_text()


def test_tools_that_came_and_went_are_reported(tmp_path):
    generate(TWO, tmp_path)
    newer = document(
        {"/a": {"get": operation(operationId="a"), "post": operation(operationId="c")}}
    )

    report = generate(newer, tmp_path)

    assert [(c.kind, c.tool, c.breaking) for c in report.changes] == [
        ("added", "c", False),
        ("removed", "b", True),
    ]
    assert report.removed == ("lib/pets_tools/tools/b.ex",)
