"""An MCP bundle: a ZIP archive of a manifest, a server and its documents, which a host installs.

The host asks its user for credentials and passes them in environment variables. `uv` installs the
server's dependencies; this package itself is in the bundle, so no package index needs it.

Spec: MCPB manifest 0.4, github.com/modelcontextprotocol/mcpb, MANIFEST.md.
"""

from __future__ import annotations

import io
import json
import re
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from openapi_tools.codegen.render import Templates
from openapi_tools.codegen.skill_text import clean_line
from openapi_tools.errors import OpenAPIToolsError, format_count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

CONFIGURATION = "openapi-tools.toml"
"""The configuration in a bundle, which its server reads."""

_FOLDER = Path(__file__).parent / "bundle_templates"
_PROJECT = "openapi-tools"
_PACKAGE = Path(__file__).parents[1]
_SEMANTIC = re.compile(r"(0|[1-9]\d{0,8})(\.(0|[1-9]\d{0,8})){2}(-[0-9A-Za-z.-]{1,60})?")
_DEFAULT_VERSION = "1.0.0"  # of an API whose own version is not a semantic one
_EXTRA = re.compile(r"(?:\band\s+)?\bextra\s*==\s*['\"]([\w-]+)['\"]\s*")
# Characters.
_LONGEST_TITLE = 80
_LONGEST_SUMMARY = 300
_LONGEST_LINE = 160
_EARLIEST_TIME = (1980, 1, 1, 0, 0, 0)  # in a ZIP archive
_PLAIN_FILE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class Variable:
    """An environment variable that the host asks its user for."""

    name: str
    title: str
    description: str
    is_secret: bool = True
    is_required: bool = True


@dataclass(frozen=True, slots=True)
class Bundle:
    """The contents of a bundle.

    Attributes:
        name: The identifier of the bundle, such as `museum`.
        title: The title of the API, or the titles of several.
        version: The version of the API.
        summary: What the API is for; may be empty.
        author: Who publishes the API; may be empty.
        tools: The tools that clients list.
        options: The options of `serve`.
        extras: The extras of this package that the server needs.
        variables: The environment variables that the host asks for.
        files: The configuration and the files that it names.
        can_change: Whether the tools may change, because a document is read from a URL.
    """

    name: str
    title: str
    version: str
    summary: str
    author: str
    tools: Sequence[Any]
    options: Sequence[str]
    extras: Sequence[str]
    variables: Sequence[Variable] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    can_change: bool = False


def build_bundle(bundle: Bundle) -> bytes:
    """Return the archive; the same bundle gives the same bytes.

    Raises:
        OpenAPIToolsError: This package is not installed, so its dependencies are unknown.
    """
    templates, variables = Templates(_FOLDER), [each.name for each in bundle.variables]
    project = {
        "python": _project_field("Requires-Python"),
        "requirements": list(find_requirements(bundle.extras)),
    }
    texts = {
        "manifest.json": json.dumps(make_manifest(bundle), indent=2) + "\n",
        "pyproject.toml": templates.render("pyproject.toml", project),
        "server.py": templates.render(
            "server.py", {"options": list(bundle.options), "variables": variables}
        ),
        **bundle.files,
    }
    files = {name: text.encode() for name, text in texts.items()}
    return _write_archive({**files, **dict(_package_files())})


def make_manifest(bundle: Bundle) -> dict[str, Any]:
    """Return the manifest, in which strings of documents are single lines without markup."""
    title = clean_line(bundle.title, _LONGEST_TITLE) or bundle.name
    count = format_count(len(bundle.tools), "tool")
    arguments = ["run", "--directory", "${__dirname}", "server.py"]
    environment = {each.name: f"${{user_config.{each.name}}}" for each in bundle.variables}
    manifest: dict[str, Any] = {
        "manifest_version": "0.4",
        "name": bundle.name,
        "display_name": title,
        "version": bundle.version if _SEMANTIC.fullmatch(bundle.version) else _DEFAULT_VERSION,
        "description": clean_line(bundle.summary, _LONGEST_SUMMARY) or f"The {count} of {title}.",
        "author": {"name": clean_line(bundle.author, _LONGEST_TITLE) or title},
        "server": {
            "type": "uv",
            "entry_point": "server.py",
            "mcp_config": {"command": "uv", "args": arguments, "env": environment},
        },
        "tools": [_describe_tool(tool) for tool in bundle.tools],
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": _project_field("Requires-Python")},
        },
    }
    if bundle.can_change:
        manifest["tools_generated"] = True
    if bundle.variables:
        manifest["user_config"] = {each.name: _describe_variable(each) for each in bundle.variables}
    return manifest


def _describe_tool(tool: Any) -> dict[str, str]:
    summary = tool.description.strip().partition("\n")[0]
    return {"name": tool.name, "description": clean_line(summary, _LONGEST_LINE)}


def _describe_variable(variable: Variable) -> dict[str, Any]:
    return {
        "type": "string",
        "title": clean_line(variable.title, _LONGEST_TITLE) or variable.name,
        "description": clean_line(variable.description, _LONGEST_LINE) or variable.name,
        "sensitive": variable.is_secret,
        "required": variable.is_required,
        # Without a default, hosts would pass the reference itself; the server drops empty values.
        **({} if variable.is_required else {"default": ""}),
    }


def find_requirements(extras: Iterable[str]) -> Iterator[str]:
    """Yield the requirements of this package with these extras."""
    chosen, seen = set(extras), set()
    for line in _distribution().requires or ():
        requirement, _, marker = line.partition(";")
        extra = _EXTRA.search(marker)
        if extra is not None and extra[1] not in chosen:
            continue
        rest = _EXTRA.sub("", marker).strip()
        text = f"{requirement.strip()}; {rest}" if rest else requirement.strip()
        if text not in seen:
            seen.add(text)
            yield text


def _project_field(name: str) -> str:
    return str(_distribution().metadata[name])


def _distribution() -> metadata.Distribution:
    try:
        return metadata.distribution(_PROJECT)
    except metadata.PackageNotFoundError:
        reason = f"{_PROJECT} is not installed, so the packages that it needs are unknown"
        raise OpenAPIToolsError(f"{reason}; install it with pip.") from None


def _package_files() -> Iterator[tuple[str, bytes]]:
    for path in _PACKAGE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            yield f"{_PACKAGE.name}/{path.relative_to(_PACKAGE).as_posix()}", path.read_bytes()
    licence = _distribution().read_text("licenses/LICENSE") or ""
    yield f"{_PACKAGE.name}/LICENSE", licence.encode()


def _write_archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name in sorted(files):
            # Fixed time, mode and system, so that the bytes do not depend on this machine.
            entry = ZipInfo(name, _EARLIEST_TIME)
            entry.compress_type, entry.create_system = ZIP_DEFLATED, 3
            entry.external_attr = _PLAIN_FILE
            archive.writestr(entry, files[name])
    return buffer.getvalue()
