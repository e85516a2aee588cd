"""Apply a configuration to a load: its options, the tools it selects, and their shapes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openapi_tools.auth import check_credentials
from openapi_tools.common.options import (
    expand_variables,
    find_unknown_selections,
    find_variables,
    type_name,
)
from openapi_tools.configuration.config_file import ConfigFile, read_configuration
from openapi_tools.configuration.tool_shape import ToolShape, find_shape_faults
from openapi_tools.errors import InputError, SettingsError
from openapi_tools.loading.loaded_tool import LoadedTool
from openapi_tools.loading.source import is_configuration
from openapi_tools.responses.shape_checks import check_fields
from openapi_tools.validation.checker import Checker

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi_tools.loading.document_reader import LoadOptions
    from openapi_tools.model import Skipped
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset


_CREDENTIAL_INSTRUCTION = "Set {name!r} in [credentials] of the configuration."


def read_options(options: LoadOptions, config: Any) -> tuple[LoadOptions, ConfigFile | None]:
    """Return the options of a load, those of a caller over a configuration's; and that, or None.

    Args:
        options: Those of the caller; a source that ends in `.toml` is a configuration.
        config: The configuration, as `load_tools` takes it.
    """
    source, file = options.source, None
    if config is None and is_configuration(source):
        options, config = replace(options, source=None), source
    if config is not None:
        if not isinstance(config, str | os.PathLike | Mapping | ConfigFile):
            form = 'a path, as "openapi-tools.toml", or a dict of its keys'
            raise SettingsError(f"config: expected {form}, not {type_name(config)}.")
        file = config if isinstance(config, ConfigFile) else read_configuration(config)
        source, settings, credentials, overlays = file.apply_overrides(
            options.source,
            options.settings,
            check_credentials(options.credentials),
            options.overlays,
        )
        options = replace(
            options, source=source, settings=settings, credentials=credentials, overlays=overlays
        )
    if options.source is None:
        raise SettingsError(
            "source is missing; pass a document, or a configuration that names one."
        )
    return options, file


def apply_configuration(
    toolset: Toolset, file: ConfigFile, credentials: Mapping[str, Any] | None, *, selects: bool
) -> Toolset:
    """Return a document's tools as a configuration selects and shapes them, with its warnings."""
    file.check_schemes(toolset.security_schemes)
    tools = shape_tools(toolset, file, selects=selects)
    advice = toolset.session.credentials.advice
    advice.variables = file.unset_variables(check_credentials(credentials))
    advice.instruction = _CREDENTIAL_INSTRUCTION
    return toolset.with_tools(tools, file.remarks(check_credentials(credentials)))


def apply_lock(toolset: Toolset, file: ConfigFile) -> Toolset:
    """Return the tools that the lock of a configuration accepts, as it accepts them."""
    if not file.data.lock:
        return toolset
    # Start-up time: few configurations have a lock, and comparing tools imports many modules.
    from openapi_tools.changes import tool_lock

    lock = tool_lock.read_lock(file.folder / file.data.lock)
    toolset, _ = tool_lock.apply_lock(toolset, lock, file.data.policy)
    return toolset


def shape_tools(
    tools: Iterable[OperationTool], config: ConfigFile, *, selects: bool = True
) -> list[LoadedTool]:
    """Return tools shaped by a configuration; with `selects` only those that it selects."""
    candidates = [tool for tool in tools if isinstance(tool, LoadedTool)]
    skipped = getattr(tools, "skipped", ())
    select = config.select() if selects else None
    if select is not None:
        _check_selection(candidates, skipped, config)
    shapes = config.shapes(candidates, skipped)
    places: dict[str, tuple[str, ...]] = {}
    shaped_tools: dict[str, LoadedTool] = {}
    for tool in candidates:
        shape, place = shapes.get(tool.name, (None, ()))
        shaped = tool if shape is None else tool.with_shape(shape)
        if shape is not None and place[0] == "tools":
            _check_shape(shaped, shape, config, place)  # also of tools that are not selected
        if select is not None and not select.takes(tool):
            continue
        if shaped.name in shaped_tools:
            place = place if place[:1] == ("tools",) else places[shaped.name]
            config.fail((*place, "name"), f"two tools would be called {shaped.name!r}.")
        shaped_tools[shaped.name], places[shaped.name] = shaped, place
    if candidates and not shaped_tools:
        _refuse_empty_selection(config)
    return list(shaped_tools.values())


def _check_selection(
    tools: Sequence[LoadedTool], skipped: Sequence[Skipped], config: ConfigFile
) -> None:
    place: tuple[str, ...] = ("select",)
    table = config.data.select
    while table is not None:
        for key, reason in find_unknown_selections(table, tools, config.data.prefix, skipped):
            config.fail((*place, key), reason)
        table, place = table.exclude, (*place, "exclude")


def _refuse_empty_selection(config: ConfigFile) -> None:
    table = config.data.select
    empty = [] if table is None else [name for name, value in table if value == ()]
    if empty:
        reason = "an empty list selects nothing; remove the key to set no limit."
        config.fail(("select", empty[0]), reason)
    config.fail(("select",), "no tool matches all of these conditions.")


def _check_shape(
    tool: LoadedTool, shape: ToolShape, config: ConfigFile, place: tuple[str, ...]
) -> None:
    schema = tool.own_schema()
    config.check(
        find_shape_faults(shape, tool.offered_schema(), tool.settings.description_chars), place
    )
    # Reading the operation raises for a faulty document.
    if tool.operation.body is None and shape.media_types and config.is_for_one_tool(place):
        config.fail((*place, "media_type"), "the tool has no body.")
    _check_fields(tool, shape, config, place)
    values = {("fixed", name): value for name, value in shape.fixed.items()}
    values |= {("defaults", name): value for name, value in shape.defaults.items()}
    if not values:
        return
    checker = Checker({key: part for key, part in schema.items() if key != "required"})
    parameters = {parameter.argument for parameter in tool.operation.parameters}
    for (key, name), value in values.items():
        variables = find_variables(value) if key == "fixed" else []
        if not all(map(os.environ.get, variables)):  # which `ConfigFile.remarks` reports
            continue
        resolved = expand_variables(value, name) if variables else value
        try:
            checker.check({name: resolved})
        except InputError as error:
            reason = str(error).removeprefix(f"/{name}: ")
            if variables:
                # Variables hold strings; in a parameter a number is sent as the same string.
                if name in parameters and checker.fits({name: _parse_json(resolved)}):
                    continue
                # The checker's reason would quote a secret.
                reason = f"the value of {variables[0]} is not valid for the argument."
            config.fail((*place, key, name), reason)


def _parse_json(value: Any) -> Any:
    try:
        return json.loads(value)
    except (TypeError, ValueError, RecursionError):
        return value


def _check_fields(
    tool: LoadedTool, shape: ToolShape, config: ConfigFile, place: tuple[str, ...]
) -> None:
    if shape.answer is None or not shape.answer.fields:
        return
    # A long-running operation may end with the response of another one.
    schema = None if tool.operation.wait else tool.answer_schema
    try:
        check_fields(shape.answer.fields, schema)
    except SettingsError as error:
        config.fail((*place, "answer", "fields"), error.reason.removeprefix("fields: "))
