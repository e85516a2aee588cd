"""Post JSON to an endpoint that no document describes, such as a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from openapi_tools.errors import CallError

if TYPE_CHECKING:
    from collections.abc import Mapping


async def post_json(
    url: httpx.URL, body: Any, headers: Mapping[str, str], *, largest: int
) -> tuple[int, httpx.Headers, bytes]:
    """Post JSON, and return status, headers and content of the response.

    Redirects are not followed, and there is no timeout: the caller has one.

    Args:
        url: The URL of the endpoint.
        body: JSON data.
        headers: Further headers, such as credentials.
        largest: The limit of the response's bytes.

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
