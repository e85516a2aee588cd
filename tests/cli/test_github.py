"""GitHub's published document, which declares no security schemes, with a token of the environment.

The API is a loopback server that responds from the document and wants the token.
"""

import json

import pytest
from corpus import FOLDER
from servers.site import running

from openapi_tools.testing import mock_api

GITHUB = FOLDER / "github" / "api.github.com.json"
TOKEN = "ghp_distinctive-token-of-a-test"
REFUSED = b'{"message": "Requires authentication", "documentation_url": "https://docs.github.com"}'

pytestmark = pytest.mark.skipif(not GITHUB.exists(), reason="there is no corpus beside this folder")


@pytest.fixture(scope="module")
def api():
    """The API as GitHub's document describes it, with calls that have the token."""
    return mock_api(str(GITHUB), state=False)


@pytest.fixture(scope="module")
def github(api):
    """The address of a server in front of it that responds with 401 without the token."""

    async def guard(scope, receive, send):
        authorization = dict(scope["headers"]).get(b"authorization")
        if authorization == f"Bearer {TOKEN}".encode():
            await api(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": REFUSED})

    with running(guard) as url:
        yield url


@pytest.fixture
def call(run, github):

    def call_tool(*words, token=TOKEN, bearer=("--bearer", "$GITHUB_TOKEN")):
        env = {"GITHUB_TOKEN": token}
        return run("call", GITHUB, *words, "--base-url", github, *bearer, env=env)

    return call_tool


REPOSITORY = ("owner=octocat", "repo=Hello-World")


def test_a_call_without_a_token_names_the_option_in_one_line(call):
    result = call("issues_list_for_repo", *REPOSITORY, bearer=())

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("auth 401: GET /repos/octocat/Hello-World/issues returned 401")
    assert "Requires authentication" in result.stderr
    assert result.stderr.endswith("'$USER:$PASSWORD' or --header 'NAME: $VAR'.\n")


@pytest.mark.parametrize(
    "name", ["issues_get", "issues/get", "GET /repos/{owner}/{repo}/issues/{issue_number}"]
)
def test_a_call_with_the_token_succeeds(call, api, name):
    api.clear()
    result = call(name, *REPOSITORY, "issue_number=1347", "--fields", "{n: number, t: title}")

    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"n": 1347, "t": "Found a bug"}
    api.assert_called("issues_get", owner="octocat", issue_number=1347)
    assert TOKEN not in repr(api.calls)


def test_a_write_sends_what_was_typed(call, api):
    api.clear()
    result = call("issues_create", *REPOSITORY, "title=A bug", "labels=bug", "labels=new", "-i")

    assert result.exit_code == 0
    assert result.stderr.startswith("201 application/json\n")
    assert api.calls[-1].arguments["labels"] == ["bug", "new"]
    assert api.problems == []


def test_a_wrong_token_is_refused_and_shown_nowhere(call):
    result = call("GET /user", token="ghp_wrong-and-distinctive")

    assert result.exit_code == 1
    assert "returned 401" in result.stderr
    assert "--bearer" not in result.stderr
    assert "ghp_wrong" not in result.stderr + result.stdout


def test_a_misspelt_variable_names_the_nearest(call):
    result = call("GET /user", bearer=("--bearer", "$GITHUB_TOKNE"))

    assert result.exit_code == 2
    assert "variable GITHUB_TOKNE is not set; did you mean GITHUB_TOKEN?" in result.stderr
