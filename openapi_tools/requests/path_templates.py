"""Path templates: split into literals and variables, and compared with paths.

`/pets/{petId}` matches `/pets/7`.

A regular expression of several variables would try every way to share a segment among them. Here
each literal is looked for once, so the cost grows with the path only.

Spec: OpenAPI 3.1.2, section 4.8.8.2 (Path Templating Matching).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING
from urllib.parse import quote

from openapi_tools.requests.encoding import PATH_LITERAL, keep_triples

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VARIABLE = re.compile(r"\{([^{}]*)\}")
_MOST_BEFORE = 32  # segments before a template, whose server has a path of its own
_PATH_PART = re.compile(r"(?:\{[^{}]*\}|[^?#])*")
_KEPT = "!$&'()*+,/:;=@~%"


def split_template(path: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a path and its query, each as encoded literals and names of variables in turn."""
    # The part after `#` only tells operations apart.
    match = _PATH_PART.match(path)
    before = match[0] if match else ""
    query = path[len(before) :].partition("#")[0].removeprefix("?")
    before = before if before.startswith("/") else f"/{before}"
    return _split_literals(before, PATH_LITERAL), _split_literals(query, PATH_LITERAL + "?[]|")


def _split_literals(template: str, safe: str) -> tuple[str, ...]:
    pieces = VARIABLE.split(template)
    return tuple(p if i % 2 else keep_triples(p, safe) for i, p in enumerate(pieces))


def match_path(template: str, path: str, *, greedy: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield what stands before a template in a path, and the values of its variables.

    Nothing where the path does not end as the template does. A variable takes no slash, and may be
    empty; of several in a segment, the first takes as much as it can. The `greedy` one takes
    slashes, so that there may be several ways, with the least before the template first.
    """
    segments = _split_segments(template)
    before, *texts = path.rsplit("/", len(segments))
    if not greedy:
        values = _match_segments(segments, texts)
        if values is not None:
            yield before, values
        return
    place = next(n for n, part in enumerate(template.split("/")[1:]) if f"{{{greedy}}}" in part)
    after = len(segments) - place - 1
    texts = path.split("/")
    for start in range(1, min(len(texts) - len(segments) + 1, _MOST_BEFORE)):
        end = len(texts) - after
        long = "/".join(texts[start + place : end])
        values = _match_segments(segments, [*texts[start : start + place], long, *texts[end:]])
        if values is not None:
            yield "/".join(texts[:start]), values


def _match_segments(
    segments: Sequence[Sequence[tuple[str, ...]]], texts: Sequence[str]
) -> list[str] | None:
    if len(texts) != len(segments):
        return None
    values: list[str] = []
    for segment, text in zip(segments, texts, strict=True):
        segment_values = _match_segment(segment, text)
        if segment_values is None:
            return None
        values += segment_values
    return values


@lru_cache(maxsize=8192)
def _split_segments(template: str) -> tuple[tuple[tuple[str, ...], ...], ...]:
    segments = VARIABLE.sub("{}", template).split("/")[1:]
    return tuple(tuple(map(_literal_forms, segment.split("{}"))) for segment in segments)


def _match_segment(literals: Sequence[tuple[str, ...]], text: str) -> list[str] | None:
    # From the end of the string, so that the first variable takes as much as it can.
    first, *literals_after = literals
    start = next((len(form) for form in first if text.startswith(form)), -1)
    if start < 0 or not literals_after:
        return [] if start == len(text) else None
    spans: list[tuple[int, int]] = []
    for literal in reversed(literals_after):
        end = spans[-1][0] if spans else len(text)
        forms = literal if spans else filter(text.endswith, literal)
        places = ((text.rfind(form, start, end), len(form)) for form in forms)
        place, length = max(places, default=(-1, 0))
        if place < 0:
            return None
        spans.append((place, place + length))
    spans.append((0, start))
    return [text[left[1] : right[0]] for right, left in pairwise(spans)][::-1]


def _literal_forms(literal: str) -> tuple[str, ...]:
    encoded = quote(literal, safe=_KEPT)
    return (literal,) if encoded == literal else (literal, encoded)


def matches_glob(literals: Sequence[str], text: str) -> bool:
    """Return whether a string consists of literals with any characters between them."""
    first, *literals_after = literals
    if not literals_after:
        return text == first
    if not text.startswith(first):
        return False
    end = len(first)
    for literal in literals_after[:-1]:
        place = text.find(literal, end)
        if place < 0:
            return False
        end = place + len(literal)
    return len(text) - end >= len(literals_after[-1]) and text.endswith(literals_after[-1])
