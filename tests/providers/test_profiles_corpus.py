"""Every tool of the large published documents, as the profiles with subsets write it."""

import httpx
import pytest
from corpus import ABSENT, FOLDER
from packages import SPECS
from profile_rules import schema_of
from profile_values import find_problems, values

from openapi_tools import Settings, load_tools
from openapi_tools.providers.definitions import CannotExpress, Memory, define_tool
from openapi_tools.providers.restore import Restorer
from openapi_tools.validation.checker import Checker

pytestmark = [pytest.mark.long, pytest.mark.untraced]

LARGE = (
    *("github/api.github.com.json", "stripe/stripe-old.yaml", "kubernetes/swagger.json"),
    "openai/openapi.yaml",
)
LEFT_OUT = {"bulk_delete_messages": "`uniqueItems` of several items cannot be expressed"}
"""Tools that a subset of JSON Schema cannot express, and why."""
MERGE_PATCH = "null removes a property in a JSON merge patch, but means a missing one in strict"
"""Why the tools of a merge patch have no strict definition."""
ABSENT_ONES = pytest.mark.skipif(not FOLDER.is_dir(), reason=ABSENT)
FILES = [
    *(pytest.param(path, id=path.name) for path in SPECS),
    *(pytest.param(FOLDER / path, id=path, marks=ABSENT_ONES) for path in LARGE),
]
CALLED = 11
"""One of so many tools is called."""


@pytest.mark.parametrize("file", FILES)
async def test_a_tool_takes_whatever_fits_its_definition(file):
    """`execute` is given what the model gave: it does not know of profiles."""
    web = httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(200, json={})))
    settings = Settings(base_url="http://api.example.com", anonymous=True)
    memories = {"openai_strict": Memory(), "gemini": Memory()}
    failures, left_out = [], {}
    for number, tool in enumerate(load_tools(file, client=web, settings=settings)):
        checker, restorer = Checker(tool.input_schema), Restorer(tool.input_schema)
        for profile, memory in memories.items():
            try:
                definition = define_tool(tool, profile, memory)
            except CannotExpress as error:
                if (profile, error.reason) != ("openai_strict", MERGE_PATCH):
                    left_out[tool.name] = error.reason
                continue
            faults = find_problems(tool, definition, profile, 2, checker, restorer)
            failures += [(tool.name, profile, fault) for fault in faults]
            schema = schema_of(profile, definition.value)
            for value in values(schema, 1) if number % CALLED == 0 else ():
                result = await tool.execute(value)
                if result.is_error and not is_of_the_wire(result):
                    failures.append((tool.name, profile, str(result), value))

    assert failures == []
    assert left_out.items() <= LEFT_OUT.items()


def is_of_the_wire(result):
    """Return whether arguments fit the schema but cannot be put into a request."""
    return any(word in str(result) for word in ("path", "header", "content_type"))
