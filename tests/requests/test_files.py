"""File arguments."""

import base64
import os
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.errors import InputError
from openapi_tools.requests.body import File, file_schema, read_file
from openapi_tools.settings import Settings

PLAIN = Settings()


def test_a_file_has_bytes_and_what_the_model_says_of_them():
    value = {"base64": "AP8=", "filename": "a.png", "content_type": "image/png"}

    assert read_file(value, PLAIN) == File(b"\0\xff", "a.png", "image/png")


@given(st.binary(max_size=64))
def test_base64_of_both_alphabets_gives_the_bytes_back(content):
    standard = base64.b64encode(content).decode()
    url_safe = base64.urlsafe_b64encode(content).decode()

    for text in (standard, url_safe, standard.rstrip("="), url_safe.rstrip("=")):
        assert read_file({"base64": text}, PLAIN).content == content


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_text_is_sent_as_utf_8(text):
    assert read_file({"text": text}, PLAIN).content == text.encode()


@pytest.mark.parametrize(
    ("value", "pointer"),
    [
        pytest.param("/etc/passwd", "", id="a string"),
        pytest.param(None, "", id="null"),
        pytest.param({}, "", id="nothing"),
        pytest.param({"text": "a", "base64": "AA"}, "", id="both"),
        pytest.param({"text": 5}, "", id="a number"),
        pytest.param({"base64": "A"}, "/base64", id="one digit"),
        pytest.param({"base64": "A A="}, "/base64", id="blanks"),
        pytest.param({"base64": "é"}, "/base64", id="another alphabet"),
        pytest.param({"base64": "-_+/"}, "/base64", id="both alphabets"),
        pytest.param({"base64": "AA=A"}, "/base64", id="padding inside"),
        pytest.param({"text": "\ud800"}, "/text", id="half a pair"),
        pytest.param({"text": "a", "filename": 5}, "/filename", id="a number as name"),
        pytest.param({"text": "a", "content_type": "png"}, "/content_type", id="no media type"),
        pytest.param({"text": "a", "content_type": "image/*"}, "/content_type", id="a range"),
        pytest.param({"text": "a", "content_type": "a/b\r\nX: 1"}, "/content_type", id="two lines"),
        pytest.param({"path": "/etc/passwd"}, "/path", id="a path without roots"),
    ],
)
def test_anything_else_is_refused_with_its_place(value, pointer):
    with pytest.raises(InputError) as caught:
        read_file(value, PLAIN)

    assert caught.value.pointer == pointer


def test_the_schema_offers_paths_only_where_folders_are_allowed(tmp_path):
    assert "path" not in file_schema(PLAIN)["properties"]
    assert "path" in file_schema(Settings(file_roots=(tmp_path,)))["properties"]


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        ({"base64": "AA"}, True),
        ({"text": "", "filename": "a", "content_type": "a/b"}, True),
        ({"text": "a", "base64": "AA"}, False),
        ({}, False),
        ({"text": "a", "other": 1}, False),
        ("a", False),
    ],
)
def test_the_schema_takes_what_is_read_and_nothing_else(value, fits):
    schema = file_schema(PLAIN)
    jsonschema.Draft202012Validator.check_schema(schema)

    assert jsonschema.Draft202012Validator(schema).is_valid(value) is fits


@pytest.fixture
def root(tmp_path):
    """A folder with a file, next to one that is secret."""
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_bytes(b"inside")
    (tmp_path / "secret").write_bytes(b"outside")
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "folder").symlink_to(tmp_path)
    (folder / "within").symlink_to(folder / "sub" / "a.txt")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("path", ["sub/a.txt", "{root}/sub/a.txt", "sub/../sub/a.txt", "within"])
def test_a_file_inside_a_root_is_read(path, root):
    settings = Settings(file_roots=(root / "missing", root))

    found = read_file({"path": path.format(root=root)}, settings)

    assert found.content == b"inside"
    assert found.filename == Path(path).name


@pytest.mark.parametrize(
    "path",
    [
        *("../secret", "{root}/../secret", "/etc/passwd", "link", "folder/secret"),
        *("missing", "sub", "", "a\0b", "pipe", "sub/a.txt/x", "x" * 5000),
    ],
)
def test_no_path_leads_out_of_the_roots_or_to_what_is_no_file(path, root):
    with pytest.raises(InputError, match="no such file") as caught:
        read_file({"path": path.format(root=root)}, Settings(file_roots=(root,)))

    assert caught.value.pointer == "/path"
