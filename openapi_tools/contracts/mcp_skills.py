"""The tools of a server as an Agent Skill that its clients read: `add_skills(server)`.

Spec: io.modelcontextprotocol/skills (SEP-2640), for Model Context Protocol 2026-07-28.
"""

from __future__ import annotations

import mimetypes
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from openapi_tools.errors import require_extra

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext

    from openapi_tools.contracts.mcp import ToolsServer, VisibleTools
    from openapi_tools.contracts.mcp_skill_files import ServedSkill

with require_extra("mcp"):
    import anyio
    from mcp import MCPError, types
    from mcp.types import INVALID_PARAMS, METHOD_NOT_FOUND
    from mcp.types.version import MODERN_PROTOCOL_VERSIONS

EXTENSION = "io.modelcontextprotocol/skills"
_SCHEME = "skill://"
_MARKDOWN = "text/markdown"


class _SkillParams(types.RequestParams):
    uri: str


def add_skills(server: ToolsServer) -> None:
    """Let a server of `create_server` describe its tools in a skill.

    It has the texts that `openapi-tools generate --target skill` writes, about the tools that the
    client sees, called as tools of the server. The document and the script of such a folder are not
    served: they would show operations that the client may not see, and calls with them would pass
    by the server's credentials, approvals and records.
    """
    skills = _SkillHandlers(server)
    server.extensions[EXTENSION] = {}
    server.add_request_handler("skills/list", types.PaginatedRequestParams, skills.list_skills)
    server.add_request_handler("skills/get", _SkillParams, skills.get_skill)
    list_params, read_params = types.PaginatedRequestParams, types.ReadResourceRequestParams
    server.add_request_handler("resources/list", list_params, skills.list_resources)
    server.add_request_handler("resources/read", read_params, skills.read_resource)


class _SkillHandlers:
    def __init__(self, server: ToolsServer) -> None:
        self._server = server
        self._skills: WeakKeyDictionary[VisibleTools, ServedSkill] = WeakKeyDictionary()

    @property
    def _cache_hints(self) -> dict[str, Any]:
        # Clients may see different tools.
        return {"ttlMs": round(self._server.lifetime * 1000), "cacheScope": "private"}

    async def list_skills(self, request: ServerRequestContext[Any], _: Any) -> dict[str, Any]:
        """Return the entry of the skill; none without tools."""
        skill = await self._find_skill(request)
        return {"skills": [] if skill is None else [skill.entry], **self._cache_hints}

    async def get_skill(
        self, request: ServerRequestContext[Any], params: _SkillParams
    ) -> dict[str, Any]:
        """Return the entry of the skill at an address."""
        skill = await self._find_skill(request)
        if skill is None or skill.entry["uri"] != params.uri:
            raise MCPError(INVALID_PARAMS, f"this server has no skill at {params.uri!r:.200}.")
        return {"skill": skill.entry, **self._cache_hints}

    async def list_resources(
        self, request: ServerRequestContext[Any], params: Any
    ) -> types.ListResourcesResult:
        """Return the files of calls, and the skill for clients that declare the extension."""
        result = await self._server.files.list_resources(request, params)
        if _declares_skills(request) and (skill := await self._find_skill(request)) is not None:
            result.resources.append(_describe_skill(skill))
        return result

    async def read_resource(
        self, request: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return a file of the skill, or one of a call."""
        uri = str(params.uri)
        if not uri.startswith(_SCHEME):
            return await self._server.files.read_resource(request, params)
        skill = await self._find_skill(request) if _is_modern(request) else None
        if skill is None or uri not in skill.files:
            raise MCPError(INVALID_PARAMS, f"no skill of this server has the file {uri!r:.200}.")
        kind = mimetypes.guess_type(uri)[0] or _MARKDOWN
        contents = {"uri": uri, "mimeType": kind, "text": skill.files[uri]}
        return types.ReadResourceResult.model_validate({"contents": [contents]})

    async def _find_skill(self, request: ServerRequestContext[Any]) -> ServedSkill | None:
        if not _is_modern(request):
            raise MCPError(METHOD_NOT_FOUND, "skills need version 2026-07-28 of the protocol.")
        tools = self._server.visible_tools(request)
        if not tools.called:
            return None
        if tools not in self._skills:
            # A second per thousand tools, which other clients do not wait for.
            self._skills[tools] = await anyio.to_thread.run_sync(_make_skill, self._server, tools)
        return self._skills[tools]


def _make_skill(server: ToolsServer, tools: VisibleTools) -> ServedSkill:
    # Start-up time: it imports the templates of `generate`, and few clients read skills.
    from openapi_tools.contracts import mcp_skill_files

    return mcp_skill_files.make_skill(server, tools)


def _describe_skill(skill: ServedSkill) -> types.Resource:
    fields, uri = skill.entry["frontmatter"], skill.entry["uri"]
    return types.Resource(
        uri=uri,
        name=fields["name"],
        description=fields["description"],
        mime_type=_MARKDOWN,
        size=len(skill.files[uri].encode()),
    )


def _is_modern(request: ServerRequestContext[Any]) -> bool:
    return request.protocol_version in MODERN_PROTOCOL_VERSIONS


def _declares_skills(request: ServerRequestContext[Any]) -> bool:
    capabilities: Any = request.session.client_capabilities
    extensions = getattr(capabilities, "extensions", None) or {}
    return EXTENSION in extensions and _is_modern(request)
