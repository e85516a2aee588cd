"""What stands together in a module of a generated package, and what moves when a document grows."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.codegen.package_plan import FEW_LINES, MANY_PARTS, MOST_LINES, Item, split


def items(sizes: dict[str, int], *, lines: int = 100) -> list[Item[str]]:
    """As many things as asked for below each path `tag/step/step`."""
    return [
        Item(f"{path} {number}", (*path.split("/"), str(number)), lines)
        for path, count in sizes.items()
        for number in range(count)
    ]


def parts(found: list[Item[str]], *, always: int = 1) -> dict[str, list[str]]:
    """The parts by their names; a name may not come twice."""
    listed = [("/".join(steps), things) for steps, things in split(found, always=always)]
    assert len(dict(listed)) == len(listed)
    return dict(listed)


def test_nothing_is_no_part_or_an_empty_one():
    assert list(split([], always=1)) == []
    assert list(split([])) == [((), [])]


def test_every_tag_is_a_part_however_short():
    found = parts(items({"a": 1, "b": 2, "": 1}))

    assert {name: len(things) for name, things in found.items()} == {"a": 1, "b": 2, "": 1}


def test_what_fits_in_a_module_stays_together_unless_it_must_part():
    short = items({"a": 7, "b": 7})

    assert list(parts(short, always=0)) == [""]
    assert list(parts(short)) == ["a", "b"]


def test_a_module_may_be_as_long_as_the_limit_and_no_longer():
    assert list(parts(items({"a/x": 7, "a/y": 7}))) == ["a"]
    assert list(parts(items({"a/x": 7, "a/y": 8}))) == ["a/x", "a/y"]
    assert MOST_LINES == 1_400


def test_short_parts_of_a_long_one_stay_together():
    found = parts(items({"a/x": 12, "a/y": 1, "a/z": 1, "a/w": 3}))

    assert {name: len(things) for name, things in found.items()} == {"a": 2, "a/x": 12, "a/w": 3}
    assert FEW_LINES == 200


def test_one_short_part_is_named_as_any_other():
    assert list(parts(items({"a/x": 14, "a/y": 1}))) == ["a/x", "a/y"]


def test_a_single_thing_is_never_parted():
    assert parts(items({"a/b/c": 1}, lines=9_000)) == {"a": ["a/b/c 0"]}


def test_steps_that_all_share_do_not_stand_in_names():
    found = parts(items({"a/api/v1/x": 10, "a/api/v1/y": 10}))

    assert list(found) == ["a/x", "a/y"]


def test_things_that_nothing_tells_apart_stay_together():
    same = [Item(number, ("a", "b"), 1_000) for number in range(9)]

    assert list(split(same, always=1)) == [(("a",), list(range(9)))]


def test_very_many_short_parts_are_kept_together_by_their_letters():
    paths = {f"t/{first}{number}": 1 for first in "abc" for number in range(MANY_PARTS)}

    found = parts(items(paths, lines=10))

    assert list(found) == ["t/a", "t/b", "t/c"]
    assert {len(things) for things in found.values()} == {MANY_PARTS}


def test_short_parts_that_begin_alike_for_long_end_somewhere():
    paths = {f"t/{'x' * number}": 1 for number in range(1, 2_000)}

    found = parts(items(paths, lines=10))

    assert sum(map(len, found.values())) == 1_999
    assert max(map(len, found.values())) * 10 <= MOST_LINES


KEYS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(tuple)
THINGS = st.lists(st.tuples(KEYS, st.integers(1, 900)), max_size=60)


@given(things=THINGS, always=st.integers(0, 2))
def test_everything_is_in_one_part_in_order_and_no_part_is_too_long(things, always):
    listed = [Item(number, key, lines) for number, (key, lines) in enumerate(things)]

    found = list(split(listed, always=always))

    assert sorted(thing for _, part in found for thing in part) == list(range(len(things)))
    assert all(part == sorted(part) for _, part in found)
    assert len({steps for steps, _ in found}) == len(found)
    for _, part in found:
        alike = len({things[number][0] for number in part}) == 1
        assert alike or sum(things[number][1] for number in part) <= MOST_LINES


@given(things=THINGS, added=st.tuples(KEYS, st.integers(1, 900)))
def test_what_is_added_to_one_tag_moves_nothing_of_another(things, added):
    listed = [Item((key, number), key, lines) for number, (key, lines) in enumerate(things)]
    (key, lines) = added
    more = [*listed, Item((key, len(things)), key, lines)]

    before, after = (dict(split(part, always=1)) for part in (listed, more))

    others = {steps: part for steps, part in before.items() if steps[0] != key[0]}
    assert {steps: part for steps, part in after.items() if steps[0] != key[0]} == others


@pytest.mark.long
@given(things=THINGS.filter(bool), which=st.integers(min_value=0))
def test_what_crosses_no_limit_moves_nothing(things, which):
    listed = [Item(number, key, lines) for number, (key, lines) in enumerate(things)]
    homes = {thing: steps for steps, part in split(listed, always=1) for thing in part}
    beside = Item(len(things), things[which % len(things)][0], 0)

    after = {thing: steps for steps, part in split([*listed, beside], always=1) for thing in part}

    assert {thing: steps for thing, steps in after.items() if thing in homes} == homes
