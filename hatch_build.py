"""Adds a software bill of materials to the wheel: what it declares to need, in CycloneDX.

Spec: PEP 770 (`.dist-info/sboms/`); CycloneDX 1.6.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

if TYPE_CHECKING:
    from hatchling.metadata.core import ProjectMetadata

_FILE = "openapi-tools.cdx.json"
_REQUIREMENT = "openapi-tools:requires-dist"


class SBOMHook(BuildHookInterface):
    """Writes the file while a wheel is built."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the file and name it to hatchling."""
        if version == "editable":
            return
        folder = tempfile.TemporaryDirectory()
        self._folder = folder
        path = Path(folder.name) / _FILE
        path.write_text(
            json.dumps(describe_project(self.metadata), indent=1) + "\n", encoding="utf-8"
        )
        build_data["sbom_files"].append(str(path))

    def finalize(self, version: str, _build_data: dict[str, Any], _artifact_path: str) -> None:
        """Remove the file, which is in the wheel now."""
        if version != "editable":
            self._folder.cleanup()


def describe_project(metadata: ProjectMetadata[Any]) -> dict[str, Any]:
    """Return the bill of materials: the project, and each package that it or an extra requires."""
    core = metadata.core
    lines = [(requirement, "") for requirement in core.dependencies]
    for extra, requirements in core.optional_dependencies.items():
        lines += [(requirement, extra) for requirement in requirements]
    root = f"pkg:pypi/{core.name}@{metadata.version}"
    components: dict[str, dict[str, Any]] = {}
    for requirement, extra in lines:
        name = canonicalize_name(Requirement(requirement).name)
        if name != core.name:  # an extra that consists of others
            _add_requirement(components, name, requirement, extra)
    ordered = [components[name] for name in sorted(components)]
    # Neither a time nor a serial number: the same sources are the same bytes.
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "lifecycles": [{"phase": "pre-build"}],
            "component": {
                "type": "library",
                "bom-ref": root,
                "name": core.name,
                "version": metadata.version,
                "description": core.description,
                "licenses": [{"expression": core.license_expression}],
                "purl": root,
            },
        },
        "components": ordered,
        # What these need themselves is chosen at installation, so they have no entries here.
        "dependencies": [{"ref": root, "dependsOn": [each["bom-ref"] for each in ordered]}],
    }


def _add_requirement(
    components: dict[str, dict[str, Any]], name: str, requirement: str, extra: str
) -> None:
    component = components.setdefault(
        name,
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{name}",
            "name": name,
            # Those of the project itself come first, so that an extra does not make them optional.
            "scope": "optional" if extra else "required",
            "purl": f"pkg:pypi/{name}",
            "properties": [],
        },
    )
    value = f"{requirement}; extra == '{extra}'" if extra else requirement
    component["properties"].append({"name": _REQUIREMENT, "value": value})
