"""Generated packages, read beside loaded tools, and a coordinator that takes tools."""

from __future__ import annotations

import importlib
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


ROOT = Path(__file__).parent.parent
SPECS = sorted((ROOT / "specs").glob("*.[jy]*"))
ASPECTS = ("name", "description", "input_schema", "operation", "method", "path", "tags")


def describe_tools(toolset):
    """Return all that a toolset says, with a text for each value that tells 1 from True and 1.0."""
    return {
        "tools": [[repr(getattr(tool, aspect)) for aspect in ASPECTS] for tool in toolset],
        "skipped": repr(toolset.skipped),
        "security_schemes": repr(dict(toolset.security_schemes)),
        "counts": toolset.counts,
    }


def differences(one, other):
    """Return where two of them differ, briefly: what they say may fill megabytes."""
    faults = [
        (key, f"{one[key]!s:.500}") for key in one.keys() - {"tools"} if one[key] != other[key]
    ]
    names = [[tool[0] for tool in tools] for tools in (one["tools"], other["tools"])]
    if names[0] != names[1]:
        return [*faults, ("names", f"{[*zip(*names, strict=False)]!s:.500}")]
    return faults + [
        (tool[0], aspect)
        for tool, twin in zip(one["tools"], other["tools"], strict=True)
        for aspect, value, same in zip(ASPECTS, tool, twin, strict=True)
        if value != same
    ]


@contextmanager
def import_package(folder: Path, package: str) -> Iterator[ModuleType]:
    """Import a generated package into this process, and forget it afterwards."""
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module(package)
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{package}.")]:
            del sys.modules[name]


def bytes_in(folder):
    """Return the files of a folder by relative path, without what running Python leaves there."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not {"__pycache__", ".pytest_cache"} & set(path.parts)
    }


def lint(folder):
    """Return what ruff would change or has to say, with the settings of this repository."""
    from ruff import find_ruff_bin

    errors = ""
    for command in (["format", "--diff"], ["check", "--output-format=concise"]):
        options = ["--no-cache", "--quiet", "--config", str(ROOT / "pyproject.toml")]
        done = subprocess.run(
            [find_ruff_bin(), *command, *options, str(folder)],
            capture_output=True,
            text=True,
            check=False,
        )
        errors += (done.stdout + done.stderr)[:2000] if done.returncode else ""
    return errors


class Coordinator:
    """As much of a coordinator as the contract asks for, with room for `full` tools."""

    def __init__(self, *names: str, full: int = 99) -> None:
        self.tools: dict[str, Any] = dict.fromkeys(names)
        self.full = full

    async def mount(self, point: str, tool: Any, name: str | None = None) -> None:
        assert point == "tools"
        if len(self.tools) >= self.full:
            raise RuntimeError("full")
        self.tools[name or tool.name] = tool

    async def unmount(self, point: str, name: str | None = None) -> None:
        assert point == "tools"
        del self.tools[name]

    def get(self, point: str, name: str | None = None) -> Any:
        assert point == "tools"
        return self.tools if name is None else self.tools.get(name)
