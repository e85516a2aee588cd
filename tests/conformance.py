"""Behaviours that every coordinator's tools have; a subclass says how its agents call tools."""

import asyncio
import json
from typing import Any

import pytest
from pet_shop import ALBUM, NOT_FOUND, PHOTO, PNG, pet_response
from servers.recorder import CannedResponse

from openapi_tools import Context, Select, SettingsError, ToolResult, require_approval
from openapi_tools.testing.conformance_tests import CoordinatorConformance

NEXT = ("Link", "</pets?page=2>; rel=next")
PAGE_TEXT, NOTE = '{"id":7,"name":"Änne"}', "Next page: /pets?page=2 (link)"
PAGE = CannedResponse(headers=[("Content-Type", "application/json"), NEXT], body=PAGE_TEXT.encode())
PICTURE = CannedResponse(headers=[("Content-Type", "image/png"), NEXT], body=PNG)
CONFIG = {"$ref": "r", "config": "c", "run_manager": "m", "self": "s", "title": "t"}
MINE = {"credentials": {"key": "mine"}}
NAMES = ["get_pet", "sell_pet", "get_photo", "add_pet"]
LOOK, SELL = ("get_pet", {"petId": 7}), ("sell_pet", {"petId": 7})
RULES = {
    "none": (None, set()),
    "no": (False, set()),
    "all": (True, set(NAMES)),
    "selected": (Select(methods=["delete"]), {"sell_pet"}),
    "function": (lambda tool: not tool.read_only, {"add_pet", "sell_pet"}),
}


def calling(name, pet):
    """Return the arguments of `call_tool` for a call about a pet."""
    return {"name": name, "arguments": {"petId": pet}}


class Conformance(CoordinatorConformance):
    """Subclasses run an agent whose model makes calls turn by turn, and list tools by name."""

    async def test_a_model_sees_images_and_a_program_results(self, shop, recorder):
        recorder.responses += [pet_response(3), NOT_FOUND, PHOTO]
        calls = [("get_pet", {"petId": 3}), ("get_pet", {"petId": 9}), ("get_photo", {"petId": 3})]

        seen = await self.run_turns(shop, *([call] for call in calls))

        rex, missing, photo = seen
        assert photo.images == [PNG]
        assert [one.failed for one in seen] in ([False, True, False], [None] * 3)
        if rex.result is not None:
            assert (rex.result.output["id"], rex.result.metadata["status"]) == (3, 200)
            assert (missing.result.is_error, missing.result.error["status"]) == (True, 404)
        targets = [request.target for request in recorder.requests]
        assert targets == ["/pets/3", "/pets/9", "/pets/3/photo"]

    async def test_a_model_finds_tools_and_calls_them_by_call_tool(self, shop, recorder):
        recorder.response = pet_response(3)
        calls = [{"name": "get_pets"}, calling("get_pet", "three"), calling("get_pet", 3)]
        turns = [("search_tools", {"query": "look at a pet\nsell it"})]
        turns += [("describe_tools", {"names": ["sell_pet"]})]
        turns += [("call_tool", call) for call in calls]

        seen = await self.run_turns(shop.meta_tools(), *([call] for call in turns))

        stubs, description, unknown, wrong, right = (one.text for one in seen)
        assert "get_pet(petId: int)" in stubs
        assert "sell_pet(petId: int)" in stubs
        assert description.startswith("sell_pet: DELETE /pets/{petId}")
        assert "did you mean get_pet" in unknown
        assert "/petId: expected an integer, got 'three'" in wrong
        assert json.loads(right) == {"id": 3, "name": "Rex"}
        assert [request.target for request in recorder.requests] == ["/pets/3"]

    async def test_images_and_texts_keep_their_places(self, shop):
        shop.add_input_guardrails([lambda *_: ToolResult.ok(ALBUM)])

        (seen,) = await self.run_turns(shop, [("get_pet", {"petId": 3})])

        assert (seen.images, seen.texts[-1]) == ([PNG], "Rex")

    async def test_what_only_headers_say_comes_after_the_response(self, shop, recorder):
        recorder.responses += [PAGE, PICTURE]
        turns = [("get_pet", {"petId": 7})], [("get_photo", {"petId": 7})]

        page, picture = await self.run_turns(shop, *turns)

        assert page.text == f"{PAGE_TEXT}\n\n{NOTE}"
        assert (picture.images, picture.texts[-1]) == ([PNG], NOTE)

    async def test_arguments_of_any_name_reach_the_tool(self, shop, recorder):
        names = ["config", "run_manager", "self", "ctx"], ["run", "invocation", "context", "kwargs"]
        odd = [("get_pet", {"petId": 3, **dict.fromkeys(some, 1)}) for some in names]
        pet = {"name": "Rex", "title": "Sir", "config": CONFIG}

        *refused, _ = await self.run_turns(
            shop, *([one] for one in odd), [("add_pet", {"body": pet})]
        )

        for one, some in zip(refused, names, strict=True):
            wrong = [line.partition(":")[0] for line in one.text.splitlines()]
            assert wrong == [*(f"/{name}" for name in some), "Example"]
        assert json.loads(recorder.last.body) == pet

    @pytest.mark.parametrize("way", ["none", "one for all", "a mapping", "a function", "async"])
    async def test_a_context_gives_the_credentials(self, shop, recorder, way):
        async def later(*_):
            return Context(**MINE)

        options = {
            "none": {},
            "one for all": {"context": Context(**MINE)},
            "a mapping": {"context": MINE},
            "a function": {"context": lambda *_: MINE},
            "async": {"context": later},
        }[way]

        await self.run_turns(shop, [("get_pet", {"petId": 3})], **options)

        assert recorder.last.header("X-Key") == ("everybody" if way == "none" else "mine")

    async def test_cancelling_ends_a_call(self, shop):
        started, cancelled = asyncio.Event(), asyncio.Event()

        async def wait(*_):
            started.set()
            try:
                await asyncio.Event().wait()
            finally:
                cancelled.set()

        shop.add_input_guardrails([wait])
        running = asyncio.create_task(self.run_turns(shop, [("get_pet", {"petId": 3})]))
        await started.wait()

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        await asyncio.wait_for(cancelled.wait(), 30)


class Asking(Conformance):
    """Coordinators that ask a person themselves; a subclass says which tools ask, and how."""

    def asking(self, toolset: Any, **options: Any) -> set[str]:
        raise NotImplementedError

    async def run_until_asked(self, toolset: Any, *calls: Any, **options: Any) -> Any:
        """Run a turn; the names of the calls that wait, and what answers and gives the texts."""
        raise NotImplementedError

    @pytest.mark.parametrize("guarded", [False, True])
    @pytest.mark.parametrize("rule", RULES)
    def test_a_rule_or_a_guardrail_says_which_tools_ask(self, shop, rule, guarded):
        approval, asked = RULES[rule]
        if guarded:
            shop["get_pet"].add_input_guardrails([require_approval(lambda _: True)])

        assert self.asking(shop, approval=approval) == asked | ({"get_pet"} if guarded else set())
        with pytest.raises(SettingsError, match="a rule is a Select or a function, not str"):
            self.asking(shop, approval="sell_pet")

    @pytest.mark.parametrize("guarded", [False, True])
    @pytest.mark.parametrize("yes", [False, True])
    async def test_a_call_is_made_once_if_it_is_approved(self, shop, recorder, guarded, yes):
        if guarded:
            shop.add_input_guardrails([require_approval()])
        rule = None if guarded else Select(names=["sell_*"])

        waiting, answer = await self.run_until_asked(shop, LOOK, SELL, approval=rule)
        assert waiting == ["sell_pet"]
        assert "DELETE" not in [request.method for request in recorder.requests]

        texts = await answer(yes)
        sent = sorted(request.method for request in recorder.requests)
        assert sent == ["DELETE"] * yes + ["GET"]
        assert (texts[-1] == "{}") is yes

    @pytest.mark.parametrize("rule", [None, Select(names=["sell_*"])])
    @pytest.mark.parametrize("yes", [False, True])
    async def test_a_call_of_call_tool_waits_as_its_tool_does(self, shop, recorder, rule, yes):
        if rule is None:
            shop.add_input_guardrails([require_approval()])
        meta, sell = shop.meta_tools(), ("call_tool", calling("sell_pet", 7))

        waiting, answer = await self.run_until_asked(meta, sell, approval=rule)
        assert waiting == ["call_tool"]
        assert recorder.requests == []

        await answer(yes)
        assert [request.target for request in recorder.requests] == ["/pets/7"] * yes

    @pytest.mark.parametrize("names", ["sell_*", "run_code", "get_*", "none"])
    def test_a_rule_about_a_tool_asks_about_each_program_that_may_call_it(self, shop, names):
        pytest.importorskip("pydantic_monty", reason="pydantic-monty is not installed")
        rule = Select(names=[names])

        asking = self.asking(shop.code_tools(), approval=rule)

        assert asking == ({"run_code"} if names != "none" else set())

    @pytest.mark.parametrize("approve", [None, lambda call: call.arguments == {"petId": 8}])
    async def test_what_guardrails_made_of_it_was_not_approved(self, shop, recorder, approve):
        shop.add_input_guardrails([lambda *_: {"petId": 8}, require_approval()])
        context = approve and Context(approve=approve)

        _, answer = await self.run_until_asked(shop, SELL, context=context, approval=True)
        texts = await answer(True)

        assert texts == ["{}" if approve else "sell_pet was not approved."]
        assert [one.target for one in recorder.requests] == ["/pets/8"] * (approve is not None)

    @pytest.mark.parametrize("guarded", [False, True])
    @pytest.mark.parametrize("kind", ["Context", "a mapping", "its own"])
    async def test_an_approval_leaves_the_rest_of_a_context(self, shop, recorder, kind, guarded):
        fields, seen = {**MINE, "state": "Rex & Co"}, []
        custom = type("Own", (), fields)()
        context = {"Context": Context(**fields), "a mapping": fields, "its own": custom}[kind]
        read = dict.get if kind == "a mapping" else getattr
        shop.add_input_guardrails([lambda _, current: seen.append(read(current, "state"))])
        if guarded:
            shop.add_input_guardrails([require_approval()])

        _, answer = await self.run_until_asked(shop, SELL, context=context, approval=True)
        await answer(True)

        assert seen == ["Rex & Co"]
        assert (recorder.last.method, recorder.last.header("X-Key")) == ("DELETE", "mine")
