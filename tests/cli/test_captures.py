"""Commands in tmux look like the golden files: at two widths, with and without colours."""

import shutil

import captures
import pytest

from openapi_tools.cli.text_layout import text_width

USUAL = [("list", 80, True), ("show", 80, False)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    if shutil.which("tmux") is None:
        pytest.skip("tmux is not installed (Debian: apt install tmux)")
    made = tmp_path_factory.mktemp("captures")
    captures.prepare(made)
    return made


@pytest.mark.parametrize(
    "case",
    [c if c in USUAL else pytest.param(c, marks=pytest.mark.long) for c in captures.CASES],
    ids=str,
)
def test_a_command_looks_like_its_capture(case, folder):
    found = captures.captured(*case, folder)
    expected = captures.file_of(*case).read_text(encoding="utf-8")

    assert found == expected, f"python tests/captures.py writes it anew\n{found}"


def test_there_is_a_golden_file_for_each_capture_and_no_other():
    files = sorted(captures.GOLDEN.glob("*"))

    assert files == sorted(captures.file_of(*case) for case in captures.CASES)
    for case in captures.CASES:
        text = captures.file_of(*case).read_text(encoding="utf-8")
        assert case[2] or "\x1b" not in text
        assert case[2] or max(map(text_width, text.splitlines())) <= case[1]
