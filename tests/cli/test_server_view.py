"""A server configuration on the command line: `--api`, and `--as` with a user's roles."""

import asyncio
import json
import subprocess
import sys

import pytest
from documents import document, operation
from servers.site import Site, SiteResponse

PATHS = {
    "/orders": {
        "get": operation(operationId="list_orders", summary="List all orders."),
        "post": operation(operationId="add_order", summary="Order something."),
    },
    "/users": {"get": operation(operationId="list_users", summary="List the users.")},
}
KEY = {"type": "apiKey", "in": "header", "name": "X-Key"}
TEAM = """
[serve]
port = 0

[serve.auth]
issuer = "https://login.example.com"
audience = "https://tools.example.com/mcp"
scopes = ["tools"]
tokens = { alice = "${ALICE}", bob = "${BOB}", eve = "${EVE}" }

[serve.roles.buyer]
users = ["alice"]

[serve.roles.reader]
users = ["bob"]
read_only = true
apis = ["shop"]

[serve.roles.sales]
scopes = ["tickets"]
claims = { "realm.groups" = ["sales", "support"] }
tools = ["shop_list_*"]

[serve.roles.nobody]
scopes = []
claims = { groups = "sales" }
"""
ADA = "https://login.example.com|ada"


def write_team(folder, url="http://127.0.0.1:9", text=TEAM, **tables):
    """Write a server configuration with the APIs shop and pets, and return its path."""
    shop = document(
        PATHS,
        servers=[{"url": url}],
        security=[{"key": []}],
        components={"securitySchemes": {"key": KEY}},
    )
    (folder / "shop.json").write_text(json.dumps(shop))
    pets = document({"/users": PATHS["/users"]}, servers=[{"url": url}])
    (folder / "pets.json").write_text(json.dumps(pets))
    for name in ("shop", "pets"):
        text += f'\n[apis.{name}]\nsource = "{name}.json"\n{tables.get(name, "")}'
    path = folder / "team.toml"
    path.write_text(text)
    return path


@pytest.fixture
def team(tmp_path):
    return write_team(tmp_path)


def names_in(result):
    return [line.split("\t")[0] for line in result.stdout.splitlines()]


COMMANDS = {
    "list": ["list", "FILE"],
    "list --config": ["list", "--config", "FILE"],
    "show": ["show", "FILE", "list_orders"],
    "stats": ["stats", "FILE"],
    "search": ["search", "FILE", "orders"],
    "stubs": ["stubs", "FILE", "list_orders"],
    "call": ["call", "FILE", "list_orders", "--mock"],
    "prove": ["prove", "FILE"],
    "lint": ["lint", "FILE"],
}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS)
def test_of_several_apis_one_is_chosen(run, refused, team, words):
    words = [team if word == "FILE" else word for word in words]
    message = f"{team} configures 2 APIs; choose one with --api (shop, pets)."

    refused(*words, messages=[message])
    result = run(*words, "--api", "shop")

    assert result.exit_code == 0, result.stderr


@pytest.mark.parametrize(
    ("api", "message"),
    [
        ("shopp", "team.toml has no API 'shopp'; did you mean shop?"),
        ("zebra", "team.toml has no API 'zebra'; it configures shop, pets."),
    ],
)
def test_a_wrong_api_is_reported_with_the_right_ones(refused, team, api, message):
    refused("list", team, "--api", api, messages=[message])


def test_a_table_that_is_wrong_is_reported_with_its_line(refused, tmp_path):
    team = write_team(tmp_path, pets="sauce = 3")
    refused("list", team, "--api", "pets", messages=["team.toml:", "apis.pets.sauce: unknown key"])
    refused("list", team, messages=["configures 2 APIs"])


def test_the_only_api_needs_no_name(run, tmp_path, museum):
    path = tmp_path / "one.toml"
    path.write_text(f'[serve]\n[apis.museum]\nsource = "{museum}"\nprefix = "m_"\n')

    assert "m_get_museum_hours" in names_in(run("list", path))


@pytest.mark.parametrize("option", [("--api", "a"), ("--as", "a"), ("--claim", "a=b")])
def test_a_document_has_no_apis_and_no_users(refused, museum, option):
    refused("list", museum, *option, messages=[f"{option[0]} needs a server configuration"])


@pytest.mark.parametrize("words", [["generate"], ["diff", "FILE"], ["login"], ["browse"]])
def test_other_commands_say_what_a_servers_file_is_for(refused, team, words, tmp_path):
    options = {"generate": ["--output", tmp_path / "out"], "login": ["--client-id", "a"]}
    options["login"] += ["--token-file", tmp_path / "token"]
    words = [team if word == "FILE" else word for word in words]
    refused(*words, team, *options.get(words[0], ()), messages=["the commands that take --api"])


TICKETS = ["--scope", "tickets"]
USERS = {
    "everything": (["--as", "alice"], ["list_orders", "add_order", "list_users"]),
    "reads": (["--as", "bob"], ["list_orders", "list_users"]),
    "nothing": (["--as", "eve"], []),
    "nothing of a person": (["--as", ADA], []),
    "by claim and scope": (
        ["--as", ADA, "--scope", "tickets", "--claim", "realm.groups=support"],
        ["list_users"],  # the only name that two APIs have, which begins with shop_ for clients
    ),
    "by one of two claims": (
        ["--as", ADA, *TICKETS, "--claim", "realm.groups=a", "--claim", "realm.groups=sales"],
        ["list_users"],
    ),
    "without the scope": (["--as", ADA, "--claim", "realm.groups=sales"], []),
}


@pytest.mark.parametrize(("options", "names"), USERS.values(), ids=USERS)
def test_a_user_sees_what_the_roles_show(run, team, options, names):
    assert names_in(run("list", team, "--api", "shop", *options)) == names


def test_standard_error_names_the_roles_and_what_others_need(run, team):
    def first_line(*options):
        return run("list", team, "--api", "shop", *options).stderr.splitlines()[0]

    assert first_line("--as", "alice") == "alice has the role buyer."
    assert first_line("--as", "eve") == "eve has no role, so the server shows no tools."
    assert first_line("--as", ADA) == (
        f"{ADA} has no role, so the server shows no tools; "
        "not sales (--scope tickets --claim realm.groups=sales)."
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--as", "alicia"], "unknown user 'alicia'; did you mean alice?"),
        (
            ["--as", "x"],
            "a static token (alice, bob, eve) or 'https://login.example.com|SUBJECT'.",
        ),
        (["--as", "https://other.example.com|ada"], "unknown user 'https://other."),
        (["--as", "alice", "--scope", "a"], "'alice' has a static token"),
        (["--as", ADA, "--claim", "groups"], "'groups' is not of the form NAME=VALUE."),
        (["--scope", "a"], "add --as USER."),
    ],
)
def test_users_that_no_token_can_have_are_refused(refused, team, options, message):
    refused("list", team, "--api", "shop", *options, messages=[message])


def test_a_server_without_login_knows_no_users(refused, tmp_path):
    team = write_team(tmp_path, text="[serve]\n")
    refused("list", team, "--api", "shop", "--as", "a", messages=["[serve.auth] is missing"])


def test_a_server_without_roles_shows_every_tool(run, tmp_path):
    team = write_team(tmp_path, text='[serve.auth]\ntokens = { alice = "${ALICE}" }\n')
    result = run("list", team, "--api", "pets", "--as", "alice")

    assert names_in(result) == ["list_users"]
    assert result.stderr == "the server has no roles, so alice sees every tool.\n"


def test_hidden_tools_are_not_found(run, refused, team):
    view = ("--api", "shop", "--as", "bob")
    messages = ["no tool is called 'add_order'"]

    refused("call", team, "add_order", *view, messages=messages)
    refused("show", team, "add_order", *view, messages=messages)
    refused("stubs", team, "add_order", *view, messages=messages)
    hits = json.loads(run("search", team, "order something", *view, "--json").stdout)
    proofs = json.loads(run("prove", team, *view, "--json").stdout)
    costs = json.loads(run("stats", team, *view, "--json").stdout)

    assert [tool["name"] for tool in hits["tools"]] == ["list_orders"]
    assert {proof["tool"] for proof in proofs["tools"]} == {"list_orders", "list_users"}
    assert "add_order" not in json.dumps(costs)


def test_the_example_of_a_tool_has_the_options_of_its_view(run, team):
    output = run("show", team, "list_orders", "--api", "shop", "--as", "bob").stdout

    assert f"Example: openapi-tools call {team} list_orders --api shop --as bob\n" in output


def test_an_api_that_cannot_be_read_is_named_where_roles_need_its_names(run, tmp_path):
    team = write_team(tmp_path)
    (tmp_path / "pets.json").unlink()
    options = ["--as", ADA, "--scope", "tickets", "--claim", "realm.groups=sales"]
    result = run("list", team, "--api", "shop", *options)

    assert names_in(result) == []
    assert "note: the roles are applied without the tools of pets: " in result.stderr


async def test_the_command_line_shows_what_the_server_shows(run, tmp_path, monkeypatch):
    pytest.importorskip("mcp", reason="mcp is not installed")
    from team_servers import client_of, host_team

    text = TEAM.replace('tools = ["shop_list_*"]', 'users = ["eve"]\ntools = ["shop_list_*"]')
    text = text.replace(
        'scopes = ["tickets"]\nclaims = { "realm.groups" = ["sales", "support"] }', ""
    )
    team = write_team(tmp_path, text=text)
    for name in ("alice", "bob", "eve"):
        monkeypatch.setenv(name.upper(), f"token-of-{name}-0123456789")
    seen, displayed = {}, {}
    async with host_team(team) as server:
        for name in ("alice", "bob", "eve"):
            headers = {"Authorization": f"Bearer token-of-{name}-0123456789"}
            async with client_of(server.url, headers=headers) as client:
                listed = [tool.name for tool in (await client.list_tools()).tools]
            seen[name] = [each.removeprefix("shop_") for each in listed if "pets_" not in each]
            options = ("list", team, "--api", "shop", "--as", name)
            displayed[name] = names_in(await asyncio.to_thread(run, *options))

    assert displayed == seen
    assert seen["eve"] == ["list_users"]


STATIC = """[apis.shop.users]
mode = "static"
tokens = { alice = "${ALICE_READS}" }
[apis.shop.users.write]
MODE
"""


@pytest.fixture
def shop_site(tmp_path):
    """Give a site that responds as the shop, and a function that runs a command line as a user."""
    with Site(lambda _: SiteResponse([])) as site:
        other = 'mode = "exchange"\ntoken_url = "https://login.example.com/token"'
        team = write_team(tmp_path, site.url, shop=STATIC.replace("MODE", other))

        def call(*words, **environment):
            command = [sys.executable, "-m", "openapi_tools", "call", str(team), *words]
            return subprocess.run(
                [*command, "--api", "shop"], capture_output=True, text=True, check=False,
                env={"PATH": "", **environment},
            )  # fmt: skip

        yield site, call


def test_a_call_as_a_user_carries_the_key_of_mode_static(shop_site):
    site, call = shop_site
    result = call("list_orders", "--as", "alice", ALICE_READS="k3y-of-alice")

    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr
    assert [request.headers["X-Key"] for request in site.requests] == ["k3y-of-alice"]


def test_a_key_that_is_given_overrides_the_users(shop_site):
    site, call = shop_site
    options = ("--credential", "key=$OWN")
    result = call("list_orders", "--as", "alice", *options, OWN="another-k3y")

    assert result.returncode == 0, result.stderr
    assert [request.headers["X-Key"] for request in site.requests] == ["another-k3y"]


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["add_order", "--as", "alice"], "mode exchange), which only the server can get"),
        (["list_orders", "--as", "bob"], "mode static) and has none for bob"),
    ],
)
def test_a_credential_that_only_the_server_has_is_reported_in_one_line(shop_site, words, reason):
    site, call = shop_site
    result = call(*words, ALICE_READS="k3y-of-alice")

    assert (result.returncode, result.stdout, site.requests) == (1, "", [])
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("credentials: ")]
    assert reason in line
    assert "the request was not sent. Set one with --credential" in line


def test_a_call_without_a_user_says_that_the_server_uses_other_credentials(shop_site):
    site, call = shop_site
    result = call("list_orders", "--credential", "key=$OWN", OWN="another-k3y")
    without = call("list_orders")

    assert result.returncode == 0, result.stderr
    assert (without.returncode, len(site.requests)) == (1, 1)
    assert without.stderr.startswith(
        "note: over HTTP shop gets each user's own credential ([apis.shop.users]); this call uses"
    )


def test_a_preview_masks_the_key_of_the_user(shop_site):
    site, call = shop_site
    result = call("list_orders", "--as", "alice", "--dry-run", ALICE_READS="k3y-of-alice")
    other = call("add_order", "--as", "alice", "--dry-run", ALICE_READS="k3y-of-alice")

    assert "x-key: ***" in result.stdout
    assert (other.returncode, site.requests) == (0, [])
    assert "mode exchange), which only the server can get" in other.stderr


def test_the_file_is_looked_at_without_the_extra_of_servers(team):
    code = (
        "import sys\n"
        "for name in ('mcp', 'uvicorn', 'starlette', 'redis', 'joserfc', 'prometheus_client'):\n"
        "    sys.modules[name] = None\n"
        f"sys.argv = ['openapi-tools', 'list', {str(team)!r}, '--api', 'shop', '--as', 'bob']\n"
        "from openapi_tools.cli import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert names_in(done) == ["list_orders", "list_users"]
