"""URLs that are filled in equal those that are parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools import CallError
from openapi_tools.runtime import urls

if TYPE_CHECKING:
    import pytest

BASES = (
    "http://127.0.0.1:9",
    "https://api.test",
    "https://api.test:443/v1",
    "https://API.test:8443/v1/a%20b",
    "https://[2001:db8::1]:8443/x",
    "https://münchen.example/ä",
)
TARGET = st.builds(
    lambda path, query: "/" + path + (f"?{query}" if query else ""),
    st.text("aZ0-._~!$&'()*+,;=:@/%2EeéF|[] \"<>\\^`{}#\x7f", max_size=24),
    st.text("aZ0-._~!$&'()*+,;=:@/?%2EeéF|[] \"<>\\^`{}", max_size=24),
)


def test_a_plain_url_is_filled_in_with_this_release_of_httpx():
    assert all(urls.read_address(base).parts is not None for base in BASES)


@given(st.sampled_from(BASES), TARGET)
def test_a_url_that_is_filled_in_is_the_one_that_is_parsed(base: str, target: str):
    address = urls.read_address(base)

    def found(address: urls.Address) -> tuple[object, ...] | str:
        try:
            url = address.url(target)
        except (CallError, httpx.InvalidURL) as error:
            return type(error).__name__
        assert url.raw_path == address.path + target.encode()
        return url, str(url), url.raw_path, url.netloc, url.host, url.port, url.query, url.fragment

    assert found(address) == found(address._replace(parts=None))


def test_with_another_httpx_urls_are_parsed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(urls, "_filled", lambda address, _: httpx.URL(address.base))
    address = urls.read_address.__wrapped__("https://api.test/v1")

    assert address.parts is None
    assert str(address.url("/pets/7?full=1")) == "https://api.test/v1/pets/7?full=1"
