"""JSONPath queries on plain data, with a bound on their work.

The library parses and selects in its strict mode; nodes, queries inside filters, comparisons and
regular expressions are replaced here: each step counts, and a pattern is matched in linear time.

Spec: RFC 9535; RFC 9485, I-Regexp.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import jsonpath
import jsonschema_rs
from jsonpath.filter import BaseExpression, RelativeFilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction

from openapi_tools.json_values import dump_json_bytes, is_equal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jsonpath.selectors import FilterContext
    from jsonpath.stream import TokenStream

    Place = tuple[str | int, ...]

MAX_STEPS = 20_000_000
"""Values that the queries of one load may look at; `$..*` takes 0.9 million on GitHub's 13 MB."""
MAX_LENGTH = 4_096  # characters of a query, and of a pattern

_PER_CHARACTER = 5
_PER_PATTERN = 10_000
_PER_STEP = 16  # bytes of a compared value, as JSON
_TIERS = ((4_000, 0.5), (256_000, 8.0), (1_000_000, 30.0))
"""Bytes of a compiled pattern, and the steps that it takes for each character at worst."""
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*+(?:\]|\\?\Z)|\.", re.DOTALL)
"""A dot, which matches any character but line ends (RFC 9485); escapes and classes are skipped."""
_WRONG = "is not a JSONPath query of RFC 9535"


class QueryError(Exception):
    """A query is not JSONPath, or takes too much work; the text says which."""


class Queries:
    """Compiles and selects within the steps `left`; `bad_patterns` have matched nothing."""

    def __init__(self) -> None:
        self.left = MAX_STEPS
        self.bad_patterns: set[str] = set()
        self._environment = _Environment(self)

    def spend(self, steps: int) -> None:
        """Count steps, or raise QueryError after the last."""
        self.left -= steps
        if self.left < 0:
            reason = f"takes more than {MAX_STEPS:,} steps; name narrower targets, or fewer."
            raise QueryError(reason)

    def compile(self, text: str) -> jsonpath.JSONPath:
        """Return a query, or raise QueryError for a text that RFC 9535 does not allow."""
        if not text.startswith("$"):
            raise QueryError(f"{_WRONG}: it must begin with '$'.")
        if len(text) > MAX_LENGTH:
            raise QueryError(f"is longer than {MAX_LENGTH:,} characters; split it.")
        self.spend(_PER_CHARACTER * len(text))
        try:  # strict mode makes no compound paths
            return cast("jsonpath.JSONPath", self._environment.compile(text))
        except (ArithmeticError, ValueError, RecursionError):
            raise QueryError(f"{_WRONG}: too deep, or a number too large.") from None
        except jsonpath.JSONPathError as error:
            raise QueryError(f"{_WRONG}: {str(error).partition(chr(10))[0]}.") from None

    def select(self, query: jsonpath.JSONPath, root: Any) -> list[Place]:
        """Return the places that a query selects, each once, in order; QueryError for too much."""
        try:
            found = self.nodes(query, root, root)
            return list(dict.fromkeys(node.place() for node in found))
        except RecursionError:
            raise QueryError("goes too deep; name a narrower target.") from None

    def nodes(self, query: jsonpath.JSONPath, start: Any, root: Any) -> Iterable[_Node]:
        """Return what a query selects below a value."""
        self.spend(1)
        nodes: Iterable[Any] = [_Node(start, root, self)]
        for segment in query.segments:
            nodes = segment.resolve(nodes)
        return nodes


class _Node(jsonpath.JSONPathMatch):
    """A selected value; its place is computed when asked for."""

    __slots__ = ("key", "queries")

    def __init__(
        self, obj: Any, root: Any, queries: Queries, parent: Any = None, key: str | int = ""
    ) -> None:
        self.obj, self.root, self.queries, self.parent, self.key = obj, root, queries, parent, key

    def new_child(self, obj: object, key: int | str) -> _Node:
        # What a container costs to look through, if a descent does so.
        self.queries.spend(1 + (len(obj) // 16 if isinstance(obj, dict | list) else 0))
        return _Node(obj, self.root, self.queries, self, key)

    def add_child(self, *children: jsonpath.JSONPathMatch) -> None:
        """Do not keep it: the parent would hold all of them."""

    def filter_context(self) -> dict[str, Any]:
        return {}

    def place(self) -> Place:
        keys: list[str | int] = []
        node: Any = self
        while node.parent is not None:
            keys.append(node.key)
            node = node.parent
        self.queries.spend(len(keys) // 4)
        return tuple(reversed(keys))


class _Inner(RelativeFilterQuery):
    """A query inside a filter, from the current value or from the root."""

    def __init__(self, path: jsonpath.JSONPath, queries: Queries, *, from_root: bool) -> None:
        super().__init__(path)
        self.queries, self.from_root = queries, from_root

    def evaluate(self, context: FilterContext) -> jsonpath.NodeList:
        start = context.root if self.from_root else context.current
        return jsonpath.NodeList(self.queries.nodes(self.path, start, context.root))


class _Parser(jsonpath.Parser):
    def parse_absolute_query(self, stream: TokenStream) -> BaseExpression:
        return self._inner(stream, from_root=True)

    def parse_relative_query(self, stream: TokenStream) -> BaseExpression:
        return self._inner(stream, from_root=False)

    def _inner(self, stream: TokenStream, *, from_root: bool) -> BaseExpression:
        stream.next()
        path = jsonpath.JSONPath(env=self.env, segments=self.parse_query(stream))
        return _Inner(path, cast("_Environment", self.env).queries, from_root=from_root)


class _Environment(jsonpath.JSONPathEnvironment):
    parser_class = _Parser
    max_recursion_depth = 1_000  # more than documents have levels

    def __init__(self, queries: Queries) -> None:
        self.queries = queries
        super().__init__(strict=True, filter_caching=False)

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Pattern("^(?:{})$", self.queries)
        self.function_extensions["search"] = _Pattern("{}", self.queries)

    def getitem(self, obj: Any, key: Any) -> Any:
        return () if isinstance(obj, str) else obj[key]  # slices are of arrays only

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator in ("&&", "||"):
            return super().compare(left, operator, right)
        pair = [_one(left), _one(right)]
        if operator.startswith(">"):
            pair.reverse()
        if operator in ("==", "!="):
            return self._equal(*pair) is (operator == "==")
        return _is_less(*pair) or ("=" in operator and self._equal(*pair))

    def _equal(self, one: Any, other: Any) -> bool:
        self.queries.spend(1)
        if isinstance(one, dict | list) and type(one) is type(other):
            self.queries.spend(len(dump_json_bytes(one)) // _PER_STEP)
        return is_equal(one, other)


def _one(value: Any) -> Any:
    """Return the value of a singular query; a query that selects nothing is jsonpath.UNDEFINED."""
    if isinstance(value, jsonpath.NodeList):
        return value[0].obj if value else jsonpath.UNDEFINED
    return value


def _is_less(one: Any, other: Any) -> bool:
    if isinstance(one, str):
        return isinstance(other, str) and one < other
    are_numbers = all(type(value) in (int, float) for value in (one, other))
    return are_numbers and one < other


class _Pattern(FilterFunction):
    """`match()` or `search()`; a pattern that cannot be used matches nothing, and is recorded."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 -- as the library's
    return_type = ExpressionType.LOGICAL

    def __init__(self, form: str, queries: Queries) -> None:
        self.form, self.queries = form, queries
        self.known: dict[str, tuple[Any, float]] = {}

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if pattern not in self.known:
            self.known[pattern] = self._compiled(pattern)
        validator, price = self.known[pattern]
        self.queries.spend(1 + int(len(value) * price))
        if validator is None:
            self.queries.bad_patterns.add(pattern)
            return False
        try:
            return bool(validator.is_valid(value))
        except ValueError:  # half of a surrogate pair
            return False

    def _compiled(self, pattern: str) -> tuple[Any, float]:
        """Return a validator and its steps for each character; None for a bad pattern."""
        self.queries.spend(_PER_PATTERN)
        # The pattern alone, too: in its form, `a)|(b` would be valid.
        plain = _DOT.sub(lambda found: r"[^\n\r]" if found[0] == "." else found[0], pattern)
        schema = {"allOf": [{"pattern": plain}, {"pattern": self.form.format(plain)}]}
        for size, price in _TIERS if len(pattern) <= MAX_LENGTH else ():
            options = jsonschema_rs.RegexOptions(size_limit=size)
            try:
                return jsonschema_rs.Draft202012Validator(schema, pattern_options=options), price
            except (ValueError, TypeError):
                continue
        return None, 0.0
