"""Amplifier: tools in the words of `amplifier_core`, and the module `tool-openapi`.

`mount` is what the entry point `tool-openapi` of the group `amplifier.modules` names. `present` is
what every mount into an Amplifier coordinator uses: of loaded toolsets and of generated packages.
"""

from __future__ import annotations

from openapi_tools.contracts.amplifier.plan import mount
from openapi_tools.contracts.amplifier.presented import present
from openapi_tools.contracts.amplifier.results import translated

__amplifier_module_type__ = "tool"
__all__ = ["mount", "present", "translated"]
