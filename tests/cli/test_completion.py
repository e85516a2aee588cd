"""Completion: what the program returns to a shell, and what bash, zsh and fish make of it."""

import pytest
import shells
from documents import document
from servers.site import Site, SiteResponse

from openapi_tools.cli.output import COMPLETION_VARIABLE
from openapi_tools.loading import cache

HUE = {"type": "string", "enum": ["light blue", "red", None]}
ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
QUERY = [
    {"name": "hue", "in": "query", "schema": {"$ref": "#/components/schemas/Hue"}},
    {"name": "hungry", "in": "query", "schema": {"type": "boolean"}},
]
GET = {"operationId": "getDog", "summary": "Find \x1b[31m a dog", "parameters": [ID, *QUERY]}
DELETE = {"operationId": "deleteDog", "parameters": [ID]}
PATHS = {
    "/dogs/{id}": {
        method: {**operation, "tags": ["Small pets"], "responses": {}}
        for method, operation in {"get": GET, "delete": DELETE}.items()
    }
}
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
PARTS = {"schemas": {"Hue": HUE}, "securitySchemes": {"petKey": KEY}}


@pytest.fixture
def complete(run, monkeypatch):
    """Complete a line as a shell asks for it, and return kinds and values."""
    monkeypatch.setattr(cache, "offline", False)

    def complete_line(line, shell="zsh", **env):
        variables = {COMPLETION_VARIABLE: f"{shell}_complete", "COMP_LINE": line, **env}
        result = run(env=variables)
        assert (result.exit_code, result.stderr) == (0, "")
        assert "\x1b" not in result.stdout
        rows = [row.split("\t") for row in result.stdout.splitlines() if row]
        return [value if kind == "plain" else kind for kind, value, *_ in rows]

    return complete_line


@pytest.fixture
def dogs(write):
    return write(PATHS, components=PARTS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("li", ["lint", "list"]),
        ("list --ta", ["--tag"]),
        ("list ", ["file"]),
        ("install cl", ["claude", "claude-code"]),
        ("install --bundle x.mcpb ", ["file"]),
        ("call SPEC ", ["get_dog", "delete_dog"]),
        ("show SPEC d", ["delete_dog"]),
        ("stubs SPEC get_dog d", ["delete_dog"]),
        ("call SPEC get_dog ", ["id=", "hue=", "hungry="]),
        ("call SPEC 'GET /dogs/{id}' i", ["id="]),
        ("call SPEC get_dog id=7 h", ["hue=", "hungry="]),
        ("call SPEC get_dog hue=", ["hue=light blue", "hue=red"]),
        ("call SPEC get_dog hungry=", ["hungry=true", "hungry=false"]),
        ("call SPEC get_dog id=", []),
        ("call SPEC get_dog --mock h", ["hue=", "hungry="]),
        ("list SPEC --tag ", ["Small pets"]),
        ("list SPEC --tag=S", ["--tag=Small pets"]),
        ("list SPEC --method ", ["DELETE", "GET"]),
        ("list SPEC --method d", ["delete"]),
        ("stats SPEC --profile an", ["anthropic"]),
        ("call SPEC get_dog --credential p", ["petKey="]),
        ("list SPEC --set stal", ["stale="]),
        ("completion ", ["bash", "zsh", "fish"]),
    ],
)
def test_commands_options_and_values_are_completed(complete, dogs, words, expected):
    assert complete(f"openapi-tools {words.replace('SPEC', str(dogs))}") == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("owner.", ["owner.name=", "owner.hue=", "owner.home="]),
        ("owner.h", ["owner.hue=", "owner.home="]),
        ("owner.hue=red owner.h", ["owner.home="]),
        ("owner.hue=", ["owner.hue=light blue", "owner.hue=red"]),
        ("owner.home.", ["owner.home.city="]),
        ("pets[0].n", ["pets[0].name="]),
        ("pets[].name=", []),
        ("nobody.", []),
    ],
)
def test_values_inside_arguments_are_completed(complete, send, words, expected):
    home = {"type": "object", "properties": {"city": {"type": "string"}}}
    owner = {"type": "object", "properties": {"name": {}, "hue": HUE, "home": home}}
    pets = {"type": "array", "items": {"type": "object", "properties": {"name": {}}}}
    schema = {"type": "object", "properties": {"owner": owner, "pets": pets}}
    spec = send({"application/json": {"schema": schema}})

    assert complete(f"openapi-tools call {spec} send {words}") == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("list FILE --api s", ["shop"]),
        ("call FILE get_dog --as ", ["alice", "bob"]),
        ("show FILE --api pets g", ["get_dog"]),
        ("call FILE --api pets --as bob d", []),
    ],
)
def test_the_words_of_a_servers_file_are_completed(complete, dogs, tmp_path, words, expected):
    file = tmp_path / "team.toml"
    roles = '[serve.roles.a]\nusers = ["alice"]\n[serve.roles.b]\nusers = ["bob"]\nread_only = true'
    apis = "".join(f'\n[apis.{name}]\nsource = "{dogs}"' for name in ("pets", "shop"))
    tokens = '[serve.auth]\ntokens = { alice = "${ALICE}", bob = "${BOB}" }'
    file.write_text(f"{tokens}\n{roles}{apis}\n")

    assert complete(f"openapi-tools {words.replace('FILE', str(file))}") == expected


@pytest.mark.parametrize(
    "words",
    [
        "call nowhere.yaml ",
        "call - ",
        "call BROKEN ",
        "call http://127.0.0.1:9/openapi.json ",
        "call SPEC no_such_tool ",
        "call SPEC get_dog --credential petKey=NOT_SET_AT_ALL h",
        "call SPEC get_dog nope=",
        "list SPEC --config nowhere.toml --tag ",
    ],
)
def test_what_cannot_be_completed_is_silent(complete, dogs, tmp_path, words):
    (tmp_path / "broken").write_text("{")
    words = words.replace("SPEC", str(dogs)).replace("BROKEN", str(tmp_path / "broken"))

    assert complete(f"openapi-tools {words}") == []


def test_bash_gets_what_stands_behind_its_last_break(complete, dogs):
    line = f"openapi-tools call {dogs} get_dog hue="

    assert complete(line, "bash", BREAKS=" =:") == ["light blue", "red"]
    assert complete(line, "bash", BREAKS=" ") == ["hue=light blue", "hue=red"]
    assert complete(f"openapi-tools list {dogs} --tag=S", "bash", BREAKS="=") == ["Small pets"]


def test_a_document_at_a_url_comes_from_the_cache_without_a_request(complete, run, tmp_path):
    body = document(PATHS, components=PARTS, **{"x-more": "x" * 70_000})
    with Site(lambda _: SiteResponse(body, headers=(("ETag", '"1"'),))) as site:
        before = complete(f"openapi-tools call {site.url}/openapi.json ")
        cache.offline = False
        run("list", f"{site.url}/openapi.json", env={"OPENAPI_TOOLS_CACHE_DIR": str(tmp_path)})
        count = len(site.requests)
        after = complete(
            f"openapi-tools call {site.url}/openapi.json ", OPENAPI_TOOLS_CACHE_DIR=str(tmp_path)
        )

        assert (before, after) == ([], ["get_dog", "delete_dog"])
        assert len(site.requests) == count == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_in_both_ways(run, shell):
    script = run("completion", shell)

    assert script.exit_code == 0
    assert f"{COMPLETION_VARIABLE}={shell}_complete" in script.stdout
    assert run(env={COMPLETION_VARIABLE: f"{shell}_source"}).stdout == script.stdout
    assert shell in run("completion", "--help").stdout


def test_another_shell_is_refused(run, refused):
    assert refused("completion", "tcsh", messages=["'tcsh' is not one of 'bash', 'zsh', 'fish'"])
    assert run(env={COMPLETION_VARIABLE: "tcsh_complete"}).exit_code == 1


TYPED = [
    ("show specs/mus\t", "show specs/museum.yaml"),
    ("show specs/museum.yaml buy\t", "show specs/museum.yaml buy_museum_tickets"),
    ("call specs/museum.yaml buy_museum_tickets ticketType=\t", "tickets ticketType="),
    ("list specs/museum.yaml --tag Ti\t", "--tag Tickets"),
    ("list specs/museum.yaml --tag=Ti\t", "--tag=Tickets"),
    ("list specs/museum.yaml --method pa\t", "--method patch"),
    ("stats specs/museum.yaml --profile gem\t", "--profile gemini"),
    ("call specs/nowhere.yaml ge\t", "call specs/nowhere.yaml ge"),
    ("gen\t", "openapi-tools generate"),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", pytest.param("fish", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    ("keys", "end"),
    [
        ("call specs/museum.yaml buy_museum_tickets ticketT\tg\t", "tickets ticketType=general"),
        *(pytest.param(*row, marks=pytest.mark.long) for row in TYPED),
    ],
)
def test_a_shell_completes_each_kind_of_word(shell, keys, end, tmp_path):
    line, screen = shells.type_keys(shell, f"openapi-tools {keys}", tmp_path)

    assert line.endswith(end)
    assert "Traceback" not in screen
    if end.endswith("ticketType="):
        assert "event" in screen
        assert "general" in screen


@pytest.mark.long
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_value_with_a_space_is_one_word_of_the_shell(shell, dogs, tmp_path):
    line, _ = shells.type_keys(shell, f"openapi-tools list {dogs} --tag Sm\t", tmp_path)

    assert line.replace("\\", "").endswith("--tag Small pets")


@pytest.mark.parametrize(
    ("keys", "end"),
    [
        ('list SPEC --tag "Sm\t', "--tag Small pets"),
        ('list SPEC --tag "Run\t"', "--tag Run"),
        ("list SPEC --tag 'Run\t'", "--tag 'Run'"),
        ('call SPEC run "hue=r\t', "hue=red"),
        ('call SPEC run hue="r\t', "hue=red"),
    ],
)
def test_bash_is_offered_nothing_that_runs_or_ends_quotes(keys, end, write, tmp_path):
    hue = {"name": "hue", "in": "query", "schema": {"enum": ["red", "r`touch ran`"]}}
    tags = ["Small pets", "Small$(touch ran)", "Run'; touch ran; '", "Run!!"]
    operation = {"operationId": "run", "tags": tags, "parameters": [hue], "responses": {}}
    spec = write({"/runs": {"get": operation}})

    line, _ = shells.type_keys("bash", f"openapi-tools {keys.replace('SPEC', str(spec))}", tmp_path)

    assert line.endswith(end)
    assert not (shells.ROOT / "ran").exists()
