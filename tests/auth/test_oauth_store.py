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

from openapi_tools.auth.oauth2 import OAuth2
from openapi_tools.auth.token_source import TokenSource
from openapi_tools.auth.token_store import TokenStore, read_login
from openapi_tools.auth.tokens import StoredToken, Token
from openapi_tools.errors import CallError, CredentialsError
from openapi_tools.redaction import Secret

ROOT = Path(__file__).parents[2]
APP = {"client_id": "app", "client_secret": SECRET, "flow": "clientCredentials"}
PLACE = {"origin": "https://api.example.com", "scheme": "oauth"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens.json"


def entry(access="access-1", **fields):
    token = Token(Secret(access), Secret("refresh-1"), issued_at=1.0, expires_at=2.0)
    about = {**PLACE, "client_id": "app", "token_endpoint": "https://auth.example.com/token"}
    return StoredToken(**{**about, **fields}, token=token)


def test_one_file_holds_tokens_for_several_and_shows_none(path):
    store = TokenStore(path)
    for one in (entry(), entry(access="access-2", scheme="another"), entry(access="access-3")):
        store.save(one)

    assert store.load(**PLACE, client_id="app") == store.load(**PLACE) == entry("access-3")
    assert len(store.entries()) == 2
    for other in ({"origin": "https://other.example.com"}, {"scheme": "third"}):
        assert store.load(**PLACE | other) is None
    assert store.load(**PLACE, client_id="another") is None
    assert "access-" not in f"{entry()!r} {store!r}"
    assert "refresh-1" not in repr(entry())


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
    assert [file.name for file in path.parent.iterdir()] == ["tokens.json"]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_a_file_that_others_can_read_is_refused(path, mode):
    TokenStore(path).save(entry())
    path.chmod(mode)

    for use in (lambda store: store.load(**PLACE), lambda store: store.save(entry())):
        with pytest.raises(CredentialsError, match=r"can be read by others; run: chmod 600 /"):
            use(TokenStore(path))


@pytest.mark.parametrize(
    ("kind", "message"),
    [("link", "symbolic link"), ("pipe", "is not a regular file"),
     ("folder", "is not a regular file")],
)  # fmt: skip
def test_what_is_no_file_is_refused(path, tmp_path, kind, message):
    TokenStore(tmp_path / "real.json").save(entry())
    makers = {"link": lambda: path.symlink_to("real.json"), "pipe": lambda: os.mkfifo(path, 0o600)}
    makers.get(kind, path.mkdir)()

    for use in (lambda store: store.load(**PLACE), lambda store: store.save(entry())):
        with pytest.raises(CredentialsError, match=message):
            use(TokenStore(path))


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


WRONG = [
    *({"access_token": 7}, {"access_token": "hidden-1\n"}, {"refresh_token": 7}, {"scopes": 7}),
    *({"client_id": None}, {"token_endpoint": "http://auth.example.com/token"}),
    *({"issued_at": "x"}, {"expires_at": []}),
]
BROKEN = [
    *("", "hidden-1", "[]", "7", "{}", "[" * 100_000, "\x00\x01"),
    *('{"version": 1}', '{"version": 1, "tokens": 7}', '{"version": 1, "tokens": [7]}'),
    *('{"version": 2, "tokens": []}', '{"version": 1, "tokens": "' + "x" * 2_000_000 + '"}'),
    *(json.dumps({"version": 1, "tokens": [{**GOOD, **wrong}]}) for wrong in WRONG),
]


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: content[-60:])
def test_a_broken_file_is_an_error_that_shows_nothing_of_it(path, content):
    path.touch(0o600)
    path.write_text(content)

    with pytest.raises(CredentialsError, match=r"tokens\.json") as caught:
        TokenStore(path).load(**PLACE)

    assert "hidden-1" not in str(caught.value)
    assert caught.value.__cause__ is None
    path.write_text(json.dumps({"version": 1, "tokens": [GOOD]}))
    assert TokenStore(path).load(**PLACE).token.access.reveal() == "hidden-1"


def test_what_cannot_be_written_says_why_and_leaves_nothing(path):
    with pytest.raises(CredentialsError, match="cannot be written"):
        TokenStore(path / "deeper" / "tokens.json").save(entry())
    assert list(path.parent.iterdir()) == []


KILLED = """
import sys
from openapi_tools.auth.token_store import TokenStore
from openapi_tools.auth.tokens import StoredToken, Token
from openapi_tools.redaction import Secret
store = TokenStore(sys.argv[1])
print("ready", flush=True)
for number in range(10**9):
    store.save(StoredToken("https://api.example.com", "oauth", "app", "https://a.example.com/t",
                           Token(Secret(f"access-{number}" * 1000))))
"""


def test_a_kill_while_writing_leaves_a_whole_file(path):
    TokenStore(path).save(entry())
    for wait in (0.003, 0.037):
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(path)], cwd=ROOT, stdout=subprocess.PIPE
        )
        with child:
            assert child.stdout.readline() == b"ready\n"
            time.sleep(wait)
            child.send_signal(signal.SIGKILL)

        assert TokenStore(path).load(**PLACE) is not None
        assert all(stat.S_IMODE(p.stat().st_mode) == 0o600 for p in path.parent.iterdir())


@pytest.fixture
async def token(server, path):
    """A person's token in the file, as a login leaves it there."""
    config = OAuth2(client_id="public", username="ada", password=PASSWORD, token_file=path)
    return await get_token(server, config)


async def get_token(server, config, name="oauth", **options):
    """Return the token that a configuration gives."""
    async with channel_to(server) as (channel, _):
        return await TokenSource(config, server.scheme, name).token(channel, **options)


async def test_a_rotated_refresh_token_lands_in_the_file(server, path, token):
    async with channel_to(server) as (channel, _):
        source = TokenSource(read_login(path), server.scheme, "oauth")
        second = await source.token(channel, stale=token)
        third = await get_token(server, read_login(path), stale=second)
        fourth = await source.token(channel, stale=second)

    assert len({token, second, third}) == 3
    assert fourth == third  # the other one has refreshed it, and this one looks
    assert server.grants("refresh_token") == 2


@pytest.mark.parametrize(("mode", "name", "message"), [(0o600, "another", "log in"),
                                                    (0o644, "oauth", "chmod 600")])  # fmt: skip
async def test_a_file_without_a_token_that_may_be_used_fails_the_call(
    server, path, token, mode, name, message
):
    config = read_login(path)
    path.chmod(mode)

    with pytest.raises(CallError, match=message) as caught:
        await get_token(server, config, name)

    assert caught.value.kind == "credentials"
    assert str(path) in caught.value.reason


async def test_a_file_that_cannot_be_written_costs_no_call(server, path, monkeypatch, caplog):
    def full(_):
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", full)
    token = await get_token(server, OAuth2(**APP, token_file=path))

    assert server.find(token)
    assert "was not stored: token file" in caplog.text
    assert "no space left" in caplog.text
    assert list(path.parent.iterdir()) == []


async def test_no_client_secret_is_ever_written(server, path):
    token = await get_token(server, OAuth2(**APP, token_file=path))

    assert token in path.read_text()
    assert SECRET not in path.read_text()


def test_a_file_without_tokens_says_how_to_log_in(path):
    with pytest.raises(CredentialsError, match="openapi-tools login SPEC --token-file"):
        read_login(path)
