"""Classes of tests that a user's own test classes inherit: of tools, and of a coordinator."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from openapi_tools.errors import DeniedError
from openapi_tools.loading.load import load_tools
from openapi_tools.result import ToolResult
from openapi_tools.testing.mock import mock_api
from openapi_tools.validation.samples import sample

if TYPE_CHECKING:
    import httpx

    from openapi_tools.testing.mock import MockApi
    from openapi_tools.testing.recording import RecordedCall
    from openapi_tools.toolsets.toolset import Toolset

PROFILES = ("anthropic", "gemini", "mcp", "openai", "openai_responses", "openai_strict")
_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}")
_WRONG: tuple[Any, ...] = (None, [], "text", 5, {"no such argument": 1}, {"": {"": []}})
_LAST = 8
_PET_ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
_SHOP = {
    "openapi": "3.1.0",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/pets/{petId}": {
            "parameters": [_PET_ID],
            "get": {"operationId": "getPet", "responses": {"200": {"description": "A pet."}}},
            "delete": {"operationId": "sellPet", "responses": {"204": {"description": "Sold."}}},
        }
    },
}


class ToolConformance:
    """Tests of tools; a class that inherits them names their `document` or overrides `toolset`."""

    document: Any = None  # as `mock_api` takes it, which answers every call
    package: Any = None  # a generated package, the module, that has to have the same tools
    uncalled: tuple[str, ...] = ()  # names of tools that are not called with sampled arguments

    def toolset(self, client: httpx.AsyncClient) -> Toolset:
        """Return the tools, which have to use this client; by default those of the document."""
        return load_tools(self.document, client=client)

    @pytest.fixture
    def checked_api(self) -> MockApi:
        """The mock of the document."""
        return mock_api(self.document, refuse=False, state=False)

    @pytest.fixture
    def checked_tools(self, checked_api: MockApi) -> Toolset:
        """The tools."""
        return self.toolset(checked_api.client())

    def test_a_provider_takes_every_tool(self, checked_tools: Toolset) -> None:
        """Names, descriptions and schemas fit, and each profile has definitions or warnings."""
        jsonschema_rs = pytest.importorskip("jsonschema_rs")
        for tool in checked_tools:
            assert _NAME.fullmatch(tool.name), tool.name
            assert tool.description.strip(), tool.name
            assert tool.input_schema["type"] == "object", tool.name
            jsonschema_rs.meta.validate(tool.input_schema)
        for profile in PROFILES:
            definitions = checked_tools.definitions(profile)
            assert json.dumps(definitions, allow_nan=False)
            assert len(definitions) == len(checked_tools) or checked_tools.warnings

    def test_calls_keep_to_the_document(self, checked_tools: Toolset, checked_api: MockApi) -> None:
        """Each tool is called with sampled arguments; openapi-core accepts the request."""
        wrong = {}
        for tool in checked_tools:
            if tool.name not in self.uncalled:
                checked_api.clear()
                arguments = sample(tool.input_schema, tool.input_schema)
                result = asyncio.run(tool.execute(arguments))
                # Where alternatives exclude each other, a sample may fit two.
                is_made = (result.error or {}).get("type") != "invalid_input"
                if checked_api.faults or (result.is_error and is_made):
                    wrong[tool.name] = checked_api.faults or [str(result)]
        assert wrong == {}

    def test_wrong_input_gives_an_error_result(
        self, checked_tools: Toolset, checked_api: MockApi
    ) -> None:
        """Wrong input is never sent and never raises."""
        for tool in checked_tools:
            for wrong in _WRONG:
                result = asyncio.run(tool.execute(wrong))
                assert (tool.name, result.is_error) == (tool.name, True)
        assert checked_api.calls == []

    def test_a_generated_package_has_the_same_tools(self, checked_tools: Toolset) -> None:
        """Names, descriptions, schemas and operations of `package` are those of the tools."""
        if self.package is None:
            pytest.skip("no generated package is named")
        package_tools = {tool.name: tool for tool in self.package.load()}
        assert list(package_tools) == [tool.name for tool in checked_tools]
        for tool in checked_tools:
            for fact in ("description", "input_schema", "operation"):
                assert getattr(package_tools[tool.name], fact) == getattr(tool, fact), tool.name


@dataclass
class Seen:
    """One answer as a model sees it; `failed` and `result` are None where nothing tells them."""

    texts: list[str]
    images: list[bytes] = field(default_factory=list)
    failed: bool | None = None
    result: ToolResult | None = None

    @property
    def text(self) -> str:
        """All texts, with a blank line between them."""
        return "\n\n".join(self.texts)


class CoordinatorConformance:
    """Tests of a coordinator; a class that inherits them says how its agent lists and calls."""

    def names(self, toolset: Any) -> list[str]:
        """Return the names of the tools as the agent lists them."""
        raise NotImplementedError

    async def run_turns(self, toolset: Any, *turns: Any, **options: Any) -> list[Seen]:
        """Run an agent whose model makes calls turn by turn, and return what the model sees.

        A turn is a list of calls, each a name and arguments.
        """
        raise NotImplementedError

    @pytest.fixture
    def shop_api(self) -> MockApi:
        """An API with the tools `get_pet` and `sell_pet`."""
        return mock_api(_SHOP, responses={"get_pet": _pet})

    @pytest.fixture
    def shop_tools(self, shop_api: MockApi) -> Toolset:
        """The tools of that API."""
        return load_tools(_SHOP, client=shop_api.client())

    def test_tools_are_listed(self, shop_tools: Toolset) -> None:
        """All tools, or those that are chosen."""
        assert self.names(shop_tools) == ["get_pet", "sell_pet"]
        assert self.names([shop_tools["sell_pet"]]) == ["sell_pet"]
        assert self.names([]) == []

    def test_a_model_reads_answers_and_errors(self, shop_tools: Toolset, shop_api: MockApi) -> None:
        """The model reads the response, the errors of its arguments, and the API's error."""
        turn = [("get_pet", {"petId": number}) for number in ("three", 3, 9)]

        seen = asyncio.run(self.run_turns(shop_tools, *([call] for call in turn)))

        refused, rex, missing = seen
        assert refused.texts == ["/petId: expected an integer, got 'three' (a string)."]
        assert json.loads(rex.text) == {"id": 3, "name": "Rex"}
        assert missing.text == "GET /pets/9 returned 404 Not Found: no pet 9."
        assert [one.failed for one in seen] in ([True, False, True], [None] * 3)
        assert [call.arguments["petId"] for call in shop_api.calls] == [3, 9]

    def test_calls_of_one_turn_run_side_by_side(self, shop_tools: Toolset) -> None:
        """They wait for each other, and their results keep their order."""

        async def run() -> list[Seen]:
            together = asyncio.Barrier(3)

            async def wait(call: Any, _: Any) -> Any:
                await asyncio.wait_for(together.wait(), 30)
                return ToolResult.ok(call.arguments["petId"])

            shop_tools.add_input_guardrails([wait])
            turn = [("get_pet", {"petId": number}) for number in range(3)]
            return await self.run_turns(shop_tools, turn)

        assert [one.text for one in asyncio.run(run())] == ["0", "1", "2"]

    def test_errors_do_not_stop_the_loop(self, shop_tools: Toolset, shop_api: MockApi) -> None:
        """An agent goes on after wrong arguments, refusals in words of a guardrail, and errors."""

        def no_eight(call: Any, _: Any) -> None:
            if call.arguments["petId"] == _LAST:
                raise DeniedError("pet 8 belongs to another shop.")

        shop_tools.add_input_guardrails([no_eight])
        turns = [[("get_pet", {"petId": number})] for number in ("?", 8, 9, 3)]

        seen = asyncio.run(self.run_turns(shop_tools, *turns))

        assert seen[1].text == "pet 8 belongs to another shop."
        assert json.loads(seen[-1].text) == {"id": 3, "name": "Rex"}
        assert [call.arguments["petId"] for call in shop_api.calls] == [9, 3]


def _pet(call: RecordedCall) -> Any:
    number = call.arguments["petId"]
    return (404, {"detail": "no pet 9"}) if number > _LAST else {"id": number, "name": "Rex"}
