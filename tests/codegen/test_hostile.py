"""Whatever text a document has, and wherever: nothing of it runs, and every tool says it."""

import json
import re

import pytest
from documents import document, operation
from hostile_documents import CODE, MARK, MARKUP, NAMES, PAYLOADS, RUN, hostile, schema
from hostile_packages import (
    assert_harmless,
    describe_toolset,
    files_of,
    generate,
    generated_soundly,
    harmless_files,
    import_all,
)
from literal_values import TRICKY
from packages import import_package

from openapi_tools import Settings, load_tools
from openapi_tools.codegen.output_state import sha256_of

pytestmark = pytest.mark.untraced

LAYOUTS = ("package", "module")
TRICKY_ONES = {name: text for name, text in TRICKY.items() if name in PAYLOADS}
SOME = {name: text for number, (name, text) in enumerate(PAYLOADS.items()) if number % 3 == 0}


def files_outside(sandbox):
    return {path for path in sandbox.rglob("*") if "out" not in path.relative_to(sandbox).parts}


def judge(texts, folder, layout):
    """What is wrong with the packages of hostile documents, by the name of the text."""
    sandbox = folder / "a" / "b" / "sandbox"
    for name in ("x", "passwd", "museum_tools"):
        (sandbox / name).mkdir(parents=True)
    before, wrong = files_outside(folder), {}
    packages = []
    for number, (name, text) in enumerate(texts.items()):
        output = sandbox / "out" / str(number)
        generate(hostile(text), output, layout)
        packages.append((name, output, "museum_tools"))
        try:
            assert_harmless(files_of(output), layout)
        except (AssertionError, SyntaxError) as error:
            wrong[name] = repr(error)
    assert files_outside(folder) == before
    for name, description in import_all(packages, folder / "cwd").items():
        if description != describe_toolset(load_tools(hostile(texts[name]))):
            wrong[name] = "what is read back is not what was loaded"
    return wrong


@pytest.mark.long
@pytest.mark.parametrize(
    ("texts", "layout"),
    [(CODE | MARKUP, "package"), (NAMES, "package"), (TRICKY_ONES, "package"), (SOME, "module")],
    ids=["code and markup", "names", "tricky", "module"],
)
def test_nothing_runs_and_everything_reads_back(tmp_path, texts, layout):
    assert judge(texts, tmp_path, layout) == {}


def test_a_text_reaches_every_place():
    text = CODE["closes a call"]
    tools = load_tools(hostile(text))
    by_name = {tool.name: tool for tool in tools}
    scheme = tools.security_schemes

    assert {tool.operation.operation_id for tool in tools} >= {text, text + "b"}
    assert by_name["tags"].tags == (text, text)
    assert by_name["texts"].description.count(RUN) > 0
    assert by_name["key"].path == f"/{text}"
    assert by_name["path"].path == f"/path/{{{text}}}"
    # Header and cookie names have an alphabet of their own.
    assert [p.name for p in by_name["header"].operation.parameters] == []
    assert [p.name for p in by_name["cookie"].operation.parameters] == []
    assert [p.name for p in by_name["query"].operation.parameters] == [text]
    assert by_name["values"].input_schema["properties"]["v"]["enum"] == schema(text)["enum"]
    assert by_name["media"].operation.body.media_type == text
    assert by_name["media2"].operation.body.media_type == f"text/{text}"
    assert by_name["server"].operation.servers[1].url == text
    assert by_name["server"].operation.servers[0].variables[text].default == text
    assert by_name["security"].operation.security[0] == {text: (text,)}
    assert text in json.dumps(by_name["shared_put"].input_schema["$defs"]).replace('\\"', '"')
    assert scheme[text].name == text
    assert scheme["oauth"].flows[text]["scopes"] == {text: text}
    assert scheme["connect"].openid_connect_url == text
    assert len(tools.skipped) == 1


def add(line):
    return lambda text: text + line


TOOLS, INDEX = "museum_tools/tools_a.py", "museum_tools/index.py"


@pytest.mark.parametrize(
    ("path", "change"),
    [
        (TOOLS, add(f"\n{RUN}\n")),
        (TOOLS, lambda text: text.replace('"GET"', f"Operation({RUN})")),
        (TOOLS, lambda text: text.replace('"GET"', 'f"{x}"')),
        (TOOLS, lambda text: text.replace("OperationTool)", "Any)")),
        (TOOLS, add("    x = 1\n")),
        (TOOLS, lambda text: text.replace("a", "\u0430", 1)),
        (INDEX, add("import os\n")),
        (INDEX, add("from openapi_tools import load_tools\n")),
        (INDEX, lambda text: text.replace('"tools_a"', "__import__")),
        ("museum_tools/__init__.py", add(f"\n{RUN}\n")),
        ("museum_tools/con.py", add("")),
        ("museum_tools/README.md", add("")),
        ("tests/test_museum_tools.py", add("#")),
        ("pyproject.toml", add("[project.scripts]\nx = 'os:x'\n")),
        ("pyproject.toml", lambda text: text.replace('version = "1"', 'version = "1 x"')),
        *(("README.md", add(f"\n{markup}\n")) for markup in ("<b>", "# x", "[x](y)", "1. x")),
    ],
)
def test_the_judge_of_these_tests_is_strict(path, change):
    harmless = harmless_files("package")
    manifest = json.loads(harmless["manifest.json"])
    changed = {**harmless, path: change(harmless.get(path, b"").decode()).encode()}
    digests = {name: sha256_of(data) for name, data in changed.items() if name != "manifest.json"}
    changed["manifest.json"] = json.dumps({**manifest, "files": digests}).encode()

    assert_harmless(harmless, "package")
    with pytest.raises((AssertionError, KeyError)):
        assert_harmless(changed, "package")


def test_the_judge_of_these_tests_notices_what_runs(tmp_path):
    codes = {"env": RUN, "file": f"open('{MARK}', 'w')", "text": "eval('1')"}
    for name, code in codes.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "museum_tools.py").write_text(f"def load():\n    return ()\n\n{code}\n")

        with pytest.raises(AssertionError):
            import_all([(name, tmp_path / name, "museum_tools")], tmp_path / f"cwd_{name}")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_hostile_names_live_in_one_package(tmp_path, layout):
    texts = [*NAMES.values(), *(text.swapcase() for text in NAMES.values()), *TRICKY.values()]
    paths = {
        f"/{number}": {"get": operation(operationId=text, tags=[text])}
        for number, text in enumerate(texts)
    }

    assert len(generated_soundly(document(paths), tmp_path, layout)) == len(texts)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tools_named_as_what_stands_beside_them(tmp_path, layout):
    ids = [
        *("i_n_d_e_x", "s_k_i_p_p_e_d", "c_o_u_n_t_s", "s_e_t_t_i_n_g_s", "p_e_t", "a_j"),
        "operation",
    ]
    ids += ["any", "operation_tool", "parameter", "settings", "json", "load", "mount", "schemas"]
    large = {"type": "object", "description": "word " * 60}
    schemas = {name: {"$ref": f"#/components/schemas/{name}"} for name in ("Pet", "AJ", "INDEX")}
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": schemas}}}}
    source = document(
        {f"/{name}": {"post": operation(operationId=name, requestBody=body)} for name in ids},
        components={"schemas": dict.fromkeys(schemas, large)},
    )

    assert [name for name, *_ in generated_soundly(source, tmp_path, layout)] == ids


def test_a_class_is_found_by_its_own_name(tmp_path):
    ids = ["i_n_d_e_x", "a_b", "a__b", "ab", "none", "true", "value_error", "1st", "load", "index"]
    source = document({f"/{n}": {"get": operation(operationId=n)} for n in ids})
    generate(source, tmp_path / "out")

    with import_package(tmp_path / "out", "museum_tools") as package:
        classes = [name for name in dir(package) if name[0].isupper()]
        names = {name: getattr(package, name).name for name in classes}

    assert sorted(names.values()) == sorted(load_tools(source)._tools)
    assert names["ToolNone"] == "none"
    assert names["ToolValueError"] == "value_error"
    assert names["ToolINDEX"] == "i_n_d_e_x"
    assert names["Index"] == "index"


def test_what_extensions_say_is_ignored(tmp_path):
    text = "evil_module"
    extensions = dict.fromkeys(("x-python-import", "x-customTypePath", "customTypePath"), text)
    node = {"type": "string", **extensions}
    body = {"content": {"application/json": {"schema": {"properties": {"a": node}}}}}
    paths = {"/a": {"post": operation(requestBody=body, **extensions)}}
    files = generate(document(paths, **extensions), tmp_path / "out")

    assert not [path for path, content in files.items() if re.search(rf"import.*{text}", content)]
    assert MARK not in "".join(files.values())


@pytest.mark.parametrize("layout", LAYOUTS)
def test_settings_of_a_user_are_no_code_either(tmp_path, layout):
    source = document({"/a": {"get": operation(operationId="a")}})
    settings = Settings(media_types=(RUN, '"', "\\"), prefix="INDE-")

    (description,) = generated_soundly(source, tmp_path, layout, settings=settings)

    assert description[0] == "INDE-a"
