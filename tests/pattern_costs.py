"""Every regular expression of the package, and inputs made from its own literals that may be slow.

Patterns are found in two ways: those that a module or class holds once it is imported, and those of
calls like `re.sub(…)` anywhere in its source.
"""

import ast
import importlib
import itertools
import pkgutil
import re
import signal
import time
from collections import defaultdict
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import openapi_tools

METHODS = ("search", "match", "fullmatch", "split", "findall", "finditer", "sub", "subn")
_ALPHABET = "a0 =\"'<>/\\.,;:-_[]{}()#?&%@*+|~!$^`\n\r\t"
_HOLDERS = (tuple, list, set, frozenset)
_REPEATS = ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT")
_MOST_INPUTS = 60
_LONGEST_SAMPLE = 400


class PatternUse(NamedTuple):
    """A pattern: the module, its name or line, and the methods that it is used with."""

    module: str
    place: str
    pattern: re.Pattern
    methods: tuple[str, ...]

    def __str__(self):
        return f"{self.module}:{self.place}"


def modules():
    """Import and return every module of the package, by name."""
    walk = pkgutil.walk_packages(openapi_tools.__path__, f"{openapi_tools.__name__}.")
    names = [info.name for info in walk if not info.name.endswith("__main__")]
    return {name: importlib.import_module(name) for name in (openapi_tools.__name__, *names)}


def tree_of(module):
    return ast.parse(Path(module.__file__).read_text(encoding="utf-8"))


def patterns_of(module, trees):
    """Return the patterns of a module, and the places of those that are made of local values."""
    tree, name = trees[module.__name__], module.__name__.removeprefix(f"{openapi_tools.__name__}.")
    patterns, unknown = {}, []
    for place, value in _find_patterns(module):
        if isinstance(value, re.Pattern):
            patterns[place] = PatternUse(
                name, place, value, _methods_on(place.split("[")[0], module.__name__, trees)
            )
    constants = {(p.pattern.pattern, p.pattern.flags) for p in patterns.values()}
    for call in (node for node in ast.walk(tree) if _is_use(node, module)):
        method = call.func.attr
        try:
            pattern = _evaluate(call, module)
        except Exception:
            unknown.append(f"{name}:{_function_around(tree, call)}")
            continue
        if method != "compile" or (pattern.pattern, pattern.flags) not in constants:
            place = f"{_function_around(tree, call)}: {_shorten(pattern.pattern)}"
            methods = METHODS if method == "compile" else (method,)
            patterns[place] = PatternUse(name, place, pattern, methods)
    return list(patterns.values()), unknown


def _find_patterns(module):
    for name, value in vars(module).items():
        yield from _find_inside(name, value)
        if isinstance(value, type) and value.__module__ == module.__name__:
            for inner, part in vars(value).items():
                yield from _find_inside(f"{name}.{inner}", part)


def _find_inside(name, value):
    yield name, value
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, _HOLDERS):
        for number, part in enumerate(value):
            yield from _find_inside(f"{name}[{number}]", part)


def _is_use(node, module):
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and vars(module).get(node.func.value.id) is re
        and node.func.attr in (*METHODS, "compile")
    )


def _evaluate(call, module):
    positions = {"compile": 1, "split": 3, "sub": 4, "subn": 4}
    flags = next((word.value for word in call.keywords if word.arg == "flags"), None)
    position = positions.get(call.func.attr, 2)
    if flags is None and len(call.args) > position:
        flags = call.args[position]
    pattern, flags = (
        eval(compile(ast.Expression(part), "pattern", "eval"), vars(module)) if part else 0
        for part in (call.args[0], flags)
    )
    if isinstance(pattern, re.Pattern):
        return pattern
    return re.compile(pattern, flags)


def _function_around(tree, call):
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    around = [
        node.name
        for node in ast.walk(tree)
        if isinstance(node, functions) and node.lineno <= call.lineno <= node.end_lineno
    ]
    return around[-1] if around else "module"


def _shorten(pattern):
    return repr(
        pattern
        if len(pattern) <= 40
        else pattern[:40] + "…"
        if isinstance(pattern, str)
        else pattern[:40]
    )


def _methods_on(place, name_of_module, trees):
    """Return the methods that a constant is used with; all of them where it is handed on."""
    name = place.rpartition(".")[2]
    holders = [name_of_module] if name.startswith("_") else trees
    used = {method for holder in holders for method in _uses_in(holder, trees)[name]}
    return tuple(sorted(used)) or METHODS


_uses = {}


def _uses_in(name_of_module, trees):
    """Return the methods that are called on each name in a module; all for a name alone."""
    if name_of_module not in _uses:
        uses, seen = defaultdict(set), set()
        nodes = list(ast.walk(trees[name_of_module]))
        for node in nodes:
            if isinstance(node, ast.Attribute) and (name := _name_of(node.value)):
                seen.add(id(node.value))
                uses[name].update({node.attr} & set(METHODS))
        for node in nodes:
            name = _name_of(node)
            if name and id(node) not in seen and isinstance(node.ctx, ast.Load):
                uses[name].update(METHODS)
        _uses[name_of_module] = uses
    return _uses[name_of_module]


def _name_of(node):
    return (
        node.id
        if isinstance(node, ast.Name)
        else node.attr
        if isinstance(node, ast.Attribute)
        else ""
    )


def inputs_of(pattern):
    """Return functions of a length that make strings from a pattern's own parts."""
    as_bytes = isinstance(pattern.pattern, bytes)
    parsed = re._parser.parse(pattern.pattern, pattern.flags)
    pieces = list(dict.fromkeys(_pieces(parsed)))
    pairs = [
        *dict.fromkeys(_repeats(parsed)),
        *(("", piece) for piece in pieces),
        *(("", named) for named in _singles(parsed)),
        *((start, space) for start in ("", *pieces[:1]) for space in (" ", "\n", " a")),
    ]
    makers = (_Maker(prefix, pump, as_bytes) for prefix, pump in pairs if pump)
    return list(dict.fromkeys(makers))[:_MOST_INPUTS]


class _Maker(NamedTuple):
    prefix: str
    pump: str
    as_bytes: bool

    def __call__(self, length, end):
        text = self.prefix + self.pump * (length // len(self.pump) + 1) + end
        return text.encode("utf-8", "surrogatepass") if self.as_bytes else text

    def __str__(self):
        return f"{self.prefix!r} + {self.pump!r} * n"


def _singles(parsed):
    """Yield the characters that a pattern names, each alone and in pairs."""
    named = sorted({chr(code) for code in _literals(parsed)})[:10]
    yield from named
    yield from map("".join, itertools.permutations(named[:4], 2))


def _literals(parsed):
    for operator, value in parsed:
        kind = str(operator)
        if kind in ("LITERAL", "NOT_LITERAL"):
            yield value
        elif kind == "IN":
            yield from _literals(value)
        elif kind == "RANGE":
            yield value[0]
        for part in _inner(kind, value):
            yield from _literals(part)


def _inner(kind, value):
    """Return the parsed patterns inside one item."""
    if kind in _REPEATS:
        return [value[2]]
    if kind == "SUBPATTERN":
        return [value[3]]
    if kind == "BRANCH":
        return value[1]
    if kind == "ATOMIC_GROUP":
        return [value]
    if kind in ("ASSERT", "ASSERT_NOT"):
        return [value[1]]
    return []


def _pieces(parsed):
    """Yield what matches the beginning of a pattern: its first item, its first two, and so on."""
    for variant in range(2):
        text = ""
        for item in parsed:
            text += _sample([item], variant)
            yield text[:_LONGEST_SAMPLE]
    for operator, value in parsed:
        for part in _inner(str(operator), value):
            yield from _pieces(part)


def _repeats(parsed, before=""):
    """Yield each repeated part, in a few forms, with what matches the part before it."""
    for item in parsed:
        kind, value = str(item[0]), item[1]
        for part in _inner(kind, value):
            if kind in _REPEATS:
                for variant in range(3):
                    yield before, _sample(part, variant)[:_LONGEST_SAMPLE]
            yield from _repeats(part, before)
        before = (before + _sample([item], 0))[:_LONGEST_SAMPLE]


def _sample(parsed, variant):
    """Return a string that matches, mostly; variants take other characters of a set."""
    text = ""
    for operator, value in parsed:
        kind = str(operator)
        if kind == "LITERAL":
            text += chr(value)
        elif kind == "NOT_LITERAL":
            text += next(c for c in _ALPHABET if ord(c) != value)
        elif kind == "ANY":
            text += 'a "'[variant % 3]
        elif kind == "IN":
            text += _sample_of_set(value, variant)
        elif kind in _REPEATS:
            text += _sample(value[2], variant) * max(1, min(value[0], 40))
        elif kind == "BRANCH":
            text += _sample(value[1][variant % len(value[1])], variant)
        elif kind in ("SUBPATTERN", "ATOMIC_GROUP"):
            text += "".join(_sample(part, variant) for part in _inner(kind, value))
    return text


def _sample_of_set(items, variant):
    """Return a character of a set."""
    escaped = "".join(map(_as_source, items))
    fits = [c for c in _ALPHABET if re.match(f"[{escaped}]", c)]
    if fits:
        return fits[min(variant * 2, len(fits) - 1)]
    for operator, value in items:
        if str(operator) in ("LITERAL", "RANGE"):
            return chr(value if str(operator) == "LITERAL" else value[0])
    return ""


def _as_source(item):
    kind, value = str(item[0]), item[1]
    if kind == "NEGATE":
        return "^"
    if kind == "LITERAL":
        return re.escape(chr(value))
    if kind == "RANGE":
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    categories = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}
    name = str(value).removeprefix("CATEGORY_").removeprefix("UNI_").removeprefix("LOC_")
    letter = categories[name.removeprefix("NOT_")]
    return "\\" + (letter.upper() if name.startswith("NOT_") else letter)


ENDS = ("\0", "\n")
SHORTEST = 512
MOST = 24
"""How often more a string may cost that is eight times as long: three times what that is."""
_NOTICED = 0.001
_TRIES = 8


class TooSlowError(Exception):
    """A match took seconds."""


@contextmanager
def stopped_after(seconds):
    """Stop a match, which looks for signals now and then, after seconds of work."""

    def stop(*_):
        raise TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def seconds_of(work, tries=1):
    """Return the time on the processor that some work takes, at best."""
    best = float("inf")
    for _ in range(tries):
        started = time.thread_time()
        work()
        best = min(best, time.thread_time() - started)
    return best


def growth_of(work_on):
    """Return how often more a string costs that is eight times as long; infinity for seconds.

    `work_on(length)` returns a function. What is never noticed counts as once. Where short strings
    seem to cost too much, longer ones decide: a bounded repeat costs more up to its bound.
    """
    growth = 1.0
    try:
        with stopped_after(1):
            if seconds_of(work_on(SHORTEST * 8)) < _NOTICED:
                return growth
        for shortest in (SHORTEST, SHORTEST * 8):
            with stopped_after(3):
                growth = _growth_from(work_on, shortest)
            if growth <= MOST:
                break
    except TooSlowError:
        return float("inf")
    return growth


def _growth_from(work_on, shortest):
    """Return the growth from the shortest length to eight times as much, at best of some tries."""
    works = [work_on(shortest * times) for times in (1, 2, 4, 8)]
    costs = [float("inf")] * len(works)
    for _ in range(_TRIES):
        costs = [min(cost, seconds_of(work)) for cost, work in zip(costs, works, strict=True)]
        if costs[-1] <= MOST * costs[0]:
            break
    return costs[-1] / max(costs[0], 1e-6)


def use_of(pattern, method):
    """Return a function that uses a pattern on a string."""
    if method in ("sub", "subn"):
        empty = b"" if isinstance(pattern.pattern, bytes) else ""
        return lambda text: getattr(pattern, method)(empty, text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    return getattr(pattern, method)


def _work(use, make, end, length):
    return partial(use, make(length, end))


def slow_inputs(pattern):
    """Yield the inputs on which a pattern costs more than its length accounts for."""
    # `search` and its kind begin at every place; those that find all go on behind a match.
    everywhere = {"search", "split", "findall", "finditer", "sub", "subn"} & set(pattern.methods)
    methods = [*sorted(everywhere)[:1], *({"match", "fullmatch"} & set(pattern.methods))]
    for method in methods:
        use = use_of(pattern.pattern, method)
        for make, end in itertools.product(inputs_of(pattern.pattern), ENDS):
            growth = growth_of(partial(_work, use, make, end))
            if growth > MOST:
                yield f"{pattern} {method}: {make} + {end!r}: {growth:.0f} times"
                break
