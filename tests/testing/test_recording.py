"""Cassettes: exchanges that are recorded to a file and replayed without a network."""

import asyncio
import base64
import gc
import json
from urllib.parse import quote, quote_plus

import documents
import httpx
import pytest

from openapi_tools import aload_tools, load_tools
from openapi_tools.errors import CallError, SettingsError, SourceError
from openapi_tools.testing import Cassette, mock_api

SECRET = "hunter-of-tapes-7731"
KEY = {"type": "apiKey", "in": "query", "name": "appid"}
UNCACHED = {"anonymous": True, "cache": False}
PNG = bytes(range(256))
PETS = documents.document(
    {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "parameters": [{"name": "page", "in": "query", "schema": {"type": "integer"}}],
                "responses": {"200": {"description": "d"}},
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}},
                "responses": {"200": {"description": "d"}},
            },
        }
    },
    servers=[{"url": "https://pets.example.com/v1"}],
    components={"securitySchemes": {"key": KEY}},
    security=[{"key": []}],
)
RESPONSES = {
    "list_pets": [
        (200, [{"id": 1, "name": "Änne"}], {"Set-Cookie": f"sid={SECRET}", "X-Left": "9"}),
        (200, {"items": [], "next_page_token": "p2"}),
        httpx.Response(200, text=f"plain {SECRET}"),
        httpx.Response(200, content=PNG, headers={"content-type": "image/png"}),
        (204, None),
    ],
    "add_pet": {"id": 2, "access_token": "fresh-token-4411", "session": {"clientSecret": "x"}},
}


@pytest.fixture(autouse=True, scope="module")
def forget_other_tests():
    """Drop toolsets of earlier tests: a cassette masks each secret that is still known."""
    gc.collect()


async def twice(path, transport, use):
    """Return what comes of a use of a cassette that records, and of one that replays."""
    with Cassette(path, transport=transport) as tape:
        recorded = await use(tape)
    with Cassette(path) as tape:
        return recorded, await use(tape)


async def use(tape, key=None):
    """Make calls through a cassette, and return their results."""
    credentials = {"key": key} if key else None
    async with load_tools(PETS, client=tape.client(), credentials=credentials) as toolset:
        listed = [await toolset.call("list_pets", {"page": 1}) for _ in range(5)]
        added = await toolset.call("add_pet", {"body": {"name": "Tom", "password": "pw-of-tom"}})
    return [result.output for result in (*listed, added)]


async def test_a_file_replays_what_was_recorded_without_its_secrets(tmp_path):
    path = tmp_path / "tapes" / "pets.json"
    api = mock_api(PETS, responses=RESPONSES)

    with Cassette(path, transport=api.transport) as tape:
        recorded = await use(tape, SECRET)
    text = path.read_text()
    with Cassette(path) as tape:
        replayed = await use(tape)

    assert len(api.calls) == 6
    assert replayed[:4] == recorded[:4]
    assert replayed[5]["access_token"] == "***"
    assert replayed[5]["session"]["clientSecret"] == "***"
    assert not [s for s in (SECRET, "fresh-token-4411", "pw-of-tom") if s in text]
    entries = json.loads(text)
    assert entries[0] == {
        "request": {
            "method": "GET",
            "url": "https://pets.example.com/v1/pets?page=1&appid=***",
            "body": None,
        },
        "response": {
            "status": 200,
            "headers": {"set-cookie": "***", "x-left": "9", "content-type": "application/json"},
            "json": [{"id": 1, "name": "Änne"}],
        },
    }
    assert entries[1]["response"]["json"]["next_page_token"] == "p2"
    assert path.read_text() == text


async def test_an_unmatched_request_names_the_nearest_one(tmp_path):
    api = mock_api(PETS, responses={"list_pets": []})
    with Cassette(tmp_path / "t.json", transport=api.transport) as tape:
        await tape.client().get("https://pets.example.com/v1/pets?page=1")

    async def call():
        with Cassette(tmp_path / "t.json") as tape:
            toolset = load_tools(PETS, client=tape.client())
            seen.append(await toolset.call("list_pets", {"page": 2}))

    seen = []
    with pytest.raises(SourceError, match=r"t\.json: t\.json has no response for GET .*page=2"):
        await call()
    assert seen[0].error["type"] == "connection"
    assert "the closest recorded request is GET https://pets.example.com/v1/pets?page=1" in str(
        seen[0]
    )

    (tmp_path / "empty").write_text("[]")
    with pytest.raises(CallError, match="it is empty"):
        await Cassette(tmp_path / "empty").client().get("https://pets.example.com/v1/pets")


async def test_a_document_is_recorded_too_and_responses_come_in_order(tmp_path):
    api = mock_api(PETS, responses={"list_pets": [(200, 1), (200, 2)]})

    async def list_often(tape, times):
        toolset = await aload_tools(f"{url}/openapi.json", client=tape.client(), settings=UNCACHED)
        return [(await toolset.call("list_pets", {})).output for _ in range(times)]

    with api.serve() as url, Cassette(tmp_path / "t") as tape:
        assert await list_often(tape, 2) == [1, 2]
    with Cassette(tmp_path / "t") as tape:
        assert await list_often(tape, 3) == [1, 2, 2]


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("application/json", b'"a text"'),
        ("application/json", b"null"),
        ("application/json", b"{no JSON"),
        ("application/x-www-form-urlencoded", b"a=1&a=2"),
        ("text/plain", "línea\n".encode()),
        ("text/plain", "línea".encode("latin-1")),
        ("text/plain", b""),
    ],
)
async def test_any_content_is_replayed(kind, content, tmp_path):
    response = httpx.Response(200, content=content, headers={"content-type": kind})
    upload = {"files": {"file": ("a.bin", PNG)}, "data": {"name": "x"}}

    async def send_upload(tape):
        async with tape.client() as client:
            plain = await client.put("https://u:p@a.example/x?sig=s&y=1", content=content)
            return plain.content, (await client.post("https://a.example/x", **upload)).content

    both = await twice(tmp_path / "t", httpx.MockTransport(lambda _: response), send_upload)

    assert both == ((content, content), (content, content))
    assert "https://a.example/x?sig=***&y=1" in (tmp_path / "t").read_text()


async def test_modes_say_when_to_record(tmp_path):
    path = tmp_path / "t.json"
    first, second = (mock_api(PETS, responses={"list_pets": (200, number)}) for number in (1, 2))

    async def get_response(mode, api):
        with Cassette(path, mode=mode, transport=api.transport) as tape:
            client = tape.client()
            return (await client.get("https://pets.example.com/v1/pets?appid=1")).json()

    assert await get_response("once", first) == 1
    assert await get_response("once", second) == 1
    assert await get_response("none", second) == 1
    assert await get_response("all", second) == 2
    assert await get_response("none", first) == 2
    assert len(second.calls) == 1


# A cassette of an older version.
FORMER = '[{"request": {"method": "GET", "url": "/", "body": null}, "answer": {}}]'


@pytest.mark.parametrize(
    ("content", "mode", "error", "words"),
    [
        (None, "none", SourceError, "no such cassette; record it with the mode 'once'"),
        ("{", "once", SourceError, "cannot be replayed"),
        ("[{}]", "once", SourceError, "cannot be replayed"),
        ("[1]", "once", SourceError, "cannot be replayed"),
        (FORMER, "once", SourceError, "cannot be replayed.*'response'.*record it again"),
        (None, "some", SettingsError, "mode must be one of none, once, all, not 'some'"),
    ],
)
def test_what_cannot_be_replayed_says_what_to_do(content, mode, error, words, tmp_path):
    path = tmp_path / "t.json"
    if content is not None:
        path.write_text(content)

    with pytest.raises(error, match=words):
        Cassette(path, mode=mode)


async def test_a_cassette_records_from_a_server(tmp_path):
    api = mock_api(PETS, responses={"list_pets": (200, [1])})
    with api.serve() as url, Cassette(tmp_path / "t.json") as tape:
        settings = {"base_url": f"{url}/v1", "anonymous": True}
        toolset = load_tools(PETS, client=tape.client(), settings=settings)
        results = [await toolset.call("list_pets", {"page": n}) for n in range(3)]

    assert [result.output for result in results] == [[1]] * 3
    assert "uvicorn" in (tmp_path / "t.json").read_text()


PASSWORD = "pw-of-tapes-8842"
INNER = json.dumps({"note": json.dumps({"password": PASSWORD, "kept": "k-1"})})
DEEP = '{"a":' * 5000 + f'{{"client_secret": "{PASSWORD}"}}' + "}" * 5000
SENT = [
    ("query", "get", "https://a.example/x?api%5Fkey=" + PASSWORD, {}),
    ("user of a URL", "get", f"https://joe:{PASSWORD}@a.example/x", {}),
    ("parameter of a path", "get", f"https://a.example/x;token={PASSWORD}", {}),
    ("URL in a query", "get", f"https://a.example/x?to=https%3A%2F%2Fb%3Ftoken%3D{PASSWORD}", {}),
    ("surrogates in a query", "get", f"https://a.example/%ED%B2%80?q=%ED%B2%80&pwd={PASSWORD}", {}),
    ("form", "post", "https://a.example/x", {"data": {"client_secret": PASSWORD, "a": "1"}}),
    ("form with a list", "post", "https://a.example/x", {"data": {"password[]": ["p", PASSWORD]}}),
    ("form as text", "post", "https://a.example/x", {"content": f"a=1&password={PASSWORD}"}),
    ("JSON", "post", "https://a.example/x", {"json": [{"user": {"password": PASSWORD}}]}),
    ("list in JSON", "post", "https://a.example/x", {"json": {"credentials": [PASSWORD]}}),
    ("JSON in a text", "post", "https://a.example/x", {"json": {"text": INNER}}),
    ("JSON in a form", "post", "https://a.example/x", {"data": {"state": INNER}}),
    ("broken JSON", "post", "https://a.example/x", {"content": f'{{"token": "{PASSWORD}'}),
    ("multipart", "post", "https://a.example/x",
     {"data": {"password": PASSWORD}, "files": {"meta": ("m.json", INNER), "f": ("a.bin", PNG)}}),
    ("XML", "post", "https://a.example/x", {"content": f"<a><Password>{PASSWORD}</Password></a>"}),
    ("Basic", "get", "https://a.example/x", {"auth": ("joe", PASSWORD)}),
    ("headers", "get", "https://a.example/x", {"headers": {"X-Token": PASSWORD}}),
    ("cookies", "get", "https://a.example/x", {"headers": {"Cookie": f"b=1; sid={PASSWORD}"}}),
]  # fmt: skip


def echo(request):
    """Respond with the request: its headers, body and URL, as text and as JSON."""
    body = request.content.decode(errors="replace")
    data = {"headers": dict(request.headers), "body": body, "url": str(request.url)}
    where = {"Location": f"https://joe:{PASSWORD}@a.example/#access_token={PASSWORD}"}
    headers = httpx.Headers({**where, "X-Name": "é"}, encoding="utf-8")
    return httpx.Response(200, json=data, headers=headers)


@pytest.mark.parametrize(("_", "method", "url", "options"), SENT, ids=[row[0] for row in SENT])
async def test_a_secret_of_a_name_is_in_no_part_of_a_file(_, method, url, options, tmp_path):
    async def send_request(tape):
        async with tape.client(auth=None) as client:
            return await client.request(method, url, **options)

    recorded, replayed = await twice(tmp_path / "t", httpx.MockTransport(echo), send_request)

    text = (tmp_path / "t").read_text(errors="surrogatepass")
    pair = base64.b64encode(f"joe:{PASSWORD}".encode()).decode()
    whole = "".join(_texts_of(json.loads(text)))
    assert [form for form in (PASSWORD, pair) if form in text + whole] == []
    assert PASSWORD in str(recorded.headers["location"])
    assert (replayed.status_code, replayed.headers["x-name"]) == (200, "é")
    assert replayed.json()["headers"]["host"] == "a.example"


def _texts_of(value):
    """Yield the texts of a file, and the bytes of its base64."""
    if isinstance(value, str):
        yield value
    if isinstance(value, dict):
        encoded = value["base64"] if isinstance(value.get("base64"), str) else ""
        yield base64.b64decode(encoded).decode(errors="replace")
        value = list(value.values())
    for item in value if isinstance(value, list) else ():
        yield from _texts_of(item)


@pytest.mark.parametrize("kind", ["application/json", "text/event-stream", "text/plain"])
async def test_deep_and_odd_responses_are_recorded_without_secrets(kind, tmp_path):
    content = f'{DEEP}\n\ndata: {{"access_token": "{PASSWORD}", "expires_in": 3}}'
    response = httpx.Response(200, content=content, headers={"content-type": kind})

    def ask(tape):
        url, headers = "https://a.example", {"content-type": kind}
        return tape.client().post(url, content=DEEP, headers=headers)

    transport = httpx.MockTransport(lambda _: response)
    recorded, replayed = await twice(tmp_path / "t", transport, ask)

    assert recorded.text == content
    assert PASSWORD not in (tmp_path / "t").read_text()
    assert replayed.text == content.replace(PASSWORD, "***")


BASIC = {"securitySchemes": {"login": {"type": "http", "scheme": "basic"}}}


async def test_a_known_credential_is_removed_in_every_encoding(tmp_path):
    password = "pw/of+tapes & 8842"
    pair = base64.b64encode(f"joe:{password}".encode()).decode()
    forms = [password, quote(password, safe=""), quote_plus(password), pair, quote(pair, safe="")]
    forms.append(base64.b64encode(password.encode()).decode())
    document = {**PETS, "components": BASIC, "security": [{"login": []}]}
    responses = {"list_pets": {"seen": forms, forms[0]: 1, "path": f"/x/{forms[1]}/y"}}
    api = mock_api(document, responses=responses)

    with Cassette(tmp_path / "t", transport=api.transport) as tape:
        login = {"login": ("joe", password)}
        async with load_tools(document, client=tape.client(), credentials=login) as toolset:
            result = await toolset.call("list_pets", {})

    assert not result.is_error
    (entry,) = json.loads((tmp_path / "t").read_text())
    assert entry["response"]["json"] == {"seen": ["***"] * 6, "***": 1, "path": "/x/***/y"}


def test_pairs_that_say_nothing_stay_as_they_are(tmp_path):
    url = "https://a.example/x?next_page_token=p2&q=a%20b%2Fc&to=https%3A%2F%2Fb%3Fpage%3D2"
    page = {"author": "Joe", "tokens": 7, "mail": "joe@a.example", "site": "https://a.example"}
    api = httpx.MockTransport(lambda _: httpx.Response(200, json=page))

    with Cassette(tmp_path / "t", transport=api) as tape:
        asyncio.run(tape.client().post(url, json=page))

    (entry,) = json.loads((tmp_path / "t").read_text())
    assert entry["request"] == {"method": "POST", "url": url, "body": page}
    assert entry["response"]["json"] == page
