"""Late imports: the modules of a package on first use, and the lock of a first call's imports."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

importing = threading.RLock()  # for imports of a first call


def importer(room: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its modules when they are used."""

    def imported(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{room}.{name}")

    return imported
