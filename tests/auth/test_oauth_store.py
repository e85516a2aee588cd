"""A file of tokens: private, whole, bound to what it is for."""

import errno
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from servers.authorization import PASSWORD, SECRET, channel_to

from openapi_tools.auth.access_tokens import Tokens
from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.tokens import Stored, Token, TokenStore, from_file
from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.redaction import Secret

ROOT = Path(__file__).parents[2]
PLACE = {"origin": "https://api.example.com", "scheme": "oauth"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens.json"


def entry(access="access-1", **members):
    token = Token(Secret(access), Secret("refresh-1"), issued_at=1.0, expires_at=2.0)
    about = {**PLACE, "client_id": "app", "token_endpoint": "https://auth.example.com/token"}
    return Stored(**{**about, **members}, token=token)


def test_what_is_saved_is_loaded(path):
    TokenStore(path).save(entry())

    assert TokenStore(path).load(**PLACE, client_id="app") == entry()
    assert TokenStore(path).load(**PLACE) == entry()


def test_the_file_is_private_from_its_first_byte_whatever_the_umask(path, monkeypatch):
    modes = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (modes.append(os.fstat(fd).st_mode), real(fd)))
    before = os.umask(0)
    try:
        TokenStore(path).save(entry())
    finally:
        os.umask(before)

    assert stat.S_IMODE(modes[0]) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_is_refused(path, mode):
    TokenStore(path).save(entry())
    path.chmod(mode)

    with pytest.raises(CredentialsError, match=r"can be read by others; run: chmod 600 /"):
        TokenStore(path).load(**PLACE)
    with pytest.raises(CredentialsError, match="chmod 600"):
        TokenStore(path).save(entry())


def test_a_symbolic_link_is_refused(path, tmp_path):
    TokenStore(tmp_path / "real.json").save(entry())
    path.symlink_to(tmp_path / "real.json")

    with pytest.raises(CredentialsError, match="symbolic link"):
        TokenStore(path).load(**PLACE)
    with pytest.raises(CredentialsError, match="symbolic link"):
        TokenStore(path).save(entry())


def test_a_folder_and_a_pipe_are_refused(path, tmp_path):
    os.mkfifo(path, 0o600)

    for wrong in (path, tmp_path):
        with pytest.raises(CredentialsError, match="is not a regular file"):
            TokenStore(wrong).load(**PLACE)


GOOD = {
    "origin": "https://api.example.com",
    "scheme": "oauth",
    "client_id": "app",
    "token_endpoint": "https://auth.example.com/token",
    "access_token": "hidden-1",
    "refresh_token": None,
    "issued_at": 1,
    "expires_at": None,
    "scopes": None,
}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "hidden-1",
        "[]",
        "7",
        "{}",
        '{"version": 1}',
        '{"version": 1, "tokens": 7}',
        '{"version": 1, "tokens": [7]}',
        '{"version": 2, "tokens": []}',
        "[" * 100_000,
        '{"version": 1, "tokens": "' + "x" * 2_000_000 + '"}',
        "\x00\x01",
        *(
            json.dumps({"version": 1, "tokens": [{**GOOD, **wrong}]})
            for wrong in (
                {"access_token": 7},
                {"access_token": "hidden-1\n"},
                {"refresh_token": 7},
                {"client_id": None},
                {"token_endpoint": "http://auth.example.com/token"},
                {"issued_at": "x"},
                {"expires_at": []},
                {"scopes": 7},
            )
        ),
    ],
)
def test_a_broken_file_is_an_error_that_shows_nothing_of_it(path, content):
    path.touch(0o600)
    path.write_text(content)

    with pytest.raises(CredentialsError, match=r"tokens\.json") as caught:
        TokenStore(path).load(**PLACE)

    assert "hidden-1" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_file_of_this_version_is_read(path):
    path.touch(0o600)
    path.write_text(json.dumps({"version": 1, "tokens": [GOOD]}))

    assert TokenStore(path).load(**PLACE).token.access.reveal() == "hidden-1"


@pytest.mark.parametrize(
    "other",
    [{"origin": "https://other.example.com"}, {"scheme": "another"}, {"client_id": "another"}],
)
def test_a_token_for_something_else_is_not_used(path, other):
    TokenStore(path).save(entry(**other))

    assert TokenStore(path).load(**PLACE, client_id="app") is None


def test_one_file_holds_tokens_for_several(path):
    TokenStore(path).save(entry())
    TokenStore(path).save(entry(access="access-2", scheme="another"))
    TokenStore(path).save(entry(access="access-3"))

    assert TokenStore(path).load(**PLACE).token.access.reveal() == "access-3"
    assert len(TokenStore(path).entries()) == 2


def test_what_cannot_be_written_says_why_and_leaves_nothing(path):
    with pytest.raises(CredentialsError, match="cannot be written"):
        TokenStore(path / "deeper" / "tokens.json").save(entry())
    assert list(path.parent.iterdir()) == []


def test_no_repr_shows_a_token(path):
    assert "access-1" not in f"{entry()!r} {TokenStore(path)!r}"
    assert "refresh-1" not in repr(entry())


KILLED = """
import sys
from openapi_tools.auth.tokens import Stored, TokenStore
from openapi_tools.auth.tokens import Token
from openapi_tools.redaction import Secret
store = TokenStore(sys.argv[1])
print("ready", flush=True)
for number in range(10**9):
    store.save(Stored("https://api.example.com", "oauth", "app", "https://a.example.com/t",
                      Token(Secret(f"access-{number}" * 1000))))
"""


def test_a_kill_while_writing_leaves_a_whole_file(path):
    TokenStore(path).save(entry())
    for wait in (0.003, 0.037):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE
        )
        with child:
            child.stdout.readline()
            time.sleep(wait)
            child.send_signal(signal.SIGKILL)

        assert TokenStore(path).load(**PLACE) is not None
        assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in path.parent.iterdir())


async def stored_person(server, path):
    """Leave a person's token in a file, as a login does."""
    config = OAuth2(client_id="public", username="ada", password=PASSWORD, token_file=path)
    async with channel_to(server) as (channel, _):
        return await Tokens(config, server.scheme, "oauth").token(channel)


async def test_a_token_in_the_file_needs_no_request(server, path):
    token = await stored_person(server, path)
    server.forms.clear()

    async with channel_to(server, may_go=lambda _: False) as (channel, _):
        assert await Tokens(from_file(path), server.scheme, "oauth").token(channel) == token
    assert server.forms == []


async def test_a_rotated_refresh_token_lands_in_the_file(server, path):
    token = await stored_person(server, path)

    async with channel_to(server) as (channel, _):
        made = Tokens(from_file(path), server.scheme, "oauth")
        second = await made.token(channel, stale=token)
        elsewhere = Tokens(from_file(path), server.scheme, "oauth")
        third = await elsewhere.token(channel, stale=second)
        fourth = await made.token(channel, stale=second)

    assert len({token, second, third}) == 3
    assert fourth == third  # the other one has refreshed it, and this one looks
    assert server.grants("refresh_token") == 2


async def test_a_token_for_another_api_is_not_used(server, path):
    await stored_person(server, path)
    other = Tokens(from_file(path), server.scheme, "another")

    async with channel_to(server) as (channel, _):
        with pytest.raises(CallError, match="log in") as caught:
            await other.token(channel)

    assert caught.value.kind == "credentials"
    assert str(path) in caught.value.reason


async def test_a_file_that_others_can_read_fails_the_call(server, path):
    await stored_person(server, path)
    made = Tokens(from_file(path), server.scheme, "oauth")
    path.chmod(0o644)

    async with channel_to(server) as (channel, _):
        with pytest.raises(CallError, match="chmod 600") as caught:
            await made.token(channel)

    assert caught.value.kind == "credentials"


async def test_a_file_that_cannot_be_written_costs_no_call(server, path, monkeypatch, caplog):
    def full(_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)

    token = await stored_person(server, path)

    assert server.find(token)
    assert "is not kept: token file" in caplog.text
    assert "no space left" in caplog.text
    assert list(path.parent.iterdir()) == []


async def test_no_client_secret_is_ever_written(server, path):
    config = OAuth2(
        client_id="app", client_secret=SECRET, token_file=path, flow="clientCredentials"
    )
    async with channel_to(server) as (channel, _):
        token = await Tokens(config, server.scheme, "oauth").token(channel)

    assert token in path.read_text()
    assert SECRET not in path.read_text()


def test_a_file_without_tokens_says_how_to_log_in(path):
    with pytest.raises(CredentialsError, match="openapi-tools login SPEC --token-file"):
        from_file(path)
