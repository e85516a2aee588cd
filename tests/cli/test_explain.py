"""`openapi-tools explain`: what an error type means, and what to do."""

import re

import pytest

from openapi_tools import errors
from openapi_tools.cli import _COMMANDS, create_command
from openapi_tools.cli.explain_command import read_error_texts
from openapi_tools.common.setting_fields import setting_names

EXCEPTIONS = [
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.OpenAPIToolsError)
]
TYPES = [*errors.ERROR_TYPES, *EXCEPTIONS]


def test_every_error_type_has_a_text_and_no_other():
    assert sorted(read_error_texts()) == sorted(TYPES)


@pytest.mark.parametrize("name", TYPES)
def test_a_type_is_explained_within_a_terminal(run, name):
    result = run("explain", name.upper())

    head, empty, *lines = result.stdout.splitlines()
    assert (result.exit_code, result.stderr, empty) == (0, "", "")
    assert head.startswith(f"{name}: an e")
    assert [line for line in lines if line.startswith("- ")]
    assert max(map(len, lines)) <= 80
    assert "`" not in result.stdout


def test_without_a_type_all_are_listed_in_a_line_each(run):
    lines = run("explain").stdout.splitlines()

    assert [line.split()[0] for line in lines] == list(read_error_texts())
    assert max(map(len, lines)) <= 80


def test_a_type_that_does_not_exist_gets_near_names(refused):
    refused("explain", "conection", messages=["called 'conection'; did you mean connection?"])
    refused("explain", "zzzzzz", messages=["`openapi-tools explain` lists the types."])


def test_the_texts_name_options_commands_and_settings_that_exist():
    texts = [" ".join([text.what, *text.steps]) for text in read_error_texts().values()]
    options = {
        option
        for name in _COMMANDS
        for parameter in create_command(name).params
        for option in parameter.opts
    }

    for text in texts:
        assert set(re.findall(r"(?<!\\S)`?(--[a-z-]+)", text)) <= options, text
        assert set(re.findall(r"openapi-tools ([a-z]+)", text)) <= set(_COMMANDS)
        names = re.findall(r"Settings\((\w+)=|--set (\w+)=", text)
        assert {name or other for name, other in names} <= set(setting_names())


def test_no_sentence_begins_with_a_small_letter():
    texts = [text for each in read_error_texts().values() for text in (each.what, *each.steps)]

    assert [
        text for text in texts if re.search(r"(?:^|[.?!] )`?(?!openapi-tools )[a-z]", text)
    ] == []
