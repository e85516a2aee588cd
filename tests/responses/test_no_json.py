"""A success stays one when its body is not the JSON that its media type says."""

import pytest
from one_call import call_once, response
from servers.recorder import CannedResponse


@pytest.mark.parametrize(
    ("method", "status"),
    [("get", 200), ("post", 201), ("put", 200), ("patch", 202), ("delete", 200)],
)
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("OK", "application/json"),
        ("ab12-34", "application/json; charset=utf-8"),
        ("User updated.", "application/hal+json"),
        (')]}\'\n{"a":1}', "text/json"),
        ('{"a":1}{"a":2}', "application/json"),
        ("{'a': 1}", "application/json"),
        ('callback({"a":1})', "application/json"),
        ("undefined", "application/json"),
        ("Готово", "application/json"),
    ],
)
async def test_the_text_is_the_output_and_a_note_says_why(method, status, body, kind):
    result, requests = await call_once(response(body.encode(), kind, status=status), method=method)

    assert result.success
    assert result.output == body
    assert "declares JSON but is not valid JSON" in result.metadata["notes"][0]
    assert len(requests) == 1


async def test_nul_behind_json_is_left_out_of_the_text():
    result, _ = await call_once(response(b'{"a":1}\n\x00'))

    assert result.output == '{"a":1}\n'


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"a": %s}' % (b"9" * 5000), "it has a number of too many digits"),
    ],
)
async def test_a_limit_of_the_parser_is_named_in_plain_words(body, reason):
    result, _ = await call_once(response(body))

    assert f"declares JSON but is not valid JSON ({reason})" in result.metadata["notes"][0]


@pytest.mark.parametrize("body", [b"", b" \r\n"])
async def test_nothing_is_a_success_without_output(body):
    result, _ = await call_once(response(body), method="post")

    assert (result.success, result.output, str(result)) == (True, None, "Success")
    assert "notes" not in result.metadata


async def test_head_reads_no_body():
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"

    result, _ = await call_once(CannedResponse(raw=head), method="head")

    assert (result.success, result.output) == (True, None)


@pytest.mark.parametrize("status", [400, 404, 500, 503])
async def test_an_error_stays_an_error(status):
    result, _ = await call_once(response(b"OK", status=status), method="post")

    assert result.error["type"] == "http"
    assert result.error["message"].endswith(": OK")


async def test_a_secret_in_such_a_text_is_masked():
    result, _ = await call_once(response(b"key s3cr3t-value-7"), key="s3cr3t-value-7")

    assert result.output == "key ***"
