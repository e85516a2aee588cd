"""No secret that a server repeats is in a file, wherever the pieces of a download meet."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_files import load_mocked, streaming, written_by

from openapi_tools.redaction import Redactor

SECRET = "s3cr3t-across-two-pieces"
KEY = {"k": {"in": "header", "name": "X-Key", "value": SECRET}}
FORMS = [
    *(SECRET, "%73%33cr3t-across-two-pieces", "s3cr3t&#45;across-two-pieces"),
    "czNjcjN0LWFjcm9zcy10d28tcGllY2Vz",
]


@pytest.fixture
def folder(tmp_path):
    """The folder of a store, which does not exist yet."""
    return tmp_path / "files"


@pytest.mark.long
@settings(max_examples=25)
@given(
    places=st.lists(
        st.tuples(st.integers(-60, 60), st.integers(1, 4), st.sampled_from(FORMS)),
        min_size=1, max_size=4,
    )
)  # fmt: skip
async def test_no_secret_is_in_a_file_wherever_pieces_meet(tmp_path_factory, places):
    folder = tmp_path_factory.mktemp("masked")
    content = bytearray(b"\x80\x90" * 600_000)
    for offset, step, form in places:
        start = step * 256 * 1024 + offset
        content[start : start + len(form)] = form.encode()
    asked = {"kind": "image/tiff", "X-Echo": SECRET}

    toolset = load_mocked(streaming(bytes(content), **asked), folder, credentials=KEY)
    result = await toolset.call("get")

    redactor = Redactor()
    redactor.learn(SECRET)
    written = written_by(result)
    assert written == redactor.content(bytes(content))
    assert result.output["bytes"] == len(written)
    assert SECRET not in repr((result, result.metadata))


WORDS = [
    *("k3y-alpha", "k3y-alpha-beta", "alpha-x", "k3y-alph", "-x", "%6b3y-alpha", "\0"),
    *("b", "%6", "b3y-"),
]


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS), max_size=40), st.lists(st.integers(0, 40), min_size=1))
def test_content_in_pieces_is_masked_as_content_at_once(words, steps):
    redactor = Redactor()
    redactor.learn("k3y-alpha", "k3y-alpha-beta", "alpha-x")
    content, masked, start, seen, begun = "".join(words).encode(), b"", 0, 0, 0

    for step in itertools.cycle([*steps, 7]):
        seen = min(seen + step, len(content))
        piece, is_last = content[start:seen], seen == len(content)
        end = len(piece) if is_last else max(0, len(piece) - 50)
        part, begun = redactor.mask_part(piece, end, begun)
        masked, start = masked + part, start + end
        if is_last:
            break

    assert masked == redactor.content(content)


async def test_utf_16_is_masked_as_well(folder):
    body = f"%PDF {SECRET} {'a' * 200_000}".encode("utf-16")

    result = await load_mocked(streaming(body), folder, credentials=KEY).call("get")

    written = written_by(result)
    assert SECRET.encode("utf-16-le") not in written
    assert SECRET.encode() not in written


async def test_a_file_of_nothing_but_secrets_is_masked_in_bounded_memory(folder):
    body = SECRET.encode() * 100_000

    result = await load_mocked(streaming(body), folder, credentials=KEY).call("get")

    assert set(written_by(result)) == {ord("*")}
