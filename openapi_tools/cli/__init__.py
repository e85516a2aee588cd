"""The command line: `openapi-tools list | show | call | login | serve | lint | generate | cache`.

Exit codes: 0 done, 1 the answer is no (a failing call, findings, drift) or cannot be written, 2
wrong usage or a document that does not load, 130 interrupted.
"""

from __future__ import annotations

from openapi_tools.cli.group import commands


def main() -> None:
    """Run the command line on `sys.argv` and exit."""
    commands.main()
