"""No part of a known secret is shown, wherever a server repeats it and however it escapes it."""

import asyncio
import html
import json
import random
import string
from functools import cache
from urllib.parse import quote, unquote

import httpx
import pytest
from documents import document, operation
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.recorder import CannedResponse, Recorder
from trust.promises import listening, load_quietly, secured_document, with_token_at

from openapi_tools import OAuth2, Settings, load_tools

pytestmark = pytest.mark.untraced
RUN = 8
"""Characters of a secret that are too many."""
LIMIT = 1000
REPEATABLE = settings(max_examples=300, deadline=None, database=None, derandomize=True)
SYMBOLS = string.ascii_letters + string.digits + "-._~+/=%&<>\"'\\;"
"""What a token may hold, and what URLs, JSON and HTML escape."""

ESCAPES = {
    "as it is": str,
    "for a URL": lambda text: quote(text, safe=""),
    "for a URL, every character": lambda text: "".join(f"%{ord(c):02x}" for c in text),
    "for a URL, twice": lambda text: quote(quote(text, safe="")),
    "as JSON": lambda text: json.dumps(text)[1:-1],
    "as JSON, every character": lambda text: "".join(f"\\u{ord(c):04x}" for c in text),
    "as JSON, twice": lambda text: json.dumps(json.dumps(text)),
    "as HTML": html.escape,
    "as HTML, every character": lambda text: "".join(f"&#x{ord(c):X};" for c in text),
    "for a URL in HTML": lambda text: html.escape(quote(text, safe="/")),
}
JSON, TEXT, PAGE = "application/json", "text/plain", "text/html"
PART = '--b\r\nContent-Disposition: a; name="{0}"\r\n\r\n{0}\r\n--b--'
BODIES = {
    "JSON": (JSON, lambda text: json.dumps({"detail": text})),
    "a list": (JSON, lambda text: json.dumps([1, {"a": [text]}, 2])),
    "names": (JSON, lambda text: json.dumps({text: 1, f"{text}2": 2})),
    "no JSON": (JSON, str),
    "JSON that ends early": (JSON, lambda text: f'{{"a": "{text}'),
    "JSON in UTF-16": (JSON, lambda text: json.dumps([text]).encode("utf-16")),
    "problem": ("application/problem+json", lambda text: json.dumps({"title": text})),
    "text": (TEXT, str),
    "UTF-16": (f"{TEXT}; charset=utf-16", lambda text: text.encode("utf-16-le")),
    "UTF-16 with a mark": (TEXT, lambda text: text.encode("utf-16")),
    "UTF-16 under no name": (TEXT, lambda text: text.encode("utf-16-be")),
    "Latin-1": (f"{TEXT}; charset=iso-8859-1", lambda text: f"é {text} é".encode("latin-1")),
    "a page": (PAGE, lambda text: f"<html><title>{text}</title><p>{text}</html>"),
    "a page with breaks": (PAGE, lambda text: f"<p>{'<wbr>'.join(map(html.escape, text))}"),
    "a page as JSON": (JSON, lambda text: f"<html><p>{text}"),
    "events": ("text/event-stream", lambda text: f"data: {text}\n\nid: {text}\n\n"),
    "lines": ("application/jsonl", lambda text: f"{json.dumps(text)}\n{text}"),
    "parts": ("multipart/mixed; boundary=b", PART.format),
    "a form": ("application/x-www-form-urlencoded", lambda text: f"a={text}"),
    "no name": ("", str),
    "bytes": ("application/octet-stream", lambda text: b"\0\xff" + text.encode()),
}
HEADERS = (
    *("allow", "content-disposition", "content-encoding", "content-language", "content-type"),
    *("etag", "last-modified", "link", "location", "retry-after", "x-request-id"),
)
EDGES = (0, 60, 80, 100, 200, 500, LIMIT, 1200, 2400, 64_000, 200_000)
"""Places at which something is cut; a secret is laid across them."""


def secret_of(length, seed):
    return "".join(random.Random(seed).choices(SYMBOLS, k=length))


SECRETS = [secret_of(length, seed) for length in (16, 71, 400) for seed in range(5)]
PLACES = st.builds(
    lambda edge, before: max(edge - before, 0), st.sampled_from(EDGES), st.integers(-10, 400)
)
STATUSES = st.sampled_from([200, 201, 302, 400, 401, 503])


@pytest.fixture(scope="module")
def collect_texts():
    """Call a server that responds as it is told to; return all that is said of the call."""
    schema = {"content": {"application/json": {"schema": {"type": "array", "maxItems": 0}}}}
    responses = {"200": {"description": "", **schema}}
    opened = []
    with asyncio.Runner() as runner, listening() as texts:
        home = runner.run(Recorder().__aenter__())

        @cache
        def tool_with(secret, **options):
            scheme = {"type": "apiKey", "in": "query", "name": "key"}
            api = secured_document(scheme, server=home.url, method="post", responses=responses)
            chosen = Settings(max_output_chars=LIMIT, timeout=20, **options)
            tools = load_tools(api, credentials={"k": secret}, settings=chosen)
            tools.subscribe(texts.append)
            tools.add_on_error_func(lambda error, _: texts.append(vars(error)))
            opened.append(tools)
            return tools["x"]

        def texts_of_call(secret, response, **options):
            texts.clear()
            home.requests.clear()
            home.response = response
            result = runner.run(tool_with(secret, **options).execute({}))
            assert home.requests
            parts = [str(result), result.output, result.error, result.metadata]
            return [str(part) for part in [*parts, result.as_content(), *texts]]

        yield texts_of_call
        for tools in opened:
            runner.run(tools.aclose())
        runner.run(home.__aexit__())


def visible_runs(secret, texts):
    """Return the runs of a secret that texts show, also once a reader unescapes them."""
    joined = "\n".join(texts)
    read = [joined, unquote(joined), html.unescape(joined), joined.replace("\\", "")]
    runs = {secret[at : at + RUN] for at in range(len(secret) - RUN + 1)}
    return [run for run in runs if any(run in text or run.lower() in text for text in read)]


def lay_secret(secret, place, filler, rest):
    """Return a text with a secret at a place."""
    return f"{(filler * place)[:place]} {secret} {filler * rest}"


@pytest.mark.long
@pytest.mark.parametrize("body", BODIES)
@given(
    secret=st.sampled_from(SECRETS),
    place=PLACES,
    escape=st.sampled_from(sorted(ESCAPES)),
    filler=st.sampled_from(["word ", "x"]),
    rest=st.sampled_from([0, 3000]),
    status=STATUSES,
)
@settings(parent=REPEATABLE, max_examples=25)
def test_no_run_of_a_secret_in_a_body_is_shown(
    collect_texts, body, secret, place, escape, filler, rest, status
):
    kind, make_body = BODIES[body]
    text = lay_secret(ESCAPES[escape](secret), place, filler, rest)
    sent = make_body(text)
    content = sent.encode() if isinstance(sent, str) else sent
    response = CannedResponse(status, [("Content-Type", kind)] if kind else [], content)

    assert visible_runs(secret, collect_texts(secret, response)) == []


@pytest.mark.long
@given(
    secret=st.sampled_from(SECRETS),
    place=st.integers(0, 1200),
    escape=st.sampled_from(["as it is", "for a URL", "for a URL, twice", "as HTML"]),
    name=st.sampled_from(HEADERS),
    status=STATUSES,
)
@REPEATABLE
def test_no_run_of_a_secret_in_a_header_is_shown(
    collect_texts, secret, place, escape, name, status
):
    value = f"{'x' * place}{ESCAPES[escape](secret)}"
    value = f"text/plain; charset={value}" if name == "content-type" else value
    response = CannedResponse(status, [(name, value)], "é".encode())

    assert visible_runs(secret, collect_texts(secret, response)) == []


@given(secret=st.sampled_from(SECRETS), place=st.integers(0, 600), rest=st.sampled_from([0, 300]))
@settings(parent=REPEATABLE, max_examples=30)
def test_no_run_of_a_secret_is_in_what_is_wrong_with_a_response(collect_texts, secret, place, rest):
    response = CannedResponse(body=json.dumps([lay_secret(secret, place, "x", rest)]).encode())

    texts = collect_texts(secret, response, check_responses=True)

    assert "response_problems" in "".join(texts)
    assert visible_runs(secret, texts) == []


KINDS = {
    "short": {"type": "string", "maxLength": 5},
    "one": {"enum": ["a", "b"]},
    "number": {"type": "integer"},
    "list": {"type": "array", "maxItems": 1},
    "header": {"type": "string"},
}


@cache
def refusing(secret):
    """Return a tool with arguments that are easily wrong."""
    places = [
        {"name": name, "in": "header" if name == "header" else "query", "schema": KINDS[name]}
        for name in KINDS
    ]
    root = document({"/x": {"get": operation(operationId="x", parameters=places)}})
    credential = {"in": "header", "name": "X-Key", "value": secret}
    return load_quietly(root, credentials={"own": credential})[0]["x"]


@given(
    secret=st.sampled_from(SECRETS),
    place=st.integers(0, 200),
    filler=st.sampled_from(["word ", "x"]),
)
@settings(parent=REPEATABLE, max_examples=60)
def test_no_run_of_a_secret_that_a_model_gives_is_shown(secret, place, filler):
    text = lay_secret(secret, place, filler, 30)
    wrong = [{"short": text}, {"one": text}, {"number": text}, {text: 1}]
    wrong += [{"list": [text, text]}, {"header": f"{text}\n"}, {"_profile": text}]
    for arguments in wrong:
        result = asyncio.run(refusing(secret).execute(arguments))

        assert result.error["type"] == "invalid_input"
        assert visible_runs(secret, [str(result), repr(result.error)]) == []


@given(secret=st.sampled_from(SECRETS), place=st.integers(0, 12_000), has_space=st.booleans())
@settings(parent=REPEATABLE, max_examples=60)
def test_no_run_of_a_secret_in_the_words_of_a_token_endpoint_is_shown(secret, place, has_space):
    def refuse(_):
        description = lay_secret(secret, place, " " if has_space else "x", 300)
        return httpx.Response(400, json={"error": secret, "error_description": description})

    credentials = {"k": OAuth2(client_id="me", client_secret=secret)}
    (tool,), _ = load_quietly(
        secured_document(with_token_at("/t")), credentials=credentials, handler=refuse
    )

    result = asyncio.run(tool.execute({}))

    assert "refused the request" in str(result)
    assert visible_runs(secret, [str(result), repr(result.error)]) == []
