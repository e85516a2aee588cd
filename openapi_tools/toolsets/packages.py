"""Load generated packages.

A package holds data only. Its `INDEX` says for each tool the module of its class, `"tools_pets"`,
with `":Class"` where the tool's name does not tell that.
"""

from __future__ import annotations

import re
from contextlib import AsyncExitStack
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Unpack

from openapi_tools.common.json_schema import transform_schemas
from openapi_tools.common.json_values import omit_keys
from openapi_tools.common.lazy_names import import_by_name
from openapi_tools.common.options import VARIABLE, Select, check_keys, close_names, expand_variables
from openapi_tools.common.setting_fields import DEFAULT_SETTINGS
from openapi_tools.configuration.tool_shape import credential_shape, shape_operation, shape_schema
from openapi_tools.errors import CredentialsError, SettingsError, strip_traceback
from openapi_tools.requests.file_schema import file_schema
from openapi_tools.tools.session import Provenance, Session, make_settings, open_session
from openapi_tools.toolsets.document_info import DocumentInfo
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    from openapi_tools.common.options import Client
    from openapi_tools.settings import Settings, SettingsMembers
    from openapi_tools.tools.tool import OperationTool

_BASE_URL = "base_url"
_KEYS = (_BASE_URL, "credentials", "select", "settings")
_CREDENTIAL_INSTRUCTION = "Pass credentials={{{name!r}: …}} to load()."
_SELECT_KEYS = ("tags", "methods", "names", "paths", "deprecated", "read_only", "exclude")


def load_package(
    package: str,
    *,
    select: Select | None = None,
    credentials: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
    client: Client | None = None,
    **members: Unpack[SettingsMembers],
) -> Toolset:
    """Return the tools of a generated package.

    Args:
        package: Its import name.
        select: Which of its tools; all by default. Only modules that may hold one are imported.
        credentials: As for `load_tools`.
        settings: How the API is called.
        client: As for `load_tools`.
        members: Single settings, which override those in `settings`: `base_url="http://localhost:8000"`.

    Raises:
        CredentialsError: A scheme that the document does not have, or a wrong kind of value.
        SettingsError: A wrong setting, or one that was decided when the package was generated.
    """
    select = Select.parse(select)
    settings = make_settings(settings, members)
    index = _index(package)
    if settings is not DEFAULT_SETTINGS:
        _check_decided(settings, index.SETTINGS)
    schemes = index.SECURITY_SCHEMES
    # Packages written before credentials were bound to servers name none.
    provenance = Provenance(getattr(index, "SERVERS", ()))
    try:
        session = open_session(
            settings, credentials=credentials, schemes=schemes, client=client, provenance=provenance
        )
    except CredentialsError as error:
        credentials = None  # what a traceback of this frame would show
        raise strip_traceback(error)  # noqa: B904 -- the same one
    session.credentials.advice.instruction = _CREDENTIAL_INSTRUCTION
    info = DocumentInfo(
        skipped=index.SKIPPED, security_schemes=schemes, counts=lambda: {**index.COUNTS}
    )
    toolset = Toolset(_make_tools(package, index.INDEX, select, session), session, info)
    return toolset.select(select) if select is not None else toolset


def _make_tools(
    package: str, index: Mapping[str, str], select: Select | None, session: Session
) -> list[OperationTool]:
    _check_names(select, index)
    classes = (
        _import_class(package, name, location)
        for name, location in index.items()
        if select is None or select.takes_name(name)
    )
    tools = [make_tool(session) for make_tool in classes]
    _accept_files(tools, session.settings)
    if filled := session.filled_parameters:
        for tool in tools:
            _hide_parameters(tool, filled)
    return tools


async def mount_package(
    package: str, coordinator: Any, config: Mapping[str, Any] | None = None
) -> Callable[[], Awaitable[None]]:
    """Mount the tools of a generated package into a coordinator.

    Args:
        package: Its import name.
        coordinator: An object with `await mount("tools", tool, name=…)`.
        config: `credentials`, `base_url`, `select` and `settings`, each as plain data; without it
            every tool is mounted, with the default settings.

    Returns:
        An async function that unmounts the tools and closes the connections.

    Raises:
        CredentialsError, SettingsError: As `load_package`, and as `Toolset.mount`.
    """
    options = options_of(config)
    toolset = check_selected(load_package(package, **options), options["select"])
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(toolset)
        cleanup = await toolset.mount(coordinator)
        stack.pop_all()
    return cleanup


def tool_class(package: str, name: str) -> type[OperationTool]:
    """Return the class of a tool, by either's name, or raise AttributeError; imports its module."""
    tool = None if name.startswith("__") else _tools_by_name(_index(package)).get(name)
    # `from . import schemas` asks here first, also where a tool has that name.
    is_folder = hasattr(import_by_name(package), "__path__")
    if tool is None or (name == tool and is_folder and find_spec(f"{package}.{name}")):
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    return _import_class(package, tool, _index(package).INDEX[tool])


@cache
def _tools_by_name(module: Any) -> dict[str, str]:
    index: dict[str, str] = module.INDEX
    classes = {_class_name(tool, location): tool for tool, location in index.items()}
    return {tool: tool for tool in index} | classes


def list_package(package: str) -> list[str]:
    """Return the public names of a generated package: its functions and its tools' classes."""
    index: dict[str, str] = _index(package).INDEX
    return ["load", "mount", *(_class_name(tool, location) for tool, location in index.items())]


def class_name(tool: str) -> str:
    """Return the default name of a tool's class: `IssuesList`."""
    return "".join(part[:1].upper() + part[1:] for part in re.split("[_-]", tool))


def _index(package: str) -> Any:
    module = import_by_name(package)
    return import_by_name(f"{package}.index") if hasattr(module, "__path__") else module


def _class_name(tool: str, location: str) -> str:
    return location.partition(":")[2] or class_name(tool)


def _import_class(package: str, tool: str, location: str) -> type[OperationTool]:
    stem = location.partition(":")[0]
    module = import_by_name(f"{package}.{stem}" if stem else package)
    tool_class: type[OperationTool] = getattr(module, _class_name(tool, location))
    return tool_class


def _accept_files(tools: list[OperationTool], settings: Settings) -> None:
    if not settings.file_roots and settings.files is None and settings.download_dir is None:
        return
    written, allowed = file_schema(DEFAULT_SETTINGS), file_schema(settings)

    def extend(node: dict[str, Any]) -> dict[str, Any]:
        is_file = written.items() <= node.items()
        return {**allowed, **omit_keys(node, allowed)} if is_file else node

    for tool in tools if written != allowed else ():
        if tool.operation.body is not None:
            schema = transform_schemas(tool.input_schema, extend)
            if schema is not tool.input_schema:
                # On the tool, as its class is shared by all toolsets of the process.
                vars(tool)["input_schema"] = schema


def _check_names(select: Select | None, names: Iterable[str]) -> None:
    if select is None or not select.names or any(map(select.takes_name, names)):
        return
    name = next(iter(select.names))
    raise SettingsError(f"select: no tool has the name {name!r:.60}{close_names(name, names)}")


def _hide_parameters(tool: OperationTool, filled: frozenset[tuple[str, str]]) -> None:
    shape = credential_shape(tool.operation, filled)
    if shape.hide:
        schema, operation = tool.input_schema, tool.operation
        vars(tool)["input_schema"] = shape_schema(schema, shape)
        vars(tool)["operation"] = shape_operation(operation, shape)


def _check_decided(settings: Settings, decided: Mapping[str, Any]) -> None:
    if settings.check_responses:
        raise SettingsError("check_responses needs the document; load it with load_tools.")
    for name in settings.model_fields_set & settings.SHAPING:
        value = getattr(settings, name)
        if value != decided.get(name, getattr(DEFAULT_SETTINGS, name)):
            reason = "was decided when the package was generated; generate it again to change it."
            raise SettingsError(f"{name} {reason}")


def options_of(config: Mapping[str, Any] | None) -> dict[str, Any]:
    """Turn a mount plan's configuration into options of `load_tools`; reads `${NAME}`."""
    parts = check_keys(config, _KEYS, "configuration")
    values = check_keys(parts.get("settings"), None, "settings")
    if parts.get(_BASE_URL) is not None:
        values[_BASE_URL] = parts[_BASE_URL]
    base_url = values.get(_BASE_URL)
    if _BASE_URL in values:
        values[_BASE_URL] = expand_variables(base_url, _BASE_URL, secret=False)
    select = check_keys(parts.get("select"), _SELECT_KEYS, "select")
    credentials = check_keys(parts.get("credentials"), None, "credentials")
    return {
        "select": Select.parse(select) if select else None,
        "credentials": credentials,
        "settings": _read_settings(values, str(base_url)),
    }


def _read_settings(values: dict[str, Any], base_url: str) -> Settings:
    # An error names the variables of the environment; it does not show their values.
    try:
        return make_settings(values)
    except SettingsError:
        variables = ", ".join(f"${{{name}}}" for name in VARIABLE.findall(base_url))
        if not variables:
            raise
    make_settings({name: value for name, value in values.items() if name != _BASE_URL})
    raise SettingsError(f"{_BASE_URL}: {variables} is not an http:// or https:// URL.")


def check_selected(toolset: Toolset, select: Select | None) -> Toolset:
    """Return a toolset; SettingsError where a selection leaves no tool."""
    if select is not None and not len(toolset):
        reason = "no tool matches all of these conditions."
        raise SettingsError(f"select: {reason}")
    return toolset
