"""Configuration files: what they say, where it ends up, and what is wrong with them."""

import json
import re
import tomllib

import documents
import httpx
import jsonschema
import pytest
from click.testing import CliRunner
from packages import ROOT, Coordinator, describe_tools, import_package

from openapi_tools import Select, Settings, SettingsError, aload_tools, generate_package, load_tools
from openapi_tools.cli import commands
from openapi_tools.contracts import amplifier
from openapi_tools.serving.serving_tables import configuration_schema
from openapi_tools.testing import Fault, mock_api

SEARCH = {
    "operationId": "searchShops",
    "summary": "Search shops.",
    "tags": ["shops"],
    "parameters": [
        {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}},
        {"name": "limit", "in": "query", "schema": {"type": "integer", "maximum": 100}},
        {"name": "near", "in": "query", "schema": {"$ref": "#/components/schemas/Place"}},
    ],
    "responses": {"200": {"description": "Found."}},
}
ORDER = {
    "operationId": "orders/create",
    "tags": ["orders"],
    "parameters": [
        {"name": "shop", "in": "path", "required": True, "schema": {"type": "string"}},
        {"name": "trace", "in": "header", "schema": {"type": "string"}},
    ],
    "requestBody": {"required": True, "content": {
        "application/json": {"schema": {
            "type": "object",
            "required": ["item", "currency"],
            "properties": {
                "item": {"type": "string"},
                "count": {"type": "integer", "minimum": 1},
                "currency": {"type": "string", "enum": ["EUR", "CHF"]},
            },
        }},
        "application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": {
            "item": {"type": "string"}}}},
    }},
    "security": [{"key": []}],
    "responses": {"201": {"description": "Made."}},
}  # fmt: skip
DOCUMENT = documents.document(
    {
        "/shops": {"get": SEARCH, "post": {**SEARCH, "operationId": "queryShops"}},
        "/shops/{shop}/orders": {"post": ORDER},
    },
    servers=[{"url": "https://api.example.com/v1"}],
    components={
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {"Place": {"type": "object", "properties": {"lat": {"type": "number"}}}},
    },
)
CONFIG = {
    "prefix": "shop_",
    "credentials": {"key": "${SHAPING_TEST_KEY}"},
    "answers": {"drop": ["*_url"], "nulls": False},
    "tools": {
        "search_shops": {
            "name": "find",
            "description": "Find shops by words.",
            "hide": ["near"],
            "defaults": {"limit": 5},
            "arguments": {"q": {"name": "words", "description": "What to look for."}},
            "timeout": 7.5,
        },
        "orders/create": {
            "fixed": {"currency": "EUR", "trace": "agent"},
            "arguments": {"count": {"name": "how_many"}},
            "idempotent": True,
            "answer": {"max_items": 3},
        },
        "POST /shops": {"read_only": True},
    },
}


def load_configured(config, **options):
    return load_tools(DOCUMENT, config=config, **options)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, which has the document."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "api.json").write_text(json.dumps(DOCUMENT))
    return tmp_path


@pytest.fixture
def written(folder):
    """A configuration, beside its document."""
    path = folder / "openapi-tools.toml"
    path.write_text('source = "api.json"\nread_only = true\n[tools.search_shops]\nname = "find"\n')
    return path


def run_command(*arguments):
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture
def generated(tmp_path):
    """Generate a package with the configuration, and import it."""
    generate_package(DOCUMENT, tmp_path / "out", name="shaped_shops", config=CONFIG)
    with import_package(tmp_path / "out", "shaped_shops_tools") as package:
        yield package


def test_a_tool_is_named_and_described_as_the_user_says():
    tool = load_configured(CONFIG)["shop_find"]

    assert tool.description == "Find shops by words."
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "What to look for."},
            "limit": {"type": "integer", "maximum": 100, "default": 5},
        },
        "required": ["words"],
        "additionalProperties": False,
    }
    assert tool.operation.timeout == 7.5


def test_hints_become_facts_of_the_tool():
    query, order = (
        load_configured(CONFIG)[name] for name in ("shop_query_shops", "shop_orders_create")
    )

    assert (query.read_only, query.idempotent, query.destructive) == (True, True, False)
    assert query.parallel_safe
    assert query.annotations == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    }
    assert (order.read_only, order.idempotent, order.destructive) == (False, True, False)


def test_shapes_of_responses_are_merged_by_property():
    shapes = {tool.name: tool.operation.answer for tool in load_configured(CONFIG)}

    assert {shape.drop for shape in shapes.values()} == {("*_url",)}
    assert {shape.nulls for shape in shapes.values()} == {False}
    assert shapes["shop_orders_create"].max_items == 3


@pytest.mark.parametrize("origin", ["loaded", "generated"])
async def test_a_call_sends_fixed_values_under_their_own_names(origin, generated, monkeypatch):
    key = "key-of-shaping-59153"
    monkeypatch.setenv("SHAPING_TEST_KEY", key)
    sent = []
    transport = httpx.MockTransport(lambda request: sent.append(request) or httpx.Response(204))
    client = httpx.AsyncClient(transport=transport)
    if origin == "loaded":
        toolset = load_configured(CONFIG, client=client)
    else:
        toolset = generated.load(client=client, credentials={"key": key})
    arguments = {"shop": "a", "item": "b", "how_many": 2}

    result = await toolset["shop_orders_create"].execute(arguments)

    assert result.success, result
    assert arguments == {"shop": "a", "item": "b", "how_many": 2}
    (request,) = sent
    assert (request.method, request.url.path) == ("POST", "/v1/shops/a/orders")
    assert json.loads(request.content) == {"item": "b", "count": 2, "currency": "EUR"}
    assert (request.headers["trace"], request.headers["x-key"]) == ("agent", key)


def test_a_generated_package_says_what_the_loaded_tools_say(generated):
    assert (
        describe_tools(generated.load())["tools"]
        == describe_tools(load_configured(CONFIG))["tools"]
    )


@pytest.mark.parametrize("argument", ["currency", "near", "count", "q"])
async def test_what_the_model_does_not_see_it_cannot_give(argument):
    toolset = load_configured(CONFIG)
    name = "shop_find" if argument in ("near", "q") else "shop_orders_create"

    result = await toolset.call(name, {argument: "EUR"})

    assert result.error["type"] == "invalid_input"
    assert argument in result.error["message"]


async def test_a_call_takes_the_time_of_its_tool_and_says_so():
    api = mock_api(DOCUMENT, responses={"search_shops": Fault.slow(5)})
    config = {"tools": {"search_shops": {"timeout": 0.05}}}

    result = await load_configured(config, client=api.client())["search_shops"].execute({"q": "x"})

    assert result.error["type"] == "timeout"
    assert "0.05 s" in result.error["message"]


async def test_idempotent_as_the_user_says_is_tried_again():
    client = mock_api(DOCUMENT, responses={"query_shops": [503, 200, 503]}).client()
    plain = {"settings": {"retries": 1}}
    config = {**plain, "tools": {"query_shops": {"idempotent": True}}}

    result = await load_configured(config, client=client).call("query_shops", {"q": "x"})
    other = await load_configured(plain, client=client).call("query_shops", {"q": "x"})

    assert (result.success, other.error["status"]) == (True, 503)


def test_a_media_type_of_a_tool_is_sent():
    kind = "application/x-www-form-urlencoded"
    tool = load_configured({"tools": {"orders_create": {"media_type": kind}}})["orders_create"]

    assert tool.operation.body.media_type == kind
    assert "currency" not in tool.input_schema["properties"]


def test_a_table_for_one_tool_overrides_a_pattern():
    every = {"defaults": {"limit": 2}, "hide": ["near"], "timeout": 3.0}
    toolset = load_configured(
        {"tools": {"search_shops": {"defaults": {"limit": 1}}, "*_shops": every}}
    )

    assert toolset["search_shops"].operation.defaults == {"limit": 1}
    assert toolset["query_shops"].operation.defaults == {"limit": 2}
    assert {toolset[n].operation.timeout for n in ("search_shops", "query_shops")} == {3.0}
    assert "near" not in toolset["search_shops"].input_schema["properties"]


SELECTED = [
    ({"select": {"tags": ["shops"]}}, ["search_shops", "query_shops"]),
    ({"read_only": True}, ["search_shops"]),
    ({"select": {"exclude": {"names": ["*_shops"]}}}, ["orders_create"]),
    ({"select": {"exclude": {"tags": []}}}, ["search_shops", "query_shops", "orders_create"]),
    ({"select": {"exclude": {}}}, ["search_shops", "query_shops", "orders_create"]),
    ({"prefix": "a_", "select": {"names": ["search_*"]}}, ["a_search_shops"]),
    ({"prefix": "a_", "select": {"names": ["a_search_*"]}}, ["a_search_shops"]),
    ({"select": {"names": ["search_*"]}, "tools": {"search_shops": {"name": "find"}}}, ["find"]),
]  # fmt: skip


@pytest.mark.parametrize(("config", "names"), SELECTED)
def test_the_file_selects_by_the_names_of_the_document(config, names):
    assert [tool.name for tool in load_configured(config)] == names


def test_code_counts_over_the_file():
    config = {
        "base_url": "https://file.example.com",
        "select": {"tags": ["orders"]},
        "settings": {"timeout": 5.0, "retries": 2},
    }
    toolset = load_configured(
        config, settings=Settings(timeout=9.0), select=Select(names="search_*")
    )

    settings = toolset.session.settings
    assert [tool.name for tool in toolset] == ["search_shops"]
    assert (settings.timeout, settings.retries) == (9.0, 2)
    assert settings.base_url == "https://file.example.com"


def test_a_variable_that_is_not_set_is_a_warning_and_the_credential_is_missing(monkeypatch):
    monkeypatch.delenv("SHAPING_TEST_KEY", raising=False)
    toolset = load_configured(CONFIG)

    assert toolset.warnings[0] == (
        "config: credentials.key: SHAPING_TEST_KEY is not set; calls go without it."
    )


def test_paths_are_relative_to_the_file(folder):
    path = folder / "openapi-tools.toml"
    path.write_text('[settings]\ndownload_dir = "files"\nfile_roots = ["in"]\n')
    settings = load_tools(DOCUMENT, config=path).session.settings

    assert settings.download_dir == folder / "files"
    assert settings.file_roots == (folder / "in",)


def test_pyproject_has_a_table_of_its_own(folder):
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "x"\n[tool.openapi-tools]\nsource = "api.json"\nread_only = true\n'
        '[tool.openapi-tools.generate.shops]\nspec = "api.json"\noutput = "out"\n'
    )

    assert [t.name for t in load_tools(config=folder / "pyproject.toml")] == ["search_shops"]


WRONG = [
    ('prefx = "a"', "2: prefx: unknown key; did you mean prefix?"),
    ("prefix = 1", "2: prefix: this must be a string."),
    ("[tools.serch_shops]", "2: tools.serch_shops: the document has no such tool; did you mean"),
    ('[tools.search_shops]\n\nhide = ["nar"]', "4: tools.search_shops.hide.nar: the tool has no"),
    ('[tools.search_shops]\nhide = ["q"]', "3: tools.search_shops.hide.q: 'q' is required; set"),
    ('[tools.search_shops.fixed]\nlimit = "a"', "3: tools.search_shops.fixed.limit: expected an"),
    ("[tools.search_shops]\ndefaults.limit = 101", "3: tools.search_shops.defaults.limit: "),
    ("tools.search_shops.fixed.limt = 1", "2: tools.search_shops.fixed.limt: the tool has no"),
    ('[tools.search_shops]\nname = "query_shops"', "3: tools.search_shops.name: two tools"),
    ('[tools.search_shops]\nname = "a b"', "3: tools.search_shops.name: 'a b' must match"),
    ('[tools."*"]\nname = "x"', '3: tools."*".name: several tools cannot have the same name.'),
    ('[tools."nothing_*"]', '2: tools."nothing_*": the document has no such tool.'),
    ('[tools."*"]\nhide = ["nowhere"]', '3: tools."*".hide.nowhere: the tool has no argument'),
    ('[tools.search_shops.arguments]\nq = {name = "limit"}', "another argument is named 'limit'."),
    ('[tools.search_shops.arguments]\nq = {name = "self"}', "'self' cannot be an argument's name."),
    ("[tools.search_shops.arguments.q]\nnam = 1", "3: tools.search_shops.arguments.q.nam: unknown"),
    ("[tools.search_shops.answer]\ndrp = []", "3: tools.search_shops.answer.drp: unknown key"),
    ("[tools.search_shops]\ntimeout = 0", "3: tools.search_shops.timeout: input should be greater"),
    ('[tools.search_shops]\npages.style = "all"', "pages.style: input should be 'page', 'offset'"),
    ("[settings]\ntimout = 1", "3: settings.timout: unknown setting; did you mean timeout?"),
    ("[settings]\ntimeout = -1", "3: settings.timeout: input should be greater than 0, not -1."),
    ('[select]\nname = ["a"]', "3: select.name: unknown key; did you mean names?"),
    ('[select]\ntags = ["order"]', "no tool has the tag 'order'; did you mean orders?"),
    ('[select]\nmethods = ["FETCH"]', "3: select.methods: no tool has the method 'FETCH'"),
    ('[select]\nnames = ["serch_shops"]', "no tool has the name 'serch_shops'; did you mean"),
    ('[select]\npaths = ["/nowhere*"]', "3: select.paths: no tool has the path '/nowhere*'."),
    ('[select.exclude]\nnames = ["delte_*"]', "3: select.exclude.names: no tool has the name"),
    ('[select]\nmethods = ["trace"]', "2: select: no tool matches all of these conditions"),
    ("[select]\ntags = []", "3: select.tags: an empty list selects nothing; remove the key"),
    ('[select]\ntags = ["orders"]\nnames = []', "4: select.names: an empty list selects nothing"),
    ("[tools.search_shops]\nmedia_type = []", "media_type: an empty list names no media type"),
    ('[select]\ntags = "orders"', "3: select.tags: this must be a list."),
    ("tools = 3", "2: tools: this must be a table."),
    ("[answers]\nfield = 3", "3: answers.field: unknown key; expected one of drop, nulls"),
    ('base_url = "${SHAPING_TEST_UNSET}"', "2: base_url: the environment variable"),
    ('[credentials]\nkye = "${SHAPING_TEST_UNSET}"', "no security scheme 'kye'; did you mean key?"),
    ('[tools.search_shops]\nmedia_type = "json"', "media_type: 'json' is not a media type"),
    ("[tools.search_shops.fixed]\nq = 2026-07-01", "3: tools.search_shops.fixed.q: JSON cannot"),
    ("[tools.search_shops.defaults]\nlimit = nan", "3: tools.search_shops.defaults.limit: JSON"),
    ("[tools.search_shops]\nwait = inf", "3: tools.search_shops.wait: input should be a finite"),
    ('[tools.search_shops]\nmedia_type = "a/b"', "3: tools.search_shops.media_type: the tool has"),
    ('[tools.search_shops.pages]\nstyle="link"\nnext="f(@)"', "pages.next: the JMESPath 'f(@)'"),
    ('[credentials]\nkey = "sk-secret"', "2: credentials: 'key' must name an environment variable"),
    ("a = ", ": this is not TOML: "),
    ('x = """\nprefix = 1\n"""\n', "2: x: unknown key"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), WRONG, ids=[text for text, _ in WRONG])
def test_a_wrong_file_is_an_error_with_the_line(text, message, folder):
    path = folder / "openapi-tools.toml"
    path.write_text(f'source = "api.json"\n{text}\n')

    with pytest.raises(SettingsError) as caught:
        load_tools(path)

    assert str(caught.value).startswith(f"{path}:")
    assert message in str(caught.value)
    assert "sk-secret" not in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b" " * 1_000_001, b"a" * 1000 + b"="])
def test_a_file_that_cannot_be_read_is_an_error(content, tmp_path):
    path = tmp_path / "openapi-tools.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=re.escape(str(path))):
        load_tools(path)


def test_without_a_source_there_is_nothing_to_load():
    with pytest.raises(SettingsError, match="pass a document, or a configuration that names one"):
        load_tools(config={"prefix": "a_"})


def test_drift_is_found_after_a_change_of_the_configuration(tmp_path):
    out = tmp_path / "out"
    generate_package(DOCUMENT, out, name="drifting", config=CONFIG)

    same = generate_package(DOCUMENT, out, name="drifting", config=CONFIG, check=True)
    other = generate_package(DOCUMENT, out, name="drifting", config={"prefix": "x_"}, check=True)

    assert (same.drifted, same.changes) == (False, ())
    assert other.drifted
    assert "${SHAPING" not in "".join(p.read_text() for p in out.rglob("*.py"))


def test_the_published_schema_is_that_of_the_tables():
    text = (ROOT / "docs" / "openapi-tools.schema.json").read_text()

    assert json.loads(text) == configuration_schema()


def test_the_schema_judges_as_the_tables_do():
    validator = jsonschema.Draft202012Validator(configuration_schema())

    assert list(validator.iter_errors(CONFIG)) == []
    assert list(validator.iter_errors({"tools": {"a": {"hid": []}}}))
    assert list(validator.iter_errors({"settings": {"timout": 1}}))


def test_the_schema_describes_servers_too():
    validator = jsonschema.Draft202012Validator(configuration_schema())
    example = tomllib.loads((ROOT / "deploy" / "openapi-tools.toml").read_text())

    assert {"serve", "apis"} <= example.keys()
    assert list(validator.iter_errors(example)) == []
    assert list(validator.iter_errors({"serve": {"prot": 1}}))
    assert list(validator.iter_errors({"apis": {"a": {"settings": {"timout": 1}}}}))


@pytest.mark.parametrize("spec", ["museum.yaml", "gotify.json"])
def test_init_writes_a_file_whose_lines_all_count(spec, folder):
    document = ROOT / "specs" / spec
    first = run_command("init", document)
    path = folder / "openapi-tools.toml"
    head, _, rest = path.read_text().partition("\n\n")
    path.write_text(f"{head}\n\n" + re.sub(r"^# ", "", rest, flags=re.MULTILINE))

    toolset = load_tools(path, select=Select())

    assert first.exit_code == 0
    assert "Next: openapi-tools list openapi-tools.toml" in first.stdout
    assert len(toolset) == len(load_tools(document))
    assert all(tool.name.startswith("api_") for tool in toolset)
    again = run_command("init", document)
    assert again.exit_code == 2
    assert "--force overwrites it" in again.stderr


def test_init_proposes_an_absolute_server_where_the_document_has_none(folder):
    (folder / "api.json").write_text(json.dumps({**DOCUMENT, "servers": [{"url": "/v1"}]}))
    run_command("init", "api.json", "--output", "a.toml")

    assert '# base_url = "https://localhost"\n' in (folder / "a.toml").read_text()


@pytest.mark.parametrize("command", ["serve", "lint"])
def test_a_command_without_a_document_says_what_to_give(command):
    result = run_command(command)

    assert result.exit_code == 2
    assert "pass SPEC, or --config with a file" in result.stderr


@pytest.mark.parametrize(
    "arguments", [["openapi-tools.toml"], ["--config", "openapi-tools.toml"],
                  ["api.json", "--config", "openapi-tools.toml"]],
)  # fmt: skip
def test_commands_take_a_configuration(arguments, written):
    result = run_command("list", *arguments)

    assert (result.exit_code, result.stdout) == (0, "find\tGET\t/shops\tSearch shops.\n")


EXAMPLE = """
source = "api.json"
[credentials]
key = "${SHAPING_TEST_UNSET}"
[tools.search_shops]
fixed = { q = "tea" }
timeout = 5
answer = { drop = ["*_url"], max_items = 0 }
"""


def test_show_and_call_say_what_the_schema_does_not(written):
    written.write_text(EXAMPLE)
    output = run_command("show", written, "search_shops").stdout
    called = run_command("call", written, "search_shops", "--dry-run")

    assert 'Fixed: q "tea"\nLimits: timeout 5.0\nAnswers: drop ["*_url"], max_items 0\n' in output
    assert "SHAPING_TEST_UNSET is not set; calls go without it." in called.stderr
    assert "q=tea" in called.stdout


def test_a_configuration_beside_another_is_wrong_usage(written):
    result = run_command("list", written, "--config", written)

    assert result.exit_code == 2
    assert "SPEC is a configuration itself; leave out --config" in result.stderr


def test_pages_of_a_pattern_are_for_the_tools_with_their_arguments():
    pages = {"style": "offset", "argument": "limit"}
    toolset = load_configured({"tools": {"*": {"pages": pages}}})
    with pytest.raises(SettingsError, match=r"pages\.argument: the tool has no argument 'limt'"):
        load_configured({"tools": {"*": {"pages": {**pages, "argument": "limt"}}}})

    paged = {tool.name: tool.operation.paging for tool in toolset}
    assert paged.pop("search_shops").argument == "limit"
    assert None in paged.values()


def test_lint_looks_at_the_document_of_a_configuration(written):
    assert "1 tool" in run_command("lint", written).stdout


async def test_a_mount_plan_names_a_configuration(written):
    coordinator = Coordinator()

    await amplifier.mount(coordinator, {"spec": str(written)})

    assert list(coordinator.tools) == ["find"]


@pytest.mark.parametrize("row", [
    'config = "openapi-tools.toml"', 'spec = "openapi-tools.toml"',
    'spec = "api.json"\nconfig = "openapi-tools.toml"',
])  # fmt: skip
def test_generate_takes_the_configuration_of_a_row(row, written):
    table = f'[tool.openapi-tools.generate.shops]\noutput = "out"\n{row}\n'
    (written.parent / "pyproject.toml").write_text(table)

    result = run_command("generate")

    assert (result.exit_code, result.stderr) == (0, "")
    with import_package(written.parent / "out", "shops_tools") as package:
        assert [tool.name for tool in package.load()] == ["find"]


async def test_aload_tools_takes_a_configuration(written):
    toolset = await aload_tools(config=written)

    assert [tool.name for tool in toolset] == ["find"]
