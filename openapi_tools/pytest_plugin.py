"""The plugin for pytest: the option `--openapi-record`, and fixtures.

pytest imports this module in every run, so it imports the rest of the package inside the fixtures.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.testing import Cassette, MockApi

# Only plugins are rewritten by themselves: a failed test of these classes shows its values.
pytest.register_assert_rewrite("openapi_tools.testing.conformance_tests")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--openapi-record`."""
    parser.addoption(
        "--openapi-record",
        choices=("none", "once", "all"),
        default="once",
        help="openapi_cassette: replay, record missing files (the default), or record all.",
    )


def _load_testing() -> Any:
    # start-up time of pytest: most runs use neither fixture
    from openapi_tools import testing

    return testing


@pytest.fixture
def openapi_mock() -> Iterator[Callable[..., MockApi]]:
    """Return `mock_api`; the test fails at its end if a request broke the document."""
    mocks: list[MockApi] = []
    testing = _load_testing()

    def make(document: Any, **options: Any) -> MockApi:
        mocks.append(testing.mock_api(document, **options))
        return mocks[-1]

    yield make
    assert [line for api in mocks for line in api.faults] == []


@pytest.fixture
def openapi_cassette(request: pytest.FixtureRequest) -> Iterator[Cassette]:
    """Return the cassette of a test: `cassettes/<module>/<test>.json` beside the module."""
    name = re.sub(r"[^\w.-]+", "-", request.node.name).strip("-")
    path = Path(request.path.parent, "cassettes", request.path.stem, f"{name}.json")
    with _load_testing().Cassette(
        path, mode=request.config.getoption("--openapi-record")
    ) as cassette:
        yield cassette
