"""A JMESPath expression makes no more than its bounds allow, and counts before it makes."""

import tracemalloc

import pytest

from openapi_tools.errors import SettingsError
from openapi_tools.responses.json_queries import apply_expression, evaluate, parse_expression

ROWS = {"items": [{"t": "x" * 5} for _ in range(20_000)]}
MANY = ",".join(["items"] * 150)
MULTIPLYING = [
    "join(to_string(@), items[].t)",
    "items[].t | join(to_string(@), @)",
    "map(&join('" + "a" * 900 + "', [t,t,t,t,t,t,t,t,t,t,t,t]), items)",
    f"[{MANY}][]",
    f"[[{MANY}],[{MANY}]][][]",
    f"map(&items, [{','.join(['@'] * 280)}])[]",
    f"[{MANY}] | [@,@] | [@,@] | [@,@]",
    f"{{a: [{MANY}], b: [{MANY}]}} | [@,@,@]",
    f"merge({{a: [{MANY}]}}, {{b: [{MANY}]}}) | [@,@]",
    f"reverse([{MANY}])",
    f"to_array([{MANY}])",
    f"not_null([{MANY}])",
    f"values({{a: [{MANY}]}})",
    f"to_string([{MANY}]) | [@,@,@,@,@,@] | to_string(@) | [@,@,@,@,@] | to_string(@)",
]
SLOWER = [
    "items[].join(to_string(@), [t,t,t]) | join(to_string(@), @)",
    f"items[].[{','.join(['t'] * 900)}]",
    "|".join(["[@,@]"] * 90) + "|to_string(@)",
    "|".join(["[to_string(@),to_string(@)]|join('',@)"] * 30),
    "|".join(["[to_string(@)]"] * 60),
]


@pytest.mark.parametrize(
    "expression",
    [*MULTIPLYING, *(pytest.param(each, marks=pytest.mark.long) for each in SLOWER)],
    ids=range(len(MULTIPLYING) + len(SLOWER)),
)
def test_what_multiplies_ends_before_it_is_made(expression):
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="exceeds 2,000,000 steps or 32,000,000 characters"):
            apply_expression(expression, ROWS)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 100_000_000  # bytes; without a bound, gigabytes


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("join(', ', items[:3].t)", "xxxxx, xxxxx, xxxxx"),
        ("join(', ', items[:0].t)", ""),
        ("[items[:1], items[:1], `7`][]", [{"t": "xxxxx"}, {"t": "xxxxx"}, 7]),
        ("to_string(items[:1])", '[{"t":"xxxxx"}]'),
        ("to_string(items[0].t)", "xxxxx"),
        ("length(items[])", 20_000),
        ("length(to_string(@))", 280_011),
        ("items.t[]", None),
        ("items == items", True),
        ("items != [items]", True),
        ("contains(items, items[0])", True),
    ],
)
def test_what_is_small_enough_is_made(expression, result):
    assert apply_expression(expression, ROWS) == result


@pytest.mark.parametrize("brackets", [101, 900, 990])
@pytest.mark.parametrize(
    "form", ["`{}`", "[`{}`, @]", "to_string(`{}`)", "@ == `{}`", "a[?b == `{}`]"]
)
def test_a_literal_of_many_brackets_is_an_error(brackets, form):
    expression = form.format("[" * brackets + "]" * brackets)

    with pytest.raises(SettingsError, match=r"is nested deeper than 100 levels|cannot be read"):
        parse_expression(expression)


def test_a_result_that_is_too_deep_is_an_error():
    value = 1
    for _ in range(190):
        value = [value]

    with pytest.raises(ValueError, match="the result is nested deeper than 200 levels"):
        apply_expression("|".join(["[@]"] * 20), value)
    with pytest.raises(ValueError, match="the result is nested deeper than 200 levels"):
        apply_expression("|".join(["[@]"] * 20) + "|to_string(@)", value)


def test_a_result_that_is_not_written_may_be_large():
    rows = {"items": list(range(2_100_000))}

    assert len(evaluate("items", rows)) == 2_100_000
    with pytest.raises(ValueError, match="exceeds 2,000,000 steps"):
        apply_expression("items", rows)
