"""The arithmetic of the benchmarks, and what they record; how fast anything is stays untested."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import rows as guard
from benchmarks.repeating import repeat_document
from benchmarks.rows import BEYOND, POWER, Goal, Row, as_line, as_markdown, at_least, at_most
from benchmarks.timing import Sample, exponent, interleave
from documents import document

from openapi_tools import load_tools

SERVE = Path(__file__).parent / "benchmarks" / "serve.py"
BETWEEN = Goal(0.9, 1.1)


def test_a_ratio_is_the_median_of_the_ratios_of_each_round():
    assert Sample((2.0, 30.0, 4.0)).ratio_to(Sample((1.0, 10.0, 1.0))) == 3.0


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0])
def test_the_exponent_is_that_of_the_growth(power):
    points = [(size, 3e-6 * size**power) for size in (500, 1000, 4000, 11_000)]

    assert exponent(points) == pytest.approx(power)


def test_a_median_is_printed_in_a_unit_that_fits():
    assert Sample((0.0123,)).parts() == ("12.3 ms", "")
    assert Sample((2e-6, 4e-6, 3e-6)).parts() == ("3.00 us", "2.00-4.00")
    assert Sample((1.5, 1.4, 20.0)).parts() == ("1.5 s", "1.4-20.0")
    assert Sample((67.0,), "MiB").parts() == ("67.0 MiB", "")


@pytest.mark.long
def test_runs_take_turns_and_the_first_round_does_not_count():
    order = []
    actions = {"one": lambda: order.append("one"), "two": lambda: order.append("two")}

    took = interleave(2, actions)

    assert order == ["one", "two"] * 3
    assert {name: len(sample.values) for name, sample in took.items()} == {"one": 2, "two": 2}


def test_a_row_says_whether_its_goals_are_met():
    goals = (at_most(0.1), at_most(0.15), at_most(10, "ms"), at_least(0.1), at_least(4), BETWEEN)
    row = Row("load", Sample((0.02,)), 0.1, goals, BEYOND, "cold")
    goal_text = (
        "<= +0.10 x: met, <= +0.15 x: met, <= 10 ms: missed, >= +0.10 x: met, >= +4.00 x: missed, "
        ">= +0.90 x and <= +1.10 x: missed; cold"
    )

    assert as_markdown("cache", row) == f"| cache: load | 20.0 ms | +0.10 x | {goal_text} |"
    assert as_line(row).split() == f"load 20.0 ms +0.10 x goal {goal_text}".split()
    assert [BETWEEN.holds(value) for value in (0.8, 1.0, 1.2)] == [False, True, False]


def test_rows_with_a_ratio_and_a_goal_are_recorded():
    rows = [
        Row("parse", Sample((1.0,))),
        Row("json", Sample((2.0,)), 2.0),
        Row("load", Sample((1.1,)), 0.12345, (at_most(0.15),), BEYOND),
        Row("FastMCP", Sample((60.0,)), 60.0, (at_least(20),)),
        Row("growth", None, 1.02, (BETWEEN,), POWER),
    ]

    assert guard.ratios("load", rows) == {
        "load: load": {"ratio": 0.1235, "better": "lower"},
        "load: FastMCP": {"ratio": 60.0, "better": "higher"},
        "load: growth": {"ratio": 1.02, "better": "linear"},
    }


@pytest.mark.parametrize(
    ("better", "before", "bearable", "worse"),
    [
        ("lower", 1.0, [0.1, 1.6], 1.61),
        ("lower", 0.04, [0.15], 0.17),
        ("lower", -0.05, [0.02], 0.08),
        ("lower", -0.5, [-0.5], -0.1),
        ("higher", 60.0, [40.0, 90.0], 39.0),
        ("linear", 1.0, [0.7, 1.15], 1.2),
    ],
)
def test_a_ratio_is_worse_beyond_a_wide_margin(better, before, bearable, worse):
    assert not any(guard.is_worse(before, now, better) for now in bearable)
    assert guard.is_worse(before, worse, better)


def test_the_guard_names_what_got_worse_and_nothing_else():
    def make_ratios(**ratios):
        return {f"call: {name}": {"ratio": n, "better": "lower"} for name, n in ratios.items()}

    before, now = make_ratios(GET=1.0, POST=1.0, HEAD=60.0), make_ratios(GET=2.0, POST=1.1, PUT=9.0)

    assert guard.complaints(before, now) == ["call: GET: 1.0 became 2.0, lower is better"]


def test_a_record_keeps_what_was_not_measured_again(tmp_path):
    file = tmp_path / "recorded.json"
    old = {"ratio": 1.0, "better": "lower"}
    new = {"ratio": 2.0, "better": "lower"}
    guard.write(file, {"call: GET": old, "call: gone": old, "load: GitHub": old})

    guard.write(file, {"call: GET": new})

    assert guard.read(file) == {"call: GET": new, "load: GitHub": old}
    assert json.loads(file.read_text()) == guard.read(file)


def test_copies_of_a_document_have_everything_of_their_own():
    show = {"operationId": "show", "security": [{"key": []}]}
    item = {"parameters": [{"$ref": "#/components/parameters/id"}], "get": show}
    components = {
        "parameters": {"id": {"name": "id", "in": "path", "required": True}},
        "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
    }
    one = document({"/pets/{id}": item}, components=components)

    many = repeat_document(one, 3)

    toolset = load_tools(many)
    assert [tool.name for tool in toolset] == ["show_c0", "show_c1", "show_c2"]
    assert [tool.path for tool in toolset] == [f"/c{number}/pets/{{id}}" for number in range(3)]
    assert set(many["components"]["parameters"]) == {"c0-id", "c1-id", "c2-id"}
    assert set(many["components"]["securitySchemes"]) == {"key"}
    assert not toolset.skipped
    assert len(load_tools(one)) == 1


def lines_of(*arguments):
    """Return what serve.py prints with these arguments, in lines."""
    command = [sys.executable, str(SERVE), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "is absent" in done.stdout:
        pytest.skip(done.stdout)

    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_benchmark_of_servers_prints_versions_and_rows():
    lines = lines_of("--rounds", "1", "shared", "program")

    assert "pydantic-monty " in lines[1]
    assert any(line.startswith("  CPU beside the call") for line in lines)
    assert any("Redis" in line for line in lines)


@pytest.mark.long
def test_each_server_has_a_row_or_a_reason_for_each_version_of_the_protocol(tmp_path):
    lines = lines_of("--rounds", "1", "--peers", str(tmp_path), "--markdown", "served")

    rows = [line for line in lines if line.startswith("| served: ")]
    assert len(rows) == 8
    assert all(" us" in line or " ms" in line or "not measured: " in line for line in rows)
