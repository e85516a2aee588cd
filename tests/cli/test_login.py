"""`openapi-tools login` against a real authorization server, with a browser that is a thread."""

import http.client
import json
import re
import signal
import socket
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import webbrowser
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from servers.authorization import SECRET, authorization_server
from servers.site import Said, Site

from openapi_tools.auth import login
from openapi_tools.auth.tokens import TokenStore
from openapi_tools.cli import login_command as cli_login
from openapi_tools.redaction import Secret

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def running():
    with authorization_server() as state:
        yield state


@pytest.fixture
def server(running):
    running.reset()
    return running


@pytest.fixture
def spec(server, tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(server.document))
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "tokens.json"


def visit(url):
    """Open a page and return its status and text; redirects are followed as a browser does."""
    try:
        with urllib.request.urlopen(url, timeout=5) as page:
            return page.status, page.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
    except OSError:
        return 0, ""


class Browser:
    """What `webbrowser.open` opens: a person who does what a test says."""

    def __init__(self):
        self.act = visit
        self.urls = []
        self.pages = []
        self.threads = []

    def open(self, url):
        self.urls.append(url)
        thread = threading.Thread(target=lambda: self.pages.append(self.act(url)))
        self.threads.append(thread)
        thread.start()
        return True

    @property
    def query(self):
        """What the authorization endpoint was asked."""
        return {name: values[0] for name, values in parse_qs(urlsplit(self.urls[0]).query).items()}


@pytest.fixture
def browser(monkeypatch):
    made = Browser()
    monkeypatch.setattr(webbrowser, "open", made.open)
    yield made
    for thread in made.threads:
        thread.join(timeout=5)


@pytest.fixture
def log_in(run, spec, path):
    """Log in as a public client, with further options."""

    def command(*options, client="public", **more):
        given = ("--client-id", client, "--token-file", path, "--timeout", 5)
        return run("login", spec, *given, *options, **more)

    return command


def test_a_person_agrees_in_a_browser_and_the_token_lands_in_the_file(
    server, browser, log_in, path
):
    done = log_in()

    assert (done.exit_code, done.stdout) == (0, f"--credential 'oauth=@{path}'\n")
    stored = TokenStore(path).load(origin=server.url, scheme="oauth")
    token = stored.token.access.reveal()
    assert server.find(token).client_id == "public"
    assert stored.token_endpoint == f"{server.url}/token"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert f"authorization: {server.url}/authorize" in done.stderr
    assert f"token: {server.url}/token" in done.stderr
    for issued in (token, stored.token.refresh.reveal(), server.forms[0]["code"]):
        assert issued not in done.output
    assert browser.pages == [(200, browser.pages[0][1])]
    assert "Close this window" in browser.pages[0][1]


@pytest.mark.parametrize(
    ("options", "scope"),
    [((), "read"), (("--scope", "read", "--scope", "write"), "read write")],
    ids=["what the operations require", "given"],
)
def test_the_code_is_bound_to_this_login(server, browser, log_in, options, scope):
    assert log_in(*options).exit_code == 0

    asked, sent = browser.query, server.forms[0]
    assert asked["code_challenge_method"] == "S256"
    assert asked["scope"] == scope
    assert len(asked["state"]) >= 32
    assert sent["grant_type"] == "authorization_code"
    assert len(sent["code_verifier"]) >= 43
    assert sent["code_verifier"] not in browser.urls[0]
    assert sent["redirect_uri"] == asked["redirect_uri"]
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/callback", asked["redirect_uri"])


def test_the_server_refuses_another_verifier(server, browser, log_in, path, monkeypatch):
    real = login.authorization_url

    def other(config, back, **parameters):
        return real(config, back, **{**parameters, "verifier": Secret("x" * 64)})

    monkeypatch.setattr(login, "authorization_url", other)

    done = log_in()

    assert done.exit_code == 1
    assert "invalid_grant" in done.stderr
    assert not path.exists()


def test_a_wrong_state_is_passed_over_and_the_right_one_taken(server, browser, log_in):
    def attacked(url):
        back = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        return [visit(f"{back}?code=evil&state={'x' * 43}"), visit(f"{back}?code=evil"), visit(url)]

    browser.act = attacked

    done = log_in()

    assert done.exit_code == 0
    assert done.stderr.count("an answer with a wrong state was passed over.") == 2
    assert server.forms[0]["code"] != "evil"
    browser.threads[0].join(timeout=5)
    assert [status for status, _ in browser.pages[0]] == [404, 404, 200]


@pytest.mark.parametrize(
    "attack",
    [
        ("GET", "/", {}),
        ("GET", "/callback/..", {}),
        ("GET", "/callback?code=a&code=b", {}),
        ("GET", "/callback?state={state}&state={state}&code=evil", {}),
        ("GET", "/callback?state={state}&code=evil", {"Host": "evil.example.com"}),
        ("POST", "/callback?state={state}&code=evil", {}),
        ("GET", "/callback?state={state}&code=evil&" + "a=b&" * 100, {}),
        ("GET", "/callback?state=<script>alert(1)</script>&code=evil", {}),
    ],
    ids=str,
)
def test_what_is_no_answer_changes_nothing_and_is_not_repeated(server, browser, log_in, attack):
    method, target, headers = attack

    def attacked(url):
        asked = parse_qs(urlsplit(url).query)
        place = urlsplit(asked["redirect_uri"][0]).netloc
        connection = http.client.HTTPConnection(place, timeout=5)
        path = quote(target.format(state=asked["state"][0]), safe="/?=&")
        connection.request(method, path, headers=headers)
        try:
            with connection.getresponse() as page:
                found = page.status, page.read().decode()
        except http.client.RemoteDisconnected:
            found = 0, ""
        connection.close()
        visit(url)
        return found

    browser.act = attacked

    done = log_in()

    assert done.exit_code == 0
    assert server.forms[0]["code"] != "evil"
    browser.threads[0].join(timeout=5)
    status, text = browser.pages[0]
    assert status in (404, 0)
    assert "script" not in text
    assert "evil" not in text


def test_a_person_who_declines_is_an_error(server, browser, log_in, path):
    server.approves = False

    done = log_in()

    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == (
        "openapi-tools: error: security scheme 'oauth': the authorization server refused: "
        "access_denied."
    )
    assert not path.exists()


@pytest.mark.parametrize(
    ("iss", "code"), [("{url}", 0), ("https://other.example.com", 1), ("", 1), ("//[", 1)]
)
def test_another_server_that_answers_is_refused(server, browser, log_in, iss, code):
    server.sends_iss = quote(iss.format(url=server.url), safe="")

    done = log_in()

    assert done.exit_code == code
    assert ("another authorization server answers" in done.stderr) == bool(code)
    assert len(server.forms) == 1 - code


@pytest.fixture
def openid(server, spec):
    """The same API with a scheme that has to be discovered."""
    document = server.document
    document["components"]["securitySchemes"]["oauth"] = {
        "type": "openIdConnect",
        "openIdConnectUrl": f"{server.url}/.well-known/openid-configuration",
    }
    spec.write_text(json.dumps(document))


@pytest.mark.usefixtures("openid")
def test_endpoints_are_discovered(server, browser, log_in, path):
    done = log_in()

    assert done.exit_code == 0
    assert path.exists()


@pytest.mark.usefixtures("openid")
@pytest.mark.parametrize(("iss", "code"), [(None, 1), ("{url}", 0), ("{url}/", 1)])
def test_a_server_that_promises_to_say_who_it_is_has_to(server, browser, log_in, iss, code):
    server.metadata["authorization_response_iss_parameter_supported"] = True
    server.sends_iss = iss and quote(iss.format(url=server.url), safe="")

    assert log_in().exit_code == code


def test_endpoints_elsewhere_need_a_yes(server, browser, log_in, path):
    elsewhere = ("--base-url", "http://localhost:1/api")

    asked = log_in(*elsewhere)

    assert asked.exit_code == 2
    assert "not at the API's own origin" in asked.stderr
    assert "add --yes" in asked.stderr
    assert (browser.urls, server.asked) == ([], {})
    assert log_in(*elsewhere, "--yes").exit_code == 0
    assert TokenStore(path).load(origin="http://localhost:1", scheme="oauth")


def test_endpoints_of_a_document_from_another_origin_need_a_yes(server, browser, run, path):
    with Site(lambda _: Said(server.document)) as site:
        spec = f"{site.url}/openapi.json"
        asked = run("login", spec, "--client-id", "public", "--token-file", path)

    assert asked.exit_code == 2
    assert "add --yes" in asked.stderr
    assert (browser.urls, server.asked) == ([], {})


def test_endpoints_that_the_person_names_need_no_yes(server, browser, log_in):
    named = ("--token-url", f"{server.url}/token", "--authorization-url", f"{server.url}/authorize")

    assert log_in("--base-url", "http://localhost:1/api", *named).exit_code == 0


def test_a_secret_comes_from_the_environment_and_is_not_kept(server, browser, log_in, path):
    done = log_in("--client-secret", "$THE_SECRET", client="app", env={"THE_SECRET": SECRET})

    assert done.exit_code == 0
    assert server.proofs[0].startswith("Basic ")
    assert SECRET not in done.output + path.read_text()


@pytest.mark.parametrize("given", [SECRET, "THE_SECRET", "$NOT_SET_ANYWHERE"])
def test_a_secret_on_the_command_line_is_refused_and_not_shown(server, browser, log_in, given):
    done = log_in("--client-secret", given, client="app", env={"THE_SECRET": SECRET})

    assert done.exit_code == 2
    assert SECRET not in done.output
    assert browser.urls == []


def test_nobody_agrees_in_time(server, browser, log_in):
    done = log_in("--no-browser", "--timeout", "0.3")

    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == "openapi-tools: error: no approval within 0.3 s."
    assert "open this in a browser: http://127.0.0.1" in done.stderr
    assert browser.urls == []


def test_a_port_that_is_taken_is_an_error(server, browser, log_in):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        done = log_in("--port", taken.getsockname()[1])

    assert done.exit_code == 1
    assert "cannot be listened on" in done.stderr


def test_a_file_that_others_can_read_is_said_before_the_browser_opens(browser, log_in, path):
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
    assert re.search(
        rf"open {server.url}/activate and enter the code [A-Z]{{4}}-[A-Z]{{4}}", done.stderr
    )
    stored = TokenStore(path).load(origin=server.url, scheme="oauth")
    assert server.find(stored.token.access.reveal())
    assert server.forms[0]["device_code"] not in done.output


@pytest.mark.usefixtures("openid")
def test_where_a_device_begins_is_discovered(server, log_in):
    server.interval = 0.05

    assert log_in("--device").exit_code == 0
    assert server.asked["/device"] == 1


def test_where_a_device_begins_may_be_said(server, spec, log_in):
    document = server.document
    del document["components"]["securitySchemes"]["oauth"]["flows"]["deviceAuthorization"]
    spec.write_text(json.dumps(document))
    server.interval = 0.05
    token = ("--token-url", f"{server.url}/token")
    place = ("--device-authorization-url", f"{server.url}/device")

    assert "give --token-url" in log_in("--device").stderr
    assert "give --device-authorization-url" in log_in("--device", *token).stderr
    assert log_in("--device", *token, *place).exit_code == 0


@pytest.mark.parametrize(
    "members",
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
def test_a_device_code_that_is_none_is_refused(server, log_in, members):
    good = {
        "device_code": "d" * 20,
        "user_code": "ABCD",
        "verification_uri": "https://auth.example.com/",
        "expires_in": 0.2,
        "interval": 0.1,
    }
    server.device_answer = {**good, **members}

    done = log_in("--device")

    assert done.exit_code == 1
    said = "gives no usable device code" if members else "invalid_request"
    assert said in done.stderr
    assert "\x1b" not in done.stderr


def test_a_person_at_a_terminal_is_asked(server, browser, log_in, monkeypatch):
    monkeypatch.setattr(cli_login, "_is_person_there", lambda: True)
    elsewhere = ("--base-url", "http://localhost:1/api")

    refused = log_in(*elsewhere, stdin="n\n")

    assert (refused.exit_code, browser.urls) == (1, [])
    assert "nothing was sent." in refused.stderr
    assert log_in(*elsewhere, stdin="y\n").exit_code == 0


def test_a_device_asks_less_often_when_it_is_told_so(server, log_in, monkeypatch):
    slept = []
    real = login.asyncio.sleep

    async def sleep(seconds):
        slept.append(seconds)
        await real(0.01)

    server.approves, server.slow_downs = None, 2
    monkeypatch.setattr(login.asyncio, "sleep", sleep)

    assert log_in("--device").exit_code == 0
    assert [seconds for seconds in slept if seconds >= 1] == [1, 6, 11, 11]


def test_a_device_is_refused(server, log_in, path):
    server.approves, server.interval = False, 0.05

    done = log_in("--device")

    assert done.exit_code == 1
    assert "access_denied" in done.stderr
    assert not path.exists()


def test_nobody_agrees_on_the_device(server, log_in):
    server.approves, server.slow_downs, server.interval = None, 1000, 0.05

    done = log_in("--device", "--timeout", "0.4")

    assert done.exit_code == 1
    assert "no approval within 0.4 s" in done.stderr


ONE, TWO = ({name: {"type": "oauth2", "flows": {}} for name in names} for names in ("a", "ab"))


@pytest.mark.parametrize(
    ("schemes", "args", "said", "code"),
    [
        ({}, (), "no scheme for OAuth 2 or OpenID Connect", 2),
        ({"key": {"type": "apiKey", "in": "header", "name": "X"}}, (), "no scheme for OAuth 2", 2),
        (TWO, (), "say which scheme is meant: 'a', 'b'", 2),
        (ONE, ("b",), "there are 'a'", 2),
        (ONE, (), "names no token endpoint; give --token-url.", 1),
    ],
)
def test_the_scheme_and_its_endpoints_have_to_be_clear(
    refused, server, spec, path, schemes, args, said, code
):
    document = server.document
    document["components"]["securitySchemes"] = schemes
    spec.write_text(json.dumps(document))
    options = ("--client-id", "app", "--token-file", path)

    assert refused("login", spec, *args, *options, code=code, said=[said])


def test_interrupting_ends_with_130_and_no_traceback(spec, path):
    command = [sys.executable, "-m", "openapi_tools", "login", str(spec), "--no-browser"]
    child = subprocess.Popen(
        [*command, "--client-id", "public", "--token-file", str(path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
    )
    with child:
        lines = [child.stderr.readline() for _ in range(3)]
        child.send_signal(signal.SIGINT)
        rest = child.stderr.read()

    assert "open this in a browser" in lines[-1]
    assert (child.returncode, rest) == (130, "")


def test_a_call_uses_the_file_of_a_login(server, browser, log_in, run, spec, path):
    assert log_in().exit_code == 0

    done = run("call", spec, "get_me", "--credential", f"oauth=@{path}")

    assert done.exit_code == 0
    assert json.loads(done.stdout) == {"scope": "read", "client": "public"}
    assert server.grants("refresh_token") == 0
