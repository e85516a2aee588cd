"""Print the tokens of a search's answer of eight stubs, and of one tool's description.

    python tests/benchmarks/stub_tokens.py [ENCODINGS]

ENCODINGS is a folder with tiktoken's files; without it tokens may be estimated. The queries are the
names and the summaries of every tenth tool of each document.
"""

import os
import statistics
import sys

from published import CORPUS

from openapi_tools import load_tools
from openapi_tools.search.costs import counter
from openapi_tools.search.stubs import describe, stubs

DOCUMENTS = {
    "GitHub": "github/api.github.com.json",
    "Stripe": "stripe/stripe-old.yaml",
    "Kubernetes": "kubernetes/swagger.json",
    "Discord": "discord/openapi.json",
}


def queries(toolset):
    for tool in [*toolset][::10]:
        yield tool.name.replace("_", " ")
        yield " ".join(tool.description.partition("\n")[0].split()[:8])


def told(sizes):
    return f"{statistics.median(sizes):7.0f} {max(sizes):7}"


def main():
    if sys.argv[1:]:
        os.environ["TIKTOKEN_CACHE_DIR"] = sys.argv[1]
    how, count = counter()
    print(f"{how:24}  answers   median    most   described median    most")
    for name, path in DOCUMENTS.items():
        toolset = load_tools(CORPUS / path)
        found = [toolset.search(query) for query in queries(toolset)]
        answers = [count(stubs(hits)) for hits in found if len(hits) == 8]
        whole = [count(describe(tool, toolset.producers(tool.name))) for tool in toolset]
        print(f"{name:24}  {len(answers):7}  {told(answers)}   {'':9} {told(whole)}")


if __name__ == "__main__":
    main()
