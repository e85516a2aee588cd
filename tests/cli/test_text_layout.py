"""Text in columns: widths, cuts, wrapped lines, commands over several lines."""

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.cli.text_layout import (
    cut_to_width,
    shorten_path,
    shorten_text,
    text_width,
    wrap_command,
    wrap_text,
)

MUSIC = "\u97f3\u697d"
FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXT = st.text(
    st.sampled_from(f"ab {MUSIC}\u0301\u200d\ufe0f\U0001f3fb\U0001f468\u2764\u1112\u1161\u11ab-\n"),
    max_size=60,
)


@pytest.mark.parametrize(
    ("text", "width"),
    [
        ("abc", 3),
        (MUSIC, 4),
        ("e\u0301", 1),
        ("\u200b", 0),
        ("\uff21", 2),
        (FAMILY, 2),
        ("\U0001f44b\U0001f3fd", 2),
        ("\u2764\ufe0f", 2),
        ("\u2764", 1),
        ("\U0001f1e9\U0001f1ea", 2),
        ("\u1112\u1161\u11ab", 2),
        ("a\u00adb", 3),
    ],
)
def test_a_width_is_that_of_the_characters_a_terminal_displays(text, width):
    assert text_width(text) == width


@given(TEXT, st.integers(0, 30))
def test_a_cut_never_exceeds_its_width_nor_splits_a_character(text, width):
    start = cut_to_width(text, width)

    assert text.startswith(start)
    assert text_width(start) <= width
    assert text_width(start) + text_width(text[len(start) :]) == text_width(text)
    assert text_width(shorten_text(text, width)) <= width


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, ["one two", "three"]),
        ("one\n\ntwo", 9, ["one", "", "two"]),
        ("abcdefgh ij", 3, ["abc", "def", "gh", "ij"]),
        (f"{MUSIC}\u97f3", 4, [MUSIC, "\u97f3"]),
        ("", 5, [""]),
        (MUSIC, 1, list(MUSIC)),
        ("- one two three\n- four", 10, ["- one two", "  three", "- four"]),
        ("  code", 10, ["  code"]),
    ],
)
def test_a_text_is_wrapped_at_spaces(text, width, expected):
    assert wrap_text(text, width) == expected


def test_further_lines_are_indented():
    assert wrap_text("note: one two three", 11, indent="  ") == ["note: one", "  two three"]


@given(TEXT, st.integers(2, 30), st.sampled_from(["", "  ", "    "]))
def test_no_wrapped_line_is_wider_and_no_word_is_lost(text, width, indent):
    lines = wrap_text(text, width, indent=indent)

    assert max(map(text_width, lines)) <= width
    assert "".join("".join(lines).split()) == "".join(text.split())


PATH = "/repos/{owner}/{repo}/issues/{issue_number}/labels"


@pytest.mark.parametrize(
    ("path", "width", "expected"),
    [
        (PATH, 50, PATH),
        (PATH, 48, "/repos/{…}/{repo}/issues/{issue_number}/labels"),
        (PATH, 34, "/repos/{…}/{…}/issues/{…}/labels"),
        (PATH, 30, "/repos/…/issues/{…}/labels"),
        (PATH, 20, "/repos/…/labels"),
        (PATH, 10, "…/labels"),
        (PATH, 6, "/…bels"),
        (PATH, 1, "…"),
        ("/orders/{id}/lines/{line_id}", 18, "…/lines/{line_id}"),
        ("/orders/{order_id}", 14, "/orders/{…}"),
        ("/2.0/API_GetDetailsOfUser", 14, "/2.0…ilsOfUser"),
        ("/" + MUSIC * 9, 9, "/…" + "\u697d" + MUSIC),
    ],
)
def test_a_path_keeps_its_last_segments(path, width, expected):
    assert shorten_path(path, width) == expected


@given(st.text(st.sampled_from(f"/{{}}ab{MUSIC}"), max_size=40), st.integers(1, 40))
def test_no_path_is_wider_than_its_column(path, width):
    assert text_width(shorten_path(path, width)) <= width


WORDS = st.lists(st.text(st.sampled_from("ab '\"$\\{}:"), min_size=1, max_size=40), min_size=1)


@given(WORDS, st.integers(20, 80))
def test_a_command_over_several_lines_is_the_same_command(words, width):
    lines = wrap_command(["printf", r"%s\n", *words], width)

    assert max(map(text_width, lines)) <= max(width, 20)
    ran = subprocess.run(["/bin/sh", "-c", "\n".join(lines)], capture_output=True, check=True)
    assert ran.stdout.decode().splitlines() == words


def test_values_to_fill_in_are_not_quoted():
    assert wrap_command(["call", "name=…", "a b"], None) == ["call name=… 'a b'"]
