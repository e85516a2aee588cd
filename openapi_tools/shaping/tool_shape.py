"""What a user says about one tool, applied to the tool's schema and operation.

Arguments are named as the document's tool has them, before they are renamed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import reached
from openapi_tools.options import DefaultSettings, close_names
from openapi_tools.shaping.paging import paging_faults
from openapi_tools.visible_text import MAX_LENGTH, RESERVED_ARGUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi_tools.model import AnswerShape, Operation, Paging, Parameter, RequestBody

    Schema = dict[str, Any]

_NAME = re.compile(rf"[a-zA-Z_][a-zA-Z0-9_-]{{0,{MAX_LENGTH - 1}}}")
_ARGUMENT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,63}")
MAX_WORDS = DefaultSettings.description_chars


class Fault(NamedTuple):
    """A fault of a shape: the keys that lead to it, and a reason."""

    place: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Argument:
    """What a user says about one argument.

    Attributes:
        name: Its new name; empty for its own.
        description: Its new description; empty for its own.
    """

    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a user says about one tool.

    Attributes:
        name: The tool's new name, prefix included; empty for its own.
        description: The tool's new description; empty for its own.
        hide: Arguments that the model does not see.
        fixed: Values of arguments that the model does not see.
        defaults: Values of arguments that a call does not give.
        arguments: New names and descriptions of arguments.
        hints: `read_only`, `idempotent` and `destructive`.
        timeout: Seconds for a call.
        wait: Seconds to wait for the end of long work.
        media_types: The media types of its body.
        answer: How its answers are made smaller.
        paging: How the next page is asked for.
    """

    name: str = ""
    description: str = ""
    hide: tuple[str, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    arguments: Mapping[str, Argument] = field(default_factory=dict)
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
        """Whether it says anything about arguments."""
        return bool(self.hide or self.fixed or self.defaults or self.arguments)

    def limited(self, known: Mapping[str, Any]) -> Shape:
        """Return the shape without arguments that a tool does not have."""
        return replace(
            self,
            hide=tuple(name for name in self.hide if name in known),
            fixed={name: value for name, value in self.fixed.items() if name in known},
            defaults={name: value for name, value in self.defaults.items() if name in known},
            arguments={name: said for name, said in self.arguments.items() if name in known},
        )

    def renamed(self, argument: str) -> str:
        """Return an argument's new name, or its own."""
        known = self.arguments.get(argument)
        return (known.name if known else "") or argument

    def over(self, other: Shape) -> Shape:
        """Return both shapes as one; this one counts where both say something."""
        merged: dict[str, Any] = {
            name: {**getattr(other, name), **getattr(self, name)}
            for name in ("fixed", "defaults", "arguments", "hints")
        }
        merged["hide"] = tuple(dict.fromkeys((*other.hide, *self.hide)))
        merged["answer"] = over_answer(self.answer, other.answer)
        unset = [item.name for item in fields(self) if getattr(self, item.name) in (None, "", ())]
        return replace(self, **{name: getattr(other, name) for name in unset} | merged)


def over_answer(answer: AnswerShape | None, other: AnswerShape | None) -> AnswerShape | None:
    """Return both shapes of answers as one; the first counts where both say something."""
    if answer is None or other is None:
        return answer or other
    unset = [item.name for item in fields(answer) if getattr(answer, item.name) is None]
    return replace(answer, **{name: getattr(other, name) for name in unset})


def shaped_schema(schema: Schema, shape: Shape) -> Schema:
    """Return an input schema without hidden arguments, with new names, words and defaults."""
    if not shape.has_arguments:
        return schema
    hidden = shape.hidden
    shown = {name: part for name, part in schema["properties"].items() if name not in hidden}
    properties = {shape.renamed(name): _said(part, name, shape) for name, part in shown.items()}
    optional = hidden | shape.defaults.keys()
    required = [shape.renamed(n) for n in schema.get("required", ()) if n not in optional]
    kept = {key: part for key, part in schema.items() if key not in ("required", "$defs")}
    made = {**kept, "properties": properties, **({"required": required} if required else {})}
    definitions = reached(properties, schema.get("$defs", {}))
    return {**made, "$defs": definitions} if definitions else made


def _said(part: Any, name: str, shape: Shape) -> Any:
    """Return an argument's schema with the user's description and default."""
    words = shape.arguments.get(name, Argument()).description
    more = {"description": words} if words else {}
    more |= {"default": shape.defaults[name]} if name in shape.defaults else {}
    return {**(part if isinstance(part, dict) else {}), **more} if more else part


def shaped_operation(operation: Operation, shape: Shape) -> Operation:
    """Return an operation with what the user says about its calls and answers."""
    gone = frozenset(shape.hide) - shape.fixed.keys() - shape.defaults.keys()
    paging = shape.paging or operation.paging
    return replace(
        operation,
        parameters=tuple(_parameters(operation.parameters, shape, gone)),
        body=None if operation.body is None else _body(operation.body, shape, gone),
        fixed={**operation.fixed, **shape.fixed},
        defaults={**operation.defaults, **_by_new_name(shape.defaults, shape)},
        hints={**operation.hints, **shape.hints},
        timeout=shape.timeout or operation.timeout,
        wait=operation.wait if shape.wait is None else shape.wait,
        answer=over_answer(shape.answer, operation.answer),
        paging=None if paging is None else _paging(paging, shape),
    )


def _by_new_name(values: Mapping[str, Any], shape: Shape) -> dict[str, Any]:
    return {shape.renamed(name): value for name, value in values.items()}


def _parameters(
    parameters: Iterable[Parameter], shape: Shape, gone: frozenset[str]
) -> Iterator[Parameter]:
    for parameter in parameters:
        if parameter.argument not in gone:
            yield replace(parameter, argument=shape.renamed(parameter.argument))


def _body(body: RequestBody, shape: Shape, gone: frozenset[str]) -> RequestBody | None:
    if body.argument in gone:
        return None
    properties = tuple(
        replace(part, argument=shape.renamed(part.argument))
        for part in body.properties
        if part.argument not in gone
    )
    encodings = tuple(
        replace(encoding, headers=tuple(_parameters(encoding.headers, shape, gone)))
        for encoding in body.encodings
    )
    choices = tuple(
        replace(other, argument=shape.renamed(other.argument)) for other in body.choices
    )
    return replace(
        body,
        argument=shape.renamed(body.argument),
        properties=properties,
        encodings=encodings,
        choice=shape.renamed(body.choice),
        choices=choices,
    )


def _paging(paging: Paging, shape: Shape) -> Paging | None:
    """Return paging with the arguments' new names; None where its argument is hidden."""
    if paging.argument in shape.hidden:
        return None
    size = "" if paging.size in shape.hidden else shape.renamed(paging.size)
    return replace(paging, argument=shape.renamed(paging.argument), size=size)


def faults(shape: Shape, schema: Schema, most_words: int = MAX_WORDS) -> Iterator[Fault]:
    """Yield the faults of a shape for a tool with this input schema."""
    if shape.name and not _NAME.fullmatch(shape.name):
        yield Fault(("name",), f"{shape.name!r:.80} does not match {_NAME.pattern}.")
    if len(shape.description) > most_words:
        reason = f"{len(shape.description)} characters; at most {most_words} (description_chars)."
        yield Fault(("description",), reason)
    known, required = schema.get("properties", {}), schema.get("required", ())
    for key in ("hide", "fixed", "defaults", "arguments"):
        for name in getattr(shape, key):
            if name not in known:
                yield Fault(
                    (key, name), f"the tool has no argument {name!r:.80}{close_names(name, known)}"
                )
    for name in shape.hide:
        if name in required and name not in shape.fixed and name not in shape.defaults:
            yield Fault(("hide", name), f"{name!r:.80} is required; give it a value in `fixed`.")
    for name in shape.fixed.keys() & shape.defaults.keys():
        yield Fault(("defaults", name), f"{name!r:.80} has a fixed value already.")
    if shape.paging is not None:
        yield from (Fault(("pages", key), why) for key, why in paging_faults(shape.paging, known))
    yield from _renaming_faults(shape, known)


def _renaming_faults(shape: Shape, known: Mapping[str, Any]) -> Iterator[Fault]:
    taken = set(known)
    for name, said in shape.arguments.items():
        place = ("arguments", name, "name")
        if not said.name or said.name == name:
            continue
        if not _ARGUMENT.fullmatch(said.name) or said.name in RESERVED_ARGUMENTS:
            yield Fault(place, f"{said.name!r:.80} cannot be an argument's name.")
        elif said.name in taken:
            yield Fault(place, f"another argument is called {said.name!r:.80}.")
        taken.add(said.name)
