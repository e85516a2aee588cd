"""Requests: nothing that a model or a document says moves, splits or adds to one."""

from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.documents import body, document, object_of, parameter

from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Operation, Parameter, RequestBody
from openapi_tools.requests.builder import build_request
from openapi_tools.requests.encoding import OWN_HEADERS
from openapi_tools.settings import Settings

in_one_loop = pytest.mark.asyncio(loop_scope="module")

BASE = "https://api.example/base"
SURROGATE = "a\ud800"


def build(operation, arguments, **options):
    return build_request(operation, arguments, settings=Settings(base_url=BASE), **options)


STEPS_AWAY = [
    *("..", ".", "../admin/secret", "../../x", "a/../b", "a/./b", "a/..", "..\\admin", "%2e%2e"),
    *("%2e%2e%2fadmin%2fsecret", "..%2f", ".%2e", "%252e%252e", "%25252e%25252e%25252fx"),
    *("%2525252525252525252e", "..;x", "..;/x", "..%3bx", "..?x", "..%3Fx", "..#x", "..\0"),
    *("..%00", " ..", ".\t.", "..%20"),
]


@in_one_loop
@pytest.mark.parametrize("value", STEPS_AWAY)
@pytest.mark.parametrize("path", ["/items/{id}", "/decoding/{id}/x", "/a{id}"])
async def test_a_step_to_another_path_is_refused(value, path, wire):
    declared = [parameter("path", "id")]

    error = await wire.refuse(document(path=path, parameters=declared), {"id": value})

    assert error["type"] == "invalid_input"
    assert "/id" in error["message"]


@in_one_loop
@pytest.mark.parametrize(
    ("path", "arguments"),
    [
        pytest.param("/{a}{b}", {"a": ".", "b": "x/../.."}, id="in one of two values"),
        pytest.param("/p/{a}.", {"a": ["."]}, id="with a literal"),
        pytest.param("/p/{a}/x", {"a": [".."]}, id="in an array"),
        pytest.param("/p/{a}", {"a": ["b", "x/.."]}, id="behind a comma"),
        pytest.param("/p/{a}", {"a": {"/../x": 1}}, id="in a key"),
    ],
)
async def test_a_step_that_several_pieces_make_is_refused(path, arguments, wire):
    declared = [parameter("path", name) for name in arguments]

    error = await wire.refuse(document(path=path, parameters=declared), arguments)

    assert error["type"] == "invalid_input"


@pytest.mark.parametrize("value", ["", "."])
def test_a_label_never_becomes_a_dot_segment(value):
    operation = Operation("GET", "/p/{a}", parameters=(Parameter("a", "path", style="label"),))

    with pytest.raises(InputError) as caught:
        build(operation, {"a": value})

    assert caught.value.pointer == "/a"


@in_one_loop
@pytest.mark.parametrize("value", ["", None, [], {}, [None]], ids=repr)
@pytest.mark.parametrize("path", ["/a/{x}/b", "/a{x}", "/{x}:go"])
async def test_a_path_is_never_left_with_a_gap(value, path, wire):
    error = await wire.refuse(
        document(path=path, parameters=[parameter("path", "x")]), {"x": value}
    )

    assert error["type"] == "invalid_input"
    assert "/x" in error["message"]


def test_a_variable_that_nothing_feeds_is_an_error():
    with pytest.raises(InputError, match="value is needed"):
        build(Operation("GET", "/a/{x}"), {})


def test_a_documents_own_dot_segment_is_refused():
    with pytest.raises(CallError, match="leads elsewhere"):
        build(Operation("GET", "/a/%2e%2E/b"), {})


def test_what_the_client_would_normalise_is_not_sent(monkeypatch):
    monkeypatch.setattr("openapi_tools.requests.builder.has_dot_segment", lambda _: False)
    operation = Operation("GET", "/{a}", parameters=(Parameter("a", "path"),))

    with pytest.raises(CallError) as caught:
        build(operation, {"a": [".."]})

    assert caught.value.kind == "denied"


def test_a_line_break_in_a_documents_path_is_encoded():
    request = build(Operation("GET", "/a\r\nX: 1"), {})

    assert request.url.raw_path == b"/base/a%0D%0AX:%201"


@in_one_loop
@pytest.mark.parametrize(
    "declared",
    [
        {"path": "/p/{x}", "parameters": [parameter("path", "x")]},
        {"parameters": [parameter("query", "x")]},
        {"parameters": [parameter("query", "x", style="deepObject")]},
        {"parameters": [parameter("query", "x", content={"application/json": {}})]},
        {"parameters": [parameter("header", "x")]},
        {"parameters": [parameter("header", "x", content={"application/json": {}})]},
        {"parameters": [parameter("cookie", "x")]},
        {"version": "3.2.0", "parameters": [parameter("cookie", "x", style="cookie")]},
        {"body": body("application/json", object_of(x={}))},
        {"body": body("application/x-www-form-urlencoded", object_of(x={}))},
        {"body": body("multipart/form-data", object_of(x={"type": "string"}))},
    ],
    ids=[
        *("path", "query", "deep query", "JSON query", "header", "JSON header", "cookie"),
        *("plain cookie", "JSON body", "form body", "multipart body"),
    ],
)
async def test_half_a_surrogate_pair_is_refused_everywhere(declared, wire):
    error = await wire.refuse(document(**declared), {"x": SURROGATE})

    assert error["type"] == "invalid_input"
    assert error["message"].startswith("/x")


UNSENDABLE = [
    *("x\r\nX-Evil: 1", "x\nY: 1", "a\0b", "\x1b[31m", "中", "\x80", " a", "a ", "\ta", "\x7f"),
]


@in_one_loop
@pytest.mark.parametrize("value", UNSENDABLE, ids=repr)
async def test_what_no_header_can_hold_is_refused(value, wire):
    declared = [parameter("header", "X-Y")]

    error = await wire.refuse(document(parameters=declared), {"X-Y": value})

    assert error["type"] == "invalid_input"
    assert "/X_Y" in error["message"] or "/X-Y" in error["message"]


@in_one_loop
@pytest.mark.parametrize("value", [*UNSENDABLE, "b; admin=1", "b;", "é"], ids=repr)
async def test_what_no_cookie_can_hold_is_refused(value, wire):
    declared = [parameter("cookie", "c", style="cookie")]

    error = await wire.refuse(document(version="3.2.0", parameters=declared), {"c": value})

    assert error["type"] == "invalid_input"


@in_one_loop
@pytest.mark.parametrize("name", ["a;b", "a=b", "a\r\nb", "a b", "é"], ids=repr)
async def test_no_key_becomes_a_cookie_of_its_own(name, wire):
    declared = [parameter("cookie", "c", style="cookie")]

    error = await wire.refuse(document(version="3.2.0", parameters=declared), {"c": {name: 1}})

    assert error["type"] == "invalid_input"


@pytest.mark.parametrize(
    ("place", "name"),
    [
        *(("cookie", name) for name in ("a;b", "a=b", "a\r\nb", "a b")),
        *(("header", name) for name in ("X Y", "X:Y", "X\r\nY", "", "é")),
    ],
    ids=repr,
)
def test_a_parameter_with_no_name_for_its_place_is_refused(place, name):
    with pytest.raises(InputError, match=f"name of a {place}"):
        build(Operation("GET", "/", parameters=(Parameter(name, place, "x"),)), {"x": 1})


@pytest.mark.parametrize("name", sorted(OWN_HEADERS))
@pytest.mark.parametrize("spelled", [str.upper, str.title], ids=["UPPER", "Title"])
def test_no_argument_sets_what_frames_the_request(name, spelled):
    plain = build(Operation("POST", "/"), {})

    request = build(
        Operation("POST", "/", parameters=(Parameter(spelled(name), "header", "x"),)), {"x": "evil"}
    )

    assert request.headers == plain.headers


@pytest.mark.parametrize(
    ("location", "value"),
    [("query", "é" * 11_000), ("path", "%25" * 1_000_000), ("path", ["%25" * 1_000_000])],
    ids=["query", "path", "path array"],
)
def test_a_url_longer_than_the_client_takes_is_refused(location, value):
    path = "/{x}" if location == "path" else "/"
    operation = Operation("GET", path, parameters=(Parameter("x", location),))

    with pytest.raises(InputError, match="longer than 65536"):
        build(operation, {"x": value})


@pytest.mark.parametrize("method", ["GE T", "GET / HTTP/1.1\r\nX: 1", "", "é"], ids=repr)
def test_a_method_that_is_none_is_refused(method):
    with pytest.raises(CallError, match="not a valid method"):
        build(Operation(method, "/"), {})


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), 10**5000, [{"k": float("nan")}]],
    ids=["nan", "inf", "long", "deep"],
)
def test_numbers_that_json_does_not_have_are_refused(value):
    operation = Operation("GET", "/", parameters=(Parameter("x", "query", "a/b"),))

    with pytest.raises(InputError) as caught:
        build(operation, {"a/b": value})

    assert caught.value.pointer.startswith("/a~1b")


def test_arguments_are_not_changed():
    operation = Operation(
        "POST",
        "/{p}",
        parameters=(Parameter("p", "path"), Parameter("q", "query", style="deepObject")),
        body=RequestBody("application/json", argument="b"),
    )
    given_now = {"p": "a", "q": {"a": [1, {"b": None}]}, "b": {"c": [None]}}
    before = repr(given_now)

    build(operation, given_now)

    assert repr(given_now) == before


TEXTS = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(STEPS_AWAY)
ANYWHERE = Operation(
    "GET",
    "/p/{a}/x{b}/{c}",
    parameters=(
        Parameter("a", "path"),
        Parameter("b", "path", style="matrix"),
        Parameter("c", "path", allow_reserved=True),
        Parameter("q", "query"),
        Parameter("r", "query", allow_reserved=True),
        Parameter("d", "query", style="deepObject"),
        Parameter("h", "header"),
        Parameter("k", "cookie"),
        Parameter("s", "cookie", style="cookie"),
    ),
)


@pytest.mark.long
@given(st.fixed_dictionaries({p.name: TEXTS for p in ANYWHERE.parameters}), TEXTS)
@settings(max_examples=400)
def test_no_text_leaves_the_server_its_path_or_the_headers_that_belong(arguments, key):
    arguments["d"] = {key: arguments["d"]}

    try:
        request = build(ANYWHERE, arguments)
    except InputError:
        return

    path, _, query = request.url.raw_path.decode("ascii").partition("?")
    assert (request.url.scheme, request.url.netloc) == ("https", b"api.example")
    assert path.startswith("/base/p/")
    assert path.count("/") == 5
    assert not {".", ".."} & set(unquote(path).replace("\\", "/").split("/"))
    assert len(parse_qsl(query, keep_blank_values=True)) == 3
    names = [name for name, _ in request.headers.raw]
    assert names == [b"Host", b"Accept", b"Accept-Encoding", b"User-Agent", b"Cookie", b"h"]
    assert request.headers["cookie"].count(";") == 1
    assert not {"\r", "\n", "\0"} & set("".join(request.headers.values()))
