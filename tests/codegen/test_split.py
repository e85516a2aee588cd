"""What stands together in a module of a generated package, and what moves when a document grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.codegen.package_plan import MANY_PARTS, MOST_LINES, Item, split


def parts(sizes, *, lines=100, always=1):
    """The sizes of the parts of as many things as asked for below each path, by name."""
    items = [
        Item(f"{path} {number}", (*path.split("/"), str(number)), lines)
        for path, count in sizes.items()
        for number in range(count)
    ]
    listed = [("/".join(steps), len(things)) for steps, things in split(items, always=always)]
    assert len(dict(listed)) == len(listed)
    return dict(listed)


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({}, {}),
        ({"a": 1, "b": 2, "": 1}, {"a": 1, "b": 2, "": 1}),
        ({"a/x": 7, "a/y": 7}, {"a": 14}),  # 1,400 lines
        ({"a/x": 7, "a/y": 8}, {"a/x": 7, "a/y": 8}),
        ({"a/x": 12, "a/y": 1, "a/z": 1, "a/w": 3}, {"a": 2, "a/x": 12, "a/w": 3}),
        ({"a/x": 14, "a/y": 1}, {"a/x": 14, "a/y": 1}),
        ({"a/api/v1/x": 10, "a/api/v1/y": 10}, {"a/x": 10, "a/y": 10}),
    ],
)
def test_a_long_part_is_divided_and_short_ones_stay_together(sizes, expected):
    assert parts(sizes) == expected


def test_without_a_need_there_is_one_part():
    assert parts({"a": 7, "b": 7}, always=0) == {"": 14}
    assert parts({"a/b/c": 1}, lines=9_000) == {"a": 1}
    same = [Item(number, ("a", "b"), 1_000) for number in range(9)]
    assert list(split(same, always=1)) == [(("a",), list(range(9)))]


def test_very_many_short_parts_are_kept_together_by_their_letters():
    paths = {f"t/{first}{number}": 1 for first in "abc" for number in range(MANY_PARTS)}
    alike = parts({f"t/{'x' * number}": 1 for number in range(1, 2_000)}, lines=10)

    assert parts(paths, lines=10) == dict.fromkeys(("t/a", "t/b", "t/c"), MANY_PARTS)
    assert sum(alike.values()) == 1_999
    assert max(alike.values()) * 10 <= MOST_LINES


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
