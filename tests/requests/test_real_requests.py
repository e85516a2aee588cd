"""What a real server on loopback receives from loaded tools and from generated ones."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest
from documents import document, operation
from packages import imported

from openapi_tools import Settings, generate_package, load_tools

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from openapi_tools import Toolset

TAR = b"\x1f\x8b\x00\xff"
TAR_BASE64 = "H4sA/w=="
MEMBERS = {"type": "object", "properties": {"name": {"type": "string"}}}


def taking(**kinds):
    """Return an operation whose body may have several media types, each with its schema."""
    content = {name.replace("_", "/", 1).replace("_", "-"): kinds[name] for name in kinds}
    described = {kind: {"schema": schema} for kind, schema in content.items()}
    return {"post": operation(requestBody={"content": described, "required": True})}


TEXT, BYTES = {"type": "string"}, {"type": "string", "format": "binary"}
DOCUMENT = document(
    {
        "/images": taking(text_plain=TEXT, application_octet_stream=BYTES),
        "/archives": taking(text_plain=TEXT, application_octet_stream=BYTES),
        "/records": taking(application_json=MEMBERS, application_octet_stream=BYTES),
        "/points": taking(application_json=MEMBERS, multipart_form_data=MEMBERS),
    }
)
CHOSEN = Settings(
    media_types={
        "post_archives": "application/x-tar",
        "post_records": ["application/json", "application/octet-stream"],
        "post_points": ["application/json", "multipart/form-data"],
    }
)
CALLS: list[tuple[str, dict[str, Any], str, bytes]] = [
    ("images", {"body": {"text": "é"}}, "text/plain; charset=utf-8", "é".encode()),
    ("images", {"body": {"base64": TAR_BASE64}}, "application/octet-stream", TAR),
    ("archives", {"body": {"base64": TAR_BASE64}}, "application/x-tar", TAR),
    ("records", {"body": {"name": "a"}, "media_type": "application/json"}, "application/json",
     b'{"name":"a"}'),
    ("records", {"body": {"base64": TAR_BASE64}, "media_type": "application/octet-stream"},
     "application/octet-stream", TAR),
    ("points", {"body": {"name": "a"}, "media_type": "application/json"}, "application/json",
     b'{"name":"a"}'),
    ("points", {"body": {"name": "a"}, "media_type": "multipart/form-data"}, "multipart/form-data",
     b'name="name"\r\n\r\na\r\n'),
]  # fmt: skip


@asynccontextmanager
async def toolset_for(url: str, kind: str, folder: Path) -> AsyncIterator[Toolset]:
    """Give the tools of the document, loaded or generated."""
    if kind == "loaded":
        settings = CHOSEN.model_copy(update={"base_url": url})
        async with load_tools(DOCUMENT, settings=settings) as toolset:
            yield toolset
    else:
        generate_package(DOCUMENT, folder / "shop", name="shop", settings=CHOSEN)
        with imported(folder / "shop", "shop_tools") as package:
            async with package.load(base_url=url) as toolset:
                yield toolset


@pytest.mark.parametrize("kind", ["loaded", "generated"])
async def test_a_body_goes_as_the_media_type_that_was_chosen(recorder, tmp_path, kind):
    async with toolset_for(recorder.url, kind, tmp_path) as toolset:
        for path, arguments, media_type, data in CALLS:
            result = await toolset[f"post_{path}"].execute(arguments)

            assert not result.is_error, str(result)
            sent = recorder.last.header("content-type") or ""
            assert sent.partition("; boundary")[0] == media_type
            assert data in recorder.last.body
        refused = await toolset["post_records"].execute({"body": {"name": "a"}})

    assert "/media_type: required" in str(refused)
    assert len(recorder.requests) == len(CALLS)
