"""Every operation of a FastAPI application under uvicorn, called through tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from real.app_answers import ARCHIVE, PNG
from real.app_security import PLAIN, SECRET
from real.fastapi_bodies import NOTED
from real.fastapi_calls import CALLS, FAILING, MIA, REFUSED, REX
from real.fastapi_rows import Call, Failing, as_base64

from openapi_tools import Settings, Toolset, aload_tools, load_tools

if TYPE_CHECKING:
    from pathlib import Path

    from real.conftest import Echo

CREDENTIALS = {
    "headerKey": PLAIN,
    "queryKey": SECRET,
    "cookieKey": PLAIN,
    "basicAuth": ("ann", PLAIN),
    "bearerAuth": PLAIN,
    "oauth": PLAIN,
}


@pytest.fixture(scope="module")
def loaded(running_echo: Echo) -> Toolset:
    """The tools of the application, whose document was fetched by its URL."""
    return load_tools(f"{running_echo.url}/openapi.json", credentials=CREDENTIALS)


@pytest.fixture
def toolset(loaded: Toolset, echo: Echo) -> Toolset:
    """The tools, before any call."""
    return loaded


def test_every_operation_of_the_document_is_a_tool(toolset, echo):
    paths = echo.app.openapi()["paths"]

    operations = [(method.upper(), path) for path, item in paths.items() for method in item]

    assert len(operations) >= 25
    assert [(tool.method, tool.path) for tool in toolset] == operations
    assert (toolset.skipped, toolset.warnings) == ((), ())


def test_every_operation_is_called_by_some_row(toolset):
    called = {row.tool for row in [*CALLS, *FAILING]}

    assert {tool.name for tool in toolset} == called


@pytest.mark.parametrize("call", CALLS, ids=str)
async def test_what_is_sent_is_what_the_server_says_it_received(toolset, echo, call: Call):
    result = await toolset[call.tool].execute(call.arguments)

    assert result.error is None
    assert result.output == call.output
    assert call.target in ("", echo.kept[0].target)


@pytest.mark.parametrize("call", FAILING, ids=str)
async def test_what_the_server_refuses_is_an_error_result(toolset, echo, call: Failing):
    result = await toolset[call.tool].execute(call.arguments)

    assert result.is_error
    assert {key: result.error.get(key) for key in call.error} == call.error
    assert echo.kept


@pytest.mark.parametrize("call", REFUSED, ids=str)
async def test_what_does_not_fit_is_not_sent(toolset, echo, call: Failing):
    result = await toolset[call.tool].execute(call.arguments)

    assert result.is_error
    assert {key: result.error.get(key) for key in call.error} == call.error
    assert not echo.kept


async def test_answers_of_calls_at_the_same_time_are_not_mixed_up(toolset):
    calls = (toolset["get_by_name"].execute({"name": f"n {number}"}) for number in range(40))

    results = await asyncio.gather(*calls)

    assert [result.output["name"] for result in results] == [f"n {number}" for number in range(40)]


async def test_a_pet_lives_as_the_calls_say(toolset):
    made = await toolset["create_pet"].execute({"name": "Bo", "owner": "Ann"})
    pet_id = made.output["id"]
    replaced = await toolset["replace_pet"].execute({"pet_id": pet_id, "name": "Bo", "tags": ["a"]})
    changed = await toolset["update_pet"].execute({"pet_id": pet_id, "status": "pending"})
    read = await toolset["read_pet"].execute({"pet_id": pet_id})
    listed = await toolset["list_pets"].execute({"status": ["pending"]})
    deleted = await toolset["delete_pet"].execute({"pet_id": pet_id})
    gone = await toolset["read_pet"].execute({"pet_id": pet_id})
    left = await toolset["list_pets"].execute({})

    bo = {"id": pet_id, "name": "Bo", "status": "available", "tags": []}
    assert made.output == bo | {"owner": "Ann"}
    assert made.metadata["status"] == 201
    assert made.metadata["headers"]["location"] == f"/pets/{pet_id}"
    assert replaced.output == bo | {"owner": None, "tags": ["a"]}
    assert changed.output == read.output == replaced.output | {"status": "pending"}
    assert listed.output == [read.output]
    assert (deleted.output, deleted.metadata["status"]) == (None, 204)
    assert gone.error["status"] == 404
    assert f"There is no pet {pet_id}." in str(gone)
    assert left.output == [REX, MIA]


async def test_a_photo_comes_back_byte_for_byte(toolset):
    photo = {"base64": as_base64(PNG), "content_type": "image/png"}
    await toolset["set_photo"].execute({"pet_id": 1, "photo": photo})

    result = await toolset["get_photo"].execute({"pet_id": 1})

    assert result.output["base64"] == as_base64(PNG)
    assert (result.output["media_type"], result.output["bytes"]) == ("image/png", len(PNG))


async def test_head_and_options_tell_in_headers(toolset, echo):
    checked = await toolset["check_pet"].execute({"pet_id": 1})
    described = await toolset["describe_pets"].execute({})

    assert checked.metadata["headers"]["etag"] == '"1-available"'
    assert described.metadata["headers"]["allow"] == "GET, POST, OPTIONS"
    assert [kept.method for kept in echo.kept] == ["HEAD", "OPTIONS"]


async def test_an_argument_that_four_places_share_reaches_each(toolset, echo):
    await toolset["set_same"].execute(NOTED)

    assert echo.last.target == "/same/1?id=q%26%3D"
    assert (echo.last.header("id"), echo.last.header("cookie")) == ("h", "id=c")
    assert echo.last.body == b'{"id":"b"}'


async def test_absent_is_not_null_on_the_wire(toolset, echo):
    await toolset["update_profile"].execute({"nick": None})
    await toolset["update_profile"].execute({})
    await toolset["set_optional_profile"].execute({"body": None})
    await toolset["set_optional_profile"].execute({})

    assert [kept.body for kept in echo.kept] == [b'{"nick":null}', b"{}", b"null", b""]
    assert echo.last.header("content-type") is None


async def test_a_form_is_sent_as_browsers_send_it(toolset, echo):
    await toolset["login"].execute({"username": "a b", "password": "ü&", "scope": ["r", "w"]})

    assert echo.last.header("content-type") == "application/x-www-form-urlencoded"
    assert echo.last.body == b"username=a+b&password=%C3%BC%26&scope=r&scope=w"


async def test_each_answer_tells_its_media_type(toolset):
    expected = {
        "answer_text": "text/plain",
        "answer_html": "text/html",
        "answer_xml": "application/xml",
        "answer_csv": "text/csv",
        "answer_png": "image/png",
        "answer_lines": "application/x-ndjson",
        "answer_events": "text/event-stream",
    }

    results = {name: await toolset[name].execute({}) for name in expected}

    assert {name: result.metadata["media_type"] for name, result in results.items()} == expected


async def test_a_large_answer_is_cut_and_says_so(echo):
    settings = Settings(max_output_chars=2000)
    async with await aload_tools(f"{echo.url}/openapi.json", settings=settings) as toolset:
        result = await toolset["answer_large"].execute({})

    assert result.success
    assert len(str(result)) <= 2000
    assert result.metadata["truncated"]
    assert '"id": 0' in str(result)


async def test_an_answer_over_the_byte_limit_is_an_error(echo):
    settings = Settings(max_response_bytes=10_000)
    async with await aload_tools(f"{echo.url}/openapi.json", settings=settings) as toolset:
        result = await toolset["answer_large"].execute({})

    assert result.error["type"] == "too_large"


async def test_a_download_lands_in_the_chosen_folder(echo, tmp_path: Path):
    settings = Settings(download_dir=tmp_path)
    async with await aload_tools(f"{echo.url}/openapi.json", settings=settings) as toolset:
        result = await toolset["answer_download"].execute({})

    (written,) = tmp_path.iterdir()  # noqa: ASYNC240 -- nothing else runs
    assert written.read_bytes() == ARCHIVE
    assert written.name in str(result)


async def test_a_file_is_read_from_an_allowed_folder(echo, tmp_path: Path):
    (tmp_path / "note.txt").write_text("from disk")
    settings = Settings(file_roots=(tmp_path,))
    async with await aload_tools(f"{echo.url}/openapi.json", settings=settings) as toolset:
        result = await toolset["upload"].execute({"file": {"path": "note.txt"}})

    assert (result.output["filename"], result.output["size"]) == ("note.txt", 9)


@pytest.mark.parametrize("name", [call.tool for call in CALLS if call.tool.startswith("with_")])
async def test_without_credentials_the_server_refuses(echo, name):
    source, anonymous = f"{echo.url}/openapi.json", Settings(anonymous=True)
    async with await aload_tools(source, settings=anonymous) as toolset:
        result = await toolset[name].execute({})

    assert (result.error["type"], result.error["status"]) == ("auth", 401)


@pytest.mark.parametrize("name", [call.tool for call in CALLS if call.tool.startswith("with_")])
async def test_a_credential_is_in_no_result(toolset, name):
    result = await toolset[name].execute({})

    assert result.success
    for secret in (PLAIN, SECRET, "s3cr3t"):
        assert secret not in f"{result!r} {result.metadata}"


async def test_a_cookie_is_percent_encoded_as_the_form_style_asks(toolset, echo):
    await toolset["get_cookies"].execute({"session": "a/+= ü", "ui_theme": "dark"})

    assert echo.last.header("cookie") == "session=a%2F%2B%3D%20%C3%BC; ui-theme=dark"


async def test_cookies_of_an_answer_are_not_sent_with_the_next_call(toolset, echo):
    await toolset["answer_cookie"].execute({})
    await toolset["answer_cookie"].execute({})

    assert [kept.header("cookie") for kept in echo.kept] == [None, None]


async def test_redirects_are_followed_inside_the_origin_and_never_for_a_post(toolset, echo):
    await toolset["answer_redirect"].execute({"q": "a b"})
    await toolset["answer_see_other"].execute({})
    await toolset["answer_redirect_away"].execute({})

    assert [(kept.method, kept.target) for kept in echo.kept] == [
        ("GET", "/answers/old?q=a%20b"),
        ("GET", "/search?q=a%20b"),
        ("POST", "/answers/seen"),
        ("GET", "/answers/away"),
    ]


def test_the_document_names_no_server_so_its_own_address_is_called(toolset, echo):
    request = toolset["get_item"].preview({"item_id": 1})

    assert str(request.url) == f"{echo.url}/items/1"


def test_a_deprecated_operation_says_so(toolset):
    assert [tool.name for tool in toolset if tool.deprecated] == ["old_search"]
    assert "deprecated" in toolset["old_search"].description.lower()
