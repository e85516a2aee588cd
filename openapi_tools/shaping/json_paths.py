"""JSONPath queries on plain data, with a bound on their work.

The library parses and selects in its strict mode; descents, queries inside filters, comparisons and
regular expressions are replaced here: each step counts, none goes deeper into Python's stack with
the document, and a pattern is matched in linear time.

Spec: RFC 9535; RFC 9485, I-Regexp.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

import jsonschema_rs
from jsonpath import (
    UNDEFINED,
    JSONPath,
    JSONPathEnvironment,
    JSONPathError,
    JSONPathMatch,
    NodeList,
    Parser,
)
from jsonpath.filter import RelativeFilterQuery
from jsonpath.function_extensions import ExpressionType, FilterFunction
from jsonpath.segments import JSONPathRecursiveDescentSegment

from openapi_tools.json_values import same

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonpath.filter import BaseExpression
    from jsonpath.segments import JSONPathSegment
    from jsonpath.selectors import FilterContext
    from jsonpath.stream import TokenStream

    Place = tuple[str | int, ...]

MAX_STEPS = 20_000_000
"""Values that the queries of one load may look at; `$..*` takes 0.8 million on GitHub's 13 MB."""
MAX_LENGTH = 4_096
"""Characters of a query."""

_COMPILING = 10_000
_TIERS = ((4_000, 0.5), (256_000, 8.0))
"""Bytes of a compiled pattern, and the steps that it takes for each character at worst."""
_DOT = re.compile(r"\\.|\[(?:\\.|[^\]\\])*\]|\.", re.DOTALL)
"""A dot, which matches any character but line ends (RFC 9485); escapes and classes are skipped."""
_WRONG = "is not a JSONPath query of RFC 9535"
_BROKEN = (JSONPathError, ArithmeticError, ValueError, RecursionError)


class QueryError(Exception):
    """A query is not JSONPath, or takes too much work; the text says which."""


class Meter:
    """Counts the steps of queries, and records patterns that cannot be used."""

    def __init__(self) -> None:
        self.left = self.steps = MAX_STEPS
        self.bad_patterns: dict[str, None] = {}

    def spend(self, steps: int) -> None:
        """Count steps, or raise QueryError after the last."""
        self.left -= steps
        if self.left < 0:
            reason = f"takes more than {self.steps:,} steps on this document"
            raise QueryError(f"{reason}; name narrower targets, or fewer.")


class Queries:
    """Compiles queries, and selects places in documents with them."""

    def __init__(self) -> None:
        self.meter = Meter()
        self._environment = _Environment(self.meter)

    def compile(self, text: str) -> JSONPath:
        """Return a query, or raise QueryError for a text that RFC 9535 does not allow."""
        if not text.startswith("$"):
            raise QueryError(f"{_WRONG}: it must begin with '$'.")
        if len(text) > MAX_LENGTH:
            raise QueryError(f"is longer than {MAX_LENGTH:,} characters; split it.")
        self.meter.spend(5 * len(text))
        try:
            found = self._environment.compile(text)
        except _BROKEN as error:
            known = isinstance(error, JSONPathError) and not isinstance(error, RecursionError)
            reason = str(error).partition("\n")[0] if known else "too deep, or a number too large"
            raise QueryError(f"{_WRONG}: {reason}.") from None
        return cast("JSONPath", found)  # compound paths are not strict

    def select(self, query: JSONPath, root: Any) -> list[Place]:
        """Return the places that a query selects in a document, each once, in the query's order.

        Raises:
            QueryError: It takes too many steps, or filters inside filters go too deep.
        """
        try:
            nodes = _nodes(query, root, root, self.meter)
            return list(dict.fromkeys(node.place() for node in nodes))
        except RecursionError:
            raise QueryError("its filters go too deep; name a narrower target.") from None


def _nodes(query: JSONPath, start: Any, root: Any, meter: Meter) -> Iterator[_Node]:
    meter.spend(1)
    nodes: Iterable[Any] = [_Node(start, root, meter)]
    for segment in query.segments:
        nodes = segment.resolve(nodes)
    return iter(nodes)


class _Node(JSONPathMatch):
    """A selected value; its place is computed when asked for."""

    __slots__ = ("key", "meter")

    def __init__(
        self, obj: Any, root: Any, meter: Meter, parent: _Node | None = None, key: str | int = ""
    ) -> None:
        self.obj, self.root, self.meter = obj, root, meter
        self.parent, self.key = parent, key

    def new_child(self, obj: object, key: int | str) -> _Node:
        """Return a member of this value."""
        self.meter.spend(1)
        return _Node(obj, self.root, self.meter, self, key)

    def add_child(self, *children: JSONPathMatch) -> None:
        """Do not keep it: the parent would hold all of them."""

    def filter_context(self) -> dict[str, Any]:
        """Return no variables; RFC 9535 has none."""
        return {}

    def place(self) -> Place:
        """Return the keys that lead here from the root."""
        keys: list[str | int] = []
        node: Any = self
        while node.parent is not None:
            keys.append(node.key)
            node = node.parent
        self.meter.spend(len(keys) // 4)
        return tuple(reversed(keys))

    def inner(self) -> list[_Node]:
        """Return the objects and arrays in this value."""
        if not isinstance(self.obj, dict | list):
            return []
        self.meter.spend(len(self.obj) // 4)
        members = self.obj.items() if isinstance(self.obj, dict) else enumerate(self.obj)
        return [self.new_child(value, key) for key, value in members if type(value) in (dict, list)]


class _Descent(JSONPathRecursiveDescentSegment):
    """A descendant segment that uses a stack of its own."""

    def resolve(self, nodes: Iterable[Any]) -> Iterator[JSONPathMatch]:
        for start in nodes:
            stack: list[_Node] = [start]
            while stack:
                node = stack.pop()
                for selector in self.selectors:
                    yield from selector.resolve(node)
                stack += reversed(node.inner())


class _Inner(RelativeFilterQuery):
    """A query inside a filter, from the current value or from the root."""

    def __init__(self, path: JSONPath, meter: Meter, *, from_root: bool = False) -> None:
        super().__init__(path)
        self.meter, self.from_root = meter, from_root

    def evaluate(self, context: FilterContext) -> NodeList:
        start = context.root if self.from_root else context.current
        return NodeList(_nodes(self.path, start, context.root, self.meter))


class _Parser(Parser):
    """Makes the segments and queries of this module."""

    def parse_query(self, stream: TokenStream) -> Iterator[JSONPathSegment]:
        for each in super().parse_query(stream):
            if isinstance(each, JSONPathRecursiveDescentSegment):
                yield _Descent(env=each.env, token=each.token, selectors=each.selectors)
            else:
                yield each

    def parse_absolute_query(self, stream: TokenStream) -> BaseExpression:
        return self._inner(stream, from_root=True)

    def parse_relative_query(self, stream: TokenStream) -> BaseExpression:
        return self._inner(stream)

    def _inner(self, stream: TokenStream, *, from_root: bool = False) -> BaseExpression:
        stream.next()
        path = JSONPath(env=self.env, segments=self.parse_query(stream))
        return _Inner(path, cast("_Environment", self.env).meter, from_root=from_root)


class _Environment(JSONPathEnvironment):
    parser_class = _Parser

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        super().__init__(strict=True, filter_caching=False)

    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions["match"] = _Pattern("^(?:{})$", self.meter)
        self.function_extensions["search"] = _Pattern("{}", self.meter)

    def getitem(self, obj: Any, key: Any) -> Any:
        return () if isinstance(obj, str) else obj[key]  # slices are of arrays only

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator in ("&&", "||"):
            return super().compare(left, operator, right)
        left, right = _one(left), _one(right)
        if operator in ("<", ">"):
            return _is_less(left, right) if operator == "<" else _is_less(right, left)
        if operator in ("==", "!="):
            return self._equal(left, right) is (operator == "==")
        pair = (left, right) if operator == "<=" else (right, left)
        return _is_less(*pair) or self._equal(left, right)

    def _equal(self, one: Any, other: Any) -> bool:
        waiting = [(one, other)]
        while waiting:
            one, other = waiting.pop()
            self.meter.spend(1)
            if isinstance(one, dict) and isinstance(other, dict) and one is not other:
                self.meter.spend(len(one) // 16)
                if one.keys() != other.keys():
                    return False
                waiting += [(one[key], other[key]) for key in one]
            elif isinstance(one, list) and isinstance(other, list) and one is not other:
                if len(one) != len(other):
                    return False
                waiting += zip(one, other, strict=True)
            elif not same(one, other):
                return False
        return True


def _one(value: Any) -> Any:
    """Return the value of a singular query; a query that selects nothing is UNDEFINED."""
    if isinstance(value, NodeList):
        return value[0].obj if value else UNDEFINED
    return value


def _is_less(one: Any, other: Any) -> bool:
    kinds = (str, (int, float))
    fit = any(isinstance(one, kind) and isinstance(other, kind) for kind in kinds)
    return fit and not isinstance(one, bool) and not isinstance(other, bool) and one < other


class _Pattern(FilterFunction):
    """`match()` or `search()`; a pattern that cannot be used matches nothing, and is recorded."""

    arg_types = [ExpressionType.VALUE, ExpressionType.VALUE]  # noqa: RUF012 -- as the library's
    return_type = ExpressionType.LOGICAL

    def __init__(self, form: str, meter: Meter) -> None:
        self.form, self.meter = form, meter
        self.known: dict[str, tuple[Any, float]] = {}

    def __call__(self, value: object, pattern: object) -> bool:
        if not isinstance(value, str) or not isinstance(pattern, str):
            return False
        if pattern not in self.known:
            self.known[pattern] = self._compiled(pattern)
        validator, price = self.known[pattern]
        if validator is None:
            self.meter.bad_patterns[pattern] = None
            return False
        self.meter.spend(1 + int(len(value) * price))
        try:
            return bool(validator.is_valid(value))
        except ValueError:  # half of a surrogate pair
            return False

    def _compiled(self, pattern: str) -> tuple[Any, float]:
        """Return a validator and its steps for each character; None for a bad pattern."""
        self.meter.spend(_COMPILING)
        # Alone, too: `a)|(b` is wrong although its form is not.
        plain = _DOT.sub(lambda found: "[^\\n\\r]" if found[0] == "." else found[0], pattern)
        schema = {"allOf": [{"pattern": plain}, {"pattern": self.form.format(plain)}]}
        for size, price in _TIERS if len(pattern) <= MAX_LENGTH else ():
            options = jsonschema_rs.RegexOptions(size_limit=size)
            try:
                return jsonschema_rs.Draft202012Validator(schema, pattern_options=options), price
            except (ValueError, TypeError):
                continue
        return None, 0.0
