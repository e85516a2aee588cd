"""Settings as options of every command that loads SPEC, over those of the configuration file."""

import json

import pytest
from servers.site import Site, SiteResponse

from openapi_tools.cli import create_command

OPTIONS = [
    *("--base-url", "--timeout", "--retries", "--prefix", "--max-output-chars", "--download-dir"),
    *("--ca-file", "--trust-env", "--allow-private", "--set", "--config"),
]
COMMANDS = ["list", "show", "call", "serve", "search", "run", "generate", "lint", "stubs", "stats"]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_takes_each_setting(run, name):
    options = [option for each in create_command(name).params for option in each.opts]
    text = run(name, "--help").stdout

    assert [option for option in OPTIONS if options.count(option) != 1] == []
    assert text.index("\nOptions:") < text.index("\nCredentials:") < text.index("\nSettings")


@pytest.fixture
def config(tmp_path, specs):
    path = tmp_path / "museum.toml"
    path.write_text(
        f'source = "{specs / "museum.yaml"}"\nprefix = "own_"\nbase_url = "http://127.0.0.1:9/own"\n'
        '[settings]\nbody = "nested"\n'
    )
    return path


def test_options_win_over_the_configuration_which_wins_over_the_defaults(run, config):
    call = ("call", config, "{}_get_museum_hours", "--dry-run", "--anonymous")

    def first(prefix, *options):
        return run(*(str(part).format(prefix) for part in call), *options).stdout.split("\n")[0]

    assert first("own") == "GET http://127.0.0.1:9/own/museum-hours"
    assert first("new", "--prefix", "new_") == "GET http://127.0.0.1:9/own/museum-hours"
    line = first("own", "--base-url", "http://127.0.0.1:9/new")
    assert line == "GET http://127.0.0.1:9/new/museum-hours"


def test_each_other_setting_is_set_by_name(run, config):
    call = ("show", config, "own_create_special_event", "--json")

    def arguments(*options):
        return list(json.loads(run(*call, *options).stdout)["input_schema"]["properties"])

    assert arguments() == ["body"]
    assert "dates" in arguments("--set", "body=flat")


def test_a_prefix_is_of_every_command(run, museum, tmp_path):
    prefixed = ("--prefix", "m_")
    output = ("--output", tmp_path / "package")

    assert run("list", museum, *prefixed).stdout.startswith("m_")
    assert run("search", museum, "buy a ticket", *prefixed).stdout.startswith("m_")
    assert run("stubs", museum, "m_get_museum_hours", *prefixed).exit_code == 0
    assert "m_get_museum_hours" in run("stats", museum, "--json", *prefixed).stdout
    assert run("lint", museum, *prefixed).exit_code == 0
    assert run("generate", museum, *output, *prefixed).exit_code == 0
    assert "m_get_museum_hours" in (output[1] / "manifest.json").read_text()


WRONG = [
    (["--set", "body"], "'body' is not of the form NAME=VALUE"),
    (["--set", "boddy=flat"], "boddy: unknown setting; did you mean body?"),
    (["--set", "body=round"], "body: input should be 'flat' or 'nested', not 'round'"),
    (["--retries", "-1"], "retries: input should be greater than or equal to 0, not -1"),
    (["--retries", "x"], "'x' is not a valid integer"),
    (["--timeout", "0"], "0.0 is not in the range x>0"),
    (["--prefix", "a b"], "prefix: string should match pattern"),
    (["--base-url", "example.com"], "did you mean 'http://example.com'?"),
    (["--ca-file", "no/such.pem", "--base-url", "https://127.0.0.1:9"], "check --ca-file."),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_a_wrong_setting_is_reported_in_one_line(run, museum, options, message):
    result = run("call", museum, "get_museum_hours", "--anonymous", *options)

    assert result.exit_code in (1, 2)
    assert message in result.stderr
    assert len([line for line in result.stderr.splitlines() if "Usage" not in line]) == 1


def test_a_document_is_fetched_with_the_settings_for_connections(run, museum):
    with Site(lambda _: SiteResponse(museum.read_bytes())) as site:
        address = f"{site.url}/museum.yaml"
        refused = run("lint", address, "--no-allow-private")
        read = run("lint", address)

    assert (refused.exit_code, read.exit_code) == (2, 0)
    assert "allow_private" in refused.stderr


def test_a_proxy_of_the_environment_is_used_when_asked_for_and_named_when_not(run, write):
    with Site(
        lambda request: SiteResponse({"by": "proxy", "host": request.headers["Host"]})
    ) as site:
        get = {"operationId": "get_it"}
        path = write({"/it": {"get": get}}, servers=[{"url": "http://api.invalid"}])
        env = {"HTTP_PROXY": site.url, "http_proxy": site.url, "NO_PROXY": "", "no_proxy": ""}
        used = run("call", path, "get_it", "--trust-env", env=env)
        unused = run("call", path, "get_it", env=env)

    assert json.loads(used.stdout) == {"by": "proxy", "host": "api.invalid"}
    assert unused.exit_code == 1
    assert "HTTP_PROXY is set but not used; --trust-env uses it." in unused.stderr
