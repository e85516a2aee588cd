"""What a server refuses is counted by reason, and leaves few lines, without words of a client."""

import contextlib
import json
import logging
import re

import httpx
import pytest
from mcp import MCPError
from servers.issuer import OTHER
from servers.team import ALICE, BOB, Browser, call_tool, link, login_table, post, shop_served, table

from openapi_tools.serving import refusals
from openapi_tools.serving.refusals import REASONS, Refusals

pytest.importorskip("prometheus_client", reason="prometheus-client is not installed")

AUTH = {"tokens": {"alice": "${ALICE}", "bob": "${BOB}"}}
ROLES = {"all": {"users": ["alice"]}, "reader": {"users": ["bob"], "read_only": True}}


async def counts_at(site, token=ALICE):
    """Return how often each reason was counted, zeros left out."""
    async with httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as web:
        text = (await web.get(f"{site.origin}/metrics")).text
    matches = re.findall(r"^openapi_tools_refusals_total\{(.*)\} (\S+)$", text, re.MULTILINE)
    labels = [re.fullmatch(r'reason="(\w+)"', label)[1] for label, _ in matches]
    assert sorted(labels) == sorted(REASONS)
    values = zip(labels, (float(value) for _, value in matches), strict=True)
    return {label: int(value) for label, value in values if value}


def lines_of(caplog):
    messages = [record.getMessage() for record in caplog.records]
    return [line for line in messages if line.startswith("refused (")]


TOKENS = {
    "no_token": lambda _: None,
    "token_malformed": lambda _: "not a token, but words",
    "token_unknown": lambda _: "x" * 30,
    "token_key": lambda issuer: issuer.token(header={"kid": "other"}, key=OTHER),
    "token_signature": lambda issuer: issuer.token(key=OTHER),
    "token_issuer": lambda issuer: issuer.token(iss="https://other.example.com"),
    "token_audience": lambda issuer: issuer.token(aud="https://other.example.com"),
    "token_expired": lambda issuer: issuer.token(exp=1_000_000_000),
    "token_claims": lambda issuer: issuer.token(sub="two\nlines"),
    "token_scope": lambda issuer: issuer.token(scope="other"),
}


@pytest.mark.parametrize("reason", TOKENS)
async def test_a_refused_token_leaves_a_line_and_a_count(reason, issuer, api, caplog):
    caplog.set_level(logging.INFO)
    token = TOKENS[reason](issuer)
    async with shop_served(api, table(issuer)) as site:
        response = await post(site, token)
        counts = await counts_at(site, issuer.token())

    (line,) = lines_of(caplog)
    assert response.status_code in (401, 403)
    assert counts == {reason: 1}
    assert line.startswith(f"refused ({reason}): ")
    assert line.endswith("(from 127.0.0.1)")
    assert token is None or not any(part in line for part in token.split(".") if part)


async def test_a_token_that_cannot_be_checked_and_two_tokens_are_counted(issuer, api, caplog):
    issuer.key_status = 500
    async with shop_served(api, {**table(issuer), **AUTH}) as site:
        await post(site, issuer.token())
        await post(site, ALICE, query="?access_token=x")
        counts = await counts_at(site)

    assert counts == {"token_unchecked": 1, "two_tokens": 1}
    assert len(lines_of(caplog)) == 2


async def test_a_flood_leaves_few_lines_and_every_count(api, caplog):
    async with shop_served(api, AUTH) as site:
        async with httpx.AsyncClient() as web:
            for number in range(200):
                headers = {"Authorization": f"Bearer forged-token-number-{number}"}
                assert (await web.post(site.url, headers=headers)).status_code == 401
        counts = await counts_at(site)

    *lines, last = lines_of(caplog)
    assert counts == {"token_unknown": 200}
    assert len(lines) == 10
    assert re.fullmatch(r"refused \(token_unknown\): 190 more in \d+ s", last)
    assert "forged" not in caplog.text


def test_lines_of_a_reason_go_on_after_a_while(caplog, monkeypatch):
    counted, noted = [], Refusals()
    noted.count = counted.append
    for _ in range(12):
        noted.note("login", "one")
    noted.note("resource", "of another reason")
    monkeypatch.setattr(refusals, "_WINDOW", 0.0)
    noted.note("login", "later")

    lines = [record.getMessage() for record in caplog.records]
    assert lines == [
        *["refused (login): one"] * 10,
        "refused (resource): of another reason",
        "refused (login): 2 more in 0 s",
        "refused (login): later",
    ]
    assert counted == ["login"] * 12 + ["resource", "login"]


PROBES = {
    "a call": ("tools", "delete_all", {}),
    "call_tool": ("search", "call_tool", {"name": "delete_all"}),
    "call_tool for pages": ("search", "call_tool", {"name": "delete_all", "pages": 3}),
    "describe_tools": ("search", "describe_tools", {"names": ["list_orders", "delete_all"]}),
    "a program": ("code", "run_code", {"code": 'await call("delete_all", {})'}),
    "a program for pages": ("code", "run_code", {"code": '[x async for x in pages("delete_all")]'}),
    "a function": ("code", "run_code", {"code": "await delete_all()"}),
}
LOOKS = ("describe_tools", "a function")


@pytest.mark.parametrize("probe", PROBES)
async def test_a_probe_of_a_hidden_tool_leaves_a_line_a_count_and_an_audit_line(
    probe, api, caplog, tmp_path
):
    mode, name, arguments = PROBES[probe]
    if mode == "code":
        pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    file = tmp_path / "audit.jsonl"
    options = {"roles": ROLES, "mode": mode, "credentials": {"shop": "key"}, "audit": str(file)}
    async with shop_served(api, AUTH, **options) as site:
        await probe_with(site, BOB, name, arguments)
        counts = await counts_at(site)

    (line,) = lines_of(caplog)
    audited = [json.loads(text) for text in file.read_text().splitlines()]
    assert counts == {"hidden_tool": 1}
    assert line == "refused (hidden_tool): 'bob' may not see the tool 'delete_all'"
    records = [each for each in audited if each["tool"] == "delete_all"]
    assert [(each["user"], each["error"]) for each in records] == (
        [] if probe in LOOKS else [("bob", "refused")]
    )
    assert api.requests == []


async def probe_with(site, token, name, arguments):
    """Call a tool, whatever the server says."""
    async with site.client(token) as client:
        with contextlib.suppress(MCPError):
            await client.call_tool(name, arguments)


async def test_a_call_of_no_tool_is_no_probe_and_a_mistake_in_a_program_is_nothing(api, caplog):
    pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
    async with shop_served(api, AUTH, roles=ROLES, mode="code") as site:
        for code in ("await call('nothing', {})", "wrong_name"):
            await probe_with(site, BOB, "run_code", {"code": code})
        # Alice sees all tools.
        await probe_with(site, ALICE, "run_code", {"code": "await call('delete_all', {})"})
        counts = await counts_at(site)

    assert counts == {"unknown_tool": 1}


@pytest.mark.parametrize(
    "name", ["a\nERROR forged: line", "\x1b[2J\x07", "\u202e\u2028x", "x" * 9000]
)
async def test_words_of_a_client_make_no_line_of_their_own(name, api, caplog):
    options = {"roles": ROLES, "mode": "search"}
    async with shop_served(api, AUTH, **options) as site:
        await probe_with(site, BOB, "call_tool", {"name": name})
        counts = await counts_at(site)

    (line,) = lines_of(caplog)
    assert counts == {"unknown_tool": 1}
    assert line.isascii()
    assert line.isprintable()
    assert len(line) < 300


async def test_a_file_that_cannot_be_read_is_counted(api, caplog, tmp_path):
    async with shop_served(api, AUTH, download_dir=tmp_path) as site:
        async with site.client(ALICE) as client:
            with pytest.raises(MCPError, match="handle"):
                await client.read_resource("openapi-tools://files/nothing-0123456789")
        counts = await counts_at(site)

    assert counts == {"resource": 1}
    assert "refused (resource): 'alice'" in caplog.text
    assert "nothing-0123456789" not in "".join(lines_of(caplog))


async def test_refused_logins_are_counted(issuer, api, caplog):
    caplog.set_level(logging.INFO)
    async with shop_served(api, AUTH, users=login_table(issuer)) as site:
        page = link(await call_tool(site, ALICE))
        async with Browser("ada") as browser:
            form = await browser.get(page)
            field = re.search(r'name="form" value="(\w+)"', form.text)[1]
            await browser.get(f"{site.origin}/login?flow=none")
            await browser.get(f"{site.origin}/login/callback?code=a&state=b&error=x%0aFORGED")
            await browser.post(page, data={"token": ALICE})
            await browser.post(page, data={"form": field, "token": BOB})
            await browser.post(page, data={"form": field, "token": "x" * 30})
            right = await browser.post(page, data={"form": field, "token": ALICE})
            await browser.go(right.headers["location"])
        counts = await counts_at(site)

    assert counts == {"login": 2, "login_form": 1, "login_user": 1, "token_unknown": 1}
    assert "'alice' logged in at shop" in caplog.text
    assert len(lines_of(caplog)) == 5
    assert ALICE not in caplog.text
    assert BOB not in caplog.text
