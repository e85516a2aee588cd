"""What tests of loading share: caches of their own."""

import pytest

from openapi_tools.loading import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    return tmp_path / "cache"


@pytest.fixture
def eager(folder, monkeypatch):
    """Such a cache, which keeps small documents too, and files that changed just now."""
    monkeypatch.setattr("openapi_tools.loading.source.MIN_CACHED_BYTES", 1)
    monkeypatch.setattr(cache, "_FRESH", 0)
    return folder
