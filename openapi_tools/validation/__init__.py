"""Check a model's input against its schema, and describe its faults.

What teaches in messages is imported when it is first used: `validation.samples.taught`.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Import a module of this room (PEP 562)."""
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
