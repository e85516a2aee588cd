"""The fault server in a process of its own, so that a test's own process does nothing but call."""

import json
import subprocess
import sys
from pathlib import Path

_PROGRAM = Path(__file__).parent / "fault_routes.py"


class FaultProcess:
    """`with FaultProcess() as site:` then `site.url`.

    Attributes:
        url: The address, without a slash at its end.
    """

    def __enter__(self):
        command = [sys.executable, str(_PROGRAM)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe)
        assert self._process.stdout is not None
        said = json.loads(self._process.stdout.readline())
        self.url = said["url"]
        return self

    def __exit__(self, *_):
        # The server ends when its standard input does.
        self._process.communicate()
        assert self._process.returncode == 0
