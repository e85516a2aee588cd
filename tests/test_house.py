"""Every bound of `tests/house.py` is met."""

import subprocess
import sys

import house
import pytest

pytestmark = pytest.mark.untraced


@pytest.fixture(scope="module")
def rows():
    """The printed rows by name: whether the bound is met."""
    # A process of its own: what pytest and other tests have imported would be in the traces.
    command = [sys.executable, house.__file__]
    printed = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return {
        line[:64].strip(): (float(line[64:74].replace(",", "")), not line.endswith("NOT MET"))
        for line in printed.splitlines()[1:]
    }


def test_every_bound_is_met(rows):
    assert len(rows) > 15
    assert [name for name, (_, is_met) in rows.items() if not is_met] == []


def test_every_kind_of_hidden_import_and_name_is_seen(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "import importlib\n"
        "alias = importlib.import_module\n"
        "def __getattr__(name):\n    return importlib.import_module(name)\n"
        "def sent():\n    from os import path\n    return path\n"
        "def _apart(told, *, own):\n    known = told\n    return own, known\n"
        "made = lambda: 1\n"
        "class Result:\n"
        "    @classmethod\n    def failed(cls):\n        return cls()\n"
        "    @classmethod\n    def _built(cls):\n        return cls()\n"
    )

    names = {line.split()[-1] for line in house.bare_names([module])}
    variables = {line.split()[-1] for line in house.vague_variables([module])}
    imports = [line.partition(" ")[2] for line in house.hidden_imports([module])]

    assert names == {"made", "sent", "_apart", "_built"}
    assert variables == {"own", "told", "known", "made"}
    assert imports == ["__getattr__ of a module", "importlib.import_module", "import"]


def test_calls_of_other_libraries_with_collected_arguments_are_not_counted(tmp_path):
    module = tmp_path / "module.py"
    module.write_text(
        "import httpx\n"
        "from dataclasses import replace\n"
        "from openapi_tools.model import Server\n"
        "class Client(httpx.Client):\n"
        "    def send(self, client: httpx.Client, **options):\n"
        "        client.send(**options)\n"
        "        super().send(**options)\n"
        "        self.send(**options)\n"
        "def replace_names(**options):\n"
        "    replace(Server, **options)\n"
        "    Server(**options)\n"
        "    replace_names(**options)\n"
        "class Server: ...\n"
        "class Shape:\n    def replace(self): ...\n"
    )

    calls = [line.partition(" ")[2] for line in house.collected_arguments([module])]

    assert calls == ["Server", "replace_names", "self.send"]
