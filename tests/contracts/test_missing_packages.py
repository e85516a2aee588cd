"""What is said where a coordinator's package is not installed."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
USES = {
    "agent-framework": ("agent_framework", "agent_framework"),
    "amplifier": ("amplifier", "amplifier_core"),
    "langchain": ("langchain", "langchain_core"),
    "llama-index": ("llama_index", "llama_index"),
    "mcp": ("mcp", "mcp"),
    "pydantic-ai": ("pydantic_ai", "pydantic_ai"),
}
CODE = """
import sys
module, package = sys.argv[1:]
sys.modules[package] = None  # as if it were not installed
from importlib import import_module
from openapi_tools import MissingExtraError, OpenAPIToolsError
try:
    import_module(f"openapi_tools.contracts.{module}")
except MissingExtraError as error:
    assert isinstance(error, OpenAPIToolsError) and isinstance(error, ImportError)
    print(error.extra, error, sep="|")
"""


@pytest.mark.parametrize("extra", USES)
def test_a_missing_package_is_one_error_that_names_the_extra(extra):
    module, package = USES[extra]

    done = subprocess.run(
        [sys.executable, "-c", CODE, *USES[extra]],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.stderr == "", module
    assert done.stdout.startswith(f"{extra}|{package}")
    assert done.stdout.endswith(f" is not installed: pip install 'openapi-tools[{extra}]'\n")
