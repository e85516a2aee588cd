from __future__ import annotations

import base64

import httpx
import pytest
from documents import document, operation

from openapi_tools import ImageContent, Settings, TextContent, ToolResult, load_tools

PNG = b"\x89PNG\r\n\x1a\n\x00"
CODED = base64.b64encode(PNG).decode()
IMAGE = ImageContent(data=CODED, media_type="image/png")


async def answered(body, media_type, status=200):
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body, headers={"Content-Type": media_type})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    settings = Settings(base_url="https://api.example.com")
    described = document({"/x": {"get": operation()}})
    toolset = load_tools(described, client=client, settings=settings)
    return await toolset["get_x"].execute({})


async def test_an_image_is_an_image():
    assert (await answered(PNG, "image/png")).as_content() == [IMAGE]


async def test_the_parts_of_an_answer_are_contents_of_their_own():
    body = b'--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nhello\r\n'
    body += b"--b\r\nContent-Type: image/png\r\n\r\n" + PNG + b"\r\n--b--\r\n"

    text, image = (await answered(body, "multipart/form-data; boundary=b")).as_content()

    assert isinstance(text, TextContent)
    assert "hello" in text.text
    assert image == IMAGE


@pytest.mark.parametrize(
    ("body", "media_type", "text"),
    [
        (b'{"a": [1]}', "application/json", '{"a": [1]}'),
        (b"hello", "text/plain", "hello"),
        (b"", "text/plain", "Success"),
        (b"[]", "application/json", "[]"),
    ],
)
async def test_all_else_is_one_text(body, media_type, text):
    assert (await answered(body, media_type)).as_content() == [TextContent(text=text)]


async def test_an_error_is_a_text():
    result = await answered(b'{"message": "no such pet"}', "application/json", 404)

    (content,) = result.as_content()

    assert content == TextContent(text=str(result))


@pytest.mark.parametrize("media_type", ["image/tiff", "application/pdf"])
async def test_bytes_that_no_provider_shows_stay_text(media_type):
    (content,) = (await answered(PNG, media_type)).as_content()

    assert isinstance(content, TextContent)
    assert media_type in content.text


@pytest.mark.parametrize(
    "output",
    [
        {"base64": CODED, "media_type": "image/png"},
        {"base64": CODED, "media_type": "image/png", "bytes": 9, "more": 1},
        {"base64": 7, "media_type": "image/png", "bytes": 3},
        {"base64": "***", "media_type": "image/png", "bytes": 2},
        {"base64": CODED, "media_type": "image/png", "bytes": 8},
        {"file": "/tmp/x.png", "media_type": "image/png", "bytes": 9},
    ],
)
def test_only_bytes_as_answers_show_them_are_images(output):
    (content,) = ToolResult.ok(output).as_content()
    assert isinstance(content, TextContent)
