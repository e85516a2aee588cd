"""JMESPath expressions, applied to values within bounds.

A short expression can ask for any amount: a list may hold another one many times, and functions
repeat and escape strings. So each step is counted, and its result is measured before it is built.
The bounds hold for one value and one expression.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import jmespath
from jmespath import exceptions, functions, visitor

from openapi_tools.common.options import close_names
from openapi_tools.errors import SettingsError, format_count
from openapi_tools.redaction import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 2_000  # characters of an expression

# Exceptions of jmespath and of what its functions call: its own ones are ValueErrors.
_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
_DEEPEST = 100  # levels of an expression, and of a literal in it
_DEEPEST_RESULT = 200  # levels, as of a response
_STEPS = 2_000_000  # for one value: a second or two, and some 100 MB
_CHARACTERS = 16  # that count as one step
# Larger integers do not fit into a float, and take long to write.
_LARGEST = 1 << 1_000
# Nodes whose new lists and objects have no more items than their input or the expression.
_COPYING = frozenset({"slice", "multi_select_list", "multi_select_dict"})
# Responses have none of them any more, so a literal of the expression made them.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")
_ESCAPED = re.compile(r"[^ !#-\[\]-~]+")
# Characters that an escape adds at most: `\u0000` in ASCII, two of them beyond.
_LONGEST_ESCAPES = {True: 5, False: 11}


@lru_cache(maxsize=256)
def parse_expression(expression: str) -> Any:
    """Return the syntax tree of a JMESPath expression; SettingsError for other strings."""
    if len(expression) > LONGEST:
        raise _expression_error(
            expression, f"has {len(expression)} characters; {LONGEST} are allowed"
        )
    try:
        tree = jmespath.compile(expression).parsed
    except exceptions.ParseError as error:
        ended = error.token_type in (None, "EOF")
        place = "ends too early" if ended else f"cannot be read at column {error.lex_position + 1}"
        raise _expression_error(expression, place) from None
    except _FAULTS:
        raise _expression_error(expression, "cannot be read") from None
    for node, depth in _iter_nodes(tree):
        is_literal = node["type"] == "literal"
        if depth > _DEEPEST or (is_literal and _is_deeper(node["value"], _DEEPEST)):
            raise _expression_error(expression, f"is nested deeper than {_DEEPEST} levels")
        if problem := _find_problem(node):
            raise _expression_error(expression, problem)
    return tree


def _expression_error(expression: str, reason: str) -> SettingsError:
    return SettingsError(f"fields: the JMESPath {excerpt(repr(expression), 100)} {reason}.")


def _iter_nodes(tree: Any) -> Iterator[tuple[Any, int]]:
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        inner = (child for child in node.get("children", ()) if isinstance(child, dict))
        waiting += [(child, depth + 1) for child in inner]


def _find_problem(node: dict[str, Any]) -> str:
    if node["type"] == "slice":
        return "has a slice with the step 0" if node["children"][2] == 0 else ""
    if node["type"] != "function_expression":
        return ""
    name, arguments = node["value"], node["children"]
    table = functions.Functions.FUNCTION_TABLE
    if name not in table:
        return f"calls {name:.60}(), which does not exist{close_names(name, table)[:-1]}"
    parameters = table[name]["signature"]
    is_variadic = "variadic" in parameters[-1]
    if len(arguments) < len(parameters) or (len(arguments) > len(parameters) and not is_variadic):
        number = format_count(len(arguments), "argument")
        return f"passes {number} to {name}(), which takes {len(parameters)}"
    for argument, parameter in zip(arguments, parameters, strict=False):
        if (argument["type"] == "expref") != ("expref" in parameter["types"]):
            return f"passes {name}() an expression with & where it takes a value, or without it"
    return ""


def _is_deeper(value: Any, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        level = [inner for part in level for inner in _values_in(part)]
    return bool(level)


def _values_in(value: Any) -> Any:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def evaluate(expression: str, value: Any, *, is_written: bool) -> Any:
    """Return the parts of a JSON value that an expression chooses; errors as of `json_queries`."""
    work = _WorkBudget()
    try:
        result = _BudgetedInterpreter(work).visit(parse_expression(expression), value)
        if is_written:
            work.weigh(result)
    except exceptions.JMESPathTypeError as error:
        accepted = " or ".join(error.expected_types)
        reason = f"{error.function_name}() takes {accepted}, not {error.actual_type}"
        raise ValueError(reason) from None
    except _UnusableError:
        raise
    except _FAULTS as error:
        raise ValueError(f"a function failed ({type(error).__name__})") from None
    return result


class _UnusableError(ValueError):
    """The bound is reached, or a value is not JSON."""


class _WorkBudget:
    """Counts the steps for one value."""

    def __init__(self) -> None:
        self._left = _STEPS

    def charge(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            limit = f"{_STEPS:,} steps or {_STEPS * _CHARACTERS:,} characters"
            raise _UnusableError(f"the work exceeds {limit}")

    def charge_characters(self, number: int) -> None:
        self.charge(number // _CHARACTERS)

    def charge_copy(self, value: Any) -> None:
        """Charge a value whose parts are not copied."""
        if isinstance(value, str):
            self.charge_characters(len(value))
        elif isinstance(value, list | dict):
            self.charge(len(value))

    def weigh(self, value: Any, *, is_escaped: bool = False) -> None:
        """Charge a value as JSON, with all that is in it; raise for values that JSON has not."""
        level, depth = [value], 0
        self.charge(1)
        while level:
            if depth > _DEEPEST_RESULT:
                raise _UnusableError(f"the result is nested deeper than {_DEEPEST_RESULT} levels")
            inner: list[Any] = []
            for part in level:
                self._weigh_one(part, is_escaped=is_escaped)
                if isinstance(part, list | dict):
                    # Before a list of all of them is made; of an object, names count, too.
                    self.charge(len(part) * (1 + isinstance(part, dict)))
                    inner += _values_in(part)
            level, depth = inner, depth + 1

    def _weigh_one(self, part: Any, *, is_escaped: bool) -> None:
        match part:
            case str():
                self._weigh_string(part, is_escaped=is_escaped)
            case dict():
                for name in part:
                    self._weigh_string(name, is_escaped=is_escaped)
            case list() | None:
                pass
            case int() | float() if abs(part) < _LARGEST:
                pass
            case _:
                raise _UnusableError("a value is not JSON")

    def _weigh_string(self, text: str, *, is_escaped: bool) -> None:
        self.charge_characters(len(text))
        if not text.isprintable() and _FORBIDDEN.search(text):
            raise _UnusableError("a string has control characters")
        if is_escaped:
            escapes = len(text) - len(_ESCAPED.sub("", text))
            self.charge_characters(escapes * _LONGEST_ESCAPES[text.isascii()])


class _BudgetedFunctions(functions.Functions):  # type: ignore[misc]  # jmespath ships no types
    """JMESPath's functions; only `join` and `to_string` make more than they are given."""

    def __init__(self, work: _WorkBudget) -> None:
        self._work = work

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        for argument in resolved_args:
            self._work.charge_copy(argument)
        match function_name, resolved_args:
            case "join", [str() as glue, list() as items]:
                self._work.charge_characters(len(glue) * len(items))
                self._work.charge_characters(sum(len(i) for i in items if isinstance(i, str)))
            case "to_string", [list() | dict() as value]:
                self._work.weigh(value, is_escaped=True)
            case "contains", [list() as items, value]:  # which compares all that is in them
                self._work.weigh(items)
                self._work.weigh(value)
        result = super().call_function(function_name, resolved_args)
        self._work.charge_copy(result)
        return result


class _BudgetedInterpreter(visitor.TreeInterpreter):  # type: ignore[misc]  # jmespath ships no types
    """Applies a syntax tree; a value may be shared so often that no program can write it."""

    def __init__(self, work: _WorkBudget) -> None:
        super().__init__(visitor.Options(custom_functions=_BudgetedFunctions(work)))
        self._work = work
        compare: dict[str, Any] = visitor.TreeInterpreter.COMPARATOR_FUNC

        def is_equal(one: Any, other: Any) -> bool:
            # Python's own comparison of nested values visits all of them, uncounted.
            if isinstance(one, list | dict) and isinstance(other, list | dict):
                work.weigh(one)
                work.weigh(other)
            return bool(compare["eq"](one, other))

        def is_different(one: Any, other: Any) -> bool:
            return not is_equal(one, other)

        self.COMPARATOR_FUNC = {**compare, "eq": is_equal, "ne": is_different}

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._work.charge(1)
        result = super().visit(node, *args, **kwargs)
        if node["type"] in _COPYING:
            self._work.charge_copy(result)
        return result

    def visit_flatten(self, node: Any, value: Any) -> Any:
        # It may contain one list many times, so its items are counted first.
        base = self.visit(node["children"][0], value)
        if not isinstance(base, list):
            return None
        self._work.charge(sum(len(item) if isinstance(item, list) else 1 for item in base))
        flat: list[Any] = []
        for item in base:
            if isinstance(item, list):
                flat += item
            else:
                flat.append(item)
        return flat
