"""What is said where a coordinator's package is not installed."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import pytest

from openapi_tools import MissingExtraError, OpenAPIToolsError, load_tools

USES = {
    "agent-framework": ("agent_framework", "agent_framework", "to_function_tools"),
    "langchain": ("langchain", "langchain_core", "to_structured_tools"),
    "llama-index": ("llama_index", "llama_index", "to_tools"),
    "mcp": ("mcp", "mcp", "create_server"),
    "pydantic-ai": ("pydantic_ai", "pydantic_ai", "to_tools"),
}


@pytest.mark.parametrize("extra", USES)
def test_a_missing_package_is_one_error_that_names_the_extra(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, package, function = USES[extra]
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, package, None)
    leaf: Any = importlib.reload(importlib.import_module(f"openapi_tools.contracts.{module}"))

    with pytest.raises(MissingExtraError, match=rf"openapi-tools\[{extra}\]") as caught:
        getattr(leaf, function)(load_tools("specs/petstore.yaml"))

    assert isinstance(caught.value, OpenAPIToolsError)
    assert isinstance(caught.value, ImportError)
    assert caught.value.extra == extra
    assert "\n" not in str(caught.value)
