"""Read answers by media type, cut to what a model can take.

What makes answers smaller is imported when it is first used: `responses.answer_shape.Shapes`.
"""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Import a module of this room (PEP 562)."""
    if name.startswith("_"):
        raise AttributeError(name)
    return import_module(f"{__name__}.{name}")
