"""What a real server on loopback receives for bodies whose media type is chosen."""

from documents import document, operation

from openapi_tools import Settings, load_tools

TAR = b"\x1f\x8b\x00\xff"
TAR_BASE64 = "H4sA/w=="
TEXT, JSON, FORM = "text/plain", "application/json", "multipart/form-data"
OCTETS = "application/octet-stream"
OBJECT = {"type": "object", "properties": {"name": {"type": "string"}}}
SCHEMAS = {TEXT: {"type": "string"}, JSON: OBJECT, FORM: OBJECT,
           OCTETS: {"type": "string", "format": "binary"}}  # fmt: skip


def taking(*kinds):
    """Return an operation whose body may have several media types."""
    content = {kind: {"schema": SCHEMAS[kind]} for kind in kinds}
    return {"post": operation(requestBody={"content": content, "required": True})}


DOCUMENT = document(
    {
        "/images": taking(TEXT, OCTETS),
        "/archives": taking(TEXT, OCTETS),
        "/records": taking(JSON, OCTETS),
        "/points": taking(JSON, FORM),
    }
)
CHOSEN = Settings(
    media_types={
        "post_archives": "application/x-tar",
        "post_records": [JSON, OCTETS],
        "post_points": [JSON, FORM],
    }
)
CALLS = [
    ("images", {"body": {"text": "é"}}, "text/plain; charset=utf-8", "é".encode()),
    ("images", {"body": {"base64": TAR_BASE64}}, OCTETS, TAR),
    ("archives", {"body": {"base64": TAR_BASE64}}, "application/x-tar", TAR),
    ("records", {"body": {"name": "a"}, "media_type": JSON}, JSON, b'{"name":"a"}'),
    ("records", {"body": {"base64": TAR_BASE64}, "media_type": OCTETS}, OCTETS, TAR),
    ("points", {"body": {"name": "a"}, "media_type": JSON}, JSON, b'{"name":"a"}'),
    ("points", {"body": {"name": "a"}, "media_type": FORM}, FORM, b'name="name"\r\n\r\na\r\n'),
]


async def test_a_body_goes_as_the_media_type_that_was_chosen(recorder):
    settings = CHOSEN.model_copy(update={"base_url": recorder.url})
    async with load_tools(DOCUMENT, settings=settings) as toolset:
        for path, arguments, media_type, data in CALLS:
            result = await toolset[f"post_{path}"].execute(arguments)

            assert not result.is_error, str(result)
            sent = recorder.last.header("content-type") or ""
            assert sent.partition("; boundary")[0] == media_type
            assert data in recorder.last.body
        refused = await toolset["post_records"].execute({"body": {"name": "a"}})

    assert "/media_type: missing required" in str(refused)
    assert len(recorder.requests) == len(CALLS)
