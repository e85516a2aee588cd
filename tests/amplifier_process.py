"""The real amplifier-core, in a process of its own, with our tools in it.

Its engine can abort an interpreter that ends by itself; so this file is also what that process
runs, and it ends with `os._exit`. `observe(kind)` gives what was found there.

What a model is shown follows the two published orchestrators, in their own expressions:

- loop-basic emits `result` itself (it has no `to_dict`) with `tool:post`; what `hooks.emit` gives
  back is a JSON copy, another object, so it takes `json.dumps(copy)` of a dict or list, else
  `str(copy)`.
- loop-streaming does the same with `result.model_dump()`.
"""

import asyncio
import gc
import inspect
import json
import os
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace

ROOT = Path(__file__).parents[1]
SPEC = ROOT / "specs" / "petstore.yaml"
BASE_PATH = "/api/v3"
"""Of the document's own server."""
KINDS = ("loaded", "generated", "module")
PET = {"id": 3, "name": "Rêx", "photoUrls": [], "tags": None}
PNG = b"\x89PNG\r\n\x1a\n" + bytes(16)
SECRET = "hunter2"


@cache
def observe(kind):
    """Return what the scenarios below found with tools of a kind."""
    path = os.pathsep.join(map(str, (ROOT, ROOT / "tests", ROOT / "generated" / "petstore")))
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-B", __file__, kind],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


async def mounted(kind, coordinator, url):
    """Mount the petstore's tools; the cleanup."""
    from openapi_tools import load_tools
    from openapi_tools.contracts import amplifier

    credentials, url = {"api_key": SECRET}, url + BASE_PATH
    if kind == "loaded":
        from openapi_tools import Settings

        tools = load_tools(
            SPEC, settings=Settings(base_url=url, anonymous=True), credentials=credentials
        )
        return await tools.mount(coordinator)
    anonymous = {"anonymous": True}
    config = {"base_url": url, "credentials": credentials, "settings": anonymous}
    if kind == "module":
        return await amplifier.mount(coordinator, {"spec": str(SPEC), **config})
    from petstore_tools import mount

    return await mount(coordinator, config)


async def shown(coordinator, result, loop):
    """Return what a model is shown by an orchestrator."""
    if loop == "loop-basic":
        data = result.to_dict() if hasattr(result, "to_dict") else result
    else:
        data = result.model_dump() if hasattr(result, "model_dump") else str(result)
    post = await coordinator.hooks.emit("tool:post", {"tool_name": "x", "result": data})
    copy = post.data.get("result")
    return json.dumps(copy) if isinstance(copy, dict | list) else str(copy)


async def results(kind, api):
    """Answers of every sort, and what becomes of them."""
    import amplifier_core
    from amplifier_core.testing import MockCoordinator
    from servers.recorder import Answer

    text, image = [("Content-Type", "text/plain")], [("Content-Type", "image/png")]
    answers = {
        "object": Answer(body=json.dumps(PET).encode()),
        "list": Answer(body=b"[]"),
        "zero": Answer(body=b"0"),
        "false": Answer(body=b"false"),
        "text": Answer(headers=text, body="né\nja".encode()),
        "empty text": Answer(headers=text, body=b""),
        "nothing": Answer(status=204, headers=[]),
        "image": Answer(headers=image, body=PNG),
        "error": Answer(status=404, body=b'{"message": "no such pet"}'),
    }
    coordinator = MockCoordinator()
    cleanup = await mounted(kind, coordinator, api.url)
    tool, found = coordinator.get("tools", "get_pet_by_id"), {}
    for name, answer in answers.items():
        api.answers.append(answer)
        result = await tool.execute({"petId": 3, "_tool_call_id": f"call-{name}"})
        found[name] = {
            "own": isinstance(result, amplifier_core.ToolResult),
            "fields": sorted(type(result).model_fields),
            "parts": [result.success, result.output, result.error],
            "views": [result.is_error, result.tool_call_id, result.metadata["status"]],
            "serialized": result.get_serialized_output(),
            "content": json.loads(result.model_dump_json()).get("content"),
            "dump": result.model_dump(mode="python"),
            "event": result.safe_hook_presentation(),
            "copied": str(result.model_copy()) == str(result),
            "copied content": result.model_copy().content == result.content,
            **{loop: await shown(coordinator, result, loop) for loop in LOOPS},
        }
    await cleanup()
    return found


async def tools(kind, api):
    """What is mounted, by the words of the contract."""
    from amplifier_core.testing import MockCoordinator
    from amplifier_core.validation import ToolValidator

    coordinator = MockCoordinator()
    cleanup = await mounted(kind, coordinator, api.url)
    found = {
        name: [
            tool.name,
            bool(tool.description),
            tool.input_schema["type"],
            tool.get_schema() == tool.input_schema,
            inspect.iscoroutinefunction(tool.execute),
            tool.read_only,
            repr(tool),
            hasattr(tool, "native_tool_spec"),
        ]
        for name, tool in coordinator.get("tools").items()
    }
    await cleanup()
    left = list(coordinator.get("tools"))
    validated = {}
    own = "openapi_tools.contracts.amplifier"
    name, needed = {"generated": ("amplifier_module_tool_petstore", {})}.get(kind, (own, WITH_SPEC))
    configs = {"none": None, "empty": {}, "some": {**needed, "base_url": api.url}}
    for key, config in configs.items():
        checked = await ToolValidator().validate(name, config=config)
        bad = [check.message for check in checked.checks if not check.passed]
        names = [c for c in checked.checks if c.message.endswith("implements Tool interface")]
        validated[key] = [checked.passed, bad, len(names)]
    return {"tools": found, "left": left, "validated": validated}


async def events(kind, api):
    """What the hooks hear, and what is announced."""
    from amplifier_core import HookResult
    from amplifier_core.testing import MockCoordinator
    from servers.recorder import Answer

    coordinator, heard = MockCoordinator(), []

    async def hear(event, data):
        heard.append([event, data])
        return HookResult(action="continue")

    async def fail(event, data):
        raise RuntimeError("a broken hook")

    cleanup = await mounted(kind, coordinator, api.url)
    (announced,) = await coordinator.collect_contributions("observability.events")
    for event in announced:
        coordinator.hooks.register(event, fail, 0, f"fail {event}")
        coordinator.hooks.register(event, hear, 1, f"hear {event}")
    api.answers += [Answer(body=b"{}"), Answer(status=500, body=SECRET.encode())]
    tool = coordinator.get("tools", "get_pet_by_id")
    said = [(await tool.execute({"petId": 3, "_tool_call_id": str(n)})).success for n in (1, 2)]
    said.append((await tool.execute({})).success)
    await cleanup()
    after = await coordinator.collect_contributions("observability.events")
    forgetful = MockCoordinator()
    await mounted(kind, forgetful, api.url)  # its cleanup function is dropped
    gc.collect()
    (kept,) = await forgetful.collect_contributions("observability.events")
    return {"announced": announced, "heard": heard, "said": said, "after": after, "kept": kept}


async def approvals(kind, api):
    """A tool that needs approval, with each answer of an approval system, and without one."""
    from amplifier_core import ModuleCoordinator
    from amplifier_core.approval import ApprovalTimeoutError

    from openapi_tools import require_approval

    asked = []

    class System:
        def __init__(self, answer):
            self.answer = answer

        async def request_approval(
            self,
            prompt,
            options,
            timeout,  # noqa: ASYNC109 -- the package's name
            default,
        ):
            asked.append([prompt, options, timeout, default])
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

    found = {}
    answers = {"allow": "Allow", "deny": "Deny", "default": "deny", "late": ApprovalTimeoutError()}
    systems = {name: System(answer) for name, answer in answers.items()}
    for name, system in {**systems, "broken": System(OSError()), "nobody": None}.items():
        session = SimpleNamespace(session_id="s", parent_id=None, config=PLAN)
        coordinator = ModuleCoordinator(session, system)
        cleanup = await mounted(kind, coordinator, api.url)
        for tool in coordinator.get("tools").values():
            tool.add_input_guardrails([require_approval()])
        before = len(api.requests)
        result = await coordinator.get("tools", "delete_pet").execute({"petId": 7})
        read = await coordinator.get("tools", "get_inventory").execute({})
        needs = coordinator.get("tools", "delete_pet").needs_approval
        sent = [request.method for request in api.requests[before:]]
        found[name] = [result.success, str(result), read.success, sent, needs]
        await cleanup()
    return {"answers": found, "asked": asked[0]}


async def calls(kind, api):
    """The id that loop-streaming keeps, hostile input, and a session that ends."""
    from amplifier_core.testing import MockCoordinator

    coordinator = MockCoordinator()
    cleanup = await mounted(kind, coordinator, api.url)
    tool = coordinator.get("tools", "get_inventory")
    given = {}
    coordinator._tool_dispatch_contexts = {asyncio.current_task(): {"tool_call_id": "of the task"}}
    found = {"task": (await tool.execute(given)).tool_call_id, "given": given}
    found["input"] = (await tool.execute({"_tool_call_id": "own"})).tool_call_id
    coordinator._tool_dispatch_contexts = {}
    found["none"] = (await tool.execute({})).tool_call_id
    found["own"] = (await tool.execute({"_tool_call_id": "own"})).tool_call_id
    found["hostile"] = [(await tool.execute(bad)).success for bad in (None, [], "x", {1: 2})]
    tool.add_output_guardrails([lambda result, context: type(result).ok({1, 2})])
    unshowable = await tool.execute({})
    found["unshowable"] = [unshowable.success, str(unshowable)]
    before = len(api.requests)
    await coordinator.request_cancel(True)
    stopped = await coordinator.get("tools", "get_pet_by_id").execute({"petId": 3})
    found["stopped"] = [stopped.error, len(api.requests) - before]
    await cleanup()
    return found


class Loop:
    """An orchestrator that treats tools and results as the published ones do."""

    def __init__(self, loop):
        self.loop = loop

    async def execute(self, prompt, context, providers, tools, hooks, coordinator):
        """Call what the provider asks for until it asks for nothing."""
        from amplifier_core.message_models import ChatRequest, Message, ToolSpec

        (provider,) = providers.values()
        while True:
            specs = [
                ToolSpec(name=t.name, description=t.description, parameters=t.input_schema)
                for t in tools.values()
            ]
            request = ChatRequest(messages=[Message(role="user", content=prompt)], tools=specs)
            response = await provider.complete(request)
            if not response.tool_calls:
                return response.content[0].text
            for message in await asyncio.gather(
                *(self.call(call, tools, hooks, coordinator) for call in response.tool_calls)
            ):
                await context.add_message(message)

    async def call(self, call, tools, hooks, coordinator):
        """Make one call of a turn."""
        told = {"tool_name": call.name, "tool_input": call.arguments}
        await hooks.emit("tool:pre", told)
        if self.loop == "loop-streaming":
            if not hasattr(coordinator, "_tool_dispatch_contexts"):
                coordinator._tool_dispatch_contexts = {}
            contexts = coordinator._tool_dispatch_contexts
            contexts[asyncio.current_task()] = {"tool_call_id": call.id}
        result = await tools[call.name].execute(call.arguments)
        content = await shown(coordinator, result, self.loop)
        return {"id": call.id, "content": content, "known": result.tool_call_id}


class Scripted:
    """A provider that asks for the calls it was given, turn by turn."""

    name = "scripted"

    def __init__(self, turns):
        self.turns = turns
        self.offered = []

    async def complete(self, request, **_):
        """Return the next turn."""
        from amplifier_core import ChatResponse, TextBlock

        self.offered = [tool.name for tool in request.tools]
        calls = self.turns.pop(0) if self.turns else None
        return ChatResponse(content=[TextBlock(text="done")], tool_calls=calls)


class Memory:
    """A context manager that only keeps what it is told."""

    def __init__(self):
        self.messages = []

    async def add_message(self, message):
        """Keep it."""
        self.messages.append(message)


def module(name, point, value):
    """Make a module of Amplifier that mounts a value."""

    async def mount(coordinator, config=None):
        await coordinator.mount(point, value)

    made = ModuleType(name)
    made.mount = mount  # type: ignore[attr-defined]  # modules are open
    sys.modules[name] = made


async def session(kind, api):
    """A whole session: a call, an HTTP error, a parameterless call, and calls in parallel."""
    from amplifier_core import AmplifierSession, ToolCall
    from servers.recorder import Answer

    found = {}
    for loop in LOOPS:
        module("amplifier_module_loop_test", "orchestrator", Loop(loop))
        module("amplifier_module_context_test", "context", Memory())
        name, config = {"generated": ("tool-petstore", {})}.get(kind, ("tool-openapi", WITH_SPEC))
        entry = {
            "module": name,
            "config": {**config, "base_url": api.url + BASE_PATH, "settings": {"anonymous": True}},
        }
        running = AmplifierSession({**PLAN, "tools": [] if kind == "loaded" else [entry]})
        await running.initialize()
        if kind == "loaded":
            cleanup = await mounted(kind, running.coordinator, api.url)
            running.coordinator.register_cleanup(cleanup)
        offered = running.coordinator.get("tools")
        both = asyncio.Barrier(2)

        async def together(call, context, both=both):
            await both.wait()

        for parallel in ("find_pets_by_status", "find_pets_by_tags"):
            offered[parallel].add_input_guardrails([together])
        turns = [
            [ToolCall(id="a", name="get_pet_by_id", arguments={"petId": 3})],
            [ToolCall(id="b", name="get_pet_by_id", arguments={"petId": 9})],
            [ToolCall(id="c", name="get_inventory", arguments={})],
            [
                ToolCall(id="d", name="find_pets_by_status", arguments={"status": "sold"}),
                ToolCall(id="e", name="find_pets_by_tags", arguments={"tags": ["x"]}),
            ],
            [ToolCall(id="f", name="get_pet_by_id", arguments={"petId": "three"})],
        ]
        api.answers += [
            Answer(body=json.dumps(PET).encode()),
            Answer(status=404, body=b'{"message": "no such pet"}'),
            Answer(body=b'{"sold": 2}'),
            Answer(body=b"[]"),
            Answer(body=b"[]"),
        ]
        provider = Scripted(turns)
        await running.coordinator.mount("providers", provider, name="scripted")
        answer = await running.execute("do it")
        messages = running.coordinator.get("context").messages
        await running.cleanup()
        found[loop] = [answer, provider.offered, messages, list(running.coordinator.get("tools"))]
    return found


LOOPS = ("loop-basic", "loop-streaming")
PLAN = {"session": {"orchestrator": {"module": "loop-test"}, "context": {"module": "context-test"}}}
WITH_SPEC = {"spec": str(SPEC)}
SCENARIOS = (results, tools, events, approvals, calls, session)


async def main(kind):
    """Run every scenario."""
    from servers.recorder import Recorder

    if kind != "generated":
        # What installing the package brings: the entry point, which this tree only declares.
        home = import_module("openapi_tools.contracts.amplifier")
        sys.modules["amplifier_module_tool_openapi"] = home
    found = {}
    async with Recorder() as api:
        for scenario in SCENARIOS:
            found[scenario.__name__] = await scenario(kind, api)
    return found


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1])), default=repr), flush=True)
    sys.stderr.flush()
    os._exit(0)
