"""The configuration of a server: its tables, and what is said of wrong ones."""

import pytest
from team_servers import document, write_configuration

from openapi_tools.configuration.toml_tables import has_apis
from openapi_tools.errors import SettingsError
from openapi_tools.serving.serving_tables import read_serving

PETS = document("Pets", "list_pets")
WRONG = {
    "no APIs": ("[serve]\nport = 1\n", "t.toml: no API is configured; add a table [apis.NAME]"),
    "another table": (
        'prefix = "a"\n[apis.a]\nsource = "a"\n',
        "t.toml:1: prefix: unknown key 'prefix'; a server configuration has only the tables",
    ),
    "a wrong port": (
        '[serve]\nport = 70000\n[apis.a]\nsource = "a"\n',
        "t.toml:2: serve.port: input should be less than or equal to 65535.",
    ),
    "an unknown key": (
        '[serve]\nworker = 2\n[apis.a]\nsource = "a"\n',
        "t.toml:2: serve.worker: unknown key; did you mean workers?",
    ),
    "an unknown limit": (
        '[serve.limits]\nbody_byte = 2\n[apis.a]\nsource = "a"\n',
        "t.toml:2: serve.limits.body_byte: unknown key; did you mean body_bytes",
    ),
    "a page's path": (
        '[serve]\npath = "/readyz"\n[apis.a]\nsource = "a"\n',
        "t.toml:2: serve.path: /readyz is reserved for the server itself.",
    ),
    "a name that is no path": ('[apis."a/b"]\nsource = "a"\n', "a name has at most 24 letters"),
    "a name of a page": (
        '[apis.healthz]\nsource = "a"\n',
        "t.toml:1: apis.healthz: a name has at most",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_server_is_reported_by_file_line_and_key(case, tmp_path):
    text, message = WRONG[case]
    path = tmp_path / "t.toml"
    path.write_text(text)

    with pytest.raises(SettingsError) as caught:
        read_serving(path)

    assert message in str(caught.value)


FAULTS = {
    "no source": ("", "apis.bad.source: name the document: a URL or a path."),
    "an unknown key": ('source = "a"\nmodes = "code"', "apis.bad.modes: unknown key; did you mean"),
    "a secret in the file": (
        'source = "a"\n[apis.bad.credentials]\nkey = "s3cr3t"',
        "apis.bad.credentials: 'key' must name an environment variable",
    ),
    "a mode without a path": ('source = "a"\nmode = "code"', "set `paths = true` in [serve]"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_wrong_api_does_not_keep_the_others_from_being_read(case, tmp_path):
    table, message = FAULTS[case]
    path = write_configuration(tmp_path, pets=PETS, bad=table)

    serving = read_serving(path)

    assert list(serving.apis) == ["pets"]
    assert list(serving.faults) == ["bad"]
    assert message in serving.faults["bad"]
    assert "s3cr3t" not in serving.faults["bad"]


def test_the_keys_of_an_api_are_those_of_a_configuration(tmp_path):
    table = (
        'source = "pets.json"\nprefix = "p_"\nlock = "pets.lock"\n[apis.pets.tools.x]\nname = "y"'
    )
    path = write_configuration(tmp_path, "refresh = 60", pets=table)

    serving = read_serving(path)

    assert (serving.serve.refresh, serving.serve.path, serving.over_http) == (60, "/mcp", True)
    assert serving.apis["pets"].tools["x"].name == "y"
    assert serving.files["pets"].folder == tmp_path


@pytest.mark.parametrize(("text", "is_server"), [('source = "a"', False), ("[serve]", True)])
def test_a_configuration_of_one_document_is_distinguished_from_one_of_a_server(
    text, is_server, tmp_path
):
    path = tmp_path / "t.toml"
    path.write_text(text)

    assert has_apis(path) is is_server
