"""Answers made smaller for a model: parts chosen, members and items left out, each counted."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

import jmespath
from jmespath import exceptions, functions, visitor
from pydantic import ValidationError

from openapi_tools.errors import InputError, SettingsError, counted
from openapi_tools.model import AnswerShape
from openapi_tools.options import close_names, kind_of
from openapi_tools.redaction import excerpt
from openapi_tools.responses.server_json import PARTLY
from openapi_tools.shaping.config_tables import ToolAnswers
from openapi_tools.shaping.documented_fields import compare
from openapi_tools.shaping.tool_shape import over_answer

if TYPE_CHECKING:
    from openapi_tools.responses.body_content import Content
    from openapi_tools.settings import Settings

LONGEST = 2_000  # characters of an expression

_FAULTS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions of jmespath and of what its functions call: its own ones are ValueErrors."""
_DEEPEST = 100
_STEPS = 2_000_000  # for one answer: a second or two, and some 100 MB
_KNOWN = 100  # checked expressions that a tool remembers
_TEXT = 16  # characters that count as one step
_LARGEST = 1 << 1_000
_UNBOUNDED = 1 << 60
_MAKING = frozenset({"flatten", "slice", "multi_select_list", "multi_select_dict"})
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Shaper:
    """Makes answers smaller: first `fields`, a JMESPath, then `drop`, `nulls`, `max_items`."""

    fields: str = ""
    drop: tuple[str, ...] = ()  # name patterns of members, at any depth
    nulls: bool = True
    max_items: int = 0
    max_chars: int = 0
    chooses: bool = False  # the caller may give `fields`, so that marks may name it

    def apply(self, content: Content, metadata: dict[str, Any], *, cut: str = "") -> str:
        """Make a content smaller in place, and return a note on a failure; `cut`: why it ends."""
        if not content.is_data:
            asked = bool(self.fields) and content.value is not None
            return "fields chooses parts of JSON, and the answer is not JSON" if asked else ""
        facts: dict[str, Any] = {"fields": self.fields} if self.fields else {}
        partly = self.fields and (cut or PARTLY in content.notes)
        failure = "fields saw only the beginning of the answer" if partly else ""
        try:
            if self.fields:
                content.value = chosen(self.fields, content.value)
                failure = failure or "fields chooses nothing here" * (content.value is None)
        except ValueError as error:
            failure = f"fields could not be applied, all of the answer is shown: {error}"
        if self.drop or not self.nulls or self.max_items:
            pruner = _Pruner(self)
            content.value = pruner.prune(content.value)
            facts |= pruner.counts
        if facts:
            metadata["shaped"] = facts
        return failure


class Shapes:
    """Makes the answers of one tool smaller; SettingsError where its own shape is wrong."""

    def __init__(self, tool: Any, settings: Settings) -> None:
        self._tool = tool
        self._settings = settings
        self._fitting: list[str] = []
        self.usual = shaper_of(settings, tool.operation.answer)

    async def of_call(self, shape: Any, fields: Any, *, is_known: bool = True) -> Shaper:
        """Return the shaper for a call, whose answer is the documented one if `is_known`."""
        if not isinstance(shape, AnswerShape | Mapping | None):
            raise InputError(f"answer: give an AnswerShape or a mapping, not {kind_of(shape)}.")
        given = dict(shape.shown() if isinstance(shape, AnswerShape) else shape or {})
        if fields is not None:
            given["fields"] = fields
        try:
            made = shaper_of(self._settings, self._tool.operation.answer, given)
            wanted = given.get("fields")
            if is_known and wanted and wanted not in self._fitting:
                await asyncio.to_thread(lambda: check_fields(wanted, self._tool.answer_schema))
                self._fitting = [*self._fitting[-_KNOWN:], wanted]
        except SettingsError as error:
            raise InputError(error.reason) from None
        return made


def uncut(shaper: Shaper | None) -> Shaper:
    """Return a shaper that takes all of an answer but members that are dropped."""
    return replace(shaper or Shaper(), fields="", max_items=0, max_chars=_UNBOUNDED)


def shaper_of(
    settings: Settings, own: AnswerShape | None = None, given: Mapping[str, Any] | None = None
) -> Shaper:
    """Return a shaper: the members `given` come before the tool's `own` and the settings."""
    called = None if given is None else _checked(given)
    usual = AnswerShape(settings.drop, settings.nulls, "", settings.max_items)
    shape = over_answer(called, over_answer(own, usual)) or usual
    if shape.fields:
        parsed(shape.fields)
    return Shaper(
        fields=shape.fields or "",
        drop=shape.drop or (),
        nulls=shape.nulls is not False,
        max_items=shape.max_items or 0,
        max_chars=shape.max_chars or settings.max_output_chars,
        chooses=called is not None and called.fields is not None,
    )


def _checked(given: Mapping[str, Any]) -> AnswerShape:
    members = dict(given)
    if isinstance(members.get("drop"), str):
        members["drop"] = (members["drop"],)
    try:
        return AnswerShape(**ToolAnswers.model_validate(members).model_dump())
    except ValidationError as error:
        fault = error.errors()[0]
    name = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        close = close_names(name, ToolAnswers.model_fields)
        raise SettingsError(f"answer: unknown key {name!r:.60}{close}")
    raise SettingsError(f"{name:.60}: {fault['msg'][:1].lower()}{fault['msg'][1:]}.")


class _Pruner:
    def __init__(self, shape: Shaper) -> None:
        patterns = "|".join(map(fnmatch.translate, shape.drop))
        self._matches = cache(re.compile(patterns).match) if patterns else None
        self._nulls = shape.nulls
        self._most = shape.max_items
        asked = {"dropped": shape.drop, "nulls": not shape.nulls, "items": shape.max_items}
        self.counts = {name: 0 for name, is_asked in asked.items() if is_asked}

    def prune(self, value: Any) -> Any:
        """Return a value without dropped members and items; a cut list ends with their number."""
        if isinstance(value, dict):
            return {n: self.prune(v) for n, v in value.items() if self._is_kept(n, v)}
        if not isinstance(value, list):
            return value
        over = len(value) - self._most if self._most else 0
        if over <= 0:
            return [self.prune(item) for item in value]
        self.counts["items"] += over
        kept = [self.prune(item) for item in value[: self._most]]
        return [*kept, f"… {over} of {len(value)} items left out"]

    def _is_kept(self, name: str, value: Any) -> bool:
        if value is None and not self._nulls:
            self.counts["nulls"] += 1
            return False
        if self._matches is None or not self._matches(name):
            return True
        self.counts["dropped"] += 1
        return False


def check_fields(expression: str, schema: dict[str, Any] | None = None) -> None:
    """Check a JMESPath for answers, whose schema may be None; a SettingsError has close names."""
    if expression and (tree := parsed(expression)) and schema is not None:
        compare(expression, tree, schema)


@lru_cache(maxsize=256)
def parsed(expression: str) -> Any:
    """Return the syntax tree of a JMESPath expression; SettingsError for other texts."""
    if len(expression) > LONGEST:
        raise _fault(expression, f"has {len(expression)} characters; {LONGEST} are allowed")
    try:
        tree = jmespath.compile(expression).parsed
    except exceptions.ParseError as error:
        ended = error.token_type in (None, "EOF")
        place = "ends too early" if ended else f"cannot be read at column {error.lex_position + 1}"
        raise _fault(expression, place) from None
    except _FAULTS:
        raise _fault(expression, "cannot be read") from None
    for node, depth in _nodes(tree):
        if depth > _DEEPEST:
            raise _fault(expression, f"is nested deeper than {_DEEPEST} levels")
        if problem := _problem(node):
            raise _fault(expression, problem)
    return tree


def _fault(expression: str, reason: str) -> SettingsError:
    return SettingsError(f"fields: the JMESPath {excerpt(repr(expression), 100)} {reason}.")


def _nodes(tree: Any) -> Iterator[tuple[Any, int]]:
    """Yield the nodes of a tree, with their depth; the children of a slice are numbers."""
    waiting = [(tree, 1)]
    while waiting:
        node, depth = waiting.pop()
        yield node, depth
        inner = (child for child in node.get("children", ()) if isinstance(child, dict))
        waiting += [(child, depth + 1) for child in inner]


def _problem(node: dict[str, Any]) -> str:
    """Return the mistake in a node that would show only when it is applied; empty for none."""
    if node["type"] == "slice":
        return "has a slice with the step 0" if node["children"][2] == 0 else ""
    if node["type"] != "function_expression":
        return ""
    name, given = node["value"], node["children"]
    known = functions.Functions.FUNCTION_TABLE
    if name not in known:
        return f"calls {name:.60}(), which does not exist{close_names(name, known)[:-1]}"
    wanted = known[name]["signature"]
    if len(given) < len(wanted) or (len(given) > len(wanted) and "variadic" not in wanted[-1]):
        return f"gives {counted(len(given), 'argument')} to {name}(), which takes {len(wanted)}"
    for part, argument in zip(given, wanted, strict=False):
        if (part["type"] == "expref") != ("expref" in argument["types"]):
            return f"gives {name}() an expression with & where it takes a value, or without it"
    return ""


def chosen(expression: str, value: Any) -> Any:
    """Return the parts of a JSON value that an expression chooses; a ValueError says why none."""
    work = _Work()
    try:
        found = _Interpreter(work).visit(parsed(expression), value)
        work.weigh(found)
    except exceptions.JMESPathTypeError as error:
        taken = " or ".join(error.expected_types)
        reason = f"{error.function_name}() takes {taken}, not {error.actual_type}"
        raise ValueError(reason) from None
    except _TooMuchError:
        raise
    except _FAULTS as error:
        raise ValueError(f"a function failed ({type(error).__name__})") from None
    return found


class _TooMuchError(ValueError):
    """The work is over, or a value is not JSON."""


class _Work:
    """Counts the steps for one answer."""

    def __init__(self) -> None:
        self._left = _STEPS

    def charge(self, steps: int) -> None:
        self._left -= steps
        if self._left < 0:
            raise _TooMuchError("the work grows too large")

    def made(self, value: Any) -> None:
        if isinstance(value, list | dict | str):
            self.charge(len(value) // (_TEXT if isinstance(value, str) else 1))

    def weigh(self, value: Any) -> None:
        """Charge a value for all that is in it; raise for values that JSON has not."""
        waiting = [value]
        while waiting:
            part = waiting.pop()
            self.charge(1)
            match part:
                case str():
                    self.charge(len(part) // _TEXT)
                    if not part.isprintable() and _FORBIDDEN.search(part):
                        raise _TooMuchError("a text has control characters")
                case list():
                    waiting += part
                case dict():
                    waiting += [*part, *part.values()]
                case None:
                    pass
                case int() | float() if abs(part) < _LARGEST:
                    pass
                case _:
                    raise _TooMuchError("a value is not JSON")


class _Functions(functions.Functions):  # type: ignore[misc]  # jmespath ships no types
    def __init__(self, work: _Work) -> None:
        self._work = work

    def call_function(self, function_name: str, resolved_args: list[Any]) -> Any:
        for argument in resolved_args:
            self._work.made(argument)
            if function_name in ("contains", "to_string"):  # which look at all of it
                self._work.weigh(argument)
        made = super().call_function(function_name, resolved_args)
        self._work.made(made)
        return made


class _Interpreter(visitor.TreeInterpreter):  # type: ignore[misc]  # jmespath ships no types
    """Applies a syntax tree; a value may be shared so often that no program can write it."""

    def __init__(self, work: _Work) -> None:
        super().__init__(visitor.Options(custom_functions=_Functions(work)))
        self._work = work
        compare: dict[str, Any] = visitor.TreeInterpreter.COMPARATOR_FUNC

        def same(one: Any, other: Any) -> bool:
            if isinstance(one, list | dict) and isinstance(other, list | dict):
                work.weigh(one)
                work.weigh(other)
            return bool(compare["eq"](one, other))

        self.COMPARATOR_FUNC = {**compare, "eq": same, "ne": lambda *both: not same(*both)}

    def visit(self, node: Any, *args: Any, **kwargs: Any) -> Any:
        self._work.charge(1)
        found = super().visit(node, *args, **kwargs)
        if node["type"] in _MAKING:
            self._work.made(found)
        return found
