"""Words in `Content-Encoding` that are no coding change nothing; a write is not failed by one."""

import gzip
import zlib

import pytest
from one_call import call_once, response

JSON = b'{"a":1}'


def coded_response(coding, body=JSON, status=200):
    return response(body, "application/json", ("Content-Encoding", coding), status=status)


@pytest.mark.parametrize("method", ["get", "post"])
@pytest.mark.parametrize(
    "coding",
    [
        *("utf-8", "UTF-8", "none", "None", "binary", "8bit", "7bit", "aws-chunked", "identity"),
        *("", ",", "UTF-8, identity", "text/plain", "application/json", "null", "x-unheard-of"),
        *("iso-8859-1;q=1", '"utf-8"', "chunked", "base64"),
    ],
)
async def test_a_word_that_is_no_coding_leaves_the_body_as_it_is(method, coding):
    result, _ = await call_once(coded_response(coding), method=method)

    assert (result.output, result.metadata.get("notes")) == ({"a": 1}, None)


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        ("aws-chunked,gzip", gzip.compress(JSON, mtime=0)),
        ("gzip, aws-chunked", gzip.compress(JSON, mtime=0)),
        ("utf-8, deflate", zlib.compress(JSON)),
        ('"gzip"', gzip.compress(JSON, mtime=0)),
        ("GZIP;q=1.0", gzip.compress(JSON, mtime=0)),
        ("none, x-gzip, utf-8, deflate", zlib.compress(gzip.compress(JSON, mtime=0))),
    ],
)
async def test_codings_beside_such_words_are_decoded(coding, body):
    result, _ = await call_once(coded_response(coding, body))

    assert result.output == {"a": 1}


@pytest.mark.parametrize(
    "coding", ["br", "zstd", "compress", "X-Compress", "utf-8, br", "xz", "bzip2", "gzip"]
)
async def test_a_coding_that_cannot_be_decoded_fails_a_read_and_no_write(coding):
    read, _ = await call_once(coded_response(coding))
    write, requests = await call_once(coded_response(coding, status=201), method="post")
    refusal, _ = await call_once(coded_response(coding, status=422), method="post")

    assert read.error["type"] == "decode"
    assert read.error["message"].startswith("GET /x returned 200, but the response")
    assert write.success
    assert write.output.startswith("Success; the response could not be read: the response")
    assert write.metadata["notes"] == [write.output]
    assert write.metadata["status"] == 201
    assert not refusal.success
    assert len(requests) == 1
