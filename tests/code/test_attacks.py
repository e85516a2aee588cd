"""Programs that attack: each ends within the limits, and none gets out. `-s` prints the results."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest
from programs import DOCUMENT
from servers.recorder import CannedResponse, Recorder, _read_request

from openapi_tools import CodeLimits, Context, Settings, load_tools, require_approval
from openapi_tools.errors import ERROR_TYPES

LIMITS = CodeLimits(
    seconds=1, cpu_seconds=0.3, memory_bytes=32_000_000, recursion=200, calls=20, output_chars=2_000
)
LONGEST = 4.0
SECRET = "code-mode-secret-7f3a"


class Slow(Recorder):
    """Counts requests; `/print` is answered after a while, `/users/0` never."""

    async def _serve_peer(self, peer):
        while True:
            request = await _read_request(peer._reader)
            self.requests.append(request)
            self.changed.set()
            if request.target == "/users/0":
                await peer._reader.read(1)
                return
            if request.target == "/print":
                await asyncio.sleep(0.3)
            echo = f'{{"key": "{SECRET}", "name": "u"}}'.encode()
            await peer.write(CannedResponse(body=echo).to_bytes())


ESCAPES = {
    "import os": ("import os\nos.system('id')", "no attribute 'system'"),
    "the environment": ("import os\nos.environ['HOME']", "not supported"),
    "a process": ("import subprocess\nsubprocess.run(['id'])", "No module named 'subprocess'"),
    "a socket": ("import socket\nsocket.socket()", "No module named 'socket'"),
    "ctypes": ("import ctypes", "No module named 'ctypes'"),
    "the package itself": ("import openapi_tools", "No module named 'openapi_tools'"),
    "importlib": ("import importlib", "No module named 'importlib'"),
    "a file": ("open('/etc/passwd').read()", "Permission denied"),
    "a file by its path": (
        "from pathlib import Path\nPath('/etc/passwd').read_text()",
        "Permission denied",
    ),
    "a file to write": ("open('/tmp/attack', 'w').write('x')", "Permission denied"),
    "a folder": ("import os\nos.listdir('/')", "Permission denied"),
    "classes of a tuple": ("().__class__.__base__.__subclasses__()", "no attribute '__class__'"),
    "globals of a function": ("call.__globals__", "no attribute '__globals__'"),
    "code of a function": ("(lambda: 1).__code__", "no attribute '__code__'"),
    "a builtin's module": ("print.__self__", "no attribute '__self__'"),
    "frames of an exception": (
        "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    x = e\nx.__traceback__.tb_frame",
        "no attribute",
    ),
    "getattr": ("getattr((), '__cla' + 'ss__')", "no attribute '__class__'"),
    "a format string": ("'{0.__class__}'.format(1)", "no attribute '__class__'"),
    "an import by name": ("__import__('os').system('id')", "not defined"),
    "eval": ("eval('__import__(\"os\")')", "not defined"),
    "exec": ("exec('import subprocess')", "No module named 'subprocess'"),
    "compile": ("compile('1', '', 'eval')", "not defined"),
    "builtins": ("__builtins__", "not defined"),
    "a pickle": (
        "import pickle\npickle.loads(b'cos\\nsystem\\n(S\"id\"\\ntR.')",
        "No module named",
    ),
    "marshal": ("import marshal", "No module named"),
    "the border, with text": ("await __host('x')", "RuntimeError"),
    "the border, with an object": ("await __host({'a': 1})", "RuntimeError"),
    "the border, with too few parts": ("await __host('[1]')", "RuntimeError"),
    "another's attribute of a tool": ("await call('__init__')", "no tool is called"),
    "an argument that is a path": ("await get_user(user_id='../../admin')", "user_id"),
    "input": ("input()", "not defined"),
    "an exit": ("raise SystemExit()", "SystemExit"),
    "an interrupt": ("raise KeyboardInterrupt()", "KeyboardInterrupt"),
}
BOMBS = {
    "an endless loop": ("while True: pass", "timeout"),
    "an endless loop of calls": ("while True:\n    await get_user(1)", "too_large"),
    "a loop that catches all": (
        "while True:\n    try:\n        await get_user(1)\n    except BaseException:\n        pass",
        "too_large",
    ),
    "sleep": ("import time\nwhile True:\n    time.sleep(9)", "timeout"),
    "sleep in a loop": ("import asyncio\nwhile True:\n    await asyncio.sleep(0)", None),
    "a long text": ("'a' * 10 ** 10", "too_large"),
    "a long text by formatting": ("'%10000000000d' % 1", "too_large"),
    "a large number": ("10 ** 10 ** 8", "too_large"),
    "a larger number": ("x = 2\nwhile True:\n    x = x * x", None),
    "a list of lists": ("x = []\nwhile True:\n    x = [x, x, 'a' * 1000]", None),
    "a list that grows": ("x = [0]\nwhile True:\n    x = x + x", "too_large"),
    "a large value": ("['a' * 1000] * 1_000", "result"),
    "a regular expression": ("import re\nre.match('(a+)+$', 'a' * 40 + 'b')", None),
    "recursion": ("def f(): return f()\nf()", "invalid_input"),
    "recursion of coroutines": ("async def f(): return await f()\nawait f()", "invalid_input"),
    "nested brackets": ("[" * 20_000 + "]" * 20_000, None),
    "a long sum": ("+".join(["1"] * 20_000), None),
    "nested blocks": (
        "\n".join(" " * n + "if 1:" for n in range(200)) + "\n" + " " * 200 + "1",
        None,
    ),
    "a flood of prints": ("while True:\n    print('x' * 1000)", "too_large"),
    "a long print": ("print('x' * 500_000)", "result"),
    "a long exception": ("raise ValueError('x' * 1_000_000)", "invalid_input"),
    "1,000 calls": ("for n in range(1000):\n    await get_user(n + 1)", "too_large"),
    "1,000 calls at once": (
        "import asyncio\nawait asyncio.gather(*[get_user(n + 1) for n in range(1000)])",
        "too_large",
    ),
    "endless pages": ("await pages(list_items, max_items=10 ** 9)", None),
    "a server that hangs": ("await get_user(0)", "timeout"),
    "types that double": (
        "x = await get_user(1)\nx = 1\n" + "if x: x = (x, x)\n" * 40 + "await call('print')",
        "timeout",
    ),
    "many calls that hang": (
        "import asyncio\nawait asyncio.gather(*[get_user(0) for _ in range(10)])",
        "timeout",
    ),
    "a call beside one that fails": (
        "import asyncio\nasync def fail():\n    1 / 0\nawait asyncio.gather(call('print'), fail())",
        "invalid_input",
    ),
    "a call that nothing awaits": ("call('print')\n1", "result"),
    "an unapproved write": ("await delete_user(1)", "invalid_input"),
    "many unapproved writes": (
        "for n in range(5):\n  try:\n    await delete_user(n)\n  except ApiError:\n    pass\n1",
        "result",
    ),
    "no program": ("\0", "invalid_input"),
    "an empty statement": (";", "invalid_input"),
    "long numbers in texts": ("['9' * 308] * 20_000", "result"),
    "arguments that are too large": (
        "await call('create-item', {'body': {'a': 'a' * 4_300_000}})",
        "invalid_input",
    ),
}


@pytest.fixture
async def server():
    async with Slow() as running:
        yield running


def load_code_tools(server):
    toolset = load_tools(DOCUMENT, settings=Settings(base_url=server.url, timeout=30))
    toolset.add_input_guardrails([require_approval()])
    return toolset, toolset.code_tools(limits=LIMITS)


async def run_to_end(code, program, context=None):
    """Return the result of a program and the seconds that it took, and print both."""
    begin = time.perf_counter()
    result = await code.call("run_code", {"code": program}, context=context)
    took = time.perf_counter() - begin
    kind = result.error["type"] if result.is_error else "result"
    print(f"{kind:14} {took:5.2f} s  {program[:44]!r:50} {str(result)[:90]!r}")
    assert result.success or kind in ERROR_TYPES
    assert len(str(result)) < 2 * LIMITS.output_chars + 2_500
    assert took < LONGEST
    return kind, result


def find_children():
    """Return the processes of this one that still run."""
    pids = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == os.getpid() and state != "Z":
            pids.append(stat.parent.name)
    return set(pids)


async def wait_until_quiet(server):
    """Return the number of requests, which does not grow any more."""
    count = len(server.requests)
    await asyncio.sleep(0.05)
    assert len(server.requests) == count
    return count


@pytest.mark.long
@pytest.mark.parametrize(("program", "words"), ESCAPES.values(), ids=ESCAPES)
async def test_no_program_gets_out_of_the_sandbox(program, words, server):
    toolset, code = load_code_tools(server)
    async with toolset:
        kind, result = await run_to_end(code, program)

        assert kind == "invalid_input"
        assert words in result.output
        assert await wait_until_quiet(server) == 0


@pytest.mark.long
@pytest.mark.parametrize(("program", "kind"), BOMBS.values(), ids=BOMBS)
async def test_a_program_ends_within_the_limits_and_its_calls_with_it(program, kind, server):
    toolset, code = load_code_tools(server)
    async with toolset:
        await code.call("run_code", {"code": "await get_user('no number')"})
        before = find_children()  # with the process that checks programs
        status, _ = await run_to_end(code, program)
        count = await wait_until_quiet(server)
        after = await code.call("run_code", {"code": "1 + 1"})

    assert kind in (status, None)
    assert count <= LIMITS.calls
    assert not any(request.method == "DELETE" for request in server.requests)
    assert after.output == 2
    assert find_children() <= before


async def test_a_cancelled_run_ends_with_its_calls(server):
    before = find_children()
    toolset, code = load_code_tools(server)
    async with toolset:
        running = asyncio.create_task(
            code.call("run_code", {"code": "while True:\n    await call('print')"})
        )
        await server.changed.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert await wait_until_quiet(server) == 1
        assert find_children() <= before


async def test_one_process_checks_programs_of_all_and_none_changes_the_next_check(server):
    wrong = "await get_user('no number')"
    programs = [
        wrong,
        "def get_user(*args): return None\nawait get_user('no number')",
        "str = int = get_user\n" + wrong,
        "# type: ignore\n" + wrong,
        "raise ValueError(get_user)\n" + wrong,
        "get_user('''\n" + wrong,
    ]
    toolset, code = load_code_tools(server)
    async with toolset:
        before = find_children()
        await code.call("run_code", {"code": wrong})
        checkers = find_children() - before
        for program in programs:
            await code.call("run_code", {"code": program})
            result = await code.call("run_code", {"code": wrong})
            assert "ine 1: 'no number': Argument to function get_user" in result.output
            assert find_children() - before == checkers

    assert len(checkers) == 1
    assert not server.requests


async def test_a_program_may_name_its_values_like_types(server):
    toolset, code = load_code_tools(server)
    program = "str = int = list = Any = Literal = 1\nawait get_user(user_id='no number')"
    async with toolset:
        result = await code.call("run_code", {"code": program})

    assert "ine 2: user_id='no number': Argument to function get_user" in result.output


async def test_few_of_the_processes_stay_that_check_programs_at_once(server):
    toolset, code = load_code_tools(server)
    wrong = {"code": "await get_user('no number')"}
    async with toolset:
        before = find_children()
        results = await asyncio.gather(*(code.call("run_code", wrong) for _ in range(12)))
        assert len(find_children() - before) <= 4

    assert all("Argument to function get_user" in result.output for result in results)


def test_the_process_that_checks_programs_ends_with_the_event_loop():
    async def run():
        toolset = load_tools(DOCUMENT)
        await toolset.code_tools(limits=LIMITS).call("run_code", {"code": "await get_user('x')"})
        return find_children() - before

    before = find_children()
    assert len(asyncio.run(run())) == 1
    assert find_children() <= before


async def test_a_process_without_programs_to_check_ends(server, monkeypatch):
    monkeypatch.setattr("openapi_tools.code.type_check._IDLE_SECONDS", 0.3)
    toolset, code = load_code_tools(server)
    async with toolset:
        before = find_children()
        await code.call("run_code", {"code": "await get_user('no number')"})
        assert len(find_children() - before) == 1
        for _ in range(100):  # seconds on a busy machine
            if find_children() <= before:
                break
            await asyncio.sleep(0.1)
        assert find_children() <= before


async def test_a_killed_worker_is_an_error_and_the_next_program_runs(server):
    toolset, code = load_code_tools(server)
    async with toolset:
        before = find_children()
        running = asyncio.create_task(code.call("run_code", {"code": "await get_user(0)"}))
        await server.changed.wait()
        for worker in find_children() - before:
            os.kill(int(worker), 9)
        result = await running
        after = await code.call("run_code", {"code": "1 + 1"})

    assert result.error["type"] in ("protocol", "timeout")
    assert after.output == 2


async def test_secrets_are_masked_inside_a_program(server):
    key = {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}}
    secured = {"security": [{"key": []}], "components": {"securitySchemes": key}}
    document = {**DOCUMENT, **secured}
    settings = Settings(base_url=server.url)
    async with load_tools(document, credentials={"key": SECRET}, settings=settings) as toolset:
        code = toolset.code_tools(limits=LIMITS)
        _, result = await run_to_end(code, "user = await get_user(1)\n[user, list(user['key'])]")

    assert server.last.header("X-Key") == SECRET
    assert result.output[0]["key"] == "***"
    assert result.output[1] == ["*", "*", "*"]


@pytest.mark.parametrize("written", ["'[1'", "'NaN'", "'[' * 100_000", "None", "{}"])
async def test_a_program_that_writes_its_own_result_harms_no_other(written, server):
    toolset, code = load_code_tools(server)
    async with toolset:
        kind, result = await run_to_end(code, f"def __text(value): return {written}\n1")
        after = await code.call("run_code", {"code": "1 + 1"})

    assert kind == "result" if written == "{}" else "not readable JSON" in result.output
    assert after.output == ({} if written == "{}" else 2)


@pytest.mark.parametrize(
    "resume", [b"\x80\x04cos\nsystem\n", "AAAA", {"a": 1}, 7, "../../../etc/passwd", "x" * 100_000]
)
async def test_nothing_from_outside_is_loaded_as_a_state(resume, server):
    toolset, code = load_code_tools(server)
    async with toolset:
        context = Context(resume=resume)
        kind, result = await run_to_end(code, "await get_user(1)", context)

        assert kind == "denied"
        assert "nothing was repeated" in result.output
        assert await wait_until_quiet(server) == 0


async def test_the_input_takes_a_program_and_nothing_else(server):
    toolset, code = load_code_tools(server)
    async with toolset:
        wrong = [{"code": 1}, {"code": ""}, {}, {"code": "x" * 50_001}, {"code": "1", "state": "x"}]
        results = [await code.call("run_code", each) for each in wrong]

    assert [result.error["type"] for result in results] == ["invalid_input"] * len(wrong)
