"""Late imports: the modules of a package on first use, and the lock of a first call's imports."""

from __future__ import annotations

import threading
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# For the imports of a first call, which several threads may make at once: a module that imports
# itself in two threads in different orders makes one of them see a half of it.
importing = threading.RLock()


def importer(room: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its modules when they are used.

    Args:
        room: The name of the package, which is `__name__` in its `__init__.py`.

    Returns:
        A function of a module's name.
    """

    def imported(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{room}.{name}")

    return imported
