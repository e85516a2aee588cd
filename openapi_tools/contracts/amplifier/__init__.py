"""Amplifier: tools with results of `amplifier_core`, and the module `tool-openapi`.

The entry point `tool-openapi` of the group `amplifier.modules` names `mount`. Every mount into an
Amplifier coordinator uses `present`: of loaded toolsets and of generated packages.
"""

from __future__ import annotations

from openapi_tools.contracts.amplifier.amplifier_results import translated
from openapi_tools.contracts.amplifier.mount_plan import mount, present

__amplifier_module_type__ = "tool"
__all__ = ["mount", "present", "translated"]
