"""Numbers of a response: integers keep their digits; a note says where decimals lost some."""

import pytest
from one_call import call_once, response

from openapi_tools.responses.json_content import ROUNDED

LONG = "1.123456789012345678"


@pytest.mark.parametrize(
    "number",
    [
        LONG,
        f"-{LONG}",
        "12345678901234567890.5",
        "0.00012345678901234567891",
        "1.1234567890123456",
        "900719925474099.3",
        f"{LONG}e5",
        f"{LONG}E-300",
        "12345678901234567890123e-3",
        "123456789012345678.0001e+2",
        "1." + "3" * 3000,
        f"{LONG}e99999999999999999999",
    ],
)
async def test_a_decimal_with_more_digits_than_a_float_keeps_has_a_note(number):
    for body in (f'{{"p":{number}}}', f"[1, [{{}}, {number} ]]", number):
        result, _ = await call_once(response(body.encode()))

        assert result.success
        assert ROUNDED in result.metadata["notes"]


@pytest.mark.parametrize(
    ("body", "number"),
    [
        ('{"p":123456789012345678901234567890}', "123456789012345678901234567890"),
        ('{"p":9007199254740993}', "9007199254740993"),
        ('{"p":1234567.89}', "1234567.89"),
        ('{"p":13.404953999999998}', "13.404953999999998"),
        ('{"p":1700000000.123456}', "1700000000.123456"),
        ('{"p":0.10000000000000001}', "0.1"),  # 17 digits of a float, as C writes them
        ('{"p":1.50000000000000000000}', "1.5"),
        (f'{{"p":"{LONG}"}}', LONG),
        (f'{{"{LONG}":1}}', LONG),
        ('{"sha":"0123456789012345678901234567890123456789","v":1.5}', "1.5"),
        ('{"p":1e400}', "Infinity"),
    ],
)
async def test_other_numbers_have_none(body, number):
    result, _ = await call_once(response(body.encode()))

    assert number in str(result)
    assert ROUNDED not in result.metadata.get("notes", [])


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-ndjson", f'{{"p":1}}\n{{"p":{LONG}}}\n'),
        ("application/json", f'{{"p":1}}\n{{"p":{LONG}}}\n'),
        ("text/event-stream", f"data: [{LONG}]\n\ndata: {LONG}\n\n"),
        ("multipart/mixed; boundary=B",
         f"--B\r\nContent-Type: application/json\r\n\r\n[{LONG}]\r\n--B--"),
        ("application/json", f"[{LONG}, NaN]"),
        ("application/problem+json; charset=utf-8", f"[{LONG}]"),
    ],
)  # fmt: skip
async def test_lines_events_and_parts_have_the_note_once(kind, body):
    result, _ = await call_once(response(body.encode(), kind))

    assert result.metadata["notes"].count(ROUNDED) == 1


async def test_the_note_stays_where_a_secret_is_masked():
    body = f'{{"p":{LONG},"key":"s3cr3t-value-7"}}'

    result, _ = await call_once(response(body.encode()), key="s3cr3t-value-7")

    assert result.output["key"] == "***"
    assert result.metadata["notes"] == [ROUNDED]


async def test_the_note_stays_where_the_response_is_made_smaller():
    body = f'{{"items":[{{"p":{LONG},"q":1}}]}}'

    result, _ = await call_once(response(body.encode()), drop=("q",))

    assert result.metadata["notes"] == [ROUNDED]
