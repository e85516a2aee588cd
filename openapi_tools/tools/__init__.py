"""Tools and toolsets, and the way of a call; modules are imported when they are first used."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Import a module of this room (PEP 562)."""
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
