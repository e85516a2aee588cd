"""`openapi-tools stats`: what definitions cost, before and after."""

import hashlib
import json
import socket
import sys
from types import SimpleNamespace

import pytest
from corpus import FOLDER
from packages import ROOT

from openapi_tools import load_tools
from openapi_tools.search import costs as stats

SPECS = ROOT / "specs"
FILE, DIGEST = stats.ENCODINGS["cl100k_base"]


@pytest.fixture(autouse=True)
def offline(monkeypatch, tmp_path):
    """Have no file of tiktoken's, and no network."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))

    def refuse(*_):
        raise AssertionError("the network was used")

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture
def data(run):
    return lambda *args: json.loads(run("stats", *args, "--json").stdout)


def test_tools_stand_by_their_size_with_the_totals(data):
    report = data(SPECS / "discord.json")

    sizes = [tool["shown"]["bytes"] for tool in report["tools"]]
    toolset = load_tools(SPECS / "discord.json")
    written = [len(json.dumps(one)) for one in toolset.definitions("openai")]
    assert sizes == sorted(written, reverse=True)
    assert report["totals"]["shown"]["bytes"] == sum(written)
    assert report["tokens"] == "estimated"
    for way in ("full", "shown", "tight"):
        assert report["totals"][way]["tokens"] == sum(
            tool[way]["tokens"] for tool in report["tools"]
        )


@pytest.mark.long
def test_a_reader_sees_the_largest_and_what_all_cost(run):
    result = run("stats", SPECS / "discord.json", "--limit", 2, "--tag", "none")
    assert (result.exit_code, result.stdout.splitlines()[-2].split()[:2]) == (0, ["tight", "0"])
    assert "no tool is selected; the document has no tags." in result.stderr

    lines = run("stats", SPECS / "discord.json", "--limit", 2).stdout.splitlines()

    assert lines[0].split() == ["Name", "full", "shown", "tight"]
    assert [line.split()[0] for line in lines[4:7]] == ["full", "shown", "tight"]
    assert lines[-1].startswith("… and ")


@pytest.mark.long
@pytest.mark.parametrize("profile", ["openai_strict", "gemini", "mcp"])
def test_a_budget_and_a_profile_are_chosen(data, profile):
    options = ("--match", "*webhook*", "--budget", 4_000)
    report = data(SPECS / "discord.json", *options, "--profile", profile)

    assert len(report["tools"]) == 18
    assert report["profile"] == profile
    assert max(tool["shown"]["bytes"] for tool in report["tools"]) <= 4_000


def test_a_wrong_file_in_the_cache_of_tiktoken_is_not_used(tmp_path):
    (tmp_path / FILE).write_bytes(b"not the encoding")

    how, count = stats.token_counter()

    assert (how, count("x" * 445)) == ("estimated", 100)


class Package:
    @staticmethod
    def get_encoding(name):
        assert name == "cl100k_base"
        return SimpleNamespace(encode_ordinary=str.split)


@pytest.mark.parametrize(
    ("package", "how"), [(Package, "counted with cl100k_base"), (None, "estimated")]
)
def test_tokens_are_counted_where_the_cache_has_the_encoding(tmp_path, monkeypatch, package, how):
    content = b"an encoding"
    (tmp_path / FILE).write_bytes(content)
    encodings = {"cl100k_base": (FILE, hashlib.sha256(content).hexdigest())}
    monkeypatch.setattr(stats, "ENCODINGS", encodings)
    monkeypatch.setitem(sys.modules, "tiktoken", package)

    method, count = stats.token_counter()

    assert method == how
    assert count("two words") == 2


@pytest.mark.long
@pytest.mark.skipif(not FOLDER.is_dir(), reason="the published documents are not at hand")
def test_definitions_of_github_cost_as_much_less_as_promised(data):
    report = data(FOLDER / "github" / "api.github.com.json")
    full, shown, tight = (report["totals"][form] for form in ("full", "shown", "tight"))

    for unit in ("bytes", "tokens"):
        assert shown[unit] <= 0.8 * full[unit]
        assert tight[unit] <= 0.7 * full[unit]
