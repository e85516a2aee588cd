"""Documents with secrets, control characters, huge values, and paths of this machine."""

from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from documents import document, operation, with_body
from hostile_documents import SPLIT, hostile
from hostile_packages import files_of, generate, generated_soundly, read_me

from openapi_tools import OpenAPIToolsError, generate_package, load_tools

pytestmark = pytest.mark.untraced

LAYOUTS = ("package", "module")


@pytest.mark.parametrize(
    ("title", "cell"),
    [
        ("<b>x</b> & [y](z)", "<b>x</b> & [y](z)"),
        ("a|b\\|c", "a|b\\|c"),
        ("`code` *x* _y_ ~z~", "`code` *x* _y_ ~z~"),
        ("a\r\u2028\x0c\x1c\x85\u00a0b", "a b"),
        ("\u202egpj\u200b\ud800", "\\u202egpj\\u200b\\ud800"),
        ("école 博物館 🚀", "école 博物館 🚀"),
        ("{{ 7 * 7 }}", "{{ 7 * 7 }}"),
        ("- x $y$ @all", "- x $y$ @all"),
        ("# x &lt; <script>", "# x &lt; <script>"),
        ("![a](b)\\*", "![a](b)\\*"),
        ("1. x", "1. x"),
        ("博" * 130, "博" * 120 + " …"),
        ("word " * 40, "word " * 23 + "word …"),
        ("First line.\nSecond.", "First line."),
    ],
)
def test_the_list_of_tools_shows_a_text_as_it_is(tmp_path, title, cell):
    # Descriptions come from the loader, which takes markup out; a record takes any.
    from openapi_tools.codegen.package_data import PackageData, ToolRecord
    from openapi_tools.codegen.render import render_files
    from openapi_tools.model import Operation, SecurityScheme

    record = ToolRecord("a", title, {"type": "object"}, Operation("GET", "/a"))
    schemes = {title: SecurityScheme("http", scheme=title)}
    contents = PackageData("museum", (record,), title=title, schemes=schemes)

    text = render_files(contents, layout="package")["README.md"]

    assert read_me(text) == [["a", "GET /a", cell]]
    text.encode()


@pytest.mark.parametrize("layout", LAYOUTS)
def test_user_and_password_of_a_url_are_never_written(tmp_path, layout):
    secret = "me:hunter2"
    servers = [
        {"url": f"https://{secret}@h.example/{{p}}", "variables": {"p": {"default": "x@y"}}},
        {"url": "https://{user}@h.example", "variables": {"user": {"default": secret}}},
        {"url": "{base}", "variables": {"base": {"default": f"http://{secret}@h", "enum": ["a"]}}},
        {"url": f"//{secret}@h.example/a@b"},
    ]
    url = f"https://{secret}@h.example/t"
    flow = {"tokenUrl": url, "authorizationUrl": url, "scopes": {"a": "A"}, "x-url": url}
    schemes = {
        "o": {"type": "oauth2", "flows": {"password": flow}},
        "c": {"type": "openIdConnect", "openIdConnectUrl": url},
    }
    lost = operation(parameters=[{"$ref": f"{url}#/a"}])
    paths = {"/a": {"get": operation(operationId="a", servers=servers)}, "/b": {"get": lost}}
    output = tmp_path / "out"

    report = generate_package(
        document(paths, servers=servers, components={"securitySchemes": schemes}),
        output,
        name="museum",
        layout=layout,
    )

    assert [path for path, data in files_of(output).items() if b"hunter2" in data] == []
    assert "https://***@h.example/{p}" in "".join(map(bytes.decode, files_of(output).values()))
    assert "a@b" in "".join(map(bytes.decode, files_of(output).values()))
    assert "the server 'https://***@h.example/{p}' has a user" in " ".join(report.warnings)
    assert "hunter2" not in repr(report)


async def test_a_server_with_a_user_is_still_not_called(recorder):
    servers = [{"url": f"http://me:hunter2@127.0.0.1:{recorder.port}/"}]
    tools = load_tools(document({"/a": {"get": operation(operationId="a")}}, servers=servers))

    result = await tools["a"].execute({})

    assert "is not a plain http or https address" in str(result)
    assert recorder.requests == []


def test_secrets_that_look_so_are_warned_of_and_not_shown(tmp_path):
    secret = "sk_live_abcdefgh1234"
    deep: dict[str, Any] = {"type": "string", "default": secret}
    for _ in range(60):
        deep = {"type": "object", "properties": {"properties": deep, "apiKey": {"enum": [secret]}}}
    started = time.process_time()

    report = generate_package(document(with_body(deep)), tmp_path / "out", name="museum")

    assert time.process_time() - started < 10
    (warning,) = {warning for warning in report.warnings if "apiKey" in warning}
    assert secret not in warning


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_huge_and_deep_values_are_written_and_read(tmp_path, layout):
    def nest(schema: Any, levels: int, kind: str) -> Any:
        for _ in range(levels):
            wrapped = {"items": schema} if kind == "array" else {"properties": {"p": schema}}
            schema = {"type": kind, **wrapped}
        return schema

    flow: Any = "x"
    for _ in range(150):
        flow = {"x-a": flow, "x-b": 10**200}
    schemas = {
        "default": {"type": "string", "default": "ab \"'\\\n" * 160_000},
        "enum": {"type": "string", "enum": [f"value {number}" for number in range(60_000)]},
        "numbers": {"enum": [*range(60_000), 10**4200, -(10**99), 1e308]},
        "array": nest({"const": "x"}, 185, "array"),
        "object": nest({"type": "string"}, 90, "object"),
        "keys": {"properties": {"k" * size: {} for size in (90, 900, 90_000)}},
    }
    paths = {
        f"/{name}": {
            "post": operation(operationId=name, requestBody=_json({"properties": {"a": s}}))
        }
        for name, s in schemas.items()
    }
    paths |= {
        f"/{name}": {"get": operation(operationId=name, parameters=[_query(node)])}
        for name, node in {"q": schemas["default"], "r": schemas["numbers"]}.items()
    }
    paths["/" + "x" * 1_000_000] = {"get": operation(operationId="path", tags=["x" * 1_000_000])}
    schemes = {"o": {"type": "oauth2", "flows": {"implicit": flow}}}
    source = document(
        paths,
        info={"title": "x" * 1_000_000, "version": 10**4000},
        components={"securitySchemes": schemes},
    )
    started = time.monotonic()

    generated_soundly(source, tmp_path, layout)

    assert time.monotonic() - started < 30


def _json(schema):
    return {"content": {"application/json": {"schema": schema}}}


def _query(schema):
    return {"name": "q", "in": "query", "schema": schema}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_two_halves_of_a_character_are_refused_in_one_line(tmp_path, layout):
    with pytest.raises(OpenAPIToolsError) as raised:
        generate(hostile(SPLIT), tmp_path / "out", layout)

    assert "\n" not in str(raised.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_path_of_this_machine_is_written(tmp_path, layout):
    references = ["missing.yaml", "../out.yaml", "bad.json", "sub", "bad.json#/a", "/etc/passwd"]
    references += ["\x00", "C:\\x", "file:///etc/passwd", "http://127.0.0.1:1/x", "#/no", "a" * 300]
    paths = {
        f"/{number}": {"get": operation(parameters=[{"$ref": reference}])}
        for number, reference in enumerate(references)
    }
    inner = {"type": "string", "description": "word " * 40}
    schemas = {
        "a.b": {"properties": {"o": {"$ref": "#/components/schemas/c.d/properties/inner"}}},
        "c.d": {"type": "object", "properties": {"inner": inner}},
    }
    body = _json({"$ref": "#/components/schemas/a.b"})
    parameter = {"$ref": "sub/other.json#/p"}
    paths["/tool"] = {"post": operation(requestBody=body, parameters=[parameter])}
    written = []
    for name in ("one", "two/three"):
        folder = tmp_path / name
        (folder / "sub").mkdir(parents=True)
        (folder / "sub" / "other.json").write_text(json.dumps({"p": _query({})}))
        (folder / "bad.json").write_text("{")
        (folder / "spec.json").write_text(
            json.dumps(document(paths, components={"schemas": schemas}))
        )
        written.append(generate(folder / "spec.json", folder / "out", layout))

    assert written[0] == written[1]
    texts = "".join(written[0].values())
    assert texts.count(" Skipped(") == len(references)
    assert re.search(r"^INNER_[0-9A-Z]+: ", texts, re.MULTILINE), "made with a hash"
    assert str(tmp_path) not in texts
