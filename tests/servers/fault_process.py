"""The fault server in a process of its own, so that a test's process does nothing but call."""

import json
import subprocess
import sys
from pathlib import Path

_PROGRAM = Path(__file__).parent / "fault_routes.py"


class FaultProcess:
    """`with FaultProcess() as site:` then `site.url`."""

    def __enter__(self):
        command, pipe = [sys.executable, str(_PROGRAM)], subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        self.url = json.loads(self._process.stdout.readline())["url"]
        return self

    def __exit__(self, *_):
        # The server ends when its standard input does.
        self._process.communicate()
        assert self._process.returncode == 0
