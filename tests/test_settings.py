"""The list of settings, and what is derived from it."""

import functools
import operator
import os
import re
import runpy
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Union, get_args, get_origin

import pytest
from pydantic import BaseModel, ValidationError

from openapi_tools import FileStore, Settings, SettingsError, SharedState, load_tools
from openapi_tools.cli import completion
from openapi_tools.common.options import describe_unknown_setting, resolve_paths
from openapi_tools.common.setting import Setting
from openapi_tools.common.setting_fields import (
    REMOVED_SETTINGS,
    RENAMED_SETTINGS,
    SettingFields,
    setting_names,
    setting_type,
)
from openapi_tools.configuration import config_tables
from openapi_tools.serving.serving_tables import configuration_schema
from openapi_tools.settings import SettingsMembers

BUILD = Path(__file__).parents[1] / "docs" / "build.py"
WIDER = {tuple: Sequence, dict: Mapping, Path: str | os.PathLike[str]}
"""What a setting takes in place of what it holds."""
OBJECTS = {"files": FileStore | None, "state": SharedState | None}
"""Types that the fields do not know: their modules are above the list of settings."""


def accepted_type(kind):
    """Return the type of the values that become a value of a type, as type checkers know it."""
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return functools.reduce(operator.or_, map(accepted_type, inner))
    if origin is tuple:
        return Sequence[accepted_type(inner[0])]
    if origin is dict:
        return Mapping[inner[0], accepted_type(inner[1])]
    return WIDER.get(kind, kind)


def test_the_settings_for_type_checkers_are_those_of_the_fields():
    names = {"SharedState": SharedState}
    hints = typing.get_type_hints(SettingsMembers, localns=names)

    assert list(hints) == list(SettingFields.__annotations__)
    assert hints == {name: OBJECTS.get(name, accepted_type(setting_type(name))) for name in hints}


def test_a_new_setting_is_one_field_and_its_type(monkeypatch):
    """The other lists of settings are derived: they have a field that a test adds."""
    field = Annotated[int, Setting("Seconds between two calls.", acts_on="calls", ge=1)]
    monkeypatch.setitem(SettingFields.__annotations__, "pause", field)
    monkeypatch.setattr(SettingFields, "pause", 5, raising=False)

    class Extended(SettingFields, BaseModel):
        pass

    monkeypatch.setattr(config_tables, "Settings", Extended)
    table = configuration_schema()["properties"]["settings"]["properties"]["pause"]

    assert (Extended().pause, Extended(pause=7).pause) == (5, 7)
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        Extended(pause=0)
    assert table["description"] == "Seconds between two calls."
    assert (table["type"], table["default"], table["minimum"]) == ("integer", 5, 1)
    assert (
        "| `pause` | `5` | Seconds between two calls. |\n"
        in runpy.run_path(str(BUILD))["settings_page"]()
    )
    assert "did you mean pause?" in describe_unknown_setting("pauze")
    assert "pause" in setting_names("calls")
    assert "pause=" in completions_of_set()


def completions_of_set():
    return list(completion.COMPLETIONS["others"](None, ""))


@pytest.mark.parametrize(("old", "new"), RENAMED_SETTINGS.items())
def test_the_old_name_of_a_setting_is_refused_with_the_new_one(old, new):
    for refused in (lambda: Settings(**{old: True}), lambda: load_tools("a", **{old: True})):
        with pytest.raises(SettingsError, match=f"{old}: unknown setting; its name is {new} now."):
            refused()
    assert new in Settings.model_fields


@pytest.mark.parametrize("name", REMOVED_SETTINGS)
def test_a_setting_that_was_removed_is_refused_with_what_to_do(name):
    for refused in (lambda: Settings(**{name: "x"}), lambda: load_tools("a", **{name: "x"})):
        with pytest.raises(SettingsError, match=f"{name}: this setting was removed: .*leave it"):
            refused()


def test_every_setting_has_a_type_a_default_and_sentences():
    for name, field in SettingFields.__annotations__.items():
        (meaning,) = field.__metadata__
        assert isinstance(meaning, Setting)
        assert hasattr(SettingFields, name)
        assert re.fullmatch(r"[A-Z`].*\.", meaning.text)


def test_relative_paths_of_a_configuration_are_below_its_folder(tmp_path):
    settings = {"ca_file": "a.pem", "file_roots": ["b", "/c"], "prefix": "d_", "pathh": "e"}

    assert resolve_paths(settings, tmp_path) == settings | {
        "ca_file": tmp_path / "a.pem",
        "file_roots": [tmp_path / "b", Path("/c")],
    }
