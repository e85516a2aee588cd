"""A program in place of single calls: tokens, the overhead of its calls, the event loop.

    python tests/benchmarks/run.py code

GitHub's document, and a server in a process of its own that responds with the document's examples:
six pages of a hundred issues each, and nine users.
"""

import asyncio
import json
import subprocess
import sys
import time
from contextlib import contextmanager

import httpx
from published import GITHUB
from rows import Row, at_least, at_most
from timing import Sample, total_cpu

from openapi_tools import CodeLimits, Context, Settings, load_tools
from openapi_tools.search.costs import definition_cost, token_counter

PAGES, SIZE, USERS = 6, 100, 9
CALLS = 1000
PROGRAMS = 10
"""Programs with one call before their calls are made alone."""
REPOSITORY = {"owner": "octo", "repo": "hello"}
SEARCH = "list the issues of a repository\nget a user"
PROGRAM = """
import asyncio
issues = await pages(issues_list_for_repo, owner="octo", repo="hello", state="open", per_page=100)
busy = [issue for issue in issues if issue["comments"] > 50 and "pull_request" not in issue]
names = sorted({issue["user"]["login"] for issue in busy})
users = await asyncio.gather(*[users_get_by_username(username=name) for name in names])
[
    {
        "name": user["name"],
        "location": user["location"],
        "issues": [issue["number"] for issue in busy if issue["user"]["login"] == user["login"]],
    }
    for user in users
]
"""


def serve():
    """Serve requests until the standard input ends; the first line printed is the port."""
    import socket

    import uvicorn

    # Only with its protocol do asyncio's servers answer at once.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(application(), log_level="error")).run(sockets=[listener])


def application():
    """Return the API; it counts requests, and comments on an issue stay."""
    from fastapi import FastAPI, Request, Response

    examples = json.loads(GITHUB.file.read_bytes())["components"]["examples"]
    issue = examples["issue-items"]["value"][0]
    person = examples["public-user-default-response"]["value"]
    logins = [f"octocat-{number}" for number in range(USERS)]
    issues = {
        number: {
            **{name: value for name, value in issue.items() if name != "pull_request"},
            "number": number,
            "comments": number % 53,
            "user": {**issue["user"], "login": logins[number % USERS]},
        }
        for number in range(1, PAGES * SIZE + 1)
    }
    app = FastAPI()

    def make_response(value, headers=None):
        return Response(json.dumps(value), headers=headers, media_type="application/json")

    @app.get("/repos/octo/hello/issues")
    async def list_issues(request: Request, page: int = 1, per_page: int = 30):
        page_items = [*issues.values()][(page - 1) * per_page : page * per_page]
        following = request.url.include_query_params(page=page + 1)
        headers = {"Link": f'<{following}>; rel="next"'} if page * per_page < len(issues) else None
        return make_response(page_items, headers)

    @app.get("/users/{login}")
    async def show_user(login: str):
        return make_response({**person, "login": login, "name": login.title(), "location": "Here"})

    @app.post("/repos/octo/hello/issues/{number}/comments", status_code=201)
    async def add_comment(number: int):
        issues[number]["comments"] += 1
        return make_response({"id": number})

    return app


@contextmanager
def serve_application():
    """Give the address of the API, in a process of its own."""
    command = [sys.executable, __file__, "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield f"http://127.0.0.1:{server.stdout.readline().strip()}"
        finally:
            server.kill()


async def _ready(toolset):
    for _ in range(200):
        if (await toolset.call("users_get_by_username", {"username": "octocat-0"})).success:
            return
        await asyncio.sleep(0.05)


def programs(rounds):
    with serve_application() as url:
        yield from asyncio.run(_measure_program(rounds, url))


async def _measure_program(rounds, url):
    async with load_tools(GITHUB.file, settings=Settings(base_url=url)) as toolset:
        await _ready(toolset)
        code = toolset.code_tools(limits=CodeLimits(calls=CALLS))
        runs = [await _run(code) for _ in range(rounds + 1)][1:]
        rows = [row async for row in _tokens(toolset, code, runs[0][0])]
        took = Sample(tuple(seconds for _, seconds, _ in runs))
        rows.append(Row("the program: 6 pages, a filter, a join with 9 users", took))
        longest = Sample(tuple(gap for _, _, gap in runs))
        rows.append(Row("longest pause of the event loop", longest, None, (at_most(50, "ms"),)))
    async with load_tools(GITHUB.file, client=_mocked_client()) as toolset:
        code = toolset.code_tools(limits=CodeLimits(calls=CALLS))
        times = [await _overhead(toolset, code) for _ in range(5 * rounds)]
        goal = (at_most(0.6, "ms"),)
        rows.append(Row("overhead of a call inside the program", Sample((*times,)), None, goal))
    return rows


def _mocked_client():
    response = httpx.Response(200, json={"login": "octocat"})
    return httpx.AsyncClient(transport=httpx.MockTransport(lambda _: response))


async def _run(code):
    """Return the result of the program, its CPU seconds, and the longest gap of a ticker."""
    gaps = []

    async def tick():
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.001)
            now = time.perf_counter()
            gaps.append(now - last - 0.001)
            last = now

    ticking = asyncio.create_task(tick())
    begin = total_cpu()
    result = await code.call("run_code", {"code": PROGRAM})
    took = total_cpu() - begin
    ticking.cancel()
    if result.is_error or len(result.output) != USERS:
        raise SystemExit(str(result))
    return result, took, max(gaps)


async def _tokens(toolset, code, result):
    """Yield rows of tokens: what a model reads and writes, each part once."""
    name, count = token_counter()
    hits = await code.call("search", {"query": SEARCH})
    texts = [json.dumps({"query": SEARCH}), str(hits), json.dumps({"code": PROGRAM}), str(result)]
    definitions = sum(definition_cost(each, count)[1] for each in code.definitions("anthropic"))
    program = sum(map(count, texts))
    whole, cut = await _single_calls(toolset, count)
    names = ("issues_list_for_repo", "users_get_by_username")
    two = toolset.with_tools(toolset[each] for each in names)
    both = sum(definition_cost(each, count)[1] for each in two.definitions("anthropic"))
    yield Row(f"tokens of the two tools ({name})", note=f"{definitions}, goal <= 400")
    for title, beside, in_program in (
        ("", whole, program),
        (", definitions included", whole + both, program + definitions),
        (", answers cut as usual, definitions included", cut + both, program + definitions),
    ):
        goals = () if "cut" in title else (at_least(60),)
        note = f"{beside:,} and {in_program:,}"
        yield Row(f"tokens of single calls{title}", None, beside / in_program, goals, note=note)


async def _single_calls(toolset, count):
    """Return the tokens of the calls that the program makes, with whole and with cut responses."""
    pages = [{**REPOSITORY, "state": "open", "per_page": SIZE, "page": n + 1} for n in range(PAGES)]
    calls = [("issues_list_for_repo", arguments) for arguments in pages]
    calls += [("users_get_by_username", {"username": f"octocat-{n}"}) for n in range(USERS)]
    totals = []
    for context in ({"whole": True}, Context()):
        results = [
            await toolset.call(name, arguments, context=context) for name, arguments in calls
        ]
        asked = sum(
            count(json.dumps({"name": name, "input": arguments})) for name, arguments in calls
        )
        totals.append(asked + sum(count(str(result)) for result in results))
    return totals


async def _overhead(toolset, code):
    """Return the CPU seconds that a call takes longer in a program, without what a run costs."""
    call = "await users_get_by_username(username='octocat-0')"
    took = []
    for body in ("pass", call):
        begin = total_cpu()
        program = f"async def f():\n    {call}\nfor _ in range({CALLS}):\n    {body}"
        await code.call("run_code", {"code": program})
        took.append(total_cpu() - begin)
    return (took[1] - took[0] - await _cpu_of_calls(toolset, CALLS)) / CALLS


async def _cpu_of_calls(toolset, count):
    begin = total_cpu()
    for _ in range(count):
        await toolset.call("users_get_by_username", {"username": "octocat-0"})
    return total_cpu() - begin


def single_calls(rounds):
    """Yield a row of what a program with one call costs beside that call, all processes counted."""
    times = asyncio.run(_beside_calls(rounds))
    yield Row("CPU beside the call", Sample(times), None, (at_most(10, "ms"),))


async def _beside_calls(rounds):
    async with load_tools(GITHUB.file, client=_mocked_client()) as toolset:
        code = toolset.code_tools()
        times = [await _beside_call(toolset, code, number) for number in range(rounds + 1)]
    return tuple(times[1:])


async def _beside_call(toolset, code, number):
    begin = total_cpu()
    for index in range(PROGRAMS):
        # Models write each program from scratch, so no two are equal.
        name = f"octocat-{number}-{index}"
        program = f"(await users_get_by_username(username='{name}'))['login']"
        result = await code.call("run_code", {"code": program})
        if result.is_error:
            raise SystemExit(str(result))
    took = total_cpu() - begin
    return (took - await _cpu_of_calls(toolset, PROGRAMS)) / PROGRAMS


if __name__ == "__main__" and "--serve" in sys.argv:
    serve()
