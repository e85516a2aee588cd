"""Print at which rank a search finds a right tool for each phrase of search/everyday_phrases.toml.

python tests/everyday.py [--file FILE] [--no-synonyms] [--fixed]
"""

import argparse
import tomllib
from pathlib import Path
from typing import NamedTuple

from corpus import FOLDER

from openapi_tools import load_tools
from openapi_tools.conformance.lint_fixes import make_overlay

PHRASES = Path(__file__).parent / "search" / "everyday_phrases.toml"
DOCUMENTS = {
    "GitHub": "github/api.github.com.json",
    "Stripe": "stripe/stripe-old.yaml",
    "Kubernetes": "kubernetes/swagger.json",
    "Discord": "discord/openapi.json",
}
MOST = 8
_LAST = 50  # a right tool below it counts as missing


class Ranking(NamedTuple):
    """A phrase over an API, and the rank of the first right tool; None below the last."""

    api: str
    phrase: str
    rank: int | None

    @property
    def is_found(self):
        return self.rank is not None and self.rank <= MOST


def rank_phrases(path=PHRASES, *, is_fixed=False, **settings):
    """Return the ranking of each phrase of a file."""
    rankings = []
    for api, phrases in tomllib.loads(path.read_text(encoding="utf-8")).items():
        toolset = load_tools(FOLDER / DOCUMENTS[api], **settings)
        if is_fixed:
            toolset = _fix(toolset, FOLDER / DOCUMENTS[api], settings)
        for phrase, operations in phrases.items():
            hits = toolset.search(phrase, _LAST)
            hit_operations = [f"{hit.tool.method} {hit.tool.path}" for hit in hits]
            ranks = [
                hit_operations.index(operation) + 1
                for operation in operations
                if operation in hit_operations
            ]
            rankings.append(Ranking(api, phrase, min(ranks, default=None)))
    return rankings


def _fix(toolset, file, settings):
    overlay, _ = make_overlay(toolset, lambda fix: load_tools(file, overlays=[fix], **settings))
    return load_tools(file, overlays=[overlay], **settings) if overlay["actions"] else toolset


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--file", type=Path, default=PHRASES, help="other phrases")
    parser.add_argument("--no-synonyms", action="store_true", help="search without synonyms")
    parser.add_argument("--fixed", action="store_true", help="with the overlay of `lint --fix`")
    options = parser.parse_args()
    settings = {"synonyms": False} if options.no_synonyms else {}
    rankings = rank_phrases(options.file, is_fixed=options.fixed, **settings)
    for ranking in rankings:
        print(f"{ranking.rank or '-':>4}  {ranking.api:10}  {ranking.phrase}")
    count = sum(ranking.is_found for ranking in rankings)
    share = count / len(rankings)
    print(f"{count} of {len(rankings)} phrases ({share:.0%}) find a right tool among {MOST}.")


if __name__ == "__main__":
    main()
