"""The files of the skill about a server's tools, as `openapi-tools generate` writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.codegen.output_state import sha256_of
from openapi_tools.codegen.package_plan import api_name
from openapi_tools.codegen.skill_calls import write_tool_call
from openapi_tools.codegen.skill_text import Skill, front_matter_of, render_texts
from openapi_tools.contracts.mcp_messages import UNNAMED

if TYPE_CHECKING:
    from openapi_tools.contracts.mcp import ToolsServer, VisibleTools

_MAIN = "SKILL.md"
_SCHEME = "skill://"
_SEVERAL, _SEVERAL_NAME = "the APIs of this server", "apis"


class ServedSkill(NamedTuple):
    """The entry of a skill, and its files by URI."""

    entry: dict[str, Any]
    files: dict[str, str]


def make_skill(server: ToolsServer, tools: VisibleTools) -> ServedSkill:
    """Return the skill about the tools that a client sees."""
    is_titled = server.name != UNNAMED
    name = api_name(server.name).replace("_", "-") if is_titled else _SEVERAL_NAME
    listed = [tool for tool in tools.called.values() if tool.path]
    title = server.name if is_titled else _SEVERAL
    skill = Skill(name, title, server.summary, listed, write_tool_call)
    texts = render_texts(skill, values={"is_command": False}, front_matter={})
    files = {f"{_SCHEME}{name}/{path}": text for path, text in texts.items()}
    resources = [_describe_file(uri, text.encode()) for uri, text in files.items()]
    uri = f"{_SCHEME}{name}/{_MAIN}"
    entry = {"uri": uri, "frontmatter": front_matter_of(skill), "resources": resources}
    return ServedSkill(entry, files)


def _describe_file(uri: str, content: bytes) -> dict[str, Any]:
    return {"uri": uri, "digest": f"sha256:{sha256_of(content)}", "size": len(content)}
