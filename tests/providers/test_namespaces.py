"""Namespaces of deferred functions: small ones, with names that last."""

import re
from dataclasses import dataclass

import corpus
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi_tools.providers.namespaces import MOST_FUNCTIONS, make_namespaces

NAME = re.compile(r"[a-z0-9_]{1,64}")


@dataclass(frozen=True)
class Operation:
    name: str
    path: str = "/"
    method: str = "GET"
    tags: tuple[str, ...] = ()


def spaces_of(operations):
    """Return the names of functions by the name of their namespace."""
    functions = [{"name": each.name} for each in operations]
    spaces = make_namespaces(functions, {each.name: each for each in operations})
    names = [space["name"] for space in spaces]
    assert len(set(names)) == len(names)
    assert all(map(NAME.fullmatch, names)), names
    assert all(1 <= len(space["description"]) <= 300 for space in spaces)
    return {space["name"]: [tool["name"] for tool in space["tools"]] for space in spaces}


def numbered_operations(count, **fields):
    return [Operation(f"op_{number}", **fields) for number in range(count)]


def test_nine_functions_of_a_tag_stay_together():
    assert list(spaces_of(numbered_operations(9, tags=("Pets",)))) == ["pets"]


def test_a_larger_tag_is_split_by_path_segments():
    operations = [
        *(Operation(f"dog_{n}", f"/dogs/{{id}}/{n}", tags=("pets",)) for n in range(5)),
        *(Operation(f"cat_{n}", f"/cats/{{id}}/{n}", tags=("pets",)) for n in range(4)),
        Operation("pets_root", "/", tags=("pets",)),
    ]

    spaces = spaces_of(operations)

    assert list(spaces) == ["pets_dogs", "pets_cats", "pets"]
    assert spaces["pets"] == ["pets_root"]


def test_a_variable_of_a_path_is_no_segment():
    operations = [Operation(f"get_{n}", f"/a/{{x}}/b{n % 3}/{{y}}") for n in range(12)]

    assert list(spaces_of(operations)) == ["a_b0", "a_b1", "a_b2"]


def test_one_path_is_split_by_methods_and_then_by_names():
    reads = [Operation(f"{word}_{n}", "/rpc") for word in ("ask", "list") for n in range(6)]
    writes = [Operation(f"make_{n}", "/rpc", "POST") for n in range(3)]

    spaces = spaces_of([*reads, *writes])

    assert list(spaces) == ["rpc_get_a", "rpc_get_l", "rpc_post"]
    assert spaces["rpc_get_l"] == [f"list_{n}" for n in range(6)]


def test_a_thousand_operations_without_a_tag_are_in_small_namespaces():
    spaces = spaces_of(numbered_operations(1000))

    assert max(map(len, spaces.values())) <= MOST_FUNCTIONS
    assert sum(map(len, spaces.values())) == 1000


def test_tags_in_other_scripts_have_names_of_their_own():
    tags = ("宠物", "用户", "Çiçek", "")

    spaces = spaces_of([Operation(f"op_{n}", tags=(tag,)) for n, tag in enumerate(tags)])

    assert len(spaces) == 4
    assert list(spaces)[2:] == ["cicek", "other"]


def test_a_description_says_what_is_inside():
    operations = [Operation(f"op_{n}", "/pets/x", tags=("Pet\nshop",)) for n in range(2)]

    (space,) = make_namespaces([{"name": o.name} for o in operations],
                               {o.name: o for o in operations})  # fmt: skip

    assert space["description"] == "Pet shop: op_0, op_1"


SEGMENTS = st.sampled_from(["a", "b", "v1", "{id}", "c.d", "é"])
OPERATIONS = st.builds(
    lambda path, method, tags: ("/" + "/".join(path), method, tags),
    st.lists(SEGMENTS, max_size=4),
    st.sampled_from(["GET", "POST", "DELETE"]),
    st.sampled_from([(), ("a",), ("A",), ("b",), ("日",)]),
)


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.lists(OPERATIONS, max_size=60), OPERATIONS, st.integers(0, 60))
def test_another_operation_splits_one_namespace_at_most(listed, added, index):
    operations = [Operation(f"op_{number}", *facts) for number, facts in enumerate(listed)]
    new = Operation("op_new", *added)

    before = spaces_of(operations)
    after = spaces_of([*operations[:index], new, *operations[index:]])

    assert max(map(len, after.values())) <= MOST_FUNCTIONS
    assert len(before.keys() - after.keys()) <= 1
    moved = [
        function
        for name, functions in before.items()
        for function in functions
        if function not in after.get(name, ())
    ]
    assert len(moved) <= MOST_FUNCTIONS


def test_segments_that_differ_in_signs_only_have_two_namespaces():
    operations = [
        Operation(f"{segment}_{n}", f"/x/{segment}") for segment in ("a-b", "a_b") for n in range(6)
    ]

    one, other = spaces_of(operations)

    assert one == "x_a_b"
    assert re.fullmatch("x_a_b_[0-9a-f]{6}", other)


@pytest.mark.long
@pytest.mark.parametrize("entry", corpus.parameters(e for e in corpus.entries() if e.operations))
def test_no_namespace_of_a_published_document_is_large(entry):
    toolset = corpus.toolset_of(entry)
    functions = [{"name": tool.name} for tool in toolset]

    spaces = make_namespaces(functions, {tool.name: tool for tool in toolset})

    names = [space["name"] for space in spaces]
    listed = [function["name"] for space in spaces for function in space["tools"]]
    assert sorted(listed) == sorted(tool.name for tool in toolset)
    assert len(set(names)) == len(names)
    assert max((len(space["tools"]) for space in spaces), default=0) <= MOST_FUNCTIONS
