"""A slip on the command line: options with a typo, tokens in place of variables, other files."""

import os

import pytest
from click.testing import CliRunner

from openapi_tools.cli import _COMMANDS, commands, create_command

TOKEN = "ghp_S3cr3tT0kenValue42"
REQUIRED = {"install": ["cursor"]}
OPTIONS = [
    (name, option)
    for name in _COMMANDS
    for parameter in create_command(name).params
    for option in (*parameter.opts, *parameter.secondary_opts)
    if option.startswith("--")
]


def typos_of(option):
    """Return the option with a letter twice, one missing, two exchanged, and other separators."""
    end = option[2:]
    return {
        f"--{end}{end[-1]}",
        f"--{end[:2]}{end[3:]}",
        f"--{end[0]}{end[2:3]}{end[1]}{end[3:]}",
        f"--{end.replace('-', '_')}",
    } - {option}


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_option_with_a_typo_is_suggested(name, option):
    names = {o for each in create_command(name).params for o in (*each.opts, *each.secondary_opts)}
    for typo in typos_of(option) - names:
        result = CliRunner().invoke(commands, [name, *REQUIRED.get(name, ()), typo])

        assert (result.exit_code, result.stdout) == (2, "")
        assert f"No such option '{typo}'" in result.stderr
        assert f"'{option}'" in result.stderr, typo


TYPED = [
    f"--bearer {TOKEN}",
    f"--bearer ${TOKEN}",
    f"--basic me:{TOKEN}",
    f"--basic {TOKEN}",
    f"--header X-Key:{TOKEN}",
    f"--header {TOKEN}",
    f"--credential MuseumPlaceholderAuth={TOKEN}",
    f"--credential MuseumPlaceholderAuth=${TOKEN}",
    f"--credential {TOKEN}",
    f"--credential {TOKEN}==",
]


@pytest.mark.parametrize("options", TYPED)
@pytest.mark.parametrize(
    "command",
    [
        "list {}",
        "call {} get_museum_hours",
        "serve {}",
        "browse {}",
        "lint {}",
        "generate {} --output made",
        "install cursor {} --yes --file client.json",
    ],
)
def test_a_token_in_place_of_a_variable_is_refused_and_not_repeated(
    refused, museum, tmp_path, monkeypatch, command, options
):
    monkeypatch.chdir(tmp_path)

    error = refused(
        *command.format(museum).split(), *options.split(), messages=["in single quotes"]
    )

    assert TOKEN not in error
    assert os.listdir(tmp_path) == []  # noqa: PTH208 -- nothing was written


def test_a_name_of_a_variable_that_is_not_set_is_repeated(refused, museum):
    for name in ("SHOP_TOKEN", "shopToken", "GITHUB_TOKEN_FOR_THE_SHOP_2"):
        refused("list", museum, "--bearer", f"${name}", messages=[f"variable {name} is not set"])


@pytest.mark.parametrize(
    ("command", "message"),
    [
        *(
            (f"{name} two.toml{end}", "two.toml configures 2 APIs; choose one with --api (a, b).")
            for name, end in {
                "list": "", "show": " x", "stats": "", "call": " x", "search": " x", "stubs": " x",
                "run": " x.py", "lint": "", "prove": "", "lock": "",
            }.items()
        ),
        *(
            (f"{line}", "two.toml: apis: this is a server configuration, which is for `serve`")
            for line in (
                "diff two.toml museum.yaml", "generate two.toml --output made", "browse two.toml",
                "login two.toml --client-id x --token-file t", "diff museum.yaml two.toml",
            )
        ),
        ("init two.toml", "two.toml is a configuration already; pass the document it names."),
        ("list museum.yaml --overlay two.toml", "two.toml is a configuration, not an overlay"),
    ],
)  # fmt: skip
def test_a_configuration_in_place_of_a_document_says_what_to_do(
    refused, museum, tmp_path, monkeypatch, command, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "museum.yaml").write_bytes(museum.read_bytes())
    apis = "".join(f'[apis.{name}]\nsource = "museum.yaml"\n' for name in "ab")
    (tmp_path / "two.toml").write_text(apis)

    lines = refused(*command.split(), messages=[message]).splitlines()

    assert [line for line in lines if line.startswith("openapi-tools: error: ")] == [lines[-1]]
