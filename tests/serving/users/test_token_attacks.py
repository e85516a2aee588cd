"""Attacks on tokens and sessions: each is refused, and nothing of it reaches the API."""

import asyncio
import base64
import contextlib
import hmac
import json
import threading
import time

import httpx
import pytest
from joserfc.jwk import RSAKey
from servers.issuer import AUDIENCE, CURVE, KEY, OTHER, issuing, sign_token
from servers.recorder import Recorder
from servers.team import CALL, INITIALIZE, post, shop_served, table

PEM = KEY.as_pem(private=False)
THUMB = json.dumps(KEY.as_dict(private=False)).encode()
FOREIGN = RSAKey.generate_key(2048, {"kid": "evil"})


@pytest.fixture(scope="module")
def stage():
    """A server with an API behind it and an attacker's server beside it, in another thread."""
    servers, end = {}, None
    ready = threading.Event()

    async def run():
        nonlocal end
        end = asyncio.Event()
        servers["loop"] = asyncio.get_running_loop()
        async with Recorder() as api, Recorder() as evil:
            auth = table(issuer, algorithms=["RS256", "ES256"])
            async with shop_served(api, auth, credentials={"shop": "key"}) as site:
                servers.update(api=api, evil=evil, site=site)
                ready.set()
                await end.wait()

    with issuing() as issuer:
        issuer.keys = [KEY, CURVE]
        thread = threading.Thread(target=lambda: asyncio.run(run()))
        thread.start()
        assert ready.wait(20)
        try:
            yield Stage(issuer, **servers)
        finally:
            servers["loop"].call_soon_threadsafe(end.set)
            thread.join(20)


class Stage:
    def __init__(self, issuer, *, api, evil, site, loop):
        self.issuer, self.api, self.evil, self.site, self.loop = issuer, api, evil, site, loop

    def token(self, user="ada", **claims):
        return self.issuer.token(user, **claims)


def b64(data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def unsigned_token(stage, algorithm):
    return f"{b64({'alg': algorithm, 'typ': 'at+jwt'})}.{b64(stage.issuer.claims())}."


def shared_secret_token(stage, secret):
    """Return a token whose secret is the issuer's public key."""
    text = f"{b64({'alg': 'HS256', 'typ': 'at+jwt', 'kid': 'k1'})}.{b64(stage.issuer.claims())}"
    return f"{text}.{b64(hmac.digest(secret, text.encode(), 'sha256'))}"


def by_attacker(stage, **header):
    return stage.token(header=header, key=FOREIGN)


def parts(stage, *, head=None, body=None, mark=None):
    """Return a good token with other parts."""
    originals = stage.token().split(".")
    new = (head, body, mark)
    return ".".join(o if n is None else n for n, o in zip(new, originals, strict=True))


NOW = time.time
TOKENS = {
    "alg none": lambda s: unsigned_token(s, "none"),
    "alg None": lambda s: unsigned_token(s, "None"),
    "alg nOnE": lambda s: unsigned_token(s, "nOnE"),
    "no alg": lambda s: f"{b64({'typ': 'at+jwt'})}.{b64(s.issuer.claims())}.AAAA",
    "HS256 with the public key as PEM": lambda s: shared_secret_token(s, PEM),
    "HS256 with the public key as JWK": lambda s: shared_secret_token(s, THUMB),
    "an algorithm that is not allowed": lambda s: s.token(header={"alg": "RS512"}),
    "a signature of zeros": lambda s: parts(
        s, head=b64({"alg": "ES256", "kid": "e1", "typ": "at+jwt"}), mark=b64(bytes(64))
    ),
    "no signature": lambda s: parts(s, mark=""),
    "a changed signature": lambda s: parts(s, mark="AAAA" + s.token().split(".")[2][4:]),
    "claims of another user": lambda s: parts(s, body=b64(s.issuer.claims("root"))),
    "a key of the attacker under a known name": lambda s: s.token(key=OTHER),
    "an unknown kid": lambda s: by_attacker(s, kid="evil"),
    "a kid that is a path": lambda s: by_attacker(s, kid="../../../../dev/null"),
    "a kid that is SQL": lambda s: by_attacker(s, kid="x' UNION SELECT 'key"),
    "a kid that is a URL": lambda s: by_attacker(s, kid=f"{s.evil.url}/kid"),
    "jku": lambda s: by_attacker(s, kid="evil", jku=f"{s.evil.url}/jwks"),
    "jku with a known kid": lambda s: by_attacker(s, jku=f"{s.evil.url}/jwks"),
    "x5u": lambda s: by_attacker(s, x5u=f"{s.evil.url}/chain.pem"),
    "an embedded jwk": lambda s: by_attacker(s, jwk=FOREIGN.as_dict(private=False)),
    "an embedded chain": lambda s: by_attacker(s, x5c=["MIIB"]),
    "crit": lambda s: f"{b64({'alg': 'RS256', 'kid': 'k1', 'crit': ['x'], 'x': 1})}.e30.AAAA",
    "b64": lambda s: f"{b64({'alg': 'RS256', 'kid': 'k1', 'b64': False})}.e30.AAAA",
    "a nested token": lambda s: sign_token(s.token(), {"cty": "JWT"}),
    "an encrypted token": lambda s: "eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..AAAA.AAAA.AAAA",
    "an id token": lambda s: s.token(aud="agent", header={"typ": "JWT"}),
    "a proof of DPoP": lambda s: s.token(header={"typ": "dpop+jwt"}),
    "a logout token": lambda s: s.token(header={"typ": "logout+jwt"}),
    "a typ that is a number": lambda s: parts(s, head=b64({"alg": "RS256", "kid": "k1", "typ": 7})),
    "a kid that is a list": lambda s: parts(s, head=b64({"alg": "RS256", "kid": ["k1"]})),
    "an alg that is a list": lambda s: parts(s, head=b64({"alg": ["RS256"], "kid": "k1"})),
    "a header that is a list": lambda s: parts(s, head=b64(["RS256"])),
    "a header that is deep": lambda s: parts(s, head=b64(b'{"a":' + b"[" * 2000)),
    "a large header": lambda s: parts(s, head=b64({"alg": "RS256", "x": "y" * 6000})),
    "another audience": lambda s: s.token(aud="https://other.example.com/mcp"),
    "no audience": lambda s: s.token(aud=None),
    "a longer audience": lambda s: s.token(aud=f"{AUDIENCE}.evil.example"),
    "a shorter audience": lambda s: s.token(aud=AUDIENCE.rpartition("/")[0]),
    "an audience that is an object": lambda s: s.token(aud={AUDIENCE: True}),
    "another issuer": lambda s: s.token(iss="https://login.evil.example"),
    "no issuer": lambda s: s.token(iss=None),
    "an issuer with a slash": lambda s: s.token(iss=f"{s.issuer.url}/"),
    "a list of issuers": lambda s: s.token(iss=[s.issuer.url]),
    "expired": lambda s: s.token(exp=int(NOW()) - 31),
    "no end": lambda s: s.token(exp=None),
    "an end that is text": lambda s: s.token(exp="9999999999"),
    "an end that is true": lambda s: s.token(exp=True),
    "an end that is infinite": lambda s: s.token(exp=float("inf")),
    "an end that is no number": lambda s: s.token(exp=float("nan")),
    "not valid yet": lambda s: s.token(nbf=int(NOW()) + 60),
    "issued in the future": lambda s: s.token(iat=int(NOW()) + 60),
    "bound to a key": lambda s: s.token(cnf={"jkt": "abc"}),
    "no subject": lambda s: s.token(sub=None),
    "an empty subject": lambda s: s.token(""),
    "a blank subject": lambda s: s.token(" "),
    "a subject of two lines": lambda s: s.token("ada\nroot"),
    "a subject with NUL": lambda s: s.token("ada\x00"),
    "a long subject": lambda s: s.token("a" * 257),
    "a subject that is a number": lambda s: s.token(7),
    "a flood of scopes": lambda s: s.token(scope="tools " + "a " * 501),
    "a scope with a quote": lambda s: s.token(scope='tools "x'),
    "scopes in an object": lambda s: s.token(scope={"tools": True}),
    "scopes that are numbers": lambda s: s.token(scope=[1, 2]),
    "claims that are a list": lambda s: sign_token([s.issuer.claims()]),
    "claims that are not JSON": lambda s: sign_token("tools"),
    "deep claims": lambda s: sign_token(b"[" * 5000),
    "a token of 17 kB": lambda s: s.token(x="y" * 17_000),
    "a refresh token": lambda s: "refresh-0123456789abcdef",
    "two tokens": lambda s: f"{s.token()},{s.token()}",
    "a word after it": lambda s: f"{s.token()} x",
    "a percent sign": lambda s: f"{s.token()}%00",
    "only dots": lambda s: "..",
    "only a word": lambda s: "bearer",
}


async def attack(stage, token, **options):
    """Return the response to an attack that tries to call a tool; nothing may have come of it."""
    before, kind = len(stage.api.requests), options.pop("message", CALL)
    response = await post(stage.site, token, kind, **options)
    assert len(stage.api.requests) == before
    assert stage.evil.requests == []
    return response


@pytest.mark.parametrize("make", TOKENS.values(), ids=TOKENS)
async def test_a_wrong_token_is_refused(make, stage):
    token = make(stage)

    response = await attack(stage, token)

    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer ")
    assert "resource_metadata=" in response.headers["www-authenticate"]
    for part in token.split("."):
        assert len(part) < 8 or part not in response.text + str(response.headers)


def good(stage):
    return ("Authorization", f"Bearer {stage.token()}")


REQUESTS = {
    "no token": (401, lambda s: {}),
    "a good token, then another": (400, lambda s: {"headers": [good(s), _header("Bearer x")]}),
    "a wrong token, then a good one": (400, lambda s: {"headers": [_header("x"), good(s)]}),
    "the same token twice": (400, lambda s: {"headers": [good(s), good(s)]}),
    "a token in the query": (400, lambda s: {"query": f"?access_token={s.token()}"}),
    "and in the header": (400, lambda s: {"query": "?access_token=", "headers": [good(s)]}),
    "a token in a cookie": (401, lambda s: {"headers": [("Cookie", f"token={s.token()}")]}),
    "a token as a password": (401, lambda s: {"headers": [_header(f"Basic {b64(b'a:b')}")]}),
    "another word": (401, lambda s: {"headers": [_header(f"Token {s.token()}")]}),
    "a word only": (401, lambda s: {"headers": [_header("Bearer")]}),
    "no word": (401, lambda s: {"headers": [_header(s.token())]}),
    "X-Forwarded-User": (401, lambda s: {"headers": [("X-Forwarded-User", "ada")]}),
    "another path": (401, lambda s: {"path": "//mcp"}),
    "a slash at the end": (401, lambda s: {"path": "/mcp/"}),
    "capitals": (401, lambda s: {"path": "/MCP"}),
    "a path of the metadata": (
        404,
        lambda s: {"path": "/.well-known/oauth-protected-resource/..%2f..%2fmcp"},
    ),
    "a path of the login": (401, lambda s: {"path": "/login/..%2fmcp"}),
    "DNS rebinding": (421, lambda s: {"headers": [good(s), ("Host", "evil.example")]}),
    "DNS rebinding with a port": (
        421,
        lambda s: {"headers": [good(s), ("Host", "127.0.0.1.evil.example:80")]},
    ),
    "a foreign origin": (403, lambda s: {"headers": [good(s), ("Origin", "http://evil.example")]}),
    "the origin null": (403, lambda s: {"headers": [good(s), ("Origin", "null")]}),
    "an origin with another port": (
        403,
        lambda s: {"headers": [good(s), ("Origin", "http://127.0.0.1:1")]},
    ),
    "a form": (
        400,
        lambda s: {"headers": [good(s), ("Content-Type", "application/x-www-form-urlencoded")]},
    ),
    "a deep body": (400, lambda s: {"headers": [good(s)], "message": b"[" * 100_000}),
    "a scope that lacks": (403, lambda s: {"headers": [_header(f"Bearer {s.token(scope='x')}")]}),
    "a session that the client chose": (
        404,
        lambda s: {"headers": [good(s), ("Mcp-Session-Id", "chosen")]},
    ),
    "a session without a token": (401, lambda s: {"headers": [("Mcp-Session-Id", "chosen")]}),
    "an unknown login": (404, lambda s: {"path": "/login", "query": "?flow=x"}),
}


def _header(value):
    return ("Authorization", value)


@pytest.mark.parametrize(("status", "options"), REQUESTS.values(), ids=REQUESTS)
async def test_a_wrong_request_is_refused(status, options, stage):
    response = await attack(stage, None, **options(stage))

    assert response.status_code == status


LARGE = {
    "a header of 100 kB": (
        (400, 401, 431),
        lambda s: {"headers": [_header("Bearer " + "x" * 100_000)]},
    ),
    "a body of 5 MB": (
        (413,),
        lambda s: {"headers": [good(s)], "message": b"[" + b" " * 5_000_000},
    ),
}


@pytest.mark.parametrize(("statuses", "options"), LARGE.values(), ids=LARGE)
async def test_a_large_request_is_refused_before_it_has_come(statuses, options, stage):
    before = len(stage.api.requests)
    with contextlib.suppress(httpx.TransportError):  # the client may still be writing
        response = await attack(stage, None, **options(stage))
        assert response.status_code in statuses

    assert len(stage.api.requests) == before


async def test_the_good_request_is_let_in(stage):
    response = await post(stage.site, stage.token(), INITIALIZE)

    assert response.status_code == 200
    assert "mcp-session-id" in response.headers


async def _session(stage, token):
    """Return the headers of a session that a user has begun."""
    response = await post(stage.site, token, INITIALIZE)
    version = ("Mcp-Protocol-Version", "2025-11-25")
    return [("Mcp-Session-Id", response.headers["mcp-session-id"]), version]


SESSIONS = {
    "another user": (404, lambda s: s.token(user="bob")),
    "another client of the user": (404, lambda s: s.token(client_id="other")),
    "no token": (401, lambda s: None),
    "an expired token of the user": (401, lambda s: s.token(exp=int(NOW()) - 60)),
    "a token of the user for another audience": (401, lambda s: s.token(aud="https://x.example")),
    "a token of the user with fewer scopes": (403, lambda s: s.token(scope="x")),
}


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "method", ["POST", pytest.param("GET", marks=LONG), pytest.param("DELETE", marks=LONG)]
)
@pytest.mark.parametrize(("status", "make"), SESSIONS.values(), ids=SESSIONS)
async def test_a_session_is_of_its_user_only(method, status, make, stage):
    headers, token = await _session(stage, stage.token()), make(stage)
    authorization = [("Authorization", f"Bearer {token}")] if token is not None else []
    kinds = [("Accept", "application/json, text/event-stream")]
    kinds.append(("Content-Type", "application/json"))
    async with httpx.AsyncClient() as web:
        all_headers = [*headers, *authorization, *kinds]
        body = json.dumps(CALL) if method == "POST" else None
        response = await web.request(method, stage.site.url, headers=all_headers, content=body)

    assert response.status_code == status
    assert stage.api.requests == []
