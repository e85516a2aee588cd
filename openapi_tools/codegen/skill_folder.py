"""An API as a folder of the Agent Skills format, whose operations the command line calls.

Besides the texts it has a copy of the document, a configuration that names an environment variable
for each credential, and a script that runs the command from any folder. No secret is in it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen import Code
from openapi_tools.codegen.package_plan import Names
from openapi_tools.codegen.render import SURROGATE, Templates, describe_scheme, write_toml
from openapi_tools.codegen.skill_calls import CONFIGURATION, write_command
from openapi_tools.codegen.skill_text import (
    FOLDER,
    Skill,
    clean_line,
    render_texts,
)
from openapi_tools.common.json_values import as_dict, as_list, as_string
from openapi_tools.errors import OpenAPIToolsError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.codegen.package_data import PackageData
    from openapi_tools.configuration.config_file import ConfigFile
    from openapi_tools.model import SecurityScheme
    from openapi_tools.toolsets.toolset import Toolset

DOCUMENT = "openapi.json"
_NEEDS = "Needs the command openapi-tools (pip install openapi-tools) and a network connection."
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+")
# A user and a password in the URL of a server, which reach no file; inside a string of the document
# the quotes around a URL have backslashes.
_USER = re.compile(r'("url": "[A-Za-z][A-Za-z0-9+.-]*+://)(?:[^"/?#@]*+@)++')
_OTHER = re.compile(r"[^A-Z0-9]+")
_PASSWORDS = ("basic", "digest")
_NAME, _VERSION = 80, 60


def build_skill_folder(
    toolset: Toolset, data: PackageData, file: ConfigFile | None, *, name: str
) -> dict[str, str]:
    """Return the files of a skill.

    Args:
        toolset: The tools.
        data: Of the same tools.
        file: The configuration that shaped them.
        name: The skill's name, which its folder has, too.
    """
    info = as_dict(as_dict(toolset.document).get("info"))
    credentials = list(_name_variables(data))
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
        f"assets/{DOCUMENT}": _write_document(toolset.bundled, data),
        CONFIGURATION: "".join(_write_tables(tables)),
        "scripts/api.py": Templates(FOLDER).render("api.py", {}),
    }


def _name_variables(data: PackageData) -> Iterator[tuple[str, SecurityScheme, Any]]:
    # Those that the operations use; a certificate is no value of a variable.
    used = {
        name: scheme
        for record in data.records
        for alternative in record.operation.security
        for name in alternative
        if (scheme := data.schemes.get(name)) is not None and scheme.type != "mutualTLS"
    }
    names = Names()
    for name, scheme in used.items():
        words = _OTHER.sub("_", f"{data.api}_{name}".upper()).strip("_")
        value = f"${{{names.claim(words, whose=name).upper()}}}"
        if scheme.type == "http" and scheme.scheme in _PASSWORDS:
            user = names.claim(f"{words}_USER", whose=name).upper()
            yield name, scheme, [f"${{{user}}}", value]
        else:
            yield name, scheme, value


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


def _write_tables(tables: Mapping[str, Any]) -> Iterator[str]:
    yield "# Code generated by openapi-tools. DO NOT EDIT.\n"
    # Keys of the root stand before the first table (TOML 1.0, section "Table").
    for name, value in tables.items():
        if not isinstance(value, dict) and value:
            yield f"{name} = {_write_value(value)}\n"
    for name, table in tables.items():
        if isinstance(table, dict) and table:
            yield f"\n[{name}]\n"
            yield from (f"{_write_key(key)} = {_write_value(table[key])}\n" for key in table)


def _write_key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else write_toml(key)


def _write_value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = (f"{_write_key(key)} = {_write_value(part)}" for key, part in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_write_value, value))}]"
    return write_toml(value)


def _write_document(document: Any, data: PackageData) -> str:
    servers = as_list(document.get("servers"))
    if "openapi" in document and not all(map(_is_absolute, servers or [None])):
        # A copy in a file has no address that relative ones could be resolved against.
        servers = servers or [{}] * len(data.servers)
        pairs = zip(servers, data.servers, strict=False)
        resolved = [{**as_dict(server), "url": found.url} for server, found in pairs]
        document = {**document, "servers": resolved} if resolved else document
    try:
        text = json.dumps(document, ensure_ascii=False, indent=1)
        if not text.isascii():
            # No reader of JSON needs to take lone surrogates, and ours does not.
            text = json.dumps(json.loads(SURROGATE.sub("\ufffd", text)), indent=1)
    except (RecursionError, ValueError) as error:
        raise OpenAPIToolsError(f"the document cannot be written as JSON: {error}.") from None
    return _USER.sub(r"\1***@", f"{text}\n")


def _is_absolute(server: Any) -> bool:
    return "://" in as_string(as_dict(server).get("url"))
