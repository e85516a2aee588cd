"""The errors of jsonschema-rs as flaws: the place, the keyword, its limit and the value.

A list of everything that is wrong with every alternative of `anyOf` or `oneOf` does not help a
model; the alternative that comes closest does. A wrong type tells most against an alternative,
then a constant such as a discriminator's.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.validation.messages import Flaw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jsonschema_rs import ValidationError

    from openapi_tools.validation.messages import Place, Schema

_PER_BRANCH = 20
_BRANCHES = 200
_FILE = frozenset({"base64", "text"})
_FILE_HINT = '; give {"text": …} or {"base64": …}'


def read_flaws(errors: Iterable[ValidationError], root: dict[str, Any]) -> Iterator[Flaw]:
    """Give the flaws that errors tell of, each once.

    Where a type is wrong, other errors of the same value are left out.

    Args:
        errors: From a validator of `root`.
        root: The schema.
    """
    told = [(error, error.kind.name, tuple(error.instance_path)) for error in errors]
    wrong_type = {place for _, keyword, place in told if keyword == "type"}
    seen: list[Flaw] = []
    for error, keyword, place in told:
        if keyword == "type" or place not in wrong_type:
            for flaw in _flaws_of(error, keyword, place, root):
                if flaw not in seen:
                    seen.append(flaw)
                    yield flaw


def _flaws_of(
    error: ValidationError, keyword: str, place: Place, root: dict[str, Any]
) -> Iterator[Flaw]:
    kind: Any = error.kind
    schema = _at(root, error.schema_path[:-1])
    if keyword == "falseSchema":
        yield Flaw(place, "false", None, None)
    elif not isinstance(schema, dict):
        yield Flaw(place, "", None, error.instance)
    elif keyword == "propertyNames":
        for flaw in read_flaws([kind.error], root):
            yield flaw._replace(place=(*place, kind.error.instance))
    elif keyword in ("anyOf", "oneOf"):
        yield from _union_flaws(error, schema[keyword], place, root)
    else:
        yield from _keyword_flaws(error, keyword, place, schema)


def _keyword_flaws(
    error: ValidationError, keyword: str, place: Place, schema: dict[str, Any]
) -> Iterator[Flaw]:
    """Give the flaws by one keyword of a schema."""
    kind: Any = error.kind
    given: Any = error.instance
    word = str(error.schema_path[-1])
    limit = schema.get(word)
    match keyword:
        case "type":
            is_file = schema.get("properties", {}).keys() >= _FILE
            yield Flaw(place, keyword, limit, given, _FILE_HINT if is_file else "")
        case "required":
            needed_by = _needed_by(kind.property, limit, given)
            yield Flaw((*place, kind.property), word, needed_by, None)
        case "additionalProperties" | "unevaluatedProperties":
            told_as = "additionalProperties" if limit is False else ""
            for name in kind.unexpected:
                yield Flaw((*place, name), told_as, _names(schema), given[name])
        case "contains":
            yield Flaw(place, word, schema, None)
        case _:
            yield Flaw(place, keyword, limit, given)


def _needed_by(name: str, limit: Any, given: Any) -> str | None:
    """Return the member that needs another one by `dependentRequired`; None by `required`."""
    if not isinstance(limit, dict):
        return None
    return next((other for other in limit if other in given and name in limit[other]), None)


def _at(root: Any, path: list[Any]) -> Any:
    try:
        for step in path:
            root = root[step]
    except LookupError:  # the validator leaves empty names out of its paths
        return None
    return root


def _names(schema: dict[str, Any]) -> list[str]:
    """Return the names a schema knows, also those of its branches."""
    branches = [b for key in ("allOf", "anyOf", "oneOf") for b in schema.get(key, ())]
    parts = [schema, *(branch for branch in branches if isinstance(branch, dict))]
    return list(dict.fromkeys(name for part in parts for name in part.get("properties", ())))


class _Branch(NamedTuple):
    """An alternative that does not fit; the closest one comes first when sorted."""

    wrong_type: bool
    wrong_constants: int
    faults: int
    nearness: int
    number: int
    flaws: list[Flaw]


def _union_flaws(
    error: ValidationError, branches: list[Schema], place: Place, root: dict[str, Any]
) -> Iterator[Flaw]:
    """Give the flaws in the eyes of the alternative that comes closest."""
    kind: Any = error.kind
    context = kind.context
    fitting = [index for index, errors in enumerate(context) if not errors]
    if fitting:
        names = [_label(branches[index], index) for index in fitting[:5]]
        yield Flaw(place, "oneOf", names, error.instance)
        return
    found = [
        _branch(list(islice(read_flaws(errors, root), _PER_BRANCH)), place, index)
        for index, errors in enumerate(context[:_BRANCHES])
    ]
    if merged := _merged(found, place, error):
        yield merged
        return
    best = min(found)
    remark = ""
    if sum(branch.wrong_type == best.wrong_type for branch in found) > 1:
        name = _label(branches[best.number], best.number)
        remark = f" (as {name}, the closest of {len(branches)} alternatives)"
    yield from (flaw._replace(remark=flaw.remark or remark) for flaw in best.flaws)


def _label(branch: Schema, index: int) -> str:
    """Return the name of an alternative among the definitions, or its number."""
    reference = branch.get("$ref", "") if isinstance(branch, dict) else ""
    name = reference.rpartition("/")[2][:100]
    return repr(name) if name and name != "#" else f"alternative {index + 1}"


def _branch(flaws: list[Flaw], place: Place, index: int) -> _Branch:
    near = [flaw for flaw in flaws if len(flaw.place) <= len(place) + 1]
    return _Branch(
        wrong_type=any(flaw.keyword == "type" and flaw.place == place for flaw in flaws),
        wrong_constants=sum(flaw.keyword in ("const", "enum") for flaw in near),
        faults=len(flaws),
        nearness=-max((len(flaw.place) for flaw in flaws), default=0),
        number=index,
        flaws=flaws,
    )


def _merged(branches: list[_Branch], place: Place, error: ValidationError) -> Flaw | None:
    """Return one flaw for alternatives that all want another type, or other constants in a place.

    The constants are those of a discriminator, or of enumerations side by side.
    """
    firsts = [branch.flaws[0] for branch in branches if branch.flaws]
    if all(flaw.keyword == "type" and flaw.place == place for flaw in firsts):
        limits = (f.limit if isinstance(f.limit, list) else [f.limit] for f in firsts)
        return Flaw(place, "type", [name for limit in limits for name in limit], error.instance)
    constants = [_constant(branch) for branch in branches]
    first = constants[0]
    if first is None or any(flaw is None or flaw.place != first.place for flaw in constants):
        return None
    found = [flaw for flaw in constants if flaw is not None]
    options = [option for f in found for option in (f.limit if f.keyword == "enum" else [f.limit])]
    return Flaw(first.place, "enum", options, first.value)


def _constant(branch: _Branch) -> Flaw | None:
    return next((flaw for flaw in branch.flaws if flaw.keyword in ("const", "enum")), None)
