"""`openapi-tools eval` and `init --cases`: reports, tables, exit codes and mistakes."""

import json
import xml.etree.ElementTree as ET

import jsonschema
import pytest
import yaml
from corpus import FOLDER
from doc_pages import ROOT
from servers.chat import endpoint

from openapi_tools.testing.evaluation.case_tables import cases_schema

EXAMPLES = ROOT / "docs" / "examples" / "eval"
SHOP = EXAMPLES / "shop.yaml"
GUIDE = ROOT / "docs" / "guides" / "evaluate.md"
GITHUB = FOLDER / "github" / "api.github.com.json"
DOCUMENTS = {
    "museum": ROOT / "specs" / "museum.yaml",
    "shop": SHOP,
    "github": pytest.param("github", GITHUB, marks=pytest.mark.long),
}
CASES = [
    param if name == "github" else pytest.param(name, param, id=name)
    for name, param in DOCUMENTS.items()
]


@pytest.fixture
def evaluate(run):
    """Run `eval` with one of the example's models."""

    def invoke(spec, cases, model, *options):
        path = cases if "/" in str(cases) else EXAMPLES / f"{cases}-cases.yaml"
        arguments = ("--cases", path, "--model", f"models:{model}", "--model-dir", EXAMPLES)
        return run("eval", spec, *arguments, *options)

    return invoke


@pytest.mark.parametrize(("name", "spec"), CASES)
def test_the_good_model_is_right_in_every_mode(evaluate, name, spec):
    if not spec.exists():
        pytest.skip("the document is not at hand")
    options = ("--compare", "search", "--compare", "code", "--at-least", "1", "--json")

    result = evaluate(spec, name, "good", *options)

    assert (result.exit_code, result.stderr) == (0, "")
    report = json.loads(result.stdout)
    rows = {row["name"]: row for row in report["compare"]}
    assert list(rows) == ["tools", "search", "code"]
    assert [row["passed"] for row in rows.values()] == [report["summary"]["cases"]] * 3
    tokens = [row["tokens"] for row in rows.values()]
    cells = [f"{each['definitions']:,} + {each['input']:,}" for each in tokens]
    assert f"| {name} | {' | '.join(cells)} |".lower() in GUIDE.read_text().lower()


TABLES = {
    "confused": {"wrong_tool": 2, "wrong_arguments": 2, "refused": 1, "state": 1},
    "lazy": {"missing_call": 4, "state": 2},
    "hostile": {"wrong_tool": 3, "forbidden": 2, "state": 2, "refused": 4},
}


@pytest.mark.parametrize("model", TABLES)
@pytest.mark.parametrize("mode", ["tools", "search", "code"])
def test_each_model_gets_the_table_that_it_deserves(evaluate, model, mode):
    spec = DOCUMENTS["museum"]

    other = "code" if mode == "tools" else "tools"
    result = evaluate(spec, "museum", model, "--mode", mode, "--compare", other, "--json")

    row = json.loads(result.stdout)["compare"][0]
    assert row["passed"] == 0
    counted = {key: row[key] for key in TABLES["lazy"] | TABLES["hostile"] | TABLES["confused"]}
    if mode == "tools":
        assert {key: number for key, number in counted.items() if number} == TABLES[model]
    else:
        assert counted["state"] == TABLES[model].get("state", 1)


def test_a_report_has_the_keys_of_its_format(evaluate):
    result = evaluate(SHOP, "shop", "good", "--json")

    report = json.loads(result.stdout)
    assert list(report) == ["summary", "cases"]
    assert list(report["summary"]) == ["cases", "passed", "rate", "tokens", "seconds"]
    for case in report["cases"]:
        assert list(case) == ["name", "passed", "faults", "calls", "turns", "tokens"]
        assert list(case["tokens"]) == ["definitions", "input", "output"]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ((), 0, ""),
        (("--at-least", "0.2"), 0, ""),
        (("--at-least", "0.21"), 1, "20% of the runs passed, less than 21%."),
    ],
)
def test_the_exit_code_is_that_of_the_rate(evaluate, options, code, message):
    result = evaluate(SHOP, "shop", "lazy", *options)

    assert (result.exit_code, result.stderr.strip()) == (code, message)
    assert "1 of 5 cases passed: 20%" in result.stdout


def test_junit_and_markdown_have_every_case(evaluate):
    junit = ET.fromstring(evaluate(SHOP, "shop", "lazy", "--format", "junit").stdout)
    markdown = evaluate(SHOP, "shop", "lazy", "--format", "markdown", "--compare", "code").stdout

    assert (junit.get("tests"), junit.get("failures")) == ("5", "4")
    assert [node.get("type") for node in junit.iter("failure")] == ["missing_call"] * 4
    assert "| passed | 1 of 5 | 1 of 5 |" in markdown
    assert markdown.count("`missing_call: list_items was not called.`") == 2


def test_repeated_cases_have_rates_and_intervals(evaluate):
    result = evaluate(SHOP, "shop", "good", "--repeat", "3", "--seed", "5", "--json")

    report = json.loads(result.stdout)
    assert report["summary"]["interval"] == [0.7961, 1.0]
    assert [each["seed"] for each in report["cases"][0]["runs"]] == [5, 6, 7]


def test_a_configuration_can_be_compared(evaluate, tmp_path):
    config = tmp_path / "other.toml"
    config.write_text("[answers]\nmax_items = 1\n")

    result = evaluate(SHOP, "shop", "good", "--compare", str(config), "--json")

    before, after = json.loads(result.stdout)["compare"]
    assert after["name"] == str(config)
    assert after["tokens"]["input"] < before["tokens"]["input"]

    config.write_text(f'source = "{SHOP}"\nread_only = true\n')
    result = evaluate(SHOP, "shop", "good", "--compare", str(config), "--json")
    assert (result.exit_code, "no tool is called 'place_order'" in result.stderr) == (2, True)


def test_transcripts_are_written(evaluate, tmp_path):
    folder = tmp_path / "transcripts"
    options = ("--compare", "search", "--transcripts", folder)

    evaluate(SHOP, "shop", "good", *options)

    assert len([*folder.rglob("*.md")]) == 10
    text = (folder / "tools" / "01-order-two-teas.md").read_text()
    assert text.startswith("# order-two-teas: passed\n")
    assert "place_order" in text


def test_what_a_model_prints_is_no_part_of_the_report(run, tmp_path, monkeypatch):
    (tmp_path / "talking.py").write_text(
        "print('imported')\n"
        "async def model(messages, tools):\n    print('hello')\n    return 'ok \\x1b[31m'\n"
    )
    monkeypatch.chdir(tmp_path)

    result = run(
        "eval", SHOP, "--cases", EXAMPLES / "shop-cases.yaml", "--model", "talking:model", "--json"
    )

    assert json.loads(result.stdout)["summary"]["passed"] == 1
    assert "hello" in result.stderr


MISTAKES = {
    "models:god": "the module has no 'god'; did you mean good?",
    "models:SCRIPTS": "its type is dict, not a function",
    "modles:good": "name its folder with --model-dir.",
    "models": "module:function or the URL of an endpoint",
    "agents/models.py:good": "this is a file; pass models:good.",
    "ftp://127.0.0.1/v1": "is not an http(s) URL",
}


@pytest.mark.parametrize("model", MISTAKES)
def test_a_model_that_cannot_be_used_is_one_line(refused, model):
    refused(
        *("eval", SHOP, "--cases", EXAMPLES / "shop-cases.yaml", "--model", model),
        *("--model-dir", EXAMPLES),
        messages=[MISTAKES[model]],
    )


def test_other_mistakes_are_one_line(refused, tmp_path, monkeypatch):
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    options = ("--model", "models:good", "--model-dir", EXAMPLES)
    cases = EXAMPLES / "shop-cases.yaml"
    refused("eval", SHOP, "--cases", tmp_path / "none.yaml", *options, messages=["no such file"])
    refused("eval", SHOP, "--cases", SHOP, *options, messages=["#/cases: field required"])
    refused(
        "eval", SHOP, "--cases", cases, *options, "--compare", "chat", messages=["--compare takes"]
    )
    refused("eval", SHOP, "--cases", cases, *options, "--at-least", "2", messages=["0<=x<=1"])
    refused(
        *("eval", ROOT / "specs" / "museum.yaml", "--cases", cases, *options),
        messages=["shop-cases.yaml#/cases/0/expect/calls/0/tool: no tool is called 'place_order'"],
    )
    for key in ("hunter2", "$NO_SUCH_KEY"):
        model = ("--model", "http://127.0.0.1:9/v1", "--model-key", key)
        words = refused("eval", SHOP, "--cases", cases, *model)
        assert "hunter2" not in words


LARGE = pytest.param("discord.json", marks=pytest.mark.long)
SPECS = ["museum.yaml", "petstore.yaml", "gotify.json", "cafe.yaml", LARGE]


@pytest.mark.parametrize("name", SPECS)
def test_written_cases_pass_with_a_model_that_makes_their_calls(run, tmp_path, monkeypatch, name):
    spec, path = ROOT / "specs" / name, tmp_path / "my-cases.yaml"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "oracle.py").write_text(ORACLE)

    result = run("init", spec, "--cases", "--output", path)

    assert (result.exit_code, result.stderr) == (0, "")
    assert f"{path} written: " in result.stdout
    text = path.read_text()
    cases = yaml.safe_load(text)
    jsonschema.validate(cases, cases_schema())
    assert len(cases["cases"]) >= 2
    assert text.count("# ") > 10
    done = run("eval", spec, "--cases", path, "--model", "oracle:model", "--at-least", "1")
    assert (done.exit_code, done.stderr) == (0, "")
    again = run("init", spec, "--cases", "--output", path)
    assert (again.exit_code, "--force" in again.stderr) == (2, True)


ORACLE = """
from pathlib import Path

import yaml

async def model(messages, tools):
    cases = yaml.safe_load(Path("my-cases.yaml").read_text())["cases"]
    case = next(case for case in cases if case["task"] == messages[0]["content"])
    calls = [{"function": {"name": call["tool"], "arguments": call["arguments"]}}
             for call in case["expect"]["calls"]]
    return {"tool_calls": calls} if len(messages) == 1 else {"content": "Done."}
"""


def test_words_of_a_document_stay_strings_of_the_cases(run, write):
    summary = 'Sell" } # a: "b\u2028\x85 &x *y \u202e'
    spec = write({"/pets": {"get": {"operationId": "sell", "summary": summary}}})

    result = run("init", spec, "--cases", "--output", "-")

    (case,) = yaml.safe_load(result.stdout)["cases"]
    assert case["expect"]["calls"] == [{"tool": "sell", "arguments": {}}]
    assert case["task"].startswith('Sell" }')


def test_the_schema_of_cases_is_printed(run):
    assert json.loads(run("init", "--cases", "--schema").stdout) == cases_schema()


def test_every_mode_says_what_was_wrong(evaluate):
    text = evaluate(SHOP, "shop", "lazy", "--compare", "search").stdout

    assert text.count("failed tools: look-only: 0 calls") == 1
    assert text.count("failed search: look-only: 0 calls") == 1
    assert "\nmissing call                5       5\n" in text


def test_a_url_gets_its_key_and_the_seed(run):
    message = {"choices": [{"message": {"role": "assistant", "content": "Done."}}]}
    with endpoint(message) as (url, requests):
        result = run(
            *("eval", SHOP, "--cases", EXAMPLES / "shop-cases.yaml", "--model", f"{url}/v1"),
            *("--model-name", "small", "--model-key", "$MODEL_KEY", "--seed", "4"),
            env={"MODEL_KEY": "key-of-the-model"},
        )

    (_, headers, body), *_ = requests
    assert (result.exit_code, len(requests)) == (0, 5)
    assert headers["authorization"] == "Bearer key-of-the-model"
    assert (body["model"], body["seed"]) == ("small", 4)
    assert "key-of-the-model" not in result.output


def test_transcripts_that_cannot_be_written_are_one_line(evaluate, tmp_path):
    (tmp_path / "file").write_text("")

    result = evaluate(SHOP, "shop", "lazy", "--transcripts", tmp_path / "file")

    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_replay_needs_a_workflow_and_the_tools_themselves(refused, tmp_path):
    cases = EXAMPLES / "shop-cases.yaml"
    refused("eval", SHOP, "--cases", cases, "--model", "replay", messages=["--cases has none."])
    workflow = tmp_path / "flow.json"
    steps = [{"stepId": "all", "operationId": "listItems"}]
    flows = {"arazzo": "1.1.0", "workflows": [{"workflowId": "flow", "steps": steps}]}
    workflow.write_text(json.dumps(flows))
    replay = ("eval", SHOP, "--cases", workflow, "--model", "replay")
    refused(*replay, "--mode", "search", messages=["use --mode tools."])
    refused(*replay, "--compare", "code", messages=["use --mode tools."])
    steps[0]["operationId"] = "listItem"
    workflow.write_text(json.dumps(flows))
    place = "flow.json#/workflows/0/steps/0/operationId: no tool is called 'listItem'"
    refused(*replay, messages=[place])
