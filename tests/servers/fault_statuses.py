"""Statuses, redirects, waits and refusals; and what the routes on credentials need."""

import json
import time
from email.utils import formatdate

from servers.fault_peer import Route, keeps, says
from servers.faults import answer

PROBLEM = "application/problem+json"


def redirects(location, status="302 Found"):
    """Return a behaviour that redirects; `{site}` and `{sink}` stand for addresses."""

    async def behave(caller):
        site = caller.server
        where = (location or "").format(
            site=site.url, sink=site.sink.url, port=site.port, sink_port=site.sink.port
        )
        lines = () if location is None else (f"Location: {where}",)
        await caller.write(answer(b"", *lines, status=status))
        return True

    return behave


async def give_a_page(caller):
    """Answer with a list that goes on here, and elsewhere."""
    body = json.dumps({"items": [1], "next": f"{caller.server.sink.url}/page"}).encode()
    await caller.write(answer(body, f"Link: <{caller.server.url}/ok?page=2>; rel=next"))
    return True


async def grow(caller):
    """Redirect to a longer path under the same name, and on and on."""
    where = f"Location: {caller.target.partition('?')[0]}/x"
    await caller.write(answer(b"", where, status="302 Found"))
    return True


def refuses(value, status="429 Too Many Requests"):
    """Return a behaviour that asks to wait; `{date}` stands for a date in a minute."""

    async def behave(caller):
        waits = value.format(
            date=formatdate(time.time() + 60, usegmt=True),
            past=formatdate(time.time() - 60, usegmt=True),
        )
        await caller.write(answer(b'"wait"', f"Retry-After: {waits}", status=status))
        return True

    return behave


async def unavailable_once(caller):
    """Refuse every other call."""
    fine = caller.server.asked(caller) % 2 == 0
    await caller.write(answer(b"{}", status="200 OK" if fine else "503 Service Unavailable"))
    return True


def request_of(caller):
    """Return all that a request told, as JSON."""
    told = {
        "method": caller.method,
        "target": caller.target,
        "headers": caller.headers,
        "body": caller.body.decode("latin-1"),
    }
    return json.dumps(told).encode()


async def reflect(caller):
    """Give back everything that was received."""
    kind = "Content-Type: application/json"
    await caller.write(answer(request_of(caller), kind, f"ETag: {caller.target}"))
    return True


async def reflect_refusing(caller):
    """Refuse, and give back everything that was received, the credentials among the headers too."""
    told = caller.headers.get("authorization", "none")
    lines = (
        "Content-Type: application/json",
        f'WWW-Authenticate: Bearer error="invalid_token", error_description="{told}"',
        f"X-Request-Id: {told}",
        f"Location: {caller.target}",
    )
    body = json.dumps({"message": f"bad token {told}", "request": json.loads(request_of(caller))})
    await caller.write(answer(body.encode(), *lines, status="401 Unauthorized"))
    return True


async def refuse_stale_tokens(caller):
    """Take no token but the one that `token` gives out."""
    if caller.headers.get("authorization") == "Bearer fresh":
        await caller.write(answer(b'{"fresh": true}', "Content-Type: application/json"))
    else:
        lines = ('WWW-Authenticate: Bearer error="invalid_token"',)
        await caller.write(answer(b"{}", *lines, status="401 Unauthorized"))
    return True


async def echo(caller):
    """Answer with the query, so that answers can be told apart."""
    body = json.dumps({"echo": caller.target.partition("?")[2]}).encode()
    await caller.write(answer(body, "Content-Type: application/json"))
    return True


REDIRECT = "redirect loop, growing redirect"
ELSEWHERE = "redirect to another port / host / scheme-relative"
RESENT = "307/308 re-sends the body to another origin"
ASTRAY = "redirect to file:, gopher:, bad URL, no Location, user-info"
AFTER_POST = "303/302 after POST"
WAIT = "Retry-After seconds / date / past / garbage / huge / 400 digits / negative / nan"
AUTH = "401 / 403"
PROBLEMS = "problem+json, hostile problem+json"
ERRORS = "FastAPI 422, 409, 500 HTML 200 kB, 500 empty"
WITHOUT = "204, 205, 202, 201 with Location"
SECRETS = "secret in success output"

BACKSLASHES = "\\\\127.0.0.1:{sink_port}\\x"

REDIRECTS = (
    Route("redirect-loop", REDIRECT, redirects("/redirect-loop"), "redirect"),
    Route("redirect-growing", REDIRECT, grow, "redirect"),
    Route("redirect-inside", REDIRECT, redirects("/ok"), "ok", post="redirect"),
    Route("redirect-other-port", ELSEWHERE, redirects("{sink}/caught"), "redirect"),
    Route("redirect-other-host", ELSEWHERE, redirects("http://localhost:{port}/x"), "redirect"),
    Route("redirect-relative-host", ELSEWHERE, redirects("//127.0.0.1:{sink_port}/x"), "redirect"),
    Route("redirect-other-scheme", ELSEWHERE, redirects("https://127.0.0.1:{port}/x"), "redirect"),
    Route("redirect-backslashes", ELSEWHERE, redirects(BACKSLASHES), "redirect|http"),
    Route("redirect-307", RESENT, redirects("{sink}/caught", "307 Temporary"), "redirect"),
    Route("redirect-308", RESENT, redirects("{sink}/caught", "308 Permanent"), "redirect"),
    Route("redirect-file", ASTRAY, redirects("file:///etc/passwd"), "redirect"),
    Route("redirect-gopher", ASTRAY, redirects("gopher://127.0.0.1/"), "redirect"),
    Route("redirect-javascript", ASTRAY, redirects("javascript:alert(1)"), "redirect"),
    Route("redirect-bad-url", ASTRAY, redirects("http://[::bad/"), "redirect"),
    Route("redirect-bad-port", ASTRAY, redirects("http://x:99999999/"), "redirect"),
    Route("redirect-without-location", ASTRAY, redirects(None), "redirect|http"),
    Route("redirect-user-info", ASTRAY, redirects("http://u:pw@127.0.0.1:{port}/ok"), "redirect"),
    Route("302-after-post", AFTER_POST, redirects("/ok"), "redirect", ("POST",)),
    Route("303-after-post", AFTER_POST, redirects("/ok", "303 Other"), "redirect|ok", ("POST",)),
)

WAITS = (
    Route("429-seconds", WAIT, refuses("7"), "rate_limited"),
    Route("429-date", WAIT, refuses("{date}"), "rate_limited"),
    Route("429-past", WAIT, refuses("{past}"), "rate_limited"),
    Route("429-garbage", WAIT, refuses("soon"), "rate_limited"),
    Route("429-huge", WAIT, refuses("99999999999"), "rate_limited"),
    Route("429-400-digits", WAIT, refuses("9" * 400), "rate_limited"),
    Route("429-negative", WAIT, refuses("-5"), "rate_limited"),
    Route("429-nan", WAIT, refuses("nan"), "rate_limited"),
    Route("503-then-200", "503 then 200", unavailable_once, "http|ok"),
    Route("503-for-ever", "503 for ever", refuses("0", "503 Service Unavailable"), "http"),
)

REFUSALS = (
    Route("401", AUTH, says(b'{"message": "no"}', status="401 Unauthorized"), "auth"),
    Route("403", AUTH, says(b'{"message": "no"}', status="403 Forbidden"), "auth"),
    Route("401-refresh", AUTH, refuse_stale_tokens, "auth|ok"),
    Route("401-echo-token", "secret in error output", reflect_refusing, "auth"),
    Route("reflect-secrets", SECRETS, reflect, "ok"),
    Route(
        "problem",
        PROBLEMS,
        says(
            b'{"type": "https://api.test/broke", "title": "Out of credit", "status": 403}',
            kind=PROBLEM,
            status="402 Payment Required",
        ),
        "http",
    ),
    Route(
        "problem-hostile",
        PROBLEMS,
        says(
            b'{"type": 5, "title": [], "detail": {"a": NaN}, "status": "x", "errors": 7}',
            kind=PROBLEM,
            status="400 Bad Request",
        ),
        "http",
    ),
    Route("problem-deep", PROBLEMS,
          says(b'{"errors":' + b"[" * 50_000, kind=PROBLEM, status="400 Bad Request"), "http",
          small=says(b'{"errors":' + b"[" * 500, kind=PROBLEM, status="400 Bad Request")),
    Route(
        "422-of-fastapi",
        ERRORS,
        says(
            b'{"detail": [{"loc": ["body", "name"], "msg": "Field required", "type": "missing"}]}',
            status="422 Unprocessable Entity",
        ),
        "http",
    ),
    Route("409", ERRORS, says(b'{"detail": "exists"}', status="409 Conflict"), "http"),
    Route(
        "500-html",
        ERRORS,
        says(
            b"<html><title>Oops</title>" + b"<p>Traceback</p>" * 12_500,
            kind="text/html",
            status="500 Internal Server Error",
        ),
        "http",
        small=says(
            b"<html><title>Oops</title>" + b"<p>Traceback</p>" * 60,
            kind="text/html",
            status="500 Internal Server Error",
        ),
    ),
    Route("500-empty", ERRORS, says(b"", status="500 Internal Server Error"), "http"),
    Route("500-of-10-mb", ERRORS,
          says(b"[" + b"[]," * 3_000_000 + b"1]", status="500 Internal Server Error"), "http",
          ("GET",), small=says(b"[" + b"[]," * 300 + b"1]", status="500 Internal Server Error")),
)  # fmt: skip

SUCCESSES = (
    Route("204", WITHOUT, keeps(b"HTTP/1.1 204 No Content\r\n\r\n"), "ok"),
    Route("205", WITHOUT, says(b"", status="205 Reset Content"), "ok"),
    Route("202", WITHOUT, says(b"", status="202 Accepted"), "ok"),
    Route("201-location", WITHOUT, redirects("{sink}/caught", "201 Created"), "ok"),
    Route("endless-pages", "endless pagination, next on another origin", give_a_page, "ok"),
    Route("sets-cookies", "server sets cookies",
          says(b"{}", "Set-Cookie: session=abc; Path=/", "Set-Cookie: \xff; Max-Age=x"), "ok"),
    Route("ok", "every call after a fault", says(), "ok"),
)  # fmt: skip

ROUTES = (*REDIRECTS, *WAITS, *REFUSALS, *SUCCESSES)

HELPERS = (
    Route("echo", "every call after a fault", echo, "ok"),
    Route("token", "refresh storm",
          says(b'{"access_token": "fresh", "token_type": "Bearer", "expires_in": 3600}'), "ok",
          methods=("POST",)),
)  # fmt: skip
"""What other routes lean on; no fault of their own."""
