from __future__ import annotations

import asyncio
import json

import pytest
from programs import DOCUMENT, ITEMS, PAGES, Shop, run

from openapi_tools import CodeLimits, Context, SettingsError, load_tools
from openapi_tools.search.costs import definition_cost, token_counter
from openapi_tools.testing import mock_api

PROGRAMS = {
    "the last expression": ("1 + 1", 2),
    "a return": ("if True:\n    return [1]\n2", [1]),
    "a result": ("result = {'a': 1}", {"a": 1}),
    "nothing": ("x = 1", None),
    "prints": ("print(1, 'a')", "1 a\n"),
    "prints and a value": ("print(1)\n2", {"result": 2, "printed": "1\n"}),
    "one call": ("await get_user(user_id=1)", {"name": "u1"}),
    "an argument in its place": ("await get_user(1)", {"name": "u1"}),
    "an argument by its own name": ("await get_user(1, **{'class': 'a'})", {"name": "u1"}),
    "an argument that is a keyword": ("await get_user(1, class_='a')", {"name": "u1"}),
    "a function with a hyphen": ("await create_item(body={})", {"made": True}),
    "any tool by its name": ("await call('create-item', {'body': {}})", {"made": True}),
    "a tool with the name of a function of Python": ("await call('print')", {"made": True}),
    "calls at the same time": (
        "await asyncio.gather(get_user(1), get_user(user_id=2))",
        [{"name": "u1"}, {"name": "u2"}],
    ),
    "all pages": ("len(await pages(list_items))", ITEMS * PAGES),
    "all pages in a loop": (
        "n = 0\nasync for item in pages(list_items):\n    n += item['owner']\nn",
        PAGES * sum(range(ITEMS)),
    ),
    "pages in a comprehension": (
        "[i['id'] async for i in pages(list_items, max_items=12) if i['owner'] == 1]",
        [11, 21],
    ),
    "pages awaited in a loop": (
        "[i['id'] async for i in await pages(list_items, max_items=1)]",
        [10],
    ),
    "pages by name": ("len(await pages('list_items', max_items=5))", 5),
    "a caught failure": (
        "try:\n    await get_user(404)\nexcept ApiError as error:\n    x = str(error)\nx[:18]",
        "GET /users/404 ret",
    ),
    "a tuple": ("(1, 'ü')", [1, "ü"]),
    "the first of a generator": ("next((x for x in [1, 2] if x > 1), None)", 2),
    "a main function": (
        "import asyncio\n\nasync def main():\n    return await get_user(1)\n\nasyncio.run(main())",
        {"name": "u1"},
    ),
}


@pytest.mark.parametrize(("code", "output"), PROGRAMS.values(), ids=PROGRAMS)
async def test_a_program_returns_its_value(code, output):
    result = await run(code)

    assert result.success, result.output
    assert result.output == output


FAILURES = {
    "an error of the API": ("x = 1\nawait get_user(404)", "Line 2: RuntimeError", "404 Not Found"),
    "an exception": ("1 / 0", "Line 1: ZeroDivisionError"),
    "in a function": ("def f():\n    return {}['a']\n\nf()", "Line 2: KeyError"),
    "wrong syntax": ("def f(:", "Line 1: SyntaxError"),
    "a missing argument": ("await get_user()", "user_id"),
    "an unknown argument": ("await get_user(1, clas='a')", "Argument clas", "did you mean class_?"),
    "an argument of a function of its own": ("def f(a):\n    pass\nf(1, b=get_user)", "Argument b"),
    "too many arguments": ("await get_user(1, 'a')", "Too many positional arguments"),
    "an argument twice": ("await get_user(1, user_id=1)", "user_id"),
    "a wrong value": ("await get_user(1, class_='c')", "class_='c'", '"a", "b"'),
    "an unknown function": ("await get_usr(1)", "'get_usr' is not defined; did you mean get_user"),
    "an error's status": (
        "try:\n    await get_user(404)\nexcept ApiError as error:\n    error.status",
        "str(error) has status and reason",
    ),
    "an unknown module": ("import statistics", "No module named 'statistics'; available"),
    "a call in brackets": ("get_user(1)['name']", "not subscriptable; await the call"),
    "pages of a call": ("await pages(list_items())", "write pages(function, argument=...)"),
    "tasks": ("import asyncio\nasyncio.create_task(get_user(1))", "use asyncio.gather"),
    "errors of gather": (
        "await asyncio.gather(get_user(1), return_exceptions=True)",
        "catch ApiError in a function",
    ),
    "an unknown tool": ("await call('get_usr')", "get_user"),
    "an argument that is not JSON": ("await call('get_user', {'a': {1}})", "['a'] is of type set"),
    "not awaited": ("get_user(1)", "of type coroutine, which is not JSON; await it"),
    "a set": ("[1, {2}]", "result[1] is of type set"),
    "a key": ("{'a': {(1, 2): 3}}", "result['a'] has a key of type tuple"),
    "not a number": ("{'a': float('nan')}", "result['a'] is nan"),
    "infinite": ("[1e308 * 10]", "result[0] is inf"),
    "a huge number": ("[10 ** 400]", "308 digits"),
    "a larger number": ("[10 ** 5000]", "308 digits"),
    "a circle": ("x = {}\nx['a'] = [x]\nx", "result['a'][0] contains itself"),
    "deep": ("x = 1\nfor _ in range(5000):\n    x = [x]\nx", "nested deeper than 100"),
    "bytes": ("b'a'", "of type bytes"),
    "an instance": ("class A:\n    pass\n{'a': A()}", "result['a'] is of type A"),
    "a date": ("import datetime\ndatetime.date(2026, 1, 1)", "of type date"),
}


@pytest.mark.parametrize(("code", "words"), [(c, w) for c, *w in FAILURES.values()], ids=FAILURES)
async def test_a_wrong_program_is_an_error_with_its_place(code, words):
    result = await run(code)

    assert result.error["type"] == "invalid_input"
    assert [word for word in words if word not in result.output] == []


async def test_variables_live_on_and_survive_a_failure():
    code = Shop().toolset().code_tools()

    await code.call("run_code", {"code": "x = [1]\ndef double(y):\n    return 2 * y"})
    failed = await code.call("run_code", {"code": "x.append(2)\n1 / 0"})
    result = await code.call("run_code", {"code": "double(x)"})

    assert failed.is_error
    assert result.output == [1, 2, 1, 2]


async def test_users_share_no_variables():
    code = Shop().toolset().code_tools()
    users = [
        Context(state=object()),
        Context(credentials={}),
        {"conversation": "a"},
        {"conversation": object()},
    ]

    await code.call("run_code", {"code": "x = 1"}, context={"conversation": "b"})
    results = [await code.call("run_code", {"code": "x"}, context=user) for user in [None, *users]]
    same = await code.call("run_code", {"code": "x"}, context={"conversation": "b"})

    assert [result.is_error for result in results] == [True] * 5
    assert same.output == 1


async def test_responses_are_whole_inside_and_the_result_is_cut():
    shop = Shop()
    toolset = shop.toolset(settings={"max_items": 2, "max_output_chars": 100})
    code = toolset.code_tools(limits=CodeLimits(output_chars=1000))

    result = await code.call("run_code", {"code": "x = await list_items()\nlen(x)"})
    flood = await code.call("run_code", {"code": "['a' * 100] * 100"})

    assert result.output == ITEMS
    assert len(json.dumps(flood.output)) < 1100
    assert "cut at 1000 characters" in flood.header_note


async def test_a_program_reads_once_that_responses_were_cut():
    api = mock_api(DOCUMENT, responses={"list_items": (200, [1] * 300_000)})
    code = load_tools(DOCUMENT, client=api.client()).code_tools()
    program = "x = [await list_items() for _ in range(2)]\nlen(x)"

    result = await code.call("run_code", {"code": program})

    assert result.output == 2
    assert result.header_note == "a response of list_items was cut: only its beginning was read"


async def test_the_two_tools_take_few_tokens_and_find_functions():
    code = Shop().toolset().code_tools()
    _, count = token_counter()

    hits = await code.call("search", {"query": "create item\nprint"})

    assert [tool.name for tool in code] == ["search", "run_code"]
    assert sum(definition_cost(each, count)[1] for each in code.definitions("anthropic")) <= 400
    assert "create_item(" in hits.output
    assert '# print: call("print", {…})' in hits.output


async def test_names_of_functions_find_them_with_all_arguments():
    code = Shop().toolset().code_tools()

    both = await code.call("search", {"query": "get_user delete_user"})
    no_name = await code.call("search", {"query": "get_user deletes"})

    assert both.output.startswith("get_user: GET /users/{user-id}\nArguments:\n")
    assert "\n\ndelete_user: DELETE /users/{user-id}\n" in both.output
    assert "Arguments:" not in no_name.output


async def test_an_argument_that_belongs_inside_another_is_an_error_that_says_so():
    texts = {"type": "object", "properties": {"text": {"type": "string"}}}
    schema = {"anyOf": [texts, {"type": "array", "items": {"type": "string"}}]}
    body = {"content": {"application/json": {"schema": schema}}}
    path = {"post": {"operationId": "add", "requestBody": body, "responses": {}}}
    code = load_tools(DOCUMENT | {"paths": {"/notes": path}}).code_tools()

    result = await code.call("run_code", {"code": "await add(text='a')"})

    assert "function add: it belongs inside body. Nothing ran." in result.output


def test_wrong_limits_are_refused():
    toolset = Shop().toolset()

    with pytest.raises(SettingsError, match="seconds must be greater than 0"):
        CodeLimits(seconds=0)
    with pytest.raises(SettingsError, match="calls"):
        CodeLimits(calls=True)
    for name in ("seconds", "cpu_seconds", "memory_bytes", "recursion", "calls"):
        with pytest.raises(
            SettingsError, match=f"limits: {name} must be greater than 0 and at most"
        ):
            CodeLimits(**{name: 10**20})
    with pytest.raises(SettingsError, match="must be CodeLimits"):
        toolset.code_tools(limits={"seconds": 1})


async def test_sixteen_calls_of_a_program_are_in_flight_at_most():
    counts = {"now": 0, "most": 0}

    async def slow(_call, _context):
        counts["now"] += 1
        counts["most"] = max(counts.values())
        await asyncio.sleep(0.01)
        counts["now"] -= 1

    tools = Shop().toolset()
    tools.add_input_guardrails([slow])
    code = "await asyncio.gather(*[get_user(n) for n in range(1, 41)])"

    result = await tools.code_tools().call("run_code", {"code": code})

    assert len(result.output) == 40
    assert counts["most"] == 16
