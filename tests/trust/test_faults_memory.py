"""What faults take of memory and of open files, measured in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parent / "measure_faults.py"
MEBIBYTE = 1024
"""In the KiB that the system counts in."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


def measured(*arguments):
    """Return what the program printed."""
    command = [sys.executable, str(PROGRAM), *arguments]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)


def test_the_whole_set_of_faults_takes_less_than_64_mb():
    told = measured()

    assert told["growth"] < 64 * MEBIBYTE, told["by"]


def test_failing_calls_leave_nothing_behind():
    told = measured("2000")

    assert told["errors"] == 2000
    assert told["files"] <= 0
    assert told["kib"] < 20 * MEBIBYTE
