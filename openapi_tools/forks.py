"""Late imports: the modules of a package on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def importer(room: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports its modules when they are used.

    Args:
        room: The name of the package, which is `__name__` in its `__init__.py`.

    Returns:
        A function of a module's name, which raises AttributeError for names that begin with `_`.

    Raises:
        ModuleNotFoundError: From that function, for a module that does not exist.
    """

    def imported(name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{room}.{name}")

    return imported
