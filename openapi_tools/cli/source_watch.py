"""The files that `openapi-tools serve --reload` watches."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from openapi_tools.cli.command_options import config_option
from openapi_tools.cli.tool_loading import overlay_options
from openapi_tools.configuration.config_file import read_configuration
from openapi_tools.serving.file_watch import FileWatch

if TYPE_CHECKING:
    from openapi_tools.cli.tool_loading import Source


def watch_source(source: Source) -> FileWatch:
    """Return a watch on the files that a source is read from."""
    is_config = isinstance(source, Path) and source.suffix == ".toml"
    config = source if isinstance(source, Path) and is_config else config_option()
    files = [*overlay_options(), *([] if config is None else [config])]
    if callable(source):
        return FileWatch(source.folder, [".py"], files)
    path = _find_document(config) if config and (is_config or source is None) else source
    if not isinstance(path, Path):
        raise click.UsageError(
            "--reload watches files, but SPEC is neither a file nor an application."
        )
    # References lead to files below the folder of the document.
    return FileWatch(path.parent, [".json", ".yaml", ".yml"], [path, *files])


def _find_document(config: Path) -> str | Path:
    configuration = read_configuration(config)
    address = str(configuration.data.source or "")
    return address if "://" in address else configuration.folder / address
