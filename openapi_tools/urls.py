"""URLs of documents, servers, settings and the environment, read in one place.

httpx reads some faults of a host only when it is asked for the host, and tells others with errors
of other packages.
"""

from __future__ import annotations

import httpx


class InvalidUrlError(ValueError):
    """A text is not a URL."""


def read_url(text: str, base: httpx.URL | None = None) -> httpx.URL:
    """Return a URL whose every part can be read.

    Args:
        text: A URL, or a reference that is relative to `base`.
        base: What a relative reference starts from.

    Raises:
        InvalidUrlError: It is not a URL; its host may be an invalid `xn--` label.
    """
    try:
        url = httpx.URL(text) if base is None else base.join(text)
        url.host  # noqa: B018 -- decodes `xn--` labels
    except (httpx.InvalidURL, ValueError) as error:
        raise InvalidUrlError(str(error)) from None
    return url
