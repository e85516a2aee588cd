"""`openapi-tools install --bundle`: write the server as a file that clients install."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zipfile import is_zipfile

import click
from click.core import ParameterSource

from openapi_tools.cli.application_names import is_application
from openapi_tools.cli.bundle_configuration import BundledApi, find_option_schemes, refuse_secrets
from openapi_tools.cli.command_options import config_option, option_values, read_setting_options
from openapi_tools.cli.output import PROGRAM, print_note
from openapi_tools.cli.serve_arguments import list_serve_options, parse_serve_options
from openapi_tools.cli.serve_command import check_serve_options, check_stdio_options
from openapi_tools.cli.tool_loading import (
    build_selection,
    load_source,
    overlay_options,
    parse_source,
    selection_options,
)
from openapi_tools.codegen.api_files import write_tables
from openapi_tools.codegen.mcp_bundle import CONFIGURATION, Bundle, Variable, build_bundle
from openapi_tools.codegen.package_data import document_info
from openapi_tools.codegen.package_plan import ModuleNames, Names, api_name, slug
from openapi_tools.codegen.secret_warnings import secret_warnings
from openapi_tools.common.json_values import as_dict, as_string
from openapi_tools.common.options import find_variables
from openapi_tools.common.setting_fields import holds_paths, setting_names
from openapi_tools.configuration.toml_tables import has_apis, read_tables
from openapi_tools.errors import OutputError, SettingsError, format_count
from openapi_tools.loading.load import load_tools
from openapi_tools.search.costs import offer_tools
from openapi_tools.serving.serving_tables import read_serving
from openapi_tools.state.atomic_files import replace_file
from openapi_tools.toolsets.toolset import Toolset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_VARIABLE = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_MANIFEST = "manifest"  # the stem of a file of each bundle
_FILE_MODE = 0o644
_LONGEST_NAME = 40
# Their values are in the bundle's configuration, or written again.
_OMITTED_OPTIONS = ("--config", "--overlay", "--mode", "--transport")
_SERVE_KEYS = ("mode", "ask", "strict", "refresh", "log")  # of `[serve]`, except those for HTTP
_USER_KEYS = ("auth", "roles")
_EXTRAS = {"http_cache": "http-cache", "check_responses": "testing"}  # of settings


class _Description(NamedTuple):
    """What a manifest says about the APIs; see `Bundle`."""

    title: str
    version: str = ""
    summary: str = ""
    author: str = ""


def write_bundle(path: Path, arguments: Sequence[str], *, name: str | None, yes: bool) -> int:
    """Write a file with the server of a document or a configuration, as an MCP bundle."""
    _check_file(path, yes=yes)
    with parse_serve_options(arguments) as context:
        spec = context.params["spec"]
        config = Path(spec) if spec is not None and spec.endswith(".toml") else config_option()
        serves_several = config is not None and has_apis(config)
        _check_options(context, serves_several=serves_several)
        if config is not None and serves_several:
            apis = list(_read_apis(config))
            table = read_tables(config)[0].get("serve", {})
            serve = {key: table[key] for key in _SERVE_KEYS if key in table}
        else:
            apis, serve = [_read_api(spec, config)], None
        bundle = _plan_bundle(apis, serve, context, arguments, name=name)
    data = build_bundle(bundle)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, data, mode=_FILE_MODE)
    except OSError as error:
        raise OutputError(f"cannot be written ({error.strerror}).", path=str(path)) from None
    print_note(f"{path} written: {format_count(len(bundle.tools), 'tool')}, {len(data):,} bytes.")
    if bundle.variables:
        names = ", ".join(each.name for each in bundle.variables)
        print_note(f"clients that install it ask for {names}.")
    return 0


def _check_file(path: Path, *, yes: bool) -> None:
    # Someone who mixes up SPEC and FILE must not lose the document, not even with --yes.
    if path.exists() and not is_zipfile(path):
        raise OutputError("the file exists and is no bundle; choose another name.", path=str(path))
    if path.exists() and not yes:
        raise OutputError("the file exists; --yes overwrites it.", path=str(path))


def _check_options(context: click.Context, *, serves_several: bool) -> None:
    if context.params["transport"] == "http":
        raise click.UsageError("a bundle is served over stdio; leave out --transport http.")
    check_serve_options(has_config=serves_several)
    check_stdio_options()
    if is_application(context.params["spec"] or ""):
        reason = "an application is only on this machine"
        raise click.UsageError(f"{reason}; pass its document as a file or URL.")
    for option in filter(holds_paths, setting_names() & read_setting_options().keys()):
        reason = "names a file or folder of this machine"
        raise click.UsageError(f"--{option.replace('_', '-')} {reason}; leave it out.")
    for pair in option_values().get("credentials", ()):
        scheme, _, reference = pair.partition("=")
        if reference.startswith("@"):
            reason = f"--credential {scheme!r:.100} names a file of this machine"
            raise click.UsageError(f"{reason}; write 'SCHEME=$NAME'.")


def _read_api(spec: str | None, config: Path | None) -> BundledApi:
    source, table = parse_source(spec), {} if config is None else read_tables(config)[0]
    toolset = load_source(source)
    address = str(table.get("source", "")) if source in (None, config) else source
    return BundledApi(
        "openapi",
        "openapi",
        api_name(document_info(toolset.document)[0]),
        toolset.select(build_selection(*selection_options())),
        table,
        place=str(config),
        folder=Path() if config is None else config.parent,
        address=address if isinstance(address, str) and "://" in address else "",
        overlays=overlay_options(),
        option_schemes=find_option_schemes(toolset.security_schemes, option_values()),
    )


def _read_apis(config: Path) -> Iterator[BundledApi]:
    serving, tables = read_serving(config), read_tables(config)[0]
    for fault in serving.faults.values():
        raise SettingsError(fault)
    keys = [f"serve.{key}" for key in _USER_KEYS if key in tables.get("serve", {})]
    keys += [f"apis.{name}.users" for name, api in serving.apis.items() if api.users is not None]
    if keys:
        reason = "this is for servers with several users, and a bundle has one; leave it out."
        raise SettingsError(f"{config}: {keys[0]}: {reason}")
    stems = ModuleNames()  # also different where case does not count, and no devices
    stems.claim(_MANIFEST)
    for name, file in sorted(serving.files.items()):
        stem = stems.claim(name)[1]
        address, read_file = file.data.source, cast("Any", file)
        yield BundledApi(
            name,
            stem,
            stem,
            load_tools(config=read_file),
            tables["apis"][name],
            place=f"{config}: apis.{name}",
            folder=file.folder,
            address=address if "://" in address else "",
        )


def _plan_bundle(
    apis: Sequence[BundledApi],
    serve: dict[str, Any] | None,
    context: click.Context,
    arguments: Sequence[str],
    *,
    name: str | None,
) -> Bundle:
    toolsets, names = [api.toolset for api in apis], [api.name for api in apis]
    joined = toolsets[0] if serve is None else Toolset.union(*toolsets, names=names)
    if not len(joined):
        raise click.UsageError("there are no tools to serve; `openapi-tools list SPEC` says why.")
    for warning in secret_warnings(joined):
        print_note(f"warning: {warning}")
    # Chosen now, as the manifest lists the offered tools, and the extras depend on the mode.
    offered, mode, _ = offer_tools(joined, _choose_mode(context, serve))
    options = list_serve_options(arguments, without=_OMITTED_OPTIONS)
    refuse_secrets(options, "the options")
    option_variables = list(_name_option_variables(options))
    taken = [name for api in apis for name in find_variables(api.table)]
    variable_names = Names([*taken, *(each.name for each in option_variables)])
    tables = {api.name: api.write_table(variable_names) for api in apis}
    variables = [*option_variables, *(v for api in apis for v in api.variables)]
    configuration = tables[names[0]] if serve is None else {"serve": serve, "apis": tables}
    description = _describe_apis(apis)
    return Bundle(
        name=name
        or slug(description.title).replace("_", "-")[:_LONGEST_NAME].strip("-")
        or PROGRAM,
        title=description.title,
        version=description.version,
        summary=description.summary,
        author=description.author,
        tools=list(offered),
        options=[*options, "--mode", mode, "--transport", "stdio"],
        extras=["mcp", *(["code"] if mode == "code" else []), *_find_extras(toolsets)],
        variables=list({each.name: each for each in variables}.values()),
        files={
            **{path: text for api in apis for path, text in api.files.items()},
            CONFIGURATION: write_tables(configuration),
        },
        can_change=any(api.address for api in apis),
    )


def _choose_mode(context: click.Context, serve: dict[str, Any] | None) -> str:
    mode: str = context.params["mode"]
    is_default = context.get_parameter_source("mode") == ParameterSource.DEFAULT
    return str((serve or {}).get("mode", mode)) if is_default else mode


def _name_option_variables(options: Sequence[str]) -> Iterator[Variable]:
    for name in dict.fromkeys(_VARIABLE.findall(" ".join(options))):
        yield Variable(name, name, f"The value of ${name} in the server's options.")


def _describe_apis(apis: Sequence[BundledApi]) -> _Description:
    documents = [api.toolset.document for api in apis]
    titles = [document_info(document)[0] for document in documents]
    if len(apis) > 1:
        listed = ", ".join(title or api.name for title, api in zip(titles, apis, strict=True))
        return _Description(title=listed)
    info = as_dict(as_dict(documents[0]).get("info"))
    return _Description(
        title=titles[0],
        version=document_info(documents[0])[1],
        summary=as_string(info.get("summary")) or as_string(info.get("description")),
        author=as_string(as_dict(info.get("contact")).get("name")),
    )


def _find_extras(toolsets: Sequence[Toolset]) -> list[str]:
    settings = [toolset.session.settings for toolset in toolsets]
    return [extra for name, extra in _EXTRAS.items() if any(getattr(s, name) for s in settings)]
