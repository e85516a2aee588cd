"""Requests: nothing that a model or a document says moves, splits or adds to one."""

from urllib.parse import parse_qsl, unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from servers.documents import body, document, object_of, parameter

from openapi_tools.errors import CallError, InputError
from openapi_tools.model import Encoding, Operation, Parameter, RequestBody
from openapi_tools.requests.builder import RequestPlan
from openapi_tools.requests.encoding import OWN_HEADERS
from openapi_tools.settings import Settings

in_one_loop = pytest.mark.asyncio(loop_scope="module")

BASE = "https://api.example/base"
SURROGATE = "a\ud800"


def build(operation, arguments, **options):
    return RequestPlan(operation, Settings(base_url=BASE)).build(arguments, **options)


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
    ("path", "arguments", "style"),
    [
        pytest.param("/{a}{b}", {"a": ".", "b": "x/../.."}, "simple", id="in one of two values"),
        pytest.param("/p/{a}.", {"a": ["."]}, "simple", id="with a literal"),
        pytest.param("/p/{a}/x", {"a": [".."]}, "simple", id="in an array"),
        pytest.param("/p/{a}", {"a": ["b", "x/.."]}, "simple", id="behind a comma"),
        pytest.param("/p/{a}", {"a": {"/../x": 1}}, "simple", id="in a key"),
        pytest.param("/p/{a}", {"a": ""}, "label", id="an empty label"),
        pytest.param("/p/{a}", {"a": "."}, "label", id="a label of a dot"),
    ],
)
async def test_a_step_that_several_pieces_make_is_refused(path, arguments, style, wire):
    declared = [parameter("path", name, style=style) for name in arguments]

    error = await wire.refuse(document(path=path, parameters=declared), arguments)

    assert error["type"] == "invalid_input"


@in_one_loop
@pytest.mark.parametrize("value", ["", None, [], {}, [None]], ids=repr)
@pytest.mark.parametrize("path", ["/a/{x}/b", "/a{x}", "/{x}:go"])
async def test_a_path_is_never_left_with_a_gap(value, path, wire):
    error = await wire.refuse(
        document(path=path, parameters=[parameter("path", "x")]), {"x": value}
    )

    assert error["type"] == "invalid_input"
    assert "/x" in error["message"]


def test_what_the_client_would_normalise_is_not_sent(monkeypatch):
    monkeypatch.setattr("openapi_tools.common.http_rules.has_dot_segment", lambda _: False)
    operation = Operation("GET", "/{a}", parameters=(Parameter("a", "path"),))

    with pytest.raises(CallError) as caught:
        build(operation, {"a": [".."]})

    assert caught.value.kind == "denied"


@in_one_loop
@pytest.mark.parametrize(
    "declared",
    [
        {"path": "/p/{x}", "parameters": [parameter("path", "x")]},
        {"parameters": [parameter("query", "x", content={"application/json": {}})]},
        {"parameters": [parameter("header", "x")]},
        {"body": body("multipart/form-data", object_of(x={"type": "string"}))},
    ],
    ids=["path", "JSON query", "header", "multipart body"],
)
async def test_half_a_surrogate_pair_is_refused_everywhere(declared, wire):
    error = await wire.refuse(document(**declared), {"x": SURROGATE})

    assert error["type"] == "invalid_input"
    assert error["message"].startswith("/x")


UNSENDABLE = [
    *("x\r\nX-Evil: 1", "x\nY: 1", "a\0b", "\x1b[31m", "中", "\x80", " a", "a ", "\ta", "\x7f")
]


@in_one_loop
@pytest.mark.parametrize("value", UNSENDABLE, ids=repr)
async def test_what_no_header_can_hold_is_refused(value, wire):
    declared = [parameter("header", "X-Y")]

    error = await wire.refuse(document(parameters=declared), {"X-Y": value})

    assert error["type"] == "invalid_input"
    assert error["message"].startswith("/X_Y: ")


NO_COOKIES = ["b; admin=1", "b;", "é", *({k: 1} for k in ("a;b", "a=b", "a\r\nb", "a b", "é"))]


@in_one_loop
@pytest.mark.parametrize("value", [*UNSENDABLE, *NO_COOKIES], ids=repr)
async def test_what_no_cookie_can_hold_is_refused(value, wire):
    declared = [parameter("cookie", "c", style="cookie")]

    error = await wire.refuse(document(version="3.2.0", parameters=declared), {"c": value})

    assert error["type"] == "invalid_input"


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (Operation("GET", "/a/{x}"), "missing path parameter"),
        (Operation("GET", "/a/%2e%2E/b"), "leads elsewhere"),
        *(
            (Operation(method, "/"), "not a valid method")
            for method in ("GE T", "GET / HTTP/1.1\r\nX: 1", "", "é")
        ),
    ],
)
def test_an_operation_that_no_loader_makes_is_refused(operation, message):
    with pytest.raises((CallError, InputError), match=message):
        build(operation, {})


NO_NAMES = {"cookie": ["a;b", "a=b", "a\r\nb", "a b"], "header": ["X Y", "X:Y", "X\r\nY", "", "é"]}


@pytest.mark.parametrize(
    ("location", "name"), [(place, name) for place, names in NO_NAMES.items() for name in names]
)
def test_a_parameter_with_no_name_for_its_location_is_refused(location, name):
    with pytest.raises(InputError, match=f"not a valid {location} name"):
        build(Operation("GET", "/", parameters=(Parameter(name, location, "x"),)), {"x": 1})


@pytest.mark.parametrize("name", sorted(OWN_HEADERS))
@pytest.mark.parametrize("spelled", [str.upper, str.title, lambda name: name.replace("-", "_")])
def test_no_argument_sets_what_frames_the_request(name, spelled):
    plain = build(Operation("POST", "/"), {})

    request = build(
        Operation("POST", "/", parameters=(Parameter(spelled(name), "header", "x"),)), {"x": "evil"}
    )

    assert request.headers == plain.headers


@in_one_loop
@pytest.mark.parametrize(
    ("location", "value"),
    [("query", "é" * 11_000), ("path", "%25" * 100_000), ("path", ["%25" * 100_000])],
    ids=["query", "path", "path array"],
)
async def test_a_url_longer_than_the_client_takes_is_refused(location, value, wire):
    path = "/{x}" if location == "path" else "/"

    error = await wire.refuse(
        document(path=path, parameters=[parameter(location, "x")]), {"x": value}
    )

    assert "longer than 65536" in error["message"]


@in_one_loop
@pytest.mark.parametrize(
    ("location", "style", "path", "target"),
    [("query", "simple", "/p", "/p?x=a,b"), ("path", "form", "/p/{x}", "/p/a,b")],
)
async def test_a_style_is_written_as_the_one_that_fits_its_location(
    location, style, path, target, wire
):
    declared = [parameter(location, "x", style=style, explode=False)]

    seen = await wire.send(document(path=path, parameters=declared), {"x": ["a", "b"]})

    assert seen.target == target


@in_one_loop
async def test_an_object_in_a_parameter_that_is_only_text_is_refused(wire):
    declared = [parameter("query", "x", content={"application/xml": {}})]

    error = await wire.refuse(document(parameters=declared), {"x": {"a": 1}})

    assert error["message"].startswith("an object cannot be written as application/xml")


FORM, DATA = "application/x-www-form-urlencoded", "multipart/form-data"
UTF_8 = "text/plain; charset=utf-8"
WITH_FILE = {"media_type": FORM, "encodings": (Encoding("f", file=True),)}


def build_post(media_type, value, encodings=()):
    """Return a POST by hand, whose body may be what no loader makes of a document."""
    body = RequestBody(media_type, argument="b", encodings=encodings, required=True)
    return build(Operation("POST", "/", body=body), {} if value is None else {"b": value})


@pytest.mark.parametrize(
    ("body", "value", "sent"),
    [
        ({"media_type": "*/*"}, {"a": 1}, ("application/json", b'{"a":1}')),
        ({"media_type": "*/*"}, "a", (UTF_8, b"a")),
        ({"media_type": "application/*"}, "a", ("application/json", b'"a"')),
        (WITH_FILE, {"f": {"text": "é?"}}, (FORM, b"f=w6k%2F")),
    ],
)
def test_an_operation_made_by_hand_may_have_ranges_and_files_in_forms(body, value, sent):
    request = build_post(value=value, **body)

    assert (request.headers["content-type"], request.content) == sent


@pytest.mark.parametrize(
    ("body", "value", "message"),
    [
        ({"media_type": "application/json"}, [{"x/y": ["\ud800"]}],
         "/b/0/x~1y/0: the string contains"),
        ({"media_type": "application/json"}, {"a": [float("inf")]}, "/b/a/0: the value cannot be"),
        ({"media_type": "application/json"}, None, "/b: the request body is required"),
        ({"media_type": FORM}, {"x": "\ud800"}, "/b/x: the string contains a lone surrogate"),
        ({"media_type": "application/xml"}, {"a": 1}, "an object cannot be written as"),
        ({"media_type": "image/*"}, "a", "writing image/* is not supported"),
        (WITH_FILE, {"f": {"base64": "?"}}, "/b/f/base64: not valid base64"),
    ],
)  # fmt: skip
def test_an_operation_made_by_hand_has_its_body_checked_too(body, value, message):
    with pytest.raises((CallError, InputError)) as caught:
        build_post(value=value, **body)

    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("media_type", ["application/json", FORM, DATA])
def test_nesting_without_end_is_refused(media_type):
    deep = []
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(InputError, match="nested too deeply"):
        build_post(media_type, {"a": {"b": deep}})


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
