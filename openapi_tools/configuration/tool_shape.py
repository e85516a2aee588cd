"""The shape that a user gives one tool, applied to its schema and operation.

Arguments have the names of the document's tool, from before they are renamed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.http_rules import parameter_key
from openapi_tools.common.json_schema import reachable_definitions
from openapi_tools.common.options import close_names
from openapi_tools.common.setting_fields import SettingFields
from openapi_tools.common.visible_text import MAX_LENGTH, RESERVED_ARGUMENTS
from openapi_tools.model import merge_answer_shapes
from openapi_tools.responses.shape_checks import paging_faults

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from openapi_tools.model import AnswerShape, Operation, Paging, RequestBody

    Schema = dict[str, Any]

_NAME = re.compile(rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{MAX_LENGTH - 1}}}")
_ARGUMENT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
MAX_WORDS = SettingFields.description_chars


class ShapeFault(NamedTuple):
    """A fault of a shape: the keys that lead to it, and a reason."""

    place: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class ArgumentShape:
    """A new name and description of an argument; empty for its own."""

    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class ToolShape:
    """The shape that a user gives one tool: the keys of `[tools.NAME]` in docs/shaping.md.

    `name` includes the prefix; `hints` are `read_only`, `idempotent` and `destructive`.
    """

    name: str = ""
    description: str = ""
    hide: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, ArgumentShape] = field(default_factory=dict)
    hints: Mapping[str, bool] = field(default_factory=dict)
    timeout: float | None = None
    wait: float | None = None
    media_types: tuple[str, ...] = ()
    answer: AnswerShape | None = None
    paging: Paging | None = None

    @property
    def hidden(self) -> frozenset[str]:
        """The arguments that the model does not see."""
        return frozenset((*self.hide, *self.fixed))

    @property
    def has_arguments(self) -> bool:
        """Whether it changes arguments."""
        return bool(self.hide or self.fixed or self.defaults or self.arguments)

    def limit_to(self, properties: Mapping[str, Any]) -> ToolShape:
        """Return the shape without arguments that a tool does not have, and pages by them."""
        pages = self.paging
        has_pages = pages is not None and {pages.argument, pages.size} <= {"", *properties}
        kept: dict[str, Any] = {
            key: {name: value for name, value in getattr(self, key).items() if name in properties}
            for key in ("fixed", "defaults", "arguments")
        }
        hide = tuple(name for name in self.hide if name in properties)
        return replace(self, hide=hide, paging=pages if has_pages else None, **kept)

    def new_name(self, argument: str) -> str:
        """Return an argument's new name, or its own."""
        return self.arguments.get(argument, ArgumentShape()).name or argument

    def merge_over(self, other: ToolShape) -> ToolShape:
        """Return both shapes as one; this one overrides the other."""
        merged: dict[str, Any] = {"hints": {**other.hints, **self.hints}}
        merged["arguments"] = {**other.arguments, **self.arguments}
        for key, contrary in (("fixed", self.defaults), ("defaults", self.fixed)):
            usual = {n: v for n, v in getattr(other, key).items() if n not in contrary}
            merged[key] = {**usual, **getattr(self, key)}
        for name in self.arguments.keys() & other.arguments.keys():
            upper, less = self.arguments[name], other.arguments[name]
            argument = ArgumentShape(upper.name or less.name, upper.description or less.description)
            merged["arguments"][name] = argument
        merged["hide"] = tuple(dict.fromkeys((*other.hide, *self.hide)))
        merged["answer"] = merge_answer_shapes(self.answer, other.answer)
        unset = [item.name for item in fields(self) if getattr(self, item.name) in (None, "", ())]
        return replace(self, **{name: getattr(other, name) for name in unset} | merged)


def shape_schema(schema: Schema, shape: ToolShape) -> Schema:
    """Return an input schema without hidden arguments, with new names, words and defaults."""
    if not shape.has_arguments:
        return schema
    hidden = shape.hidden
    visible = {name: part for name, part in schema["properties"].items() if name not in hidden}
    properties = {
        shape.new_name(name): _describe_argument(part, name, shape)
        for name, part in visible.items()
    }
    optional = hidden | shape.defaults.keys()
    required = [shape.new_name(n) for n in schema.get("required", ()) if n not in optional]
    kept = {key: part for key, part in schema.items() if key not in ("required", "$defs")}
    shaped = {**kept, "properties": properties, **({"required": required} if required else {})}
    definitions = reachable_definitions(properties, schema.get("$defs", {}))
    return {**shaped, "$defs": definitions} if definitions else shaped


def _describe_argument(part: Any, name: str, shape: ToolShape) -> Any:
    description = shape.arguments.get(name, ArgumentShape()).description
    changes = {"description": description} if description else {}
    changes |= {"default": shape.defaults[name]} if name in shape.defaults else {}
    return {**(part if isinstance(part, dict) else {}), **changes} if changes else part


def shape_operation(operation: Operation, shape: ToolShape) -> Operation:
    """Return an operation with the user's shape of its calls and responses."""
    # A hidden argument with a value is still sent.
    removed_names = frozenset(shape.hide) - shape.fixed.keys() - shape.defaults.keys()
    defaults = {shape.new_name(name): value for name, value in shape.defaults.items()}
    paging = shape.paging or operation.paging
    return replace(
        operation,
        parameters=_rename_parts(operation.parameters, shape, removed_names),
        body=None if operation.body is None else _shape_body(operation.body, shape, removed_names),
        fixed={**operation.fixed, **shape.fixed},
        defaults={**operation.defaults, **defaults},
        hints={**operation.hints, **shape.hints},
        timeout=shape.timeout or operation.timeout,
        wait=operation.wait if shape.wait is None else shape.wait,
        answer=merge_answer_shapes(shape.answer, operation.answer),
        paging=None if paging is None else _shape_paging(paging, shape),
    )


def _rename_parts(
    parts: tuple[Any, ...], shape: ToolShape, removed_names: Collection[str] = ()
) -> tuple[Any, ...]:
    remaining = (part for part in parts if part.argument not in removed_names)
    return tuple(replace(part, argument=shape.new_name(part.argument)) for part in remaining)


def _shape_body(
    body: RequestBody, shape: ToolShape, removed_names: Collection[str]
) -> RequestBody | None:
    if body.argument in removed_names:
        return None
    return replace(
        body,
        argument=shape.new_name(body.argument),
        properties=_rename_parts(body.properties, shape, removed_names),
        encodings=tuple(
            replace(part, headers=_rename_parts(part.headers, shape, removed_names))
            for part in body.encodings
        ),
        choice=shape.new_name(body.choice),
        choices=_rename_parts(body.choices, shape),
    )


def _shape_paging(paging: Paging, shape: ToolShape) -> Paging | None:
    # A fixed page is always the same one, so there is no next page to ask for.
    if paging.argument.partition(".")[0] in shape.fixed:
        return None
    argument, size = (_rename_path(path, shape) for path in (paging.argument, paging.size))
    return replace(paging, argument=argument, size=size)


def _rename_path(path: str, shape: ToolShape) -> str:
    name, dot, rest = path.partition(".")
    return "" if name in shape.hidden else f"{shape.new_name(name)}{dot}{rest}"


def credential_shape(operation: Operation, filled: Collection[tuple[str, str]]) -> ToolShape:
    """Return the shape that hides the parameters, by `parameter_key`, that credentials fill."""
    hidden = (
        parameter.argument
        for parameter in operation.parameters
        if parameter_key(parameter.location, parameter.name) in filled
    )
    return ToolShape(hide=tuple(hidden))


def find_shape_faults(
    shape: ToolShape, schema: Schema, most_words: int = MAX_WORDS
) -> Iterator[ShapeFault]:
    """Yield the faults of a shape for a tool with this input schema."""
    if shape.name and not _NAME.fullmatch(shape.name):
        yield ShapeFault(("name",), f"{shape.name!r:.80} must match {_NAME.pattern}.")
    if len(shape.description) > most_words:
        reason = f"{len(shape.description)} characters; at most {most_words} (description_chars)."
        yield ShapeFault(("description",), reason)
    properties, required = schema.get("properties", {}), schema.get("required", ())
    for key in ("hide", "fixed", "defaults", "arguments"):
        for name in getattr(shape, key):
            if name not in properties:
                reason = f"the tool has no argument {name!r:.80}{close_names(name, properties)}"
                yield ShapeFault((key, name), reason)
    for name in shape.hide:
        if name in required and name not in shape.fixed and name not in shape.defaults:
            reason = f"{name!r:.80} is required; set its value in `fixed` or `defaults`."
            yield ShapeFault(("hide", name), reason)
    for name in shape.fixed.keys() & shape.defaults.keys():
        yield ShapeFault(("defaults", name), f"{name!r:.80} already has a fixed value.")
    if shape.paging is not None:
        yield from (
            ShapeFault(("pages", key), why) for key, why in paging_faults(shape.paging, properties)
        )
    yield from _find_renaming_faults(shape, properties)


def _find_renaming_faults(shape: ToolShape, properties: Mapping[str, Any]) -> Iterator[ShapeFault]:
    taken = set(properties)
    for name, argument in shape.arguments.items():
        place = ("arguments", name, "name")
        if not argument.name or argument.name == name:
            continue
        if not _ARGUMENT.fullmatch(argument.name) or argument.name in RESERVED_ARGUMENTS:
            yield ShapeFault(place, f"{argument.name!r:.80} cannot be an argument's name.")
        elif argument.name in taken:
            yield ShapeFault(place, f"another argument is named {argument.name!r:.80}.")
        taken.add(argument.name)
