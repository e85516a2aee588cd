"""Amplifier: tools in the words of `amplifier_core`, and the module `tool-openapi`.

`mount` is what the entry point `tool-openapi` of the group `amplifier.modules` names. `present` is
what every mount into an Amplifier coordinator uses: of loaded toolsets and of generated packages.
"""

from __future__ import annotations

from openapi_tools.contracts.amplifier.amplifier_results import translated
from openapi_tools.contracts.amplifier.mount_plan import mount
from openapi_tools.contracts.amplifier.presentation import present

__amplifier_module_type__ = "tool"
__all__ = ["mount", "present", "translated"]
