"""Print how often a search finds the right tools: recall@10 over public sets, beside plain BM25.

    python tests/benchmarks/retrieval.py FOLDER [SET …]

The sets are read from FOLDER, into which these repositories of GitHub are cloned:

- `IAAS/SOCBench` (SOCBench-D, also on Zenodo): `socbench-d/benchmark/*/*/*/openapi.json`, and
  the tasks in `socbench-d/benchmark/*/*/queries.json`. A task is searched in the five services of
  its domain.
- `THUNLP-MT/StableToolBench`: `solvable_queries/test_instruction/*.json`. The tools are those of
  all tasks together.
- `icip-cas/LiveMCPBench`: `tools/LiveMCPTool/tools.json`, and the tasks in
  `annotated_data/all_annotations.json`. A task names its tools by their names alone.
- `Yifan-Song793/RestGPT` (RestBench): `specs/*_oas.json` and `datasets/*.json`. Its tasks take
  several steps.

The recall of a task is the share of its tools among the first ten hits; a row is the mean of a set.
With `needs`, each hit is followed by the tools that yield its arguments, and the first ten of all
these count.
"""

import argparse
import json
import math
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import NamedTuple

os.environ["OPENAPI_TOOLS_CACHE"] = "off"

from openapi_tools import Toolset, load_tools
from openapi_tools.runtime import Operation, OperationTool
from openapi_tools.search.index import tool_texts
from openapi_tools.tools.session import open_session

MOST = 10
GOALS = {"SOCBench-D": 0.88, "StableToolBench": 0.80, "LiveMCPBench": 0.44}
KINDS = {"NUMBER": "number", "BOOLEAN": "boolean", "ARRAY": "array", "OBJECT": "object"}


class Corpus(NamedTuple):
    """Tools, and tasks: a query and the sets of names of which it wants one each."""

    toolset: Toolset
    tasks: list


class BenchmarkTool(OperationTool):
    """A tool that is not of an OpenAPI document."""

    def __init__(self, name, description, schema, **details):
        super().__init__()
        self._facts = (name, description, schema, details.get("answer"))
        self._operation = Operation(
            details.get("method", "POST"),
            details.get("path", ""),
            tags=tuple(details.get("tags", ())),
        )

    name = property(lambda self: self._facts[0])
    description = property(lambda self: self._facts[1])
    input_schema = property(lambda self: self._facts[2])
    answer_schema = property(lambda self: self._facts[3])
    operation = property(lambda self: self._operation)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def socbench(folder):
    for domain in sorted(folder.glob("SOCBench/socbench-d/benchmark/*/*/")):
        parts = [load_tools(path) for path in sorted(domain.glob("*/openapi.json"))]
        whole = Toolset.union(*parts)
        names = by_operation(whole)
        listed = read(domain / "queries.json")["queries"]
        yield Corpus(whole, [(q["query"], [names[e] for e in q["endpoints"]]) for q in listed])


def by_operation(toolset):
    """Return the names of the tools of each operation: services may have equal paths."""
    names = defaultdict(set)
    for tool in toolset:
        names[f"{tool.method} {tool.path}"].add(tool.name)
    return names


def stable_tool_bench(folder):
    tools, tasks = {}, []
    for path in sorted(folder.glob("StableToolBench/solvable_queries/test_instruction/*.json")):
        for task in read(path):
            for api in task["api_list"]:
                key = (api["tool_name"], api["api_name"])
                tools.setdefault(key, rapid_tool(api, len(tools)))
            apis = [tuple(pair) for pair in task["relevant APIs"]]
            tasks.append((task["query"], apis))
    named = [(q, [{tools[key].name} if key in tools else set() for key in w]) for q, w in tasks]
    yield Corpus(Toolset(tools.values(), open_session()), named)


def rapid_tool(api, number):
    """Return an API of RapidAPI as a tool: its name is that of the service and its own."""
    parameters = api["required_parameters"] + api["optional_parameters"]
    properties = {
        p["name"]: {
            "type": KINDS.get(p.get("type", "").upper(), "string"),
            "description": str(p.get("description") or ""),
        }
        for p in parameters
    }
    words = re.sub(r"\W+", "_", f"{api['tool_name']}_{api['api_name']}")
    response = api.get("template_response")
    return BenchmarkTool(
        f"{words[:56]}_{number}",
        f"{api['api_name']}\n{api['api_description'] or ''}",
        {"type": "object", "properties": properties},
        path=f"/{api['tool_name']}/{api['api_name']}",
        tags=[api["tool_name"], api["category_name"]],
        method=api["method"],
        answer=shape(response) if isinstance(response, dict) else None,
    )


def shape(value):
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: shape(v) for key, v in value.items()}}
    return {"type": "array", "items": shape(value[0])} if value and isinstance(value, list) else {}


def live_mcp_bench(folder):
    tools, by_name = [], defaultdict(set)
    for server in read(folder / "LiveMCPBench/tools/LiveMCPTool/tools.json"):
        for listed in server["tools"].values():
            for tool in listed["tools"]:
                name = f"{tool['name']}-{len(tools)}"
                by_name[tool["name"]].add(name)
                text = tool["description"] or tool["name"]
                tools.append(BenchmarkTool(name, text, tool["inputSchema"], tags=[server["name"]]))
    tasks = []
    for task in read(folder / "LiveMCPBench/annotated_data/all_annotations.json"):
        lines = task["Annotator Metadata"]["Tools"].splitlines()
        names = [re.sub(r"^\d+\.\s*", "", line).strip() for line in lines if line.strip()]
        tasks.append((task["Question"], [by_name[name] for name in dict.fromkeys(names)]))
    yield Corpus(Toolset(tools, open_session()), tasks)


def rest_bench(folder, name):
    toolset = load_tools(folder / f"RestGPT/specs/{name}_oas.json")
    names = by_operation(toolset)
    listed = read(folder / f"RestGPT/datasets/{name}.json")
    tasks = [(t["query"], [names[s] for s in dict.fromkeys(t["solution"])]) for t in listed]
    yield Corpus(toolset, tasks)


SETS = {
    "SOCBench-D": socbench,
    "StableToolBench": stable_tool_bench,
    "LiveMCPBench": live_mcp_bench,
    "RestBench TMDB": lambda folder: rest_bench(folder, "tmdb"),
    "RestBench Spotify": lambda folder: rest_bench(folder, "spotify"),
}


class PlainBM25:
    """Okapi BM25 over all words of a tool, without fields, stems and stop words."""

    def __init__(self, toolset, k1=1.5, b=0.75):
        self.names = [tool.name for tool in toolset]
        self.k1, self.b = k1, b
        self.counts = [Counter(plain_words(plain_text(tool))) for tool in toolset]
        self.lengths = [counts.total() for counts in self.counts]
        self.usual = sum(self.lengths) / len(self.lengths)
        self.documents = Counter(word for counts in self.counts for word in counts)

    def find_tools(self, query):
        scores = [0.0] * len(self.names)
        for word in plain_words(query):
            count = self.documents[word]
            rare = math.log(1 + (len(scores) - count + 0.5) / (count + 0.5))
            for place, counts in enumerate(self.counts):
                if frequency := counts[word]:
                    norm = self.k1 * (1 - self.b + self.b * self.lengths[place] / self.usual)
                    scores[place] += rare * frequency * (self.k1 + 1) / (frequency + norm)
        best = sorted(range(len(scores)), key=lambda place: -scores[place])[:MOST]
        return [self.names[place] for place in best if scores[place]]


def plain_text(tool):
    return " ".join(text for texts in tool_texts(tool).values() for text in texts)


def plain_words(text):
    return re.findall(r"[a-z0-9]+", text.lower())


def search_toolset(toolset):
    return lambda query: [hit.tool.name for hit in toolset.search(query, MOST)]


def with_needs(toolset):
    """Return hits and the tools that they need, each hit's after it, as many as are counted."""

    def find_tools(query):
        hits = toolset.search(query, MOST)
        names = (n for hit in hits for n in (hit.tool.name, *of_needs(hit)))
        return list(dict.fromkeys(names))[:MOST]

    return find_tools


def of_needs(hit):
    return (names[0] for names in hit.needs.values() if names)


WAYS = {
    "plain BM25": lambda toolset: PlainBM25(toolset).find_tools,
    "search": search_toolset,
    "search, needs": with_needs,
}


def recalls(corpora):
    """Return the recalls of each way to search, over all tasks, and how many tools are missing.

    A tool that a task wants and its set does not have counts for no way to search.
    """
    shares, missing = {way: [] for way in WAYS}, 0
    for corpus in corpora:
        missing += sum(not names for _, alternatives in corpus.tasks for names in alternatives)
        for way, make in WAYS.items():
            search = make(corpus.toolset)
            for query, alternatives in corpus.tasks:
                there = [names for names in alternatives if names]
                names = set(search(" ".join(query.split())))
                if there:
                    shares[way].append(sum(bool(names & one) for one in there) / len(there))
    return shares, missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="where the sets are")
    parser.add_argument("sets", nargs="*", help=", ".join(SETS))
    asked = parser.parse_args()
    print(f"recall@{MOST:<24} tasks  {'  '.join(f'{way:>13}' for way in WAYS)}")
    for name in asked.sets or SETS:
        try:
            shares, missing = recalls(SETS[name](asked.folder))
        except OSError as error:
            print(f"{name}: not at hand ({error})")
            continue
        means = [sum(values) / len(values) if values else math.nan for values in shares.values()]
        goal = f"  goal {GOALS[name]}" if name in GOALS else ""
        goal += f"  {missing} wanted tools are not in the set" if missing else ""
        numbers = "  ".join(f"{mean:13.4f}" for mean in means)
        print(f"{name:32} {len(shares['search']):5}  {numbers}{goal}", flush=True)


if __name__ == "__main__":
    main()
