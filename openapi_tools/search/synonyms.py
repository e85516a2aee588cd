"""What a query asks for: its words, those that mean the same to people, and HTTP methods."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from openapi_tools.search.index import RESOURCE, STOP_WORDS, split_words, terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Terms = tuple[str, ...]
    Weighted = list[tuple["Concept", float]]

_METHODS = frozenset({"GET", "POST", "PUT", "PATCH", "DELETE"})
# In a long task, "I" and "my" say nothing about a tool, and several verbs are of several tools.
_SHORT = 3  # words, stop words left out
_RESOURCE_SHARE = 0.5  # how much the resource counts beside the words; chosen on public sets
_STOP_WORD_SHARE = 0.2  # of a stop word that has synonyms, such as "my"


class Concept(NamedTuple):
    """A term, and what means the same: of several terms of a synonym, a tool must have all.

    Attributes:
        term: The term as the query has it; empty if the query has several words for it.
        synonyms: Such as `(("pull", "request"), ("pull",))` for `"pr"`.
    """

    term: str
    synonyms: tuple[Terms, ...] = ()


class Query(NamedTuple):
    """What a query asks for.

    Attributes:
        concepts: What it names, and how much each counts.
        methods: The HTTP methods that its verb stands for, if it is short.
    """

    concepts: Weighted
    methods: frozenset[str]


class Synonyms:
    """Words and their synonyms, as terms.

    Args:
        mappings: Words and their synonyms; also HTTP methods, in capitals, and their verbs.
    """

    def __init__(self, mappings: Iterable[Mapping[str, Sequence[str]]]) -> None:
        listed_by_key: dict[Terms, dict[Terms, None]] = {}
        self._methods: dict[str, set[str]] = {}
        for mapping in mappings:
            for word, synonyms in mapping.items():
                listed = [term for other in synonyms if (term := _read_terms(other))]
                if word in _METHODS:
                    for verb in listed:
                        self._methods.setdefault(verb[0], set()).add(word)
                elif key := _read_terms(word):
                    listed_by_key.setdefault(key, {}).update(dict.fromkeys(listed))
        self._synonyms = {key: tuple(listed) for key, listed in listed_by_key.items()}
        self._phrases = [key for key in self._synonyms if len(key) > 1]
        self._concepts = {
            key: _with_resource(Concept(key[0] if len(key) == 1 else "", synonyms))
            for key, synonyms in self._synonyms.items()
        }

    def read_query(self, text: str) -> Query:
        """Return what a query asks for."""
        words = _read_terms(text)
        plain = [word for word in words if word not in STOP_WORDS]
        keys: list[Terms] = [(term,) for term in dict.fromkeys(plain)]
        keys += [key for key in self._phrases if all(word in words for word in key)]
        concepts = [each for key in keys for each in self._find_concepts(key)]
        if len(plain) > _SHORT:
            return Query(concepts, frozenset())
        for first, second in pairwise(plain):  # "cron jobs" are /cronjobs
            concepts += _with_resource(Concept(first + second))
        pronouns = (self._synonyms.get((word,), ()) for word in words if word in STOP_WORDS)
        for synonyms in filter(None, dict.fromkeys(pronouns)):
            concepts += _with_resource(Concept("", synonyms), _STOP_WORD_SHARE)
        return Query(concepts, self._find_methods(plain) or self._find_methods(words))

    def _find_concepts(self, key: Terms) -> Weighted:
        if key in self._concepts:
            return self._concepts[key]
        return _with_resource(Concept(key[0]))

    def _find_methods(self, words: Sequence[str]) -> frozenset[str]:
        methods = {frozenset(self._methods[word]) for word in words if word in self._methods}
        return methods.pop() if len(methods) == 1 else frozenset()


def find_synonyms(settings: Sequence[bool | Mapping[str, Sequence[str]]]) -> Synonyms:
    """Return the synonyms of some settings: the package's own table, none, or the user's."""
    if all(setting is True for setting in settings):
        return _common_synonyms()
    return Synonyms(_find_mapping(setting) for setting in settings)


def _find_mapping(setting: bool | Mapping[str, Sequence[str]]) -> Mapping[str, Sequence[str]]:
    if isinstance(setting, bool):
        return _read_table() if setting else {}
    return setting


@cache
def _common_synonyms() -> Synonyms:
    return Synonyms([_read_table()])


def _read_table() -> Mapping[str, Sequence[str]]:
    text = files(__package__).joinpath("synonyms.toml").read_text(encoding="utf-8")
    return {
        word: synonyms for table in tomllib.loads(text).values() for word, synonyms in table.items()
    }


def _read_terms(text: str) -> Terms:
    # With stop words, which tools' terms leave out: "who am I" has no others.
    return tuple(term for word in split_words(text) for term in terms(word) or (word.lower(),))


def _with_resource(concept: Concept, share: float = 1.0) -> Weighted:
    synonyms = [(RESOURCE + synonym[0],) for synonym in concept.synonyms if len(synonym) == 1]
    resource = Concept(concept.term and RESOURCE + concept.term, tuple(synonyms))
    return [(concept, share), (resource, share * _RESOURCE_SHARE)]
