"""Where documents come from: values and files, each of which may be hostile."""

import os
import socket
from pathlib import Path
from types import MappingProxyType

import pytest

from openapi_tools.errors import SourceError
from openapi_tools.loading.source import read_file, read_source
from openapi_tools.settings import Settings

SETTINGS = Settings()
SMALL = Settings(max_document_bytes=1000)
DOCUMENT = b'{"openapi": "3.1.0"}'


# Values


def test_a_mapping_is_given_on_as_it_is():
    mapping = MappingProxyType({"openapi": "3.1.0"})

    assert read_source(mapping, SETTINGS).value is mapping


@pytest.mark.parametrize(
    "value",
    [b'{"a": 1}', bytearray(b'{"a": 1}'), '{"a": 1}', "  [1]", "<html>", "a: 1\nb: 2", "", " "],
    ids=["bytes", "bytearray", "object", "array", "markup", "lines", "nothing", "blank"],
)
def test_strings_and_bytes_are_the_document_itself(value):
    source = read_source(value, SETTINGS)

    assert source.data == (value.encode() if isinstance(value, str) else bytes(value))
    assert (source.value, source.uri, source.name) == (None, "", "")


@pytest.mark.parametrize("value", [5, None, ["a.json"], {1}], ids=str)
def test_anything_else_is_refused_with_its_type(value):
    with pytest.raises(SourceError, match=type(value).__name__):
        read_source(value, SETTINGS)


@pytest.mark.parametrize("value", [b" " * 1001, "\n" * 1001], ids=["bytes", "text"])
def test_a_value_that_is_too_large_is_refused(value):
    with pytest.raises(SourceError, match="larger than 1,000 bytes"):
        read_source(value, SMALL)


def test_a_string_with_a_lone_surrogate_is_refused():
    with pytest.raises(SourceError, match="lone surrogate at offset 1"):
        read_source("{\ud800}", SETTINGS)


# Files


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_is_read_and_named_as_it_was_given(tmp_path, monkeypatch, kind):
    (tmp_path / "apis").mkdir()
    (tmp_path / "apis" / "pets.json").write_bytes(DOCUMENT)
    monkeypatch.chdir(tmp_path)

    source = read_source(kind("apis/pets.json"), SETTINGS)

    assert source.data == DOCUMENT
    assert source.name == str(Path("apis/pets.json"))
    assert source.uri == str(tmp_path / "apis" / "pets.json")


def test_a_link_stays_where_it_is_so_that_references_are_relative_to_it(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "1.json").write_bytes(DOCUMENT)
    (tmp_path / "pets.json").symlink_to(tmp_path / "store" / "1.json")

    source = read_source(tmp_path / "pets.json", SETTINGS)

    assert source.uri == str(tmp_path / "pets.json")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("missing.json", "no such file"),
        ("folder", "is a folder"),
        ("pipe", "not a regular file"),
        ("socket", "not a regular file"),
        ("large.json", "larger than 1,000 bytes"),
        ("sparse.json", "larger than 1,000 bytes"),
        ("pets.json/below", "cannot be read"),
        ("localhost:8000/openapi.json", "did you mean http://localhost:8000/openapi.json?"),
        ("api.example.com/openapi.json", "did you mean https://api.example.com/openapi.json?"),
        ("a" * 5000, "cannot be read"),
        ("a\0b", "is not a valid path"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path, monkeypatch, path, reason):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pets.json").write_bytes(DOCUMENT)
    (tmp_path / "folder").mkdir()
    (tmp_path / "large.json").write_bytes(b" " * 1001)
    with (tmp_path / "sparse.json").open("wb") as file:
        file.truncate(2**40)
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        with pytest.raises(SourceError, match=reason) as raised:
            read_source(path, SMALL)

    assert raised.value.source == path


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/stdin", "/dev/tty"])
def test_devices_are_not_read_since_they_may_never_end(device):
    if not Path(device).exists() or Path(device).is_file():
        pytest.skip(f"{device} is no device here")

    with pytest.raises(SourceError, match=r"not a regular file|cannot be read"):
        read_source(device, SETTINGS)


def test_a_file_without_a_size_is_bounded_while_it_is_read():
    endless = Path("/proc/self/smaps")
    if not endless.exists():
        pytest.skip("no /proc here")

    with pytest.raises(SourceError, match="larger than 1,000 bytes"):
        read_file(endless, SMALL)


def test_a_file_that_may_not_be_read_says_so(tmp_path, monkeypatch):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    (tmp_path / "secret.json").write_bytes(DOCUMENT)
    monkeypatch.setattr(os, "open", refuse)

    with pytest.raises(SourceError, match="may not be read"):
        read_source(tmp_path / "secret.json", SETTINGS)


@pytest.mark.parametrize(
    "address",
    ["file:///etc/passwd", "file:a.json", "FTP://h/a", "gopher://h/", "data:,{}", "jar:file:/a"],
)
def test_other_schemes_are_refused_by_name(address):
    with pytest.raises(SourceError, match=f"'{address.partition(':')[0].lower()}' addresses"):
        read_source(address, SETTINGS)
