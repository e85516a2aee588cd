"""JSON that is sent to an endpoint which is no tool of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Mapping


async def post_json(
    url: httpx.URL, body: Any, headers: Mapping[str, str], *, largest: int
) -> tuple[int, httpx.Headers, bytes]:
    """Return status, headers and content of the response; no redirect is followed.

    There is no time limit: the caller has one.

    Raises:
        CallError: `connection` if there is no response, with the kind of the failure; `too_large`
            if it has more than `largest` bytes.
    """
    content = bytearray()
    try:
        async with (
            httpx.AsyncClient(timeout=None, trust_env=False) as client,  # noqa: S113 -- as above
            client.stream("POST", url, json=body, headers=headers) as response,
        ):
            async for part in response.aiter_bytes():
                content += part
                if len(content) > largest:
                    raise CallError("too_large", f"sent more than {largest:,} bytes.")
    except httpx.HTTPError as error:
        raise CallError("connection", f"gave no response: {type(error).__name__}.") from None
    return response.status_code, response.headers, bytes(content)
