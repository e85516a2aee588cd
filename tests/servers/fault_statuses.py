"""Statuses, redirects, waits and refusals."""

import json
import time
from email.utils import formatdate

from servers.fault_bodies import lists
from servers.fault_peer import Route, keeps, says
from servers.faults import make_response

PROBLEM = "application/problem+json"
REFUSED = b'{"message": "no"}'
INVALID = 'WWW-Authenticate: Bearer error="invalid_token"'


def redirects(location, status="302 Found"):
    """Return a behaviour that redirects; `{site}` and `{sink}` stand for addresses."""

    def respond(caller):
        site = caller.server
        ports = {"port": site.port, "sink_port": site.sink.port}
        where = location.format(site=site.url, sink=site.sink.url, target=caller.path, **ports)
        return make_response(b"", f"Location: {where}", status=status)

    return keeps(respond)


def a_page(caller):
    """Return a list that goes on here, and elsewhere."""
    body = json.dumps({"items": [1], "next": f"{caller.server.sink.url}/page"}).encode()
    return make_response(body, f"Link: <{caller.server.url}/ok?page=2>; rel=next")


def refuses(value, status="429 Too Many Requests"):
    """Return a behaviour that asks to wait; `{date}` stands for a date in a minute."""

    def respond(_):
        date, past = (formatdate(time.time() + seconds, usegmt=True) for seconds in (60, -60))
        wait = f"Retry-After: {value.format(date=date, past=past)}"
        return make_response(b'"wait"', wait, status=status)

    return keeps(respond)


def unavailable_once(caller):
    """Refuse every other call."""
    fine = caller.server.seen[f"{caller.method} {caller.path}"] % 2 == 0
    return make_response(b"{}", status="200 OK" if fine else "503 Service Unavailable")


def echo(caller):
    """Respond with the query, so that responses can be told apart."""
    body = json.dumps({"echo": caller.query}).encode()
    return make_response(body, "Content-Type: application/json")


def fails(status, body, kind="application/json"):
    """Return a behaviour that responds with an error."""
    return says(body, kind=kind, status=status)


def traceback(count):
    body = b"<html><title>Oops</title>" + b"<p>Traceback</p>" * count
    return fails("500 Internal Server Error", body, "text/html")


def deep_problem(levels):
    return fails("400 Bad Request", b'{"errors":' + b"[" * levels, PROBLEM)


def break_list(count):
    before, status = b'{"message": "Out of order", "more": ', "500 Internal Server Error"
    return lists(count, before, b"}", status=status)


REDIRECTS = (
    Route("redirect-loop", redirects("/redirect-loop"), "redirect"),
    Route("redirect-growing", redirects("{target}/x"), "redirect"),
    Route("redirect-inside", redirects("/ok"), "ok", post="redirect"),
    Route("redirect-other-port", redirects("{sink}/caught"), "redirect"),
    Route("redirect-other-host", redirects("http://localhost:{port}/x"), "redirect"),
    Route("redirect-relative-host", redirects("//127.0.0.1:{sink_port}/x"), "redirect"),
    Route("redirect-other-scheme", redirects("https://127.0.0.1:{port}/x"), "redirect"),
    Route("redirect-backslashes", redirects("\\\\127.0.0.1:{sink_port}\\x"), "redirect|http"),
    Route("redirect-307", redirects("{sink}/caught", "307 Temporary"), "redirect"),
    Route("redirect-308", redirects("{sink}/caught", "308 Permanent"), "redirect"),
    Route("redirect-file", redirects("file:///etc/passwd"), "redirect"),
    Route("redirect-gopher", redirects("gopher://127.0.0.1/"), "redirect"),
    Route("redirect-javascript", redirects("javascript:alert(1)"), "redirect"),
    Route("redirect-bad-url", redirects("http://[::bad/"), "redirect"),
    Route("redirect-bad-port", redirects("http://x:99999999/"), "redirect"),
    Route(
        "redirect-without-location", keeps(make_response(b"", status="302 Found")), "redirect|http"
    ),
    Route("redirect-user-info", redirects("http://u:pw@127.0.0.1:{port}/ok"), "redirect"),
    Route("302-after-post", redirects("/ok"), "redirect", "POST"),
    Route("303-after-post", redirects("/ok", "303 Other"), "ok", "POST"),
)

WAITS = (
    Route("429-seconds", refuses("7"), "rate_limited"),
    Route("429-date", refuses("{date}"), "rate_limited"),
    Route("429-past", refuses("{past}"), "rate_limited"),
    Route("429-garbage", refuses("soon"), "rate_limited"),
    Route("429-huge", refuses("99999999999"), "rate_limited"),
    Route("429-400-digits", refuses("9" * 400), "rate_limited"),
    Route("429-negative", refuses("-5"), "rate_limited"),
    Route("429-nan", refuses("nan"), "rate_limited"),
    Route("503-then-200", keeps(unavailable_once), "http|ok"),
    Route("503-for-ever", refuses("0", "503 Service Unavailable"), "http"),
)

BROKE = b'{"type": "https://api.test/broke", "title": "Out of credit", "status": 403}'
ODD = b'{"type": 5, "title": [], "detail": {"a": NaN}, "status": "x", "errors": 7}'
FIELD = b'{"detail": [{"loc": ["body", "name"], "msg": "Field required", "type": "missing"}]}'
REFUSALS = (
    Route("401", fails("401 Unauthorized", REFUSED), "auth"),
    Route("403", fails("403 Forbidden", REFUSED), "auth"),
    Route("401-refresh", says(REFUSED, INVALID, status="401 Unauthorized"), "auth"),
    Route("problem", fails("402 Payment Required", BROKE, PROBLEM), "http"),
    Route("problem-hostile", fails("400 Bad Request", ODD, PROBLEM), "http"),
    Route("problem-deep", deep_problem(50_000), "http", small=deep_problem(500)),
    Route("422-of-fastapi", fails("422 Unprocessable Entity", FIELD), "http"),
    Route("409", fails("409 Conflict", b'{"detail": "exists"}'), "http"),
    Route("500-html", traceback(12_500), "http", small=traceback(60)),
    Route("500-empty", fails("500 Internal Server Error", b""), "http"),
    Route("500-of-10-mb", break_list(3_000_000), "http", "GET", break_list(300)),
)

COOKIES = ("Set-Cookie: session=abc; Path=/", "Set-Cookie: \xff; Max-Age=x")
SUCCESSES = (
    Route("204", keeps(b"HTTP/1.1 204 No Content\r\n\r\n"), "ok"),
    Route("205", says(b"", status="205 Reset Content"), "ok"),
    Route("202", says(b"", status="202 Accepted"), "ok"),
    Route("201-location", redirects("{sink}/caught", "201 Created"), "ok"),
    Route("endless-pages", keeps(a_page), "ok"),
    Route("sets-cookies", says(b"{}", *COOKIES), "ok"),
    Route("ok", says(), "ok"),
)

ROUTES = (*REDIRECTS, *WAITS, *REFUSALS, *SUCCESSES)
ECHO = Route("echo", keeps(echo), "ok")
"""No fault: tells calls apart."""
