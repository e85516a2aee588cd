"""What a generated Elixir tool sends, refuses and returns, beside the Python tool.

Elixir runs the modules of tests/golden/exathena, compiled with stubs of the behaviour and of Req.
"""

from __future__ import annotations

import base64
import html
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus, unquote

import pytest
from elixir import GOLDEN, call_tools, compile_project, context, evaluate, module, needs_elixir
from servers.recorder import CannedResponse

from openapi_tools import Settings, load_tools

SPEC = Path(__file__).parents[2] / "specs" / "petstore.yaml"
CLIENT_HEADERS = {"host", "connection", "user-agent", "accept-encoding", "te"}
"""Headers of each client's own; all others have to be the same."""
CREDENTIALS = {"api_key": "k", "petstore_auth": "t"}
PET = {"id": 7, "name": "Rex", "photoUrls": ["a", 'b "c"'], "category": {"id": 1, "name": "x\ny"}}
SENT: list[tuple[str, dict[str, Any]]] = [
    ("add_pet", PET),
    ("update_pet", {"name": "", "photoUrls": [], "status": "sold", "id": 2**60}),
    ("add_pet", {"name": "\u00e9\u4e2d\U0001f600\x7f\x00\x1f/\\", "photoUrls": ["#{x}", "</b>"]}),
    ("find_pets_by_status", {"status": "pending"}),
    ("find_pets_by_tags", {"tags": ["a b", "c&d=e", "#f", "+", "%41", "\r\nX: 1", "../.."]}),
    ("get_pet_by_id", {"petId": 7}),
    ("get_pet_by_id", {"petId": 7.0}),
    ("get_pet_by_id", {"petId": -(2**62)}),
    ("update_pet_with_form", {"petId": 7, "name": "R\u00fc x", "status": "?a=b;c"}),
    ("delete_pet", {"petId": 7}),
    ("upload_file", {"petId": 7, "additionalMetadata": "m", "body": {"base64": "AAH/"}}),
    ("upload_file", {"petId": 7, "body": {"text": "caf\u00e9", "content_type": "text/plain"}}),
    ("upload_file", {"petId": 7}),
    ("get_inventory", {}),
    ("place_order", {"petId": 1, "quantity": 2, "complete": False, "shipDate": "2026-01-01"}),
    ("place_order", {}),
    ("create_users_with_list_input", {"body": [{"id": 1, "username": "a"}, {}]}),
    ("create_users_with_list_input", {"body": []}),
    ("login_user", {"username": "a b", "password": "p&w\u20ac"}),
    ("get_user_by_name", {"username": "a/b?c#d%2Fe f"}),
    ("get_user_by_name", {"username": "..a."}),
    ("get_user_by_name", {"username": ""}),
    ("update_user", {"username_path": "\u00fc", "username_body": "v", "email": "e@x"}),
    ("delete_user", {"username": "x;y=z"}),
]
"""Calls that both send."""
REFUSED: list[tuple[str, dict[str, Any]]] = [
    ("get_pet_by_id", {}),
    ("get_pet_by_id", {"petId": "x"}),
    ("get_pet_by_id", {"petId": 1.5}),
    ("get_pet_by_id", {"petId": None}),
    ("get_pet_by_id", {"petId": 1, "zz": 2}),
    ("find_pets_by_status", {"status": "merged"}),
    ("find_pets_by_tags", {"tags": "a"}),
    ("add_pet", {"name": "x", "photoUrls": ["a", 1]}),
    ("add_pet", {"name": "x", "photoUrls": [], "category": {"id": "x"}}),
    ("get_user_by_name", {"username": ".."}),
    ("get_user_by_name", {"username": "a/../b"}),
    ("get_user_by_name", {"username": "%2e%252e"}),
    ("get_user_by_name", {"username": "..;x"}),
    ("upload_file", {"petId": 7, "body": {"base64": "%"}}),
]
"""Calls that neither sends, for the same reason."""

pytestmark = needs_elixir


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("petstore")
    assert compile_project(GOLDEN, folder) == ""
    return folder


async def one(compiled, recorder, response, *, name="get_inventory", **options):
    recorder.responses.append(response)
    arguments = options.pop("arguments", {})
    (result,) = await call_tools(compiled, [(name, arguments)], base_url=recorder.url, **options)
    return result


def wire(recorded):
    headers = {
        name.lower(): value
        for name, value in recorded.headers
        if name.lower() not in CLIENT_HEADERS
    }
    if not recorded.body:  # of nothing, Erlang's client says more than it is told
        headers.pop("content-type", None)
        headers.pop("content-length", None)
    return recorded.method, recorded.target, headers, recorded.body


async def call_in_python(recorder, calls, credentials=CREDENTIALS):
    settings = Settings(base_url=recorder.url + "/api/v3")
    async with load_tools(SPEC, settings=settings, credentials=credentials) as toolset:
        return [await toolset[name].execute(arguments) for name, arguments in calls]


async def test_execute_sends_what_the_python_tool_sends(compiled, recorder):
    base = recorder.url + "/api/v3"
    results = await call_tools(compiled, SENT, base_url=base, credentials=CREDENTIALS)
    sent = [wire(request) for request in recorder.requests]
    recorder.requests.clear()
    await call_in_python(recorder, SENT)

    assert [kind for kind, _ in results] == ["ok"] * len(SENT)
    assert sent == [wire(request) for request in recorder.requests]


async def test_arguments_that_do_not_fit_are_an_error_with_the_words_of_the_python_tool(
    compiled, recorder
):
    actual = await call_tools(compiled, REFUSED, base_url=recorder.url)
    results = await call_in_python(recorder, REFUSED)

    assert recorder.requests == []
    assert [kind for kind, _ in actual] == ["error"] * len(REFUSED)
    assert [text for _, text in actual] == [str(result).split("\n")[0] for result in results]


async def test_what_is_no_json_is_an_error(compiled, recorder):
    values = ["<<255>>", ":x", "{1, 2}", "self()", "%{1 => 2}", "[%{<<200>> => 1}]"]
    values += ["Enum.reduce(1..200, 1, fn _, inner -> [inner] end)", "%ExAthena.ToolContext{}"]
    tool = module("create_users_with_list_input")
    lines = [f'say.({tool}.execute(%{{"body" => {value}}}, ctx))' for value in values]
    ctx = context(base_url=recorder.url)
    lines = [f"ctx = {ctx}", *lines, f"say.({tool}.execute(1, ctx))"]
    results = await evaluate(compiled, "\n".join(lines))

    assert recorder.requests == []
    assert all(line.startswith("error /body") for line in results[:-1]), results
    assert results[-1].startswith("error expected an object")


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/plain", b"plain \xc3\xa9\x1b[2J", "plain \u00e9[2J"),
        ("text/plain; charset=iso-8859-1", b"caf\xe9", "caf\u00e9"),
        ("application/xml", b"\xef\xbb\xbf<a/>", "<a/>"),
        ("image/png", b"\x89PNG", '{"base64":"iVBORw==","media_type":"image/png","bytes":4}'),
        ("", b"\xff\xfe", '{"base64":"//4=","media_type":"","bytes":2}'),
        ("application/json", b"", ""),
        ("application/json", b'{"a":"\xff b \xe9"}', '{"a":"\ufffd b \ufffd"}'),
        ("application/problem+json", b'["\xe4\xb8"]', '["\ufffd\ufffd"]'),
        ("application/xml", b"<a>\xff</a>", "<a>\ufffd</a>"),
    ],
)
async def test_ok_holds_a_string_whatever_the_api_sent(compiled, recorder, kind, body, text):
    headers = [("Content-Type", kind)] if kind else []

    assert await one(compiled, recorder, CannedResponse(headers=headers, body=body)) == ("ok", text)


async def test_an_error_says_when_to_come_back_and_which_credential_is_missing(compiled, recorder):
    busy = CannedResponse(429, headers=[("Retry-After", "7")], body=b"")
    denied = CannedResponse(401, headers=[("Content-Type", "image/png")], body=b"\xff")

    assert await one(compiled, recorder, busy) == (
        "error",
        "GET /store/inventory returned 429 Too Many Requests. (retry after 7 s)",
    )
    assert await one(compiled, recorder, denied) == (
        "error",
        "GET /store/inventory returned 401 Unauthorized. (no credential was given for 'api_key')",
    )


async def test_a_call_whose_credential_is_missing_is_not_sent(compiled, recorder):
    calls = [("get_inventory", {}), ("get_pet_by_id", {"petId": 7}), ("get_user_by_name", {})]
    calls[2] = ("get_user_by_name", {"username": "u"})  # asks for none
    options = {"base_url": recorder.url, "anonymous": False}
    actual = await call_tools(compiled, calls, **options)
    other = await call_tools(compiled, calls, **options, credentials={"petstore_auth": "t0ken"})
    results = await call_in_python(recorder, calls, credentials={})

    end = "; the request was not sent. Set it in `credentials` of config :petstore_tools."
    assert actual[0] == ("error", f"Missing credential for 'api_key'{end}")
    assert actual[1] == ("error", f"Missing credential for 'api_key' or 'petstore_auth'{end}")
    assert [kind for kind, _ in actual] == ["error", "error", "ok"]
    assert [kind for kind, _ in other] == ["error", "ok", "ok"]
    assert [result.success for result in results] == [kind == "ok" for kind, _ in actual]
    targets = [request.target.rpartition("/")[2] for request in recorder.requests]
    assert targets == ["u", "7", "u", "u"]


@pytest.mark.parametrize(
    "repeat",
    [
        lambda secret: secret,
        lambda secret: secret.lower(),
        lambda secret: quote(secret, safe=""),
        lambda secret: quote(secret, safe="").lower(),
        quote_plus,
        html.escape,
        lambda secret: json.dumps({"is": secret}),
        lambda secret: json.dumps({"is": secret}).replace("/", "\\/"),
        lambda secret: "".join(f"\\u{ord(c):04x}" for c in secret),
        lambda secret: "".join(f"&#{ord(c)};" for c in secret),
        lambda secret: "".join(f"&#X{ord(c):x};" for c in secret),
        lambda secret: base64.b64encode(secret.encode()).decode(),
    ],
)
async def test_what_the_api_repeats_of_a_credential_is_masked(compiled, recorder, repeat):
    secret = "s3Cr/et+'\"<&=;x"
    echo = repeat(secret)
    credentials = {"api_key": secret, "petstore_auth": f"user:{secret}"}
    responses = [
        CannedResponse(body=f"a {echo} b".encode()),
        CannedResponse(403, body=f"{echo}".encode()),
    ]
    responses += [CannedResponse(headers=[("Content-Type", "image/png")], body=echo.encode())]
    responses += [CannedResponse(headers=[("Content-Type", f"x/{echo}")], body=b"\xff")]
    responses += [CannedResponse(body=b"x" * 240 + echo.encode())]
    recorder.responses.extend(responses)
    options = {"base_url": recorder.url, "credentials": credentials, "max_output_chars": 250}
    results = await call_tools(compiled, [("get_inventory", {})] * len(responses), **options)

    assert [kind for kind, _ in results] == ["ok", "error", "ok", "ok", "ok"]
    assert "***" in results[0][1]
    assert "***" in results[1][1]
    visible = "\n".join([*(text for _, text in results), base64_in(results[2][1])])
    assert secret[:8] not in html.unescape(unquote(visible))
    assert echo[:9] not in visible


def base64_in(text):
    return base64.b64decode(json.loads(text)["base64"]).decode()


async def test_text_without_a_credential_is_left_alone(compiled, recorder):
    body = '{"a":"%2F &amp; \\u0041 \\" key"}'
    # The first is too short to be looked for.
    credentials = {"api_key": "key", "petstore_auth": "t0ken"}
    options = {"base_url": recorder.url, "credentials": credentials}
    recorder.responses.append(CannedResponse(body=body.encode()))

    assert await call_tools(compiled, [("get_inventory", {})], **options) == [("ok", body)]


async def test_a_failing_connection_is_an_error_that_warns_of_a_second_call(compiled):
    nowhere = {"base_url": "http://127.0.0.1:1"}
    results = await call_tools(compiled, [("get_inventory", {}), ("place_order", {})], **nowhere)

    assert results == [
        ("error", "GET /store/inventory: the connection failed (econnrefused)."),
        ("error", "POST /store/order: the connection failed (econnrefused); it may have run."),
    ]


async def test_a_call_ends_in_time(compiled, recorder):
    recorder.response = CannedResponse(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n")
    ((kind, text),) = await call_tools(
        compiled, [("place_order", {})], base_url=recorder.url, timeout=200
    )

    assert (kind, len(recorder.requests)) == ("error", 1)
    assert re.fullmatch(r"POST /store/order.*; it may have run\.", text)


async def test_a_large_response_is_an_error_and_a_long_text_is_cut(compiled, recorder):
    large = await one(compiled, recorder, CannedResponse(body=b"x" * 100), max_response_bytes=99)
    cut = await one(compiled, recorder, CannedResponse(body=b"x" * 100), max_output_chars=10)
    left = await one(
        compiled,
        recorder,
        CannedResponse(headers=[("Content-Type", "image/png")], body=b"x" * 100),
        max_output_chars=100,
    )

    assert large == ("error", "GET /store/inventory returned 200 with more than 99 bytes.")
    assert cut == ("ok", "x" * 10 + "\n... cut: 10 of 100 characters")
    assert json.loads(left[1])["left_out"] == "too long to be shown"


async def test_redirects_are_followed_inside_the_origin_only_and_only_for_reads(compiled, recorder):
    def redirect_to(where: str) -> CannedResponse:
        return CannedResponse(307, headers=[("Location", where)], body=b"")

    recorder.responses += [redirect_to("/store/inventory/?a=1#b"), CannedResponse(body=b'"there"')]
    (followed,) = await call_tools(compiled, [("get_inventory", {})], base_url=recorder.url)
    other = await one(compiled, recorder, redirect_to("http://127.0.0.2:9/x"))
    posted = await one(compiled, recorder, redirect_to("/x"), name="place_order")
    recorder.responses += [redirect_to(f"/{number}") for number in range(6)]
    (cycle,) = await call_tools(compiled, [("get_inventory", {})], base_url=recorder.url)

    reason = "was redirected and that is not followed: "
    assert followed == ("ok", '"there"')
    assert recorder.requests[1].target == "/store/inventory/?a=1"
    assert other == ("error", f"GET /store/inventory {reason}it leads to another origin.")
    assert posted == ("error", f"POST /store/order {reason}only reads are.")
    assert cycle == ("error", f"GET /store/inventory {reason}there were 5 before it.")
    assert len(recorder.requests) == 2 + 1 + 1 + 6


async def test_a_call_without_a_usable_configuration_halts_the_run(compiled, recorder):
    halts = [
        {"base_url": "ftp://x"},
        {"base_url": "http://user:pw@x"},
        {"base_url": "http://x/../y"},
        {"base_url": "http://x?y"},
        {"base_url": 1},
        {"base_url": recorder.url, "credentials": {"api_key": 5}},
        {"base_url": recorder.url, "credentials": {"api_key": "a\r\nb"}},
        {"base_url": recorder.url, "credentials": {"api_key": " "}},
        {"base_url": recorder.url, "credentials": ["x"]},
    ]
    tool = module("get_inventory")
    lines = [f"say.({tool}.execute(%{{}}, {context(**settings)}))" for settings in halts]
    results = await evaluate(compiled, "\n".join(lines))

    assert recorder.requests == []
    assert [line[:21] for line in results] == ["halt petstore_tools: "] * len(lines)
    assert not any("pw" in line or "a\r" in line for line in results)
