"""`openapi-tools login` against a real authorization server, with a browser that is a thread."""

import json
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import webbrowser
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from servers.authorization import SECRET, running, server
from servers.site import Site, SiteResponse

from openapi_tools.auth import login
from openapi_tools.auth.token_store import TokenStore
from openapi_tools.cli import login_command as cli_login

ROOT = Path(__file__).parents[2]
__all__ = ["running", "server"]


@pytest.fixture
def spec(server, tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(server.document))
    return path


@pytest.fixture
def declare(server, spec):

    def write(schemes):
        document = {**server.document, "components": {"securitySchemes": schemes}}
        spec.write_text(json.dumps(document))

    return write


@pytest.fixture
def openid(server, declare):
    """The same API with a scheme that has to be discovered."""
    url = f"{server.url}/.well-known/openid-configuration"
    declare({"oauth": {"type": "openIdConnect", "openIdConnectUrl": url}})


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens.json"


def visit(url, method="GET", **headers):
    """Open a page as a browser does, and return its status and text; 0 where nothing responds."""
    try:
        with httpx.Client(trust_env=False, follow_redirects=True) as client:
            page = client.request(method, url, headers=headers)
    except httpx.HTTPError:
        return 0, ""
    return page.status_code, page.text


class Browser:
    """Opens a page in a thread, as `webbrowser.open` does: a person who does what a test says."""

    def __init__(self):
        self.act, self.urls, self.pages, self.threads = visit, [], [], []

    def open(self, url):
        self.urls.append(url)
        thread = threading.Thread(target=lambda: self.pages.append(self.act(url)))
        self.threads.append(thread)
        thread.start()
        return True

    def wait_for_page(self):
        """Wait for the only page, and return it."""
        self.threads[0].join(timeout=5)
        return self.pages[0]


@pytest.fixture
def browser(monkeypatch):
    fake = Browser()
    monkeypatch.setattr(webbrowser, "open", fake.open)
    yield fake
    for thread in fake.threads:
        thread.join(timeout=5)


@pytest.fixture
def log_in(run, spec, path):

    def command(*options, client="public", **run_options):
        defaults = ("--client-id", client, "--token-file", path, "--timeout", 5)
        return run("login", spec, *defaults, *options, **run_options)

    return command


@pytest.mark.parametrize(
    ("options", "scope"),
    [((), "read"), (("--scope", "read", "--scope", "write"), "read write")],
    ids=["what the operations require", "given"],
)
def test_a_person_agrees_in_a_browser_and_the_token_lands_in_the_file(
    server, browser, log_in, run, spec, path, options, scope
):
    done = log_in(*options)
    call = run("call", spec, "get_me", "--credential", f"oauth=@{path}")

    assert (done.exit_code, done.stdout) == (0, f"--credential 'oauth=@{path}'\n")
    stored = TokenStore(path).load(origin=server.url, scheme="oauth")
    token = stored.token.access.reveal()
    assert server.find(token).client_id == "public"
    assert stored.token_endpoint == f"{server.url}/token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"authorization: {server.url}/authorize\ntoken: {server.url}/token\n" in done.stderr
    (sent,) = server.forms
    for issued in (token, stored.token.refresh.reveal(), sent["code"]):
        assert issued not in done.output
    status, page = browser.wait_for_page()
    assert (status, "Close this window" in page) == (200, True)
    assert json.loads(call.stdout) == {"scope": scope, "client": "public"}

    query = parse_qs(urlsplit(browser.urls[0]).query)
    asked = {name: values[0] for name, values in query.items()}
    assert (asked["code_challenge_method"], asked["scope"]) == ("S256", scope)
    assert len(asked["state"]) >= 32
    assert sent["grant_type"] == "authorization_code"
    assert len(sent["code_verifier"]) >= 43
    assert sent["code_verifier"] not in browser.urls[0]
    assert sent["redirect_uri"] == asked["redirect_uri"]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", asked["redirect_uri"])


@pytest.mark.parametrize(
    ("method", "target", "host", "is_reported"),
    [
        ("GET", "/", "", False),
        ("GET", "/callback/..", "", False),
        ("GET", "/callback?code=evil", "", True),
        ("GET", "/callback?code=evil&state=" + "x" * 43, "", True),
        ("GET", "/callback?code=evil&state=<script>alert(1)</script>", "", True),
        ("GET", "/callback?code=evil&state={state}&state={state}", "", True),
        ("GET", "/callback?code=evil&state={state}", "evil.example.com", False),
        ("POST", "/callback?code=evil&state={state}", "", False),
        ("GET", "/callback?code=evil&state={state}&" + "a=b&" * 100, "", False),
    ],
)
def test_what_is_no_response_is_passed_over_and_not_repeated(
    server, browser, log_in, method, target, host, is_reported
):
    def attack_login(url):
        asked = parse_qs(urlsplit(url).query)
        place = asked["redirect_uri"][0].removesuffix("/callback")
        attack = place + target.format(state=asked["state"][0])
        status = visit(attack, method, **({"Host": host} if host else {}))
        visit(url)
        return status

    browser.act = attack_login

    done = log_in()

    assert done.exit_code == 0
    assert ("a response with a wrong state was ignored." in done.stderr) is is_reported
    assert server.forms[0]["code"] != "evil"
    status, text = browser.wait_for_page()
    assert status in (404, 0)
    assert "script" not in text
    assert "evil" not in text


OTHER = "comes from another authorization server"


@pytest.mark.parametrize(
    ("promised", "iss", "message"),
    [
        (False, "{url}", ""),
        (False, "https://other.example.com", OTHER),
        (False, "", OTHER),
        (False, "//[", OTHER),
        (True, None, "the response has no issuer"),
        (True, "{url}", ""),
        (True, "{url}/", OTHER),
    ],
)
def test_another_server_that_responds_is_refused(
    server, browser, log_in, request, promised, iss, message
):
    if promised:
        request.getfixturevalue("openid")
        server.metadata["authorization_response_iss_parameter_supported"] = True
    server.sends_iss = iss and quote(iss.format(url=server.url), safe="")

    done = log_in()

    assert done.exit_code == bool(message)
    assert message in done.stderr
    assert len(server.forms) == (not message)


@pytest.mark.usefixtures("openid")
def test_endpoints_are_discovered(server, browser, log_in, path):
    server.interval = 0.05

    assert [log_in().exit_code, log_in("--device").exit_code] == [0, 0]
    assert server.asked["/device"] == 1
    assert path.exists()


ELSEWHERE = ("--base-url", "http://localhost:1/api")


def test_endpoints_elsewhere_need_a_yes_unless_the_person_names_them(server, browser, log_in, path):
    named = ("--token-url", f"{server.url}/token", "--authorization-url", f"{server.url}/authorize")

    asked = log_in(*ELSEWHERE)

    assert asked.exit_code == 2
    assert "not at the API's own origin" in asked.stderr
    assert "add --yes" in asked.stderr
    assert (browser.urls, server.asked) == ([], {})
    assert log_in(*ELSEWHERE, "--yes").exit_code == 0
    assert TokenStore(path).load(origin="http://localhost:1", scheme="oauth")
    assert log_in(*ELSEWHERE, *named).exit_code == 0


def test_endpoints_of_a_document_from_another_origin_need_a_yes(server, browser, refused, path):
    options = ("--client-id", "public", "--token-file", path)
    with Site(lambda _: SiteResponse(server.document)) as site:
        assert refused("login", f"{site.url}/openapi.json", *options, messages=["add --yes"])

    assert (browser.urls, server.asked) == ([], {})


def test_a_person_at_a_terminal_is_asked(server, browser, log_in, monkeypatch):
    monkeypatch.setattr(cli_login, "_has_terminal", lambda: True)

    declined = log_in(*ELSEWHERE, stdin="n\n")

    assert (declined.exit_code, browser.urls) == (1, [])
    assert "nothing was sent." in declined.stderr
    assert log_in(*ELSEWHERE, stdin="y\n").exit_code == 0


@pytest.mark.parametrize("secret", ["$THE_SECRET", SECRET, "THE_SECRET", "$NOT_SET_ANYWHERE"])
def test_a_secret_comes_from_the_environment_and_is_not_kept(server, browser, log_in, path, secret):
    done = log_in("--client-secret", secret, client="app", env={"THE_SECRET": SECRET})

    is_right = secret == "$THE_SECRET"
    assert done.exit_code == (0 if is_right else 2)
    assert [proof[:6] for proof in server.proofs] == ["Basic "] * is_right
    assert len(browser.urls) == is_right
    assert SECRET not in done.output + (path.read_text() if is_right else "")


def test_a_port_that_is_taken_is_an_error(server, browser, log_in):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = log_in("--port", listener.getsockname()[1])

    assert done.exit_code == 1
    assert "cannot listen on port" in done.stderr


def test_a_file_that_others_can_read_is_reported_before_the_browser_opens(browser, log_in, path):
    path.write_text("{}")
    path.chmod(0o644)

    done = log_in()

    assert done.exit_code == 2
    assert "chmod 600" in done.stderr
    assert browser.urls == []


def test_a_person_agrees_on_another_device(server, log_in, path):
    server.interval = 0.05

    done = log_in("--device")

    assert done.exit_code == 0
    message = rf"open {server.url}/activate and enter the code [A-Z]{{4}}-[A-Z]{{4}}"
    assert re.search(message, done.stderr)
    stored = TokenStore(path).load(origin=server.url, scheme="oauth")
    assert server.find(stored.token.access.reveal())
    assert server.forms[0]["device_code"] not in done.output


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (("--no-browser", "--timeout", "0.3"), "not approved within 0.3 s."),
        (("--device", "--timeout", "0.4"), "not approved within 0.4 s."),
        (("--device",), "access_denied"),
        ((), "error: security scheme 'oauth': the authorization server refused: access_denied."),
    ],
)
def test_a_login_without_approval_ends_with_an_error(server, browser, log_in, path, how, message):
    server.approves = False if "access_denied" in message else None
    server.slow_downs, server.interval = 1000 * (server.approves is None), 0.05

    done = log_in(*how)

    assert done.exit_code == 1
    assert message in done.stderr.splitlines()[-1]
    assert "--device" in how or "open this in a browser: http://127.0.0.1" in done.stderr
    assert len(browser.urls) == (how == ())
    assert not path.exists()


def test_where_a_device_begins_may_be_configured(server, declare, log_in):
    declare({"oauth": {"type": "oauth2", "flows": {}}})
    server.interval = 0.05
    token = ("--token-url", f"{server.url}/token")
    place = ("--device-authorization-url", f"{server.url}/device")

    assert "set --token-url" in log_in("--device").stderr
    assert "set --device-authorization-url" in log_in("--device", *token).stderr
    assert log_in("--device", *token, *place).exit_code == 0


@pytest.mark.parametrize(
    "properties",
    [
        {},
        {"device_code": 7},
        {"user_code": "A\x1b[31mB"},
        {"user_code": "x" * 65},
        {"verification_uri": "javascript:alert(1)"},
        {"verification_uri": "http://auth.example.com/activate"},
    ],
    ids=str,
)
def test_a_device_code_that_is_none_is_refused(server, log_in, properties):
    good = {"device_code": "d" * 20, "user_code": "ABCD", "expires_in": 0.2, "interval": 0.1}
    server.device_response = {**good, "verification_uri": "https://auth.example.com/", **properties}

    done = log_in("--device")

    assert done.exit_code == 1
    message = "returned no usable device code" if properties else "invalid_request"
    assert message in done.stderr
    assert "\x1b" not in done.stderr


def test_a_device_asks_less_often_when_the_server_says_so(server, log_in, monkeypatch):
    slept = []
    real = login.asyncio.sleep

    async def sleep(seconds):
        slept.append(seconds)
        await real(0.01)

    server.approves, server.slow_downs = None, 2
    monkeypatch.setattr(login.asyncio, "sleep", sleep)

    assert log_in("--device").exit_code == 0
    assert [seconds for seconds in slept if seconds >= 1] == [1, 6, 11, 11]


ONE, TWO = ({name: {"type": "oauth2", "flows": {}} for name in names} for names in ("a", "ab"))


@pytest.mark.parametrize(
    ("schemes", "args", "message", "code"),
    [
        ({}, (), "no scheme for OAuth 2 or OpenID Connect", 2),
        ({"key": {"type": "apiKey", "in": "header", "name": "X"}}, (), "no scheme for OAuth 2", 2),
        (TWO, (), "the document has several schemes; name one of 'a', 'b'", 2),
        (ONE, ("b",), "expected one of 'a'.", 2),
        (ONE, (), "has no token endpoint; set --token-url.", 1),
    ],
)
def test_the_scheme_and_its_endpoints_have_to_be_clear(
    refused, declare, spec, path, schemes, args, message, code
):
    declare(schemes)
    options = ("--client-id", "app", "--token-file", path)

    assert refused("login", spec, *args, *options, code=code, messages=[message])


def test_interrupting_ends_with_130_and_no_traceback(spec, path):
    command = [sys.executable, "-m", "openapi_tools", "login", str(spec), "--no-browser"]
    command += ["--client-id", "public", "--token-file", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True) as child:
        lines = [child.stderr.readline() for _ in range(3)]
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read()

    assert "open this in a browser" in lines[-1]
    assert (child.returncode, rest) == (130, "")
