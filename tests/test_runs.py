"""What a run of the tests itself does, wherever it is started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

TESTS = Path(__file__).parent
CASES = """
import subprocess, sys
import pytest

WAIT = "import time; print(flush=True); time.sleep(60)"

@pytest.mark.parametrize("number", range(3))
def test_skipped(number):
    pytest.skip("it needs the moon")

def test_failing():
    assert 1 == 2

def test_interrupting():
    with subprocess.Popen([sys.executable, "-c", WAIT], stdout=-1, stderr=-3) as child:
        child.stdout.readline()
        child.send_signal(2)
        assert child.wait(60) != 0
"""


def test_a_run_says_failures_last_and_reasons_to_skip_once(tmp_path):
    path = tmp_path / "test_cases.py"
    path.write_text(CASES)
    options = ["-c", TESTS.parent / "pyproject.toml", "-p", "conftest", "--cov-fail-under=0"]

    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )

    lines = ended.stdout.splitlines()
    assert lines[-3].startswith("=")
    assert lines[-2].startswith("FAILED ")
    assert lines[-2].endswith("::test_failing - assert 1 == 2")
    assert "1 failed, 1 passed, 3 skipped" in lines[-1]
    assert [line for line in lines if "the moon" in line] == ["3 skipped: it needs the moon"]
    # Children can be interrupted also where the run cannot.
    assert not any("test_interrupting" in line for line in lines)
