"""Which of several alternatives a value was meant to be.

A list of everything that is wrong with every alternative helps no one; the one that comes closest
does. A wrong type tells most against an alternative, then a constant such as a discriminator's.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.validation.messages import Flaw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.validation.messages import Place, Schema

    Find = Callable[[Schema, Any, Place], Iterator[Flaw]]

_PER_BRANCH = 20
_BRANCHES = 200


class _Branch(NamedTuple):
    """An alternative that does not fit; the closest one comes first when sorted."""

    wrong_type: bool
    wrong_constants: int
    faults: int
    nearness: int
    number: int
    flaws: list[Flaw]


def closest(find: Find, branches: list[Schema], value: Any, place: Place) -> Iterator[Flaw]:
    """Give what is wrong in the eyes of the alternative that comes closest.

    Args:
        find: Gives what is wrong with a value in the eyes of one schema.
        branches: The alternatives, none of which fits.
        value: What was given.
        place: Where.
    """
    found = [
        _branch(list(islice(find(branch, value, place), _PER_BRANCH)), place, index)
        for index, branch in enumerate(branches[:_BRANCHES])
    ]
    if merged := _merged(found, place, value):
        yield merged
        return
    best = min(found)
    remark = ""
    if sum(branch.wrong_type == best.wrong_type for branch in found) > 1:
        name = label(branches[best.number], best.number)
        remark = f" (as {name}, the closest of {len(branches)} alternatives)"
    yield from (flaw._replace(remark=flaw.remark or remark) for flaw in best.flaws)


def label(branch: Schema, index: int) -> str:
    """Return what an alternative is called: its name among the definitions, or its number."""
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


def _merged(branches: list[_Branch], place: Place, value: Any) -> Flaw | None:
    """Return one flaw for alternatives that all want another type, or other constants in a place.

    The constants are those of a discriminator, or of enumerations side by side.
    """
    firsts = [branch.flaws[0] for branch in branches if branch.flaws]
    if all(flaw.keyword == "type" and flaw.place == place for flaw in firsts):
        limits = (f.limit if isinstance(f.limit, list) else [f.limit] for f in firsts)
        return Flaw(place, "type", [name for limit in limits for name in limit], value)
    constants = [_constant(branch) for branch in branches]
    first = constants[0]
    if first is None or any(flaw is None or flaw.place != first.place for flaw in constants):
        return None
    found = [flaw for flaw in constants if flaw is not None]
    options = [option for f in found for option in (f.limit if f.keyword == "enum" else [f.limit])]
    return Flaw(first.place, "enum", options, first.value)


def _constant(branch: _Branch) -> Flaw | None:
    return next((flaw for flaw in branch.flaws if flaw.keyword in ("const", "enum")), None)
