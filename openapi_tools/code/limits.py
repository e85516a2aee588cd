"""What one run of a program may use: time, memory, calls, output."""

from __future__ import annotations

from dataclasses import dataclass, fields

from openapi_tools.errors import SettingsError

_MOST = 10**15


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """Limits of one run of a program, each above 0.

    Attributes:
        seconds: Wall time, calls included; a question to a person stops the clock.
        cpu_seconds: Computing time of the program itself.
        memory_bytes: Memory of the program.
        recursion: Depth of calls of functions.
        calls: Requests to APIs; each page is one.
        output_chars: Characters of the value and of the prints that reach the model.

    Raises:
        SettingsError: One is not a number above 0, or far above any use.
    """

    seconds: float = 60.0
    cpu_seconds: float = 5.0
    memory_bytes: int = 128 * 1024 * 1024
    recursion: int = 500
    calls: int = 100
    output_chars: int = 20_000

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            fits = isinstance(value, int | float) and not isinstance(value, bool)
            if not fits or not 0 < value <= _MOST or (each.type == "int" and value != int(value)):
                requirement = f"must be greater than 0 and at most {_MOST:,}"
                raise SettingsError(f"limits: {each.name} {requirement}, not {value!r:.60}.")
