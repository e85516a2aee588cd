"""Print what loading and calling cost, as ratios taken in one run.

    python tests/benchmarks/run.py [--quick] [--markdown] [--record | --guard] [section …]

docs/benchmarks.md says what each row means; docs/benchmarks.txt is what one run printed.
"""

import argparse
import os
import platform
import sys
from functools import partial
from pathlib import Path

import calling
import loading
import mcp_servers
import network
import own_client
import peers
import processes
import programming
import rows
import scaling
import searching
import serve
import sharing
from published import CORPUS, environment
from rows import MARKDOWN_HEAD, as_line, as_markdown

RECORDED = Path(__file__).parent / "recorded.json"
SERVING = ("stdio", "served", "latency", "program", "shared", "many", "worker")
"""Sections about servers, which serve.py measures alone."""
COMPARED = ("peers", "socket", "flight", *SERVING)
"""Sections with other packages beside this one: the page has all their rows."""


def sections(folder, older=None):
    programs = mcp_servers.serving_programs(folder, older)
    return {
        "load": ("Load, beside the JSON parse of the same bytes", loading.loads),
        "first": ("First input schema of one tool, right after a load", loading.first_schemas),
        "peers": ("From GitHub's file to its tools", partial(peers.ready, folder=folder)),
        "cache": ("Second load, from the cache", loading.second_loads),
        "yaml": ("First load of YAML, over the parse of its JSON twin", loading.yaml_loads),
        "memory": ("Memory, in processes of their own", processes.memory),
        "call": ("A call without a network, on the same httpx client", calling.calls),
        "check": ("The input check of a call, over the JSON parse of the input", calling.verdicts),
        "socket": (
            "A call over a loopback socket, one after another",
            partial(network.sequential, folder=folder),
        ),
        "httpx2": ("A call through a client of httpx2", own_client.calls),
        "flight": (f"{network.IN_FLIGHT} GETs in flight, per second of CPU", network.concurrent),
        "start": ("Whole processes", processes.starts),
        "generate": ("A generated package of GitHub's document", processes.generates),
        "search": ("Searches over tools", searching.searches),
        "code": ("A program in place of single calls, on loopback", programming.programs),
        "stdio": (
            "A server over stdio: a cold process to its first list of tools",
            partial(serve.starts, programs=programs),
        ),
        "served": (
            f"A served call over HTTP, {serve.IN_FLIGHT} in flight: CPU of the server",
            partial(serve.calls, programs=programs),
        ),
        "latency": (
            "A served call over HTTP, one client: time on the clock",
            partial(serve.latencies, programs=programs),
        ),
        "program": ("run_code with one call", programming.single_calls),
        "shared": ("A call whose limits and token are in Redis", sharing.shared_calls),
        "many": ("Twenty APIs from the cache, in processes", sharing.many_documents),
        "worker": (
            "Resident memory of a worker, after a list and some calls",
            partial(sharing.workers, programs=programs),
        ),
        "scale": ("Growth with the number of operations", scaling.scales),
    }


def asked_for(names):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("sections", nargs="*", metavar="section", help=", ".join(names))
    parser.add_argument("--quick", action="store_true", help="fewer runs, for a first look")
    parser.add_argument("--rounds", type=int, help="runs of each row; 9 by default")
    parser.add_argument("--markdown", action="store_true", help="print the table for the docs")
    parser.add_argument("--peers", type=Path, default=peers.FOLDER, help="where they are installed")
    parser.add_argument(
        "--older", type=Path, help="another checkout, whose servers are measured beside these"
    )
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--record", action="store_true", help=f"write {RECORDED.name}")
    either.add_argument("--guard", action="store_true", help="fail when a ratio got much worse")
    asked = parser.parse_args()
    if unknown := set(asked.sections) - set(names):
        parser.error(f"there is no section {', '.join(sorted(unknown))}")
    asked.sections = asked.sections or names
    return asked


def measure_all(asked):
    ratios, older = {}, asked.older and asked.older.resolve()
    table = sections(asked.peers.resolve(), older)
    if asked.markdown:
        print(f"\n{MARKDOWN_HEAD}", flush=True)
    # What is not about the cache is about first loads.
    with environment(OPENAPI_TOOLS_CACHE="off"):
        for name in asked.sections:
            title, measure = table[name]
            if not asked.markdown:
                print(f"\n{name}: {title}", flush=True)
            found_rows = []
            for row in measure(asked.rounds or (3 if asked.quick else 9)):
                print_row(name, row, markdown=asked.markdown)
                found_rows.append(row)
            ratios |= rows.ratios(name, found_rows)
    return ratios


def print_row(section, row, *, markdown):
    if not markdown:
        print(as_line(row), flush=True)
    elif row.goals or section in COMPARED:
        print(as_markdown(section, row), flush=True)


def main(names=None):
    asked = asked_for(list(names or sections(peers.FOLDER)))
    if not CORPUS.is_dir():
        print(f"{CORPUS} is absent: the documents that are measured are not at hand")
        return 1
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load average {load}")
    print(mcp_servers.versions(mcp_servers.serving_programs(asked.peers.resolve())))
    print("CPU time: median (lowest-highest) of interleaved runs; differences under 15 % are noise")
    ratios = measure_all(asked)
    if asked.record:
        rows.write(RECORDED, ratios)
    return _report_worse(ratios) if asked.guard else 0


def _report_worse(ratios):
    recorded = rows.read(RECORDED)
    worse = rows.complaints(recorded, ratios)
    count = len(recorded.keys() & ratios.keys())
    print(f"\nOf {count} ratios that were recorded before, {len(worse)} got much worse.")
    for line in worse:
        print(line)
    if not count:
        print("There is nothing to compare with: run with --record first.")
    return 1 if worse or not count else 0


if __name__ == "__main__":
    sys.exit(main())
