"""Split texts, names and paths into terms: stems in lower case; pairs of Chinese and Japanese."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import snowballstemmer

from openapi_tools.forks import ForkLock

_RUN = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
_MOST = 50_000  # words that are remembered
_LONGEST = 64  # characters of a word; longer ones are cut
_STOP = """
    a about additionally after again all also am an and any are as at be because been before
    being but by can could d did do does doing done each either else etc for from further
    furthermore had has have having he her here hers him his how however i if in into is it its
    just let like ll m may me might more most must my need needs no nor not now of off on once
    only or other our ours out over own per please provide provided provides providing re s same
    shall she should so some such t than that the their them then there these they this those
    through to too under until up us ve very via want wants was we well were what when where
    whether which while who whom whose why will with within without would you your yours
"""
STOP_WORDS = frozenset(_STOP.split())


_turn = ForkLock()
_stem = snowballstemmer.stemmer("english").stemWords
_known: dict[str, tuple[str, ...]] = {}


def terms(text: str) -> tuple[str, ...]:
    """Return the terms of a text, in order."""
    found: list[str] = []
    for run in _RUN.findall(text):
        found += _known[run] if run in _known else _of_word(run)
    return tuple(found)


def _of_word(word: str) -> tuple[str, ...]:
    with _turn:  # a stemmer has a state
        found = tuple(_split(word)) if word.lower() not in STOP_WORDS else ()
    if len(_known) < _MOST and len(word) <= _LONGEST:
        _known[word] = found
    return found


def _split(word: str) -> list[str]:
    """Return the terms of a run of letters and digits."""
    if word.isascii():
        parts = _PART.findall(word[:_LONGEST])
    else:
        folded = unicodedata.normalize("NFKD", word[:_LONGEST])
        if any(map(unicodedata.combining, folded)):
            return _split("".join(c for c in folded if not unicodedata.combining(c)))
        parts = _unspaced(folded)
    lower = [part.lower() for part in parts]
    kept = [part for part in lower if len(part) == 1 or part not in STOP_WORDS]
    return [stem or part for stem, part in zip(_stem(kept), kept, strict=True)]


def _unspaced(word: str) -> list[str]:
    """Return a word that is not ASCII, with pairs of characters for text without spaces."""
    parts: list[str] = []
    place = 0
    for match in _UNSPACED.finditer(word):
        text = match.group()
        parts += [word[place : match.start()]]
        parts += [a + b for a, b in pairwise(text)] if len(text) > 1 else [text]
        place = match.end()
    return [part for part in [*parts, word[place:]] if part]
