"""Answers of a real server on loopback, from the bytes on the wire to what a model is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from documents import document, operation
from servers.recorder import Answer, Recorder

from openapi_tools import Settings, load_tools

if TYPE_CHECKING:
    from openapi_tools import ToolResult


async def answered(answer: Answer, **settings: Any) -> ToolResult:
    """Return the result of one GET of a server that gives this answer."""
    described = document({"/x": {"get": operation()}})
    async with Recorder(answer) as recorder:
        chosen = Settings(base_url=recorder.url, **settings)
        async with load_tools(described, settings=chosen) as toolset:
            return await toolset["get_x"].execute({})


def typed(media_type: str, body: bytes, *headers: tuple[str, str]) -> Answer:
    return Answer(headers=[("Content-Type", media_type), *headers], body=body)


@pytest.mark.parametrize(
    ("media_type", "body", "expected"),
    [
        ("text/event-stream", b'{"id": 7}', {"id": 7}),
        ("text/event-stream; charset=utf-8", b"[1,\n\n2]", [1, 2]),
        ("text/event-stream", "déjà vu".encode(), "déjà vu"),
        ("text/event-stream", b"event: done\nid: 7\n\n", "event: done\nid: 7\n\n"),
        ("text/event-stream", b'data: {"id": 7}\n', 'data: {"id": 7}\n'),
        ("text/event-stream", b"no such r\xe9gion", "no such r\ufffdgion"),
        ("multipart/mixed; boundary=b", b'{"id": 7}', {"id": 7}),
        ("multipart/mixed; boundary=b", b"--other\r\n\r\nhi\r\n", "--other\r\n\r\nhi\r\n"),
        ("multipart/form-data; boundary=b", b"hello\r\n--b--", "hello\r\n--b--"),
        ("multipart/mixed", b'[{"id": 7}]', [{"id": 7}]),
        ("multipart/mixed", b"--b\r\n\r\nhi\r\n--b--", "--b\r\n\r\nhi\r\n--b--"),
    ],
)
async def test_a_body_without_the_events_or_parts_that_it_promises_is_not_lost(
    media_type: str, body: bytes, expected: Any
):
    result = await answered(typed(media_type, body))

    assert (result.success, result.output) == (True, expected)
    kind = media_type.partition(";")[0]
    assert any(f"says it is {kind} and holds no" in note for note in result.metadata["notes"])


@pytest.mark.parametrize("media_type", ["text/event-stream", "multipart/mixed; boundary=b"])
async def test_a_blank_body_holds_no_events_and_no_parts(media_type: str):
    result = await answered(typed(media_type, b"\r\n\r\n"))

    assert (result.success, result.output) == (True, [])


async def test_an_error_under_a_wrong_media_type_keeps_its_words():
    answer = typed("text/event-stream", b'{"message": "no such region"}')
    answer.status = 404

    result = await answered(answer)

    assert "no such region" in str(result)
