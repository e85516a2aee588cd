"""Responses made smaller for a model: parts selected, properties and items left out."""

from __future__ import annotations

import asyncio
import fnmatch
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from openapi_tools.common.options import close_names, type_name
from openapi_tools.errors import InputError, SettingsError
from openapi_tools.model import AnswerShape, merge_answer_shapes
from openapi_tools.responses.json_content import READ_IN_PART
from openapi_tools.responses.json_queries import apply_expression, parse_expression
from openapi_tools.responses.response_tables import ToolAnswers
from openapi_tools.responses.shape_checks import check_fields

if TYPE_CHECKING:
    from openapi_tools.responses.content import BodyContent
    from openapi_tools.settings import Settings

# Programs make expressions of values, so that their number has no end.
_MOST_EXPRESSIONS = 100  # checked expressions that a tool remembers
_UNBOUNDED = 1 << 60


@dataclass(frozen=True, slots=True)
class ResponseShaper:
    """Makes responses smaller: first `fields`, a JMESPath, then `drop`, `nulls`, `max_items`."""

    fields: str = ""
    drop: tuple[str, ...] = ()  # name patterns of properties, at any depth
    nulls: bool = True
    max_items: int = 0
    max_chars: int = 0
    chooses: bool = False  # the caller may give `fields`, so that marks may name it

    def apply(self, content: BodyContent, metadata: dict[str, Any], *, cut: str = "") -> str:
        """Make a content smaller in place, and return a note on a failure; `cut`: why it ends."""
        if not content.is_data:
            asked = bool(self.fields) and content.value is not None
            return "fields selects parts of JSON, but the response is not JSON" if asked else ""
        facts: dict[str, Any] = {"fields": self.fields} if self.fields else {}
        partly = self.fields and (cut or READ_IN_PART in content.notes)
        failure = "fields was applied only to the beginning of the response" if partly else ""
        try:
            if self.fields:
                content.value = apply_expression(self.fields, content.value)
                if content.value is None and not failure:
                    failure = "fields matches nothing in this response"
        except ValueError as error:
            failure = f"fields could not be applied, so the whole response is returned: {error}"
        if self.drop or not self.nulls or self.max_items:
            pruner = _Pruner(self)
            content.value = pruner.prune(content.value)
            facts |= pruner.counts
        if facts:
            metadata["shaped"] = facts
        return failure


class ResponseShapes:
    """The shapes of one tool's responses; SettingsError if its own shape is wrong."""

    def __init__(self, tool: Any, settings: Settings) -> None:
        self._tool = tool
        self._settings = settings
        self._fitting: list[str] = []
        self.default_shaper = make_shaper(settings, tool.operation.answer)

    async def shaper_for_call(
        self, shape: Any, fields: Any, *, is_known: bool = True
    ) -> ResponseShaper:
        """Return the shaper for a call, whose response is the documented one if `is_known`."""
        if not isinstance(shape, AnswerShape | Mapping | None):
            raise InputError(
                f"answer: expected an AnswerShape or a mapping, got {type_name(shape)}."
            )
        keys = dict(shape.iter_arguments() if isinstance(shape, AnswerShape) else shape or {})
        if fields is not None:
            keys["fields"] = fields
        try:
            shaper = make_shaper(self._settings, self._tool.operation.answer, keys)
            expression = keys.get("fields")
            if is_known and expression and expression not in self._fitting:
                await asyncio.to_thread(lambda: check_fields(expression, self._tool.answer_schema))
                self._fitting = [*self._fitting[-_MOST_EXPRESSIONS:], expression]
        except SettingsError as error:
            raise InputError(error.reason) from None
        return shaper


def remove_limits(shaper: ResponseShaper | None) -> ResponseShaper:
    """Return a shaper that takes all of a response but the properties that are dropped."""
    return replace(shaper or ResponseShaper(), fields="", max_items=0, max_chars=_UNBOUNDED)


def make_shaper(
    settings: Settings,
    tool_shape: AnswerShape | None = None,
    call_keys: Mapping[str, Any] | None = None,
) -> ResponseShaper:
    """Return a shaper; keys of the call override those of the tool, and these the settings."""
    call_shape = None if call_keys is None else _check_shape(call_keys)
    default = AnswerShape(settings.drop, settings.nulls, "", settings.max_items)
    shape = merge_answer_shapes(call_shape, merge_answer_shapes(tool_shape, default)) or default
    if shape.fields:
        parse_expression(shape.fields)
    return ResponseShaper(
        fields=shape.fields or "",
        drop=shape.drop or (),
        nulls=shape.nulls is not False,
        max_items=shape.max_items or 0,
        max_chars=shape.max_chars or settings.max_output_chars,
        chooses=call_shape is not None and call_shape.fields is not None,
    )


def _check_shape(keys: Mapping[str, Any]) -> AnswerShape:
    shape_keys = dict(keys)
    if isinstance(shape_keys.get("drop"), str):
        shape_keys["drop"] = (shape_keys["drop"],)
    try:
        return AnswerShape(**ToolAnswers.model_validate(shape_keys).model_dump())
    except ValidationError as error:
        fault = error.errors()[0]
    name = str(fault["loc"][0])
    if fault["type"] == "extra_forbidden":
        close = close_names(name, ToolAnswers.model_fields)
        raise SettingsError(f"answer: unknown key {name!r:.60}{close}")
    raise SettingsError(f"{name:.60}: {fault['msg'][:1].lower()}{fault['msg'][1:]}.")


class _Pruner:
    def __init__(self, shape: ResponseShaper) -> None:
        patterns = "|".join(map(fnmatch.translate, shape.drop))
        self._matches = cache(re.compile(patterns).match) if patterns else None
        self._nulls = shape.nulls
        self._most = shape.max_items
        asked = {"dropped": shape.drop, "nulls": not shape.nulls, "items": shape.max_items}
        self.counts = {name: 0 for name, is_asked in asked.items() if is_asked}

    def prune(self, value: Any) -> Any:
        """Return a value without what is dropped; a cut list ends with the number of its items."""
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
