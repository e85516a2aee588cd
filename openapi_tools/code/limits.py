"""Limits of a program."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """Limits of one run of a program.

    Attributes:
        seconds: Wall time, calls included.
        cpu_seconds: Computing time of the program itself.
        memory_bytes: Memory of the program.
        calls: Calls of tools.
        output_chars: Characters of the value and of the prints that reach the model.
    """

    seconds: float = 60.0
    cpu_seconds: float = 5.0
    memory_bytes: int = 64 * 1024 * 1024
    calls: int = 100
    output_chars: int = 20_000
