"""Documents that somebody, or something, has tampered with.

A mutation is plain data (what to do, where, with what), so hypothesis makes a failing case smaller
by leaving mutations out. `where` is any number: it is taken modulo what there is.
"""

import copy
import json
from typing import Any, NamedTuple

import yaml
from fuzz import seeds
from hypothesis import strategies as st

_SOMEWHERE = st.integers(0, 2**20)
_TEXTS = [
    *("", " ", ".", "..", "/", "//evil/x", "{", "}", "{x}", "{x", "#/", "#", "~", "~2", "%2e%2e"),
    *("%", "\x00", "\x1b[31m", "\ud800", "\udfff\ud83d", "\u202e", "\ufeff", "\r\n", "a\r\nb: c"),
    *("é", "🚀", "x" * 300, "x" * 70_000, "(", "(?!a)", "^(a+)+$", "[a-z]{1000}{1000}", "\\"),
    *("\\p{L}{400}", "$ref", "$dynamicRef", "allOf", "null", "true", "NO", "1:30", "2020-01-01"),
    *("0x1F", "1e400", "http://127.0.0.1:1/x", "file:///etc/passwd", "https://user:pw@evil.test/"),
    *("javascript:x", "application/json", "multipart/form-data", "text/plain; charset=rot13"),
    *("*/*", "a/b/c", "x", "query", "path", "header", "cookie", "querystring", "body", "formData"),
    *("object", "array", "string", "integer", "null", "oauth2", "apiKey", "http", "basic"),
    *("deepObject", "matrix", "get", "GET", "parameters", "__class__", "__proto__", "class"),
    *("Authorization", "Host", "2.0", '"""', "'''", "{{ x }}", "{% x %}", "# noqa", "import os"),
    *("\u2028", "\\N{DASH}", "3.0.99"),
]
_NUMBERS = [0, -1, 1, 2**31, 2**53 + 1, 2**64, 10**400, -(10**400), 1e308, -0.0, 0.1, 1e-320]
_VALUES = [
    *(None, True, False, [], {}, [[]], [{}], {"": ""}, [None], {"a": {"a": {}}}, [1, "1", 1.0]),
    *_NUMBERS,
    *_TEXTS,
]
_REFERENCES = [
    *("#", "#/", "#/paths", "#/components/schemas/Pet", "#/components/schemas/Tree", "#/info"),
    *("#/paths/~1a", "#/components/schemas/%50et", "other.yaml#/x", "http://127.0.0.1:1/x.json"),
    *("file:///etc/passwd", "../../etc/passwd", "//evil.test/x", "#/paths/-", "#a", "?", "#/%ff"),
]
_TREE_MOVES = (
    *("replace", "delete", "rename", "splice", "wrap", "refer", "point", "repeat", "add", "swap"),
    *("number", "deepen", "many"),
)


class Move(NamedTuple):
    """One change."""

    what: str
    where: int
    other: int
    value: Any


class Tampered(NamedTuple):
    """A document that was tampered with."""

    seed: str
    moves: tuple[Move, ...] = ()
    form: str = "json"
    cuts: tuple[Move, ...] = ()

    def value(self):
        """Return it as a value."""
        root = copy.deepcopy(seeds.value(self.seed))
        for move in self.moves:
            root = _apply_move(root, move)
        return root

    def data(self):
        """Return it as bytes; the seed's where it is nested too deeply to be written."""
        try:
            data = self.write_text()
        except RecursionError:
            data = seeds.documents()[self.seed]
        for cut in self.cuts:
            data = _cut(data, cut)
        return data

    def write_text(self):
        if self.form == "raw":
            return seeds.documents()[self.seed]
        if self.form == "yaml":
            text = yaml.safe_dump(self.value(), sort_keys=False, allow_unicode=True)
            return text.encode("utf-8", "surrogatepass")
        codec = "utf-8" if self.form == "json" else self.form
        text = json.dumps(self.value(), ensure_ascii=self.form == "json")
        return text.encode(codec, "surrogatepass" if codec.startswith("utf") else "replace")


def _moves(names, values):
    return st.builds(Move, st.sampled_from(names), _SOMEWHERE, _SOMEWHERE, values)


_BYTES = [
    *(b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\t", b"\n", b"\r", b"\x85", b"---\n", b"...\n"),
    *(b"%YAML 9", b"&a ", b"*a ", b"<<: *a\n", b"!!python/object/apply:os.system [x]", b"!x "),
    *(b"!!set ", b"? ", b"- ", b": ", b"{", b"}", b"[", b"]", b",", b'"', b"'", b"#", b"|\n", b">"),
    *(b"\\ud800", b"\\u0000", b"NaN", b"-Infinity", b"1e999", b"9" * 5000, b"null", b"[" * 300),
    *(b'{"a":' * 300, b"- " * 300, b"\xc3\x28", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"//", b"/*"),
    *(b"=", b"~", b"`", b"@", b"%"),
]
_CUT_MOVES = ("insert", "flip", "drop", "double", "exchange", "cut off")


# By their numbers: hypothesis writes out what it samples from, and some of it is long.
_ANY_VALUE = st.integers(0, len(_VALUES) - 1).map(_VALUES.__getitem__)
_ANY_MOVES = st.lists(_moves(_TREE_MOVES, _ANY_VALUE), max_size=5).map(tuple)
_ANY_BYTES = st.integers(0, len(_BYTES) - 1).map(_BYTES.__getitem__) | st.binary(max_size=3)
_FORMS = ["json"] * 6 + ["yaml"] * 3 + ["raw"] * 3 + ["utf-16", "utf-32", "latin-1"]
_CUTS = st.lists(_moves(_CUT_MOVES, _ANY_BYTES), max_size=3).map(tuple)
_SEEDS = st.deferred(lambda: st.sampled_from(seeds.names()))  # read when they are needed
TAMPERED = st.builds(Tampered, _SEEDS, _ANY_MOVES, st.sampled_from(_FORMS), _CUTS)
"""Documents whose values and bytes were tampered with."""
CHANGED = st.builds(Tampered, _SEEDS, _ANY_MOVES, st.just("json"), st.just(()))
"""Documents whose values were tampered with."""


def _places(root):
    """Return every place in a document: what it stands in, and its name or index there."""
    places = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            steps = list(node) if isinstance(node, dict) else range(len(node))
            places += [(node, step) for step in steps]
            waiting += [node[step] for step in steps]
    return places


def _apply_move(root, move):
    places = _places(root)
    if not places:
        return root
    node, step = places[move.where % len(places)]
    other_node, other_step = places[move.other % len(places)]
    old, other = node[step], other_node[other_step]
    match move.what:
        case "delete":
            del node[step]
        case "rename":
            if isinstance(node, dict):
                name = move.value if isinstance(move.value, str) else repr(move.value)[:99]
                node[name] = node.pop(step)
        case "add":
            if isinstance(old, dict):
                old[str(other_step)] = move.value
        case "repeat":
            if isinstance(node, list):
                node.append(copy.deepcopy(old))
        case "swap":
            node[step], other_node[other_step] = copy.deepcopy(other), copy.deepcopy(old)
        case _:
            node[step] = _instead(move, old, other)
    return root


def _instead(move, old, other):
    """Return what stands in the place of a value."""
    reference = _REFERENCES[move.other % len(_REFERENCES)]
    wrapped = [old] if move.other % 2 else {"type": "object", "properties": {"w": old}}
    candidates = {
        "splice": copy.deepcopy(other),
        "wrap": wrapped,
        "refer": {"$ref": reference, "description": "d"},
        "point": reference,
        "number": _NUMBERS[move.other % len(_NUMBERS)],
        "replace": copy.deepcopy(move.value),
    }
    return candidates[move.what] if move.what in candidates else _grown(move, old)


def _grown(move, old):
    """Return a value nested deep, or many of it."""
    if move.what == "deepen":
        for _ in range(move.other % 260):
            old = {"items": old, "type": "array"} if move.where % 2 else {"allOf": [old, {}]}
        return old
    if isinstance(old, list):
        return [*old, *([copy.deepcopy(old[:1] or None)] * (move.other % 3000))]
    return {f"n{number}": old for number in range(move.other % 50)}


def _cut(data, cut):
    place, other = cut.where % (len(data) + 1), cut.other % (len(data) + 1)
    start, end = sorted((place, other))
    end = min(end, start + 400)
    flipped = bytes([byte ^ (1 << cut.other % 8) for byte in data[place : place + 1]])
    candidates = {
        "insert": data[:place] + cut.value + data[place:],
        "flip": data[:place] + flipped + data[place + 1 :],
        "drop": data[:start] + data[end:],
        "double": data[:end] + data[start:],
        "exchange": data[:start] + cut.value + data[end:],
        "cut off": data[:place],
    }
    return candidates[cut.what]
