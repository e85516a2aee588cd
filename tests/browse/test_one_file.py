"""The page as one file: the same bytes each time, whole, and safe from the document's texts."""

import base64
import hashlib
import json
import os
import re
import subprocess
import sys

import pytest
from browse_pages import HOSTILE, MUSEUM, POOL, hostile
from click.testing import CliRunner

from openapi_tools import load_tools
from openapi_tools.browse.one_file import render_page
from openapi_tools.browse.page_data import PageData
from openapi_tools.cli import commands
from openapi_tools.common.json_values import escape_controls
from openapi_tools.search.costs import estimate_tokens

DATA = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def run(*args, code=0):
    result = CliRunner().invoke(commands, [str(arg) for arg in args])
    assert result.exit_code == code, result.output
    return result


def revive_data(html):
    """Return the data of a page, each number of the pool replaced by its value."""
    data = json.loads(DATA.search(html)[1])
    pool = data.pop("pool")

    def whole(node):
        if isinstance(node, str) and node.startswith(POOL):
            return node[1:] if node[1:].startswith(POOL) else whole(pool[int(node[1:])])
        if isinstance(node, list):
            return [whole(part) for part in node]
        return {k: whole(v) for k, v in node.items()} if isinstance(node, dict) else node

    return whole(data)


def test_the_file_has_the_same_bytes_each_time_and_in_other_processes(tmp_path):
    files = [tmp_path / f"{number}.html" for number in range(3)]
    for file in files[:2]:
        run("generate", MUSEUM, "--html", file)
    subprocess.run(
        [sys.executable, "-m", "openapi_tools", "browse", MUSEUM, "--html", files[2]],
        check=True,
        env=os.environ | {"PYTHONHASHSEED": "7"},
        capture_output=True,
    )

    assert len({file.read_bytes() for file in files}) == 1


def test_the_file_names_no_address_to_load_from_and_allows_none(tmp_path):
    file = tmp_path / "page.html"
    run("generate", MUSEUM, "--html", file)
    html = file.read_text()
    before, _, after = html.partition(DATA.search(html)[0])
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)[1]

    assert re.findall(r"https?://|\bsrc=|@import|url\(", before + after) == []
    assert re.findall(r'href="(?!#)([^"]*)"', before + after) == ["data:,"]
    assert "default-src 'none'" in policy
    assert "connect-src" not in policy
    for kind, tag in (("script", "script"), ("style", "style")):
        for text in re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in re.search(rf"{kind}-src ([^;]*)", policy)[1]
    assert str(tmp_path) not in html


def test_the_file_has_what_the_server_sends():
    toolset = load_tools(MUSEUM)
    data = PageData(toolset, counting=("estimated", estimate_tokens))

    page = revive_data(render_page(toolset))

    assert page["index"] == json.loads(json.dumps(data.index()))
    assert page["tools"] == json.loads(json.dumps({t.name: data.details(t) for t in toolset}))
    assert page["needs"] == data.needs()
    assert page["costs"]["gemini"] == [list(cost) for cost in data.costs("gemini")]


def test_texts_of_a_document_stay_data():
    html = render_page(hostile())
    embedded = DATA.search(html)[1]
    data = revive_data(html)

    assert re.findall("[<>&\u2028\u2029\x00-\x1f\x7f-\uffff]", embedded) == []
    assert html.count("</script>") == len(re.findall("<script", html))
    tags = {tag for tool in data["index"]["tools"] for tag in tool["tags"]}
    assert tags == set(map(escape_controls, HOSTILE))
    assert "/broken" in {entry["path"] for entry in data["index"]["skipped"]}


def test_generate_writes_the_page_alone_or_beside_a_package(tmp_path):
    file, folder = tmp_path / "page.html", tmp_path / "museum"

    missing = run("generate", MUSEUM, "--html", file, "--check", code=1)
    both = run("generate", MUSEUM, "--html", file, "--output", folder)
    again = run("generate", MUSEUM, "--html", file, "--check")
    fewer = run("generate", MUSEUM, "--html", file, "--tag", "Tickets", "--check", code=1)

    assert f"page: would change, 8 tools in {file}" in missing.stderr
    assert f"page: written, 8 tools in {file}" in both.stderr
    assert (folder / "manifest.json").exists()
    assert f"page: up to date, 8 tools in {file}" in again.stderr
    assert f"page: would change, 2 tools in {file}" in fewer.stderr


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ("generate", "-", "--html", "x.html", "--output", "y"),
            "SPEC is a stream, which can be read once",
        ),
        (("browse", MUSEUM, "--html", "x.html", "--port", "1"), "--html writes a file"),
        (("browse", MUSEUM, "--html", "x.html", "--mock"), "--html writes a file"),
        (("browse",), "pass SPEC"),
        (("generate", "--html", "x.html"), "pass SPEC"),
        (("generate", MUSEUM, "--html", "x.html", "--json"), "add --output."),
    ],
)
def test_options_that_do_not_fit_together_are_wrong_usage(args, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    result = run(*args, code=2)

    assert words in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_reported(tmp_path):
    result = run("browse", MUSEUM, "--html", tmp_path / "no" / "page.html", code=1)

    assert "No such file or directory" in result.stderr
