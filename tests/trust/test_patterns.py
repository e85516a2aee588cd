"""No pattern over a string from outside costs more than the string's length accounts for.

Every compiled pattern of the package is found, and tried on strings made from its own literals.
"""

import fnmatch
import gc
import re

import pattern_costs
import pytest

from openapi_tools.redaction import redact_data

MODULES = pattern_costs.modules()
NOT_FROM_OUTSIDE: dict[str, str] = {}
"""Patterns that read no string from outside, each with the reason; none is left out today."""
BUILT_OF_VALUES = {
    "loading.other_files:module": ("", "a loop over constants, which are found in the module"),
    "responses.response_shape:__init__": (fnmatch.translate("*a*b*_url"), "`drop` of a caller"),
    "responses.shaped_schemas:_make_pruning": (fnmatch.translate("*a*b*_url"), "the same `drop`"),
    "serving.serving_tables:_matcher": (
        "|".join(map(fnmatch.translate, ("*a*b*_url", "get_*"))),
        "`tools` of a role",
    ),
}
"""Patterns that are made of other values than constants: an example, and of what they are made."""


@pytest.fixture(scope="module")
def trees():
    """The syntax trees of all modules."""
    return {name: pattern_costs.tree_of(module) for name, module in MODULES.items()}


@pytest.fixture(scope="module")
def no_collection():
    """Pause the collector: the alarm of a slow match must not end a finalizer instead."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", MODULES)
def test_the_cost_of_a_pattern_grows_as_its_string_does(name, trees):
    patterns, _ = pattern_costs.patterns_of(MODULES[name], trees)

    slow = [
        line
        for each in patterns
        if str(each) not in NOT_FROM_OUTSIDE
        for line in pattern_costs.slow_inputs(each)
    ]

    assert slow == []


@pytest.mark.untraced
@pytest.mark.parametrize("place", [place for place, (text, _) in BUILT_OF_VALUES.items() if text])
def test_so_does_that_of_a_pattern_made_of_values(place):
    pattern = re.compile(BUILT_OF_VALUES[place][0])
    pattern_use = pattern_costs.PatternUse(place, "example", pattern, ("match", "fullmatch"))

    assert list(pattern_costs.slow_inputs(pattern_use)) == []


def test_every_pattern_is_found_or_listed(trees):
    results = [pattern_costs.patterns_of(module, trees) for module in MODULES.values()]
    places = {str(each) for patterns, _ in results for each in patterns}

    assert {place for _, unknown in results for place in unknown} == set(BUILT_OF_VALUES)
    assert set(NOT_FROM_OUTSIDE) <= places
    assert len(places) > 200
    assert {
        "redaction.named_values:_HEAD",
        "common.http_rules:_LINK",
        "loading.other_files:_DOCUMENT_LINKS[0]",
    } <= (places)
    assert "codegen.output_state:_JSON_MARK" in places  # of bytes
    assert any(
        place.startswith("auth.login:read_authorization_response: ") for place in places
    )  # in a function


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"(a+)+b", "match"),
        (r"\s*\n\s*", "sub"),
        (r"\[[^\]]*\]", "search"),
        (r"\r\nhost:[ \t]*([^\r\n]*?)[ \t]*(?=\r\n)", "findall"),
        (r'\bname="?([^";\r\n]{0,100})"?[^\r\n]*(?:\r\n[^\r\n]+)*\r\n\r\n', "search"),
        (rb"(?:x|xy?)*z", "match"),
        (r"a.*b.*c.*d", "match"),
    ],
)
def test_a_slow_pattern_would_be_noticed(pattern, method):
    pattern_use = pattern_costs.PatternUse("example", "example", re.compile(pattern), (method,))

    assert list(pattern_costs.slow_inputs(pattern_use)) != []


@pytest.mark.untraced
@pytest.mark.parametrize(
    "pattern",
    [r"<[^<>]*>", r"\w{1,300}x", r"(?<!\s)\s*+\n", r'"(?:[^"\\]++|\\.)*+"?', r"[a-z]+", "a|b|cd"],
)
def test_a_pattern_that_is_fast_enough_would_not(pattern):
    pattern_use = pattern_costs.PatternUse("example", "example", re.compile(pattern), ("search",))

    assert list(pattern_costs.slow_inputs(pattern_use)) == []


@pytest.mark.untraced
@pytest.mark.parametrize(
    "piece",
    [
        *("name=", 'name="', "a=%,", "a=,", 'a="', "a=a=", '"a":', '\\"', "\\", '"token":['),
        *(
            "<token>",
            "<token ",
            "a=\"b='",
            "a=%25",
            "content-disposition:",
            "--b\r\n",
            "//a",
            "//@",
        ),
        *('a=%"', 'a=token="', 'x=%20token="', '"a"   ', '"token": 1.', "(a=%2C", "\n--", "a=1,"),
        *("Content-Disposition: x; name=\r\n", "Content-Disposition:\r\n\r\n--", "name=\r\n\r\n"),
        '--b\r\nContent-Disposition: form-data; name="password"\r\n\r\nx\r\n',
        '<input name="q" value="1">\n',
    ],
)
@pytest.mark.parametrize("end", ["", '="', "%"])
def test_so_does_the_search_for_secrets_that_names_mark(piece, end):
    def work_on(length):
        text = piece * (length // len(piece)) + end
        return lambda: redact_data(text)

    assert pattern_costs.growth_of(work_on) <= pattern_costs.MOST
