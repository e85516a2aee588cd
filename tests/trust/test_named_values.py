"""Secrets that a name before them gives away, in strings within strings."""

import pytest

from openapi_tools.redaction import redact_data

PART = 'Content-Disposition: form-data; name="{}"\r\n\r\n'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a=1&token=abc&b=2", "a=1&token=***&b=2"),
        ("/x;token=abc", "/x;token=***"),
        ("state=token=abc&b=2", "state=token=***&b=2"),
        ("a=1,token=abc", "a=1,token=***"),
        ('token="a b" c', 'token="***" c'),
        ('{"token": "abc", "n": 1}', '{"token": "***", "n": 1}'),
        (r'"{\"token\": \"abc\"}"', r'"{\"token\": \"***\"}"'),
        ('{"token": 12.5e3}', '{"token": "***"}'),
        ("<token>abc</token>", "<token>***</token>"),
        ("<token a='1'><![CDATA[abc]]></token>", "<token>***</token>"),
        ("to=https%3A%2F%2Fb%3Ftoken%3Dabc", "to=https%3A%2F%2Fb%3Ftoken%3D***"),
        ("to=a%3Db%253Ftoken%253Dabc", "to=a%3Db%253Ftoken%253D***"),
        ("a=1,b=%74oken%3Dabc", "a=1%2Cb%3Dtoken%3D***"),
        ('a=1%20,token="a b"', 'a=1%20,token="***"'),
        ('rate="5% {"token": "abc"}', 'rate="5% {"token": "***"}'),
        ("https://joe:pw@a.example/x", "https://***@a.example/x"),
        (
            f"--b\r\n{PART.format('token')}abc\r\n--b--",
            f"--b\r\n{PART.format('token')}***\r\n--b--",
        ),
        (
            f"--b\r\n{PART.format('token')}a\r\n--c\r\nd\r\n--b--",
            f"--b\r\n{PART.format('token')}***\r\n--b--",
        ),
        (
            f"--b\r\nContent-Type: text/plain\r\n{PART.format('user[token]')}abc",
            f"--b\r\nContent-Type: text/plain\r\n{PART.format('user[token]')}***",
        ),
        (
            '--b\ncontent-disposition: form-data;\n name="token"\n\nabc\n--b--',
            '--b\ncontent-disposition: form-data;\n name="token"\n\n***\n--b--',
        ),
        (
            f"--b\r\n{PART.format('a')}token=abc\r\n--b--",
            f"--b\r\n{PART.format('a')}token=***\r\n--b--",
        ),
    ],
)  # fmt: skip
def test_a_value_is_masked_wherever_its_name_stands(text, masked):
    assert redact_data(text) == masked
    assert redact_data(text.encode()) == masked.encode()


@pytest.mark.parametrize(
    "text",
    [
        "name=joe\r\n\r\nmore",
        "tokens=7&page_token=p2&author=x",
        "a=\"b\" c='d' e=%20f",
        "<tokens>7</tokens>",
        '"token"',
        "token",
        "5% of 100%",
        'The field name="token" is a part of a form.\r\n\r\nIt is sent.',
    ],
)
def test_a_string_without_a_secret_stays_as_it_is(text):
    assert redact_data(text) == text
