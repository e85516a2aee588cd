"""Names of a package whose modules are imported when a name is first used (PEP 562)."""

from __future__ import annotations

import gc
import sys
from importlib import import_module

TYPE_CHECKING = False  # as in `openapi_tools`: `typing` would double the start's cost
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any


def import_by_name(name: str) -> Any:
    """Return a module by its name; for tables of names, and for users' packages."""
    pauses_gc = gc.isenabled() and name not in sys.modules
    if pauses_gc:  # as `json_values.PausedGC`, whose module would cost a start more than this one
        gc.disable()
    try:
        return import_module(name)
    finally:
        if pauses_gc:
            gc.enable()


def load_public_name(
    package: str, name: str, homes: Mapping[str, Collection[str]], *, default: str
) -> Any:
    """Return a public name of a module, and remember it there; AttributeError for another name.

    Args:
        package: The module whose `__getattr__` asks.
        name: The attribute.
        homes: Public names by the module of `openapi_tools` that has them.
        default: The module of the public names that `homes` does not list.
    """
    module = sys.modules[package]
    if name not in module.__all__:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    home = next((home for home, names in homes.items() if name in names), default)
    value = getattr(import_by_name(f"openapi_tools.{home}"), name)
    setattr(module, name, value)
    return value
