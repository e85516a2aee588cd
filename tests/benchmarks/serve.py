"""What users of a server wait for: its start, a served call, a program, what a team shares.

    python tests/benchmarks/serve.py [--quick] [--markdown] [--record | --guard] [section …]

The sections are also those of run.py, which measures everything.
"""

import asyncio
import contextlib
import json
import sys
import tempfile
import time
from pathlib import Path

import mcp_servers
from loading import variables
from loopback import QUERY, LoopbackServer
from mcp_messages import HANDSHAKE, MODERN, Connection, ToolCall
from published import GITHUB
from rows import Row, at_most
from timing import HAS_PROC, Sample, samples

IN_FLIGHT = 16
CALLS = 30
"""Calls that each connection makes, one after another, before it is the next server's turn."""
ONE_CLIENT = 300
"""Calls of the one client in a round."""
_ARGUMENTS = {"owner": "ada", "repo": "rex", **QUERY}
_NO_PROC = "not measured: this system has no /proc"

# Key, title, options of the command, and goals. All of GitHub's are from the cache.
_STARTS = (
    ("small", "small document", (), (at_most(1.15),)),
    ("github", "GitHub, cached", (), (at_most(1.25),)),
    ("each", "GitHub, cached, mode tools", ("--mode", "tools"), (at_most(1.5),)),
)
_PEAK_GOAL = at_most(70, "MiB")


def starts(rounds, programs):
    """Yield rows of processes from nothing to their first list of tools over stdio."""
    with (
        tempfile.TemporaryDirectory() as cache,
        write_document(mcp_servers.small_document()) as small,
    ):
        documents = {"small": small, "github": GITHUB.file}
        actions, notes = {}, {}
        for key, title, program, document in _list_programs(programs):
            if note := program.missing():
                notes[title] = note
            else:
                # A cache of its own: versions overwrite what others have cached.
                cached = variables(str(Path(cache) / program.name))
                actions[key] = (program, documents[document], cached)
        runs = [
            {key: mcp_servers.start_once(*each) for key, each in actions.items()}
            for _ in range(rounds + 1)
        ]
    seconds = samples([{key: took for key, (took, _) in run.items()} for run in runs])
    peaks = samples([{key: peak for key, (_, peak) in run.items()} for run in runs], "MiB")
    goals = {f"own {key}": goals for key, _, _, goals in _STARTS}
    for key, title, *_ in _list_programs(programs):
        if title in notes:
            yield Row(title, note=notes[title])
            continue
        ratio = None if key == "bare" else seconds[key].ratio_to(seconds["bare"])
        note = f"peak {peaks[key].median:.1f} MiB"
        yield Row(title, seconds[key], ratio, goals.get(key, ()), note=note)
    if HAS_PROC:
        peak = peaks["own small"]
        title = f"{programs['own'].name}, small document: peak"
        yield Row(title, peak, peak.ratio_to(peaks["bare"]), (_PEAK_GOAL,))


def _list_programs(programs):
    # Key, title, program and document of each start that is measured.
    yield "bare", programs["bare"].name, programs["bare"], "small"
    for owner in filter(programs.get, ("own", "older")):
        program = programs[owner]
        for key, title, options, _ in _STARTS:
            document = "small" if key == "small" else "github"
            chosen = mcp_servers.with_options(program, options)
            yield f"{owner} {key}", f"{program.name}: {title}", chosen, document
    for key in ("fastmcp", "mcpify"):
        program = programs[key]
        yield key, f"{program.name}: small document", program, "small"
        yield f"{key} github", f"{program.name}: GitHub", program, "github"


@contextlib.contextmanager
def write_document(document):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "issues.json"
        file.write_text(json.dumps(document), encoding="utf-8")
        yield file


# The goals of our server, over FastMCP's in the same round.
_CALL_GOALS = {HANDSHAKE: (at_most(0.55),), MODERN: (at_most(0.40),)}
_VERSION_TITLES = {HANDSHAKE: "after a handshake", MODERN: MODERN}


def calls(rounds, programs):
    """Yield rows of the CPU time of a served call with 16 in flight."""
    if not HAS_PROC:
        yield Row("served calls", note=_NO_PROC)
        return
    yield from _compare(rounds, programs, _cpu_of_calls, _call_rows)


def latencies(rounds, programs):
    """Yield rows of what one client waits for a served call; the only rows of time on the clock."""
    yield from _compare(rounds, programs, _seconds_of_calls, _latency_rows)


def _compare(rounds, programs, measure, make_rows):
    with LoopbackServer() as url, write_document(mcp_servers.small_document(url)) as document:
        for version in _VERSION_TITLES:
            took, notes = asyncio.run(_take_turns(rounds, programs, document, version, measure))
            yield from make_rows(version, programs, took, notes)


async def _take_turns(rounds, programs, document, version, measure):
    runs, notes = [{} for _ in range(rounds + 1)], {}
    call = ToolCall(version, "list", _ARGUMENTS)
    async with contextlib.AsyncExitStack() as stack:
        clients = {}
        for key, program in programs.items():
            if note := program.missing():
                notes[key] = note
                continue
            server = stack.enter_context(mcp_servers.run_server(program, document))
            connections = [Connection(server.port) for _ in range(IN_FLIGHT)]
            try:
                await _open(connections, call)
            except (RuntimeError, ValueError) as error:
                notes[key] = f"not measured: refuses {version} ({error})"[:120]
                continue
            clients[key] = (server, connections)
        for run in runs:
            for key, (server, connections) in clients.items():
                run[key] = await measure(server, connections, call)
        for _, connections in clients.values():
            await asyncio.gather(*(each.close() for each in connections))
    return runs, notes


async def _open(connections, call):
    for each in connections:
        if call.version == HANDSHAKE:
            await each.open_session()
        await each.call_tool(call)


async def _cpu_of_calls(server, connections, call):
    async def some(connection):
        for _ in range(CALLS):
            await connection.call_tool(call)

    begin = server.cpu()
    await asyncio.gather(*map(some, connections))
    return (server.cpu() - begin) / (len(connections) * CALLS)


async def _seconds_of_calls(_server, connections, call):
    seconds = []
    for _ in range(ONE_CLIENT):
        begin = time.perf_counter()
        await connections[0].call_tool(call)
        seconds.append(time.perf_counter() - begin)
    return Sample(tuple(seconds))


def _call_rows(version, programs, runs, notes):
    took = samples(runs)
    for key, program in programs.items():
        title = f"{program.name}, {_VERSION_TITLES[version]}"
        if key in notes:
            yield Row(title, note=notes[key])
            continue
        has_base = "fastmcp" in took and key != "fastmcp"
        ratio = took[key].ratio_to(took["fastmcp"]) if has_base else None
        yield Row(title, took[key], ratio, _CALL_GOALS[version] if key == "own" else ())


def _latency_rows(version, programs, runs, notes):
    halves, tails = (
        samples([{key: each.quantile(share) for key, each in run.items()} for run in runs])
        for share in (0.5, 0.99)
    )
    for key, program in programs.items():
        title = f"{program.name}, {_VERSION_TITLES[version]}"
        if key in notes:
            yield Row(title, note=notes[key])
            continue
        ratio = None if key == "bare" else halves[key].ratio_to(halves["bare"])
        is_own = key == "own"
        yield Row(f"{title}: p50", halves[key], ratio, (at_most(2.0),) if is_own else ())
        tail = tails[key].ratio_to(halves[key])
        yield Row(f"{title}: p99, over p50", tails[key], tail, (at_most(3.0),) if is_own else ())


if __name__ == "__main__":
    import run

    sys.exit(run.main(run.SERVING))
