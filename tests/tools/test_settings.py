"""Settings say what is wrong with them."""

import inspect
import pickle

import pytest

from openapi_tools import Settings, SettingsError
from openapi_tools.errors import OpenAPIToolsError
from openapi_tools.options import DEFAULT_SETTINGS

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({"timeout": 0}, "timeout: input should be greater than 0, not 0."),
        ({"concurrency": "many"}, "concurrency: input should be a valid integer"),
        ({"body": "round"}, "body: input should be 'flat' or 'nested', not 'round'."),
        ({"tmeout": SECRET}, "tmeout: unknown setting; did you mean timeout?"),
        ({"zzz": SECRET}, "zzz: unknown setting."),
        ({"server_variables": {"a": 1}}, "server_variables.a: input should be a valid string"),
        ({"base_url": SECRET.encode() + b"\xff"}, "base_url: "),
        ({"base_url": f"me:{SECRET}@host"}, "base_url: the address begins with neither http://"),
        ({"base_url": ""}, "base_url: the address '' begins with neither http:// nor https://."),
        ({"base_url": "ftp://h/x"}, "base_url: the address 'ftp://h/x' begins with neither"),
        ({"base_url": "localhost:8000"}, "did you mean 'http://localhost:8000'?"),
        ({"base_url": "api.example/v1"}, "did you mean 'http://api.example/v1'?"),
    ],
    ids=repr,
)
def test_a_wrong_setting_is_an_error_of_the_package_that_names_it(members, told):
    with pytest.raises(SettingsError) as caught:
        Settings(**members)

    assert isinstance(caught.value, OpenAPIToolsError)
    assert told in str(caught.value)
    assert SECRET not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_there_is_a_line_for_each_fault_and_none_is_long():
    with pytest.raises(SettingsError) as caught:
        Settings(timeout="x" * 10_000, **{"y" * 10_000: "z"}, body=[1] * 10_000)

    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert all(len(line) < 200 for line in lines)


def test_settings_can_be_validated_copied_pickled_and_looked_at():
    settings = Settings(timeout=3)

    assert pickle.loads(pickle.dumps(settings)) == settings
    assert settings.model_copy(update={"timeout": 4.0}).timeout == 4
    assert list(inspect.signature(Settings).parameters) == list(Settings.model_fields)
    for url in ("http://localhost:8000/v1", "HTTPS://api.example", "http://[::1]"):
        assert Settings(base_url=url).base_url == url
    with pytest.raises(SettingsError, match="timeout"):
        Settings.model_validate({"timeout": -1})


@pytest.mark.parametrize("name", Settings.model_fields)
def test_who_sets_nothing_gets_the_defaults(name):
    assert getattr(DEFAULT_SETTINGS, name) == getattr(Settings(), name)
