"""An API as a folder of the Agent Skills format, whose operations the command line calls.

Besides the texts it has a copy of the document, a configuration that names an environment variable
for each credential, and a script that runs the command from any folder. No secret is in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.codegen import Code
from openapi_tools.codegen.api_files import name_credentials, write_document, write_tables
from openapi_tools.codegen.render import Templates, describe_scheme
from openapi_tools.codegen.skill_calls import CONFIGURATION, write_command
from openapi_tools.codegen.skill_text import (
    FOLDER,
    Skill,
    clean_line,
    render_texts,
)
from openapi_tools.common.json_values import as_dict, as_string

if TYPE_CHECKING:
    from openapi_tools.codegen.package_data import PackageData
    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.model import SecurityScheme
    from openapi_tools.toolsets.toolset import Toolset

DOCUMENT = "openapi.json"
_NEEDS = "Needs the command openapi-tools and a network connection."
_NAME, _VERSION = 80, 60


def build_skill_folder(
    toolset: Toolset, data: PackageData, file: ConfigFile | None, *, name: str
) -> dict[str, str]:
    """Return the files of a skill.

    Args:
        toolset: The tools.
        data: The package data of the same tools.
        file: The configuration that shaped them.
        name: The skill's name, which its folder has, too.
    """
    info = as_dict(as_dict(toolset.document).get("info"))
    operations = (record.operation for record in data.records)
    credentials = list(name_credentials(data.api, operations, data.schemes))
    skill = Skill(
        name,
        data.title,
        as_string(info.get("summary")) or as_string(info.get("description")),
        list(toolset),
        write_command,
    )
    values = {
        "is_command": True,
        "has_address": any(
            "://" in server.url for record in data.records for server in record.operation.servers
        ),
        "configuration": Code(CONFIGURATION),
        "credentials": [_credential_row(*each) for each in credentials],
    }
    front_matter: dict[str, Any] = {"compatibility": _NEEDS}
    if version := clean_line(data.version, _VERSION):
        front_matter |= {"metadata": {"api-version": version}}
    texts = render_texts(skill, values=values, front_matter=front_matter)
    tables = _configuration_tables(toolset, data, file) | {
        "credentials": {scheme: value for scheme, _, value in credentials}
    }
    return texts | {
        f"assets/{DOCUMENT}": write_document(toolset.bundled, data.servers),
        CONFIGURATION: write_tables(tables),
        "scripts/api.py": Templates(FOLDER).render("api.py", {}),
    }


def _credential_row(name: str, scheme: SecurityScheme, value: Any) -> dict[str, Any]:
    variables = value if isinstance(value, list) else [value]
    return {
        "variables": Code(", ".join(f"`{each.strip('${}')}`" for each in variables)),
        "scheme": clean_line(name, _NAME),
        "kind": clean_line(describe_scheme(scheme), _NAME),
    }


def _configuration_tables(
    toolset: Toolset, data: PackageData, file: ConfigFile | None
) -> dict[str, Any]:
    settings = {name: value for name, value in data.settings.items() if value is not None}
    tables: dict[str, Any] = {"source": DOCUMENT, "prefix": settings.pop("prefix", "")}
    tables["base_url"] = _find_base_url(toolset, data)
    if len(toolset) < toolset.counts["operations"] - toolset.counts["skipped"]:
        tables["select"] = {"names": [tool.form[0] for tool in toolset]}  # type: ignore[attr-defined]  # loaded tools
    tables["settings"] = settings
    if file is not None:
        shaping = {"answers", "tools"}
        tables |= file.data.model_dump(mode="json", exclude_unset=True, include=shaping)
    return tables


def _find_base_url(toolset: Toolset, data: PackageData) -> str:
    if base_url := toolset.session.settings.base_url:
        return base_url
    # Without a host, a document of Swagger has the address that it came from.
    has_host = "swagger" not in toolset.document or "host" in toolset.document
    return next((s.url for s in data.servers if not has_host and "://" in s.url), "")
