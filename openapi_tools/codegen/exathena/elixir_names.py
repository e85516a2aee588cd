"""Names in an ExAthena project: modules and files, different also where case does not count."""

from __future__ import annotations

import re

from openapi_tools.codegen.identifiers import Names, slug
from openapi_tools.codegen.literals import Code
from openapi_tools.tools.packages import class_name

# Windows takes these for devices, whatever the ending.
_DEVICE = re.compile(r"con|prn|aux|nul|(?:com|lpt)[0-9]")


def application(api: str) -> Code:
    """Return the name of the OTP application: `petstore_tools`."""
    return Code(f"{api}_tools")


def root_module(api: str) -> Code:
    """Return the name of the module that lists the others: `PetstoreTools`."""
    return Code(class_name(application(api)))


class ToolNames:
    """Names for the module and the file of each tool."""

    def __init__(self) -> None:
        self._stems = Names()
        self._lowered: set[str] = set()

    def claim(self, tool: str) -> tuple[Code, Code]:
        """Return the last part of a module's name and the stem of its file.

        Args:
            tool: The tool's name, of the allow-list of tool names.
        """
        plain = slug(tool) or "tool"
        wanted = f"{plain}_tool" if _DEVICE.fullmatch(plain) else plain
        stem = self._stems.claim(wanted, whose=tool)
        module = class_name(tool) if class_name(tool)[:1].isalpha() else f"Tool{class_name(tool)}"
        if module.lower() in self._lowered:
            # Compiled modules are files as well, named after the module.
            module = f"Tool{class_name(stem)}"
        while module.lower() in self._lowered:
            module += "X"
        self._lowered.add(module.lower())
        return Code(module), stem
