"""What an index costs, fresh and from the cache, a query of GitHub's tools or of many more, and how
many tokens its response and descriptions have.
"""

import gc
import statistics
import tempfile
import time
from functools import partial

from loading import variables
from published import CORPUS, DISCORD, GITHUB, KUBERNETES, STRIPE, environment
from pydantic_core import from_json
from rows import Row, at_most, compare_rows
from timing import Sample, samples, time_action

from openapi_tools import OpenAPIToolsError, Toolset, load_tools
from openapi_tools.search.costs import token_counter
from openapi_tools.search.stubs import describe_tool, write_stubs

MANY = 22_000
"""Operations of the largest union."""
QUERIES = """
list the open issues of a repository
create a pull request from a branch
who may approve a deployment
add a label to an issue and assign it to a user
refund a charge and notify the customer by email
scale a deployment to five replicas
upload a file and share a link to it with the team
delete all messages of a channel that are older than a week
search for tracks of an artist and put them into a playlist
what does the current plan cost per month
rotate the access token of a service account
download the logs of a failed workflow run
"""


def searches(rounds):
    yield from _indexes(rounds)
    github = load_tools(GITHUB.file)
    yield _queries(f"a query of {len(github)} tools", github, rounds, 0.5)
    whole = _union()
    yield _queries(f"a query of {len(whole)} tools", whole, rounds, 10)
    for document in (GITHUB, STRIPE, KUBERNETES, DISCORD):
        yield from _tokens(document.name, load_tools(document.file))


def _indexes(rounds):
    data = GITHUB.file.read_bytes()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds + 1):
            parse = time_action(lambda: from_json(data))
            fresh = load_tools(GITHUB.file)
            built = time_action(partial(fresh.search, "issues"))
            with environment(**variables(folder)):
                load_tools(GITHUB.file).search("issues")
                cached = load_tools(GITHUB.file)
                read = time_action(partial(cached.search, "issues"))
            runs.append({"parse": parse, "made": built, "read": read})
    table = (
        ("parse", "parse of the JSON"),
        ("made", "first search, with schemas, index, producers", at_most(800, "ms")),
        ("read", "first search, from the cache", at_most(20, "ms")),
    )
    yield from compare_rows(samples(runs), "parse", table, "GitHub: ")


def _union():
    """Return the documents of the corpus in one set, as often as it takes."""
    parts = []
    for path in sorted((*CORPUS.rglob("*.json"), *CORPUS.rglob("*.y*ml"))):
        try:
            parts.append(load_tools(path))
        except OpenAPIToolsError:
            continue
    count = sum(map(len, parts))
    return Toolset.union(*parts * -(-MANY // count))


def _queries(name, toolset, rounds, most):
    lines = QUERIES.split("\n")[1:-1]
    took = []
    gc.collect()
    for number in range(rounds + 1):
        for line in lines:
            begin = time.process_time()
            toolset.search(line)
            if number:
                took.append(time.process_time() - begin)
    return Row(name, Sample(tuple(took)), None, (at_most(most, "ms"),))


def _tokens(name, toolset):
    """Yield the tokens of eight stubs, found for the names of tools, and of descriptions."""
    how, count = token_counter()
    searches = (toolset.search(tool.name.replace("_", " ")) for tool in [*toolset][::10])
    sizes = {
        "eight stubs": [count(write_stubs(hits)) for hits in searches if len(hits) == 8],
        "a description": [count(describe_tool(t, toolset.producers(t.name))) for t in toolset],
    }
    for what, counts in sizes.items():
        note = f"{statistics.median(counts):.0f}, at most {max(counts)}, {how}"
        yield Row(f"{name}: tokens of {what}", note=note)
