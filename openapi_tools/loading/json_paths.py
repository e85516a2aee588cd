"""JSONPath queries on plain data, with a bound on their work.

python-jsonpath parses and selects in its strict mode. Each node that a query visits is counted, in
filters too, and patterns are matched in linear time: an overlay may come from a server.

Spec: RFC 9535; RFC 9485, I-Regexp.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar, cast

import jsonpath
import jsonschema_rs
from jsonpath.exceptions import JSONPathRecursionError
from jsonpath.filter import FilterQuery, walk
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.selectors import Filter, JSONPathSelector

from openapi_tools.common.json_values import dump_json_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from jsonpath.segments import JSONPathSegment

    Location = tuple[str | int, ...]

MAX_STEPS = 20_000_000
"""Nodes that the queries of one load may visit; `$..*` visits 0.3 million in GitHub's 13 MB."""
MAX_LENGTH = 4_096  # characters of a query, and of a pattern

# Steps weigh what was measured against visiting a node: parsing a character, compiling a
# pattern, comparing bytes.
_STEPS_OF_CHARACTER = 5
_STEPS_OF_PATTERN = 10_000
_BYTES_OF_STEP = 16  # of a compared value, as JSON
# Bytes of a compiled pattern, and the steps that it takes for each character at worst.
_TIERS = ((4_000, 0.5), (256_000, 8.0), (1_000_000, 30.0))
# A dot, which matches any character but line ends (RFC 9485); escapes and classes are skipped.
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+(?:\]|\\?\Z)|\.", re.DOTALL)
_INVALID = "is not a JSONPath query of RFC 9535"


class QueryError(Exception):
    """A query is not JSONPath, or takes too much work; the message says which."""


class Queries:
    """Compiles and runs queries within a number of steps; `bad_patterns` have matched nothing."""

    def __init__(self) -> None:
        self.bad_patterns: set[str] = set()
        self._steps_left = MAX_STEPS
        self._environment = _Environment(self)
        self._match_class = _counting_match_class(self)
        for name, form in (("match", "^(?:{})$"), ("search", "{}")):
            self._environment.function_extensions[name] = _PatternFunction(form, self)

    def count_steps(self, steps: int) -> None:
        """Count steps, or raise QueryError after the last."""
        self._steps_left -= steps
        if self._steps_left < 0:
            reason = f"takes more than {MAX_STEPS:,} steps; name narrower targets, or fewer."
            raise QueryError(reason)

    def compile(self, query: str) -> jsonpath.JSONPath:
        """Return a compiled query, or raise QueryError for one that RFC 9535 does not allow."""
        if not query.startswith("$"):
            raise QueryError(f"{_INVALID}: it must begin with '$'.")
        if len(query) > MAX_LENGTH:
            raise QueryError(f"is longer than {MAX_LENGTH:,} characters; split it.")
        self.count_steps(_STEPS_OF_CHARACTER * len(query))
        try:  # strict mode makes no compound paths
            compiled = cast("jsonpath.JSONPath", self._environment.compile(query))
            self._count_segments(compiled)
        except (ArithmeticError, ValueError, RecursionError):
            raise QueryError(f"{_INVALID}: too deep, or a number too large.") from None
        except jsonpath.JSONPathError as error:
            raise QueryError(f"{_INVALID}: {str(error).partition(chr(10))[0]}.") from None
        return compiled

    def _count_segments(self, query: jsonpath.JSONPath) -> None:
        # A filter runs its queries for each value it tests: `$..[?count(@..*) > 0]` is quadratic.
        for segment in query.segments:
            for selector in segment.selectors:
                # `walk` goes into the filters of inner queries, too.
                for expression in walk(selector.expression) if isinstance(selector, Filter) else ():
                    if isinstance(expression, FilterQuery):
                        expression.path = _CountingPath(expression.path, self)
                        _count_selectors(expression.path, self)
        _count_selectors(query, self)

    def find_locations(self, query: jsonpath.JSONPath, root: Any) -> list[Location]:
        """Return the locations that a query selects, each once; QueryError for too much work."""
        try:
            return list(dict.fromkeys(node.parts for node in self.find_nodes(query, root, root)))
        except (RecursionError, JSONPathRecursionError):
            raise QueryError("goes too deep; name a narrower target.") from None

    def find_nodes(
        self, query: jsonpath.JSONPath, start_value: Any, root: Any
    ) -> Iterable[jsonpath.JSONPathMatch]:
        """Return the nodes that a query selects below a value, counted as they are visited."""
        self.count_steps(1 + _item_count(start_value) // 16)
        # Inner queries get the document in the filter context: the library passes them only the
        # value they start at, but `$` is the document in nested filters, too (RFC 9535, 2.3.5).
        start = self._match_class(
            filter_context={"root": root},
            obj=start_value,
            parent=None,
            path="$",
            parts=(),
            root=root,
        )
        nodes: Iterable[jsonpath.JSONPathMatch] = [start]
        for segment in query.segments:  # `finditer` would not use a class of ours
            nodes = segment.resolve(nodes)
        return nodes


class _CountingPath(jsonpath.JSONPath):
    """A query inside a filter, whose nodes are counted."""

    __slots__ = ("_queries",)

    def __init__(self, path: jsonpath.JSONPath, queries: Queries) -> None:
        super().__init__(env=path.env, segments=path.segments)
        self._queries = queries

    def finditer(
        self, data: Any, *, filter_context: Mapping[str, Any] | None = None
    ) -> Iterable[jsonpath.JSONPathMatch]:
        return self._queries.find_nodes(self, data, (filter_context or {}).get("root", data))


def _count_selectors(query: jsonpath.JSONPath, queries: Queries) -> None:
    for segment in query.segments:
        if len(segment.selectors) > 1:
            segment.selectors = (_SelectorCounter(segment, queries), *segment.selectors)


class _SelectorCounter(JSONPathSelector):
    """Selects nothing, and counts the selectors beside it: one that finds nothing takes time."""

    __slots__ = ("_queries", "_steps")

    def __init__(self, segment: JSONPathSegment, queries: Queries) -> None:
        super().__init__(env=segment.env, token=segment.token)
        self._steps, self._queries = len(segment.selectors) // 2, queries

    def resolve(self, node: jsonpath.JSONPathMatch) -> Iterable[jsonpath.JSONPathMatch]:
        del node
        self._queries.count_steps(self._steps)
        return ()

    def resolve_async(self, node: jsonpath.JSONPathMatch) -> Any:
        raise NotImplementedError  # the library's base class asks for it; no query awaits


class _Environment(jsonpath.JSONPathEnvironment):
    """The library's strict mode, but for three cases of RFC 9535's compliance tests."""

    max_recursion_depth = 1_000  # documents have fewer levels

    def __init__(self, queries: Queries) -> None:
        # The cache copies the whole filter for each value it tests, which no step counts.
        super().__init__(strict=True, filter_caching=False)
        self._queries = queries

    def getitem(self, obj: Any, key: Any) -> Any:
        return () if isinstance(obj, str) else obj[key]  # no slices of strings

    def compare(self, left: object, operator: str, right: object) -> bool:
        self._queries.count_steps(1)
        if isinstance(left, dict | list) and type(left) is type(right):
            self._queries.count_steps(len(dump_json_bytes(left)) // _BYTES_OF_STEP)
        has_boolean = isinstance(left, bool) or isinstance(right, bool)
        if has_boolean and operator in ("<", ">"):  # booleans have no order, but are `int`
            return False
        return super().compare(
            left, "==" if has_boolean and operator in ("<=", ">=") else operator, right
        )


def _counting_match_class(queries: Queries) -> type[jsonpath.JSONPathMatch]:
    class CountingMatch(jsonpath.JSONPathMatch):
        __slots__ = ()

        def add_child(self, *children: jsonpath.JSONPathMatch) -> None:
            """Do not keep them: the first node would hold every node that was visited."""

        def new_child(self, obj: object, key: int | str) -> jsonpath.JSONPathMatch:
            # Writing down a location costs its length, a container a share of its items.
            queries.count_steps(1 + (_item_count(obj) + len(self.parts)) // 16)
            return super().new_child(obj, key)

    return CountingMatch


def _item_count(value: object) -> int:
    return len(value) if isinstance(value, dict | list) else 0


class _PatternFunction(FilterFunction):
    """`match()` or `search()`; a pattern that cannot be used matches nothing, and is recorded."""

    # The library's own functions backtrack: `(a+)+$` takes exponential time.

    arg_types: ClassVar = [ExpressionType.VALUE, ExpressionType.VALUE]
    return_type = ExpressionType.LOGICAL

    def __init__(self, form: str, queries: Queries) -> None:
        self._form, self._queries = form, queries
        self._patterns: dict[str, tuple[Any, float]] = {}

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if pattern not in self._patterns:
            self._queries.count_steps(_STEPS_OF_PATTERN)
            self._patterns[pattern] = _compile_pattern(pattern, self._form)
        validator, steps = self._patterns[pattern]
        self._queries.count_steps(1 + int(len(value) * steps))
        if validator is None:
            self._queries.bad_patterns.add(pattern)
            return False
        try:
            return bool(validator.is_valid(value))
        except ValueError:  # a lone surrogate
            return False


def _compile_pattern(pattern: str, form: str) -> tuple[Any, float]:
    plain = _DOT.sub(lambda match: r"[^\n\r]" if match[0] == "." else match[0], pattern)
    # The pattern without the form, too: inside it, `a)|(b` would be valid.
    schema = {"allOf": [{"pattern": plain}, {"pattern": form.format(plain)}]}
    for size, steps in _TIERS if len(pattern) <= MAX_LENGTH else ():
        options = jsonschema_rs.RegexOptions(size_limit=size)
        try:
            return jsonschema_rs.Draft202012Validator(schema, pattern_options=options), steps
        except (ValueError, TypeError):
            continue
    return None, 0.0
