"""Paths compared with templates, at a cost that grows with the path only."""

import pattern_costs
import pytest

from openapi_tools.requests.path_templates import match_path, matches_glob


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("/pets", "/pets", ("", [])),
        ("/pets", "/v1/pets", ("/v1", [])),
        ("/pets/{id}", "/pets/7", ("", ["7"])),
        ("/pets/{id}", "/pets/", ("", [""])),
        ("/pets/{id}", "/pets", None),
        ("/pets/{id}", "/cats/7", None),
        ("/pets/{id}/", "/pets/7/", ("", ["7"])),
        ("/pets/{id}/", "/pets/7", None),
        ("/{a}-{b}", "/x-y-z", ("", ["x-y", "z"])),
        ("/{a}{b}", "/xyz", ("", ["xyz", ""])),
        ("/x{a}y{b}z", "/x1y2z", ("", ["1", "2"])),
        ("/x{a}y{b}z", "/x1y2", None),
        ("/x{a}x", "/x", None),
        ("/{a}.json", "/a.json.json", ("", ["a.json"])),
        ("/é/{a}é", "/%C3%A9/1%C3%A9", ("", ["1"])),
        ("/é/{a}é", "/é/1é", ("", ["1"])),
        ("/{a/b}", "/7", ("", ["7"])),
        ("/{a}/{b}", "/v1/x/y", ("/v1", ["x", "y"])),
    ],
)
def test_a_template_gives_the_values_of_its_variables(template, path, expected):
    assert next(match_path(template, path), None) == expected


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("/files/{p}", "/v1/files/a/b", [("/v1", ["a/b"])]),
        ("/files/{p}/raw", "/files/a/b/raw", [("", ["a/b"])]),
        ("/{p}", "/a/b", [("", ["a/b"]), ("/a", ["b"])]),
        ("/{p}", "/a", [("", ["a"])]),
        ("/{id}/{p}.txt", "/x/a/b.txt", [("", ["x", "a/b"]), ("/x", ["a", "b"])]),
        ("/files/{p}/raw", "/files/raw", []),
    ],
)
def test_a_greedy_variable_takes_slashes(template, path, expected):
    assert list(match_path(template, path, greedy="p")) == expected


@pytest.mark.parametrize(
    ("literals", "text", "fits"),
    [
        ([""], "", True),
        (["/v1"], "/v1", True),
        (["/v1"], "/v2", False),
        (["", "/v1"], "/any/v1", True),
        (["/", "/v", "/x"], "/a/b/v1/x", True),
        (["/a", "a"], "/a", False),
        (["/a", "b", "c"], "/axbyc", True),
        (["/a", "b", "b"], "/ab", False),
        (["/a", "b", "c"], "/axc", False),
    ],
)
def test_literals_with_anything_between_them(literals, text, fits):
    assert matches_glob(literals, text) is fits


@pytest.mark.untraced
@pytest.mark.parametrize("template", ["/{a}{b}{c}{d}{e}!", "/{a}-{b}-{c}-{d}!", "/{a}a{b}a{c}a!"])
@pytest.mark.parametrize("piece", ["a", "-", "a-"])
def test_many_variables_in_a_segment_cost_no_more_than_one(template, piece):
    def work_on(length):
        path = "/" + piece * length
        return lambda: next(match_path(template, path), None)

    assert pattern_costs.growth_of(work_on) <= pattern_costs.MOST
