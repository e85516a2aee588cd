"""What faults take of memory and of open files, measured in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from servers.fault_process import FaultProcess

HERE = Path(__file__).parent
MEBIBYTE = 1024
"""In the KiB that the system counts in."""

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc"),
]


def told_by(program, *arguments):
    """Return what a program printed."""
    command = [sys.executable, str(HERE / program), *arguments]
    ended = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300)
    return json.loads(ended.stdout)


def test_the_whole_set_of_faults_takes_less_than_64_mb():
    with FaultProcess() as site:
        told = told_by("measure_faults.py", site.url)

    assert told["growth"] < 64 * MEBIBYTE, told["most"]


def test_failing_calls_leave_nothing_behind():
    told = told_by("run_failing_calls.py", "2000")

    assert told["errors"] == 2000
    assert told["files"] <= 0
    assert told["kib"] < 20 * MEBIBYTE
