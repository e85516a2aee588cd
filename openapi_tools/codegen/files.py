"""The files of a package, checked before any of them is put in place."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

from openapi_tools._version import __version__
from openapi_tools.codegen.forms import check_forms, forms
from openapi_tools.codegen.manifest import Manifest, digest
from openapi_tools.codegen.reading import Unreadable, read_records
from openapi_tools.codegen.render import render_module, render_package
from openapi_tools.codegen.sample import harmless
from openapi_tools.errors import TemplateError

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator, Mapping

    from openapi_tools.codegen.package_data import PackageData
    from openapi_tools.codegen.templating import Templates

    Render = Callable[[PackageData, Templates], dict[str, str]]

_RENDER: dict[str, Render] = {"package": render_package, "module": render_module}


def manifest_name(api: str, layout: str) -> str:
    """Return the name of a package's manifest; next to a single module there may be others."""
    return f"{api}_tools.manifest.json" if layout == "module" else "manifest.json"


def build_files(contents: PackageData, templates: Templates, *, layout: str) -> dict[str, str]:
    """Return every file of a package by its relative path, the manifest last.

    Args:
        contents: What it is made from.
        templates: Theirs.
        layout: One of `manifest.LAYOUTS`.

    Raises:
        TemplateError: A template is wrong, or lets text of the document become code.
    """
    render = _RENDER[layout]
    files = render(contents, templates)
    trees = _checked(files, render(harmless(contents.api), templates))
    _refuse_other(trees, contents, layout)
    return with_manifest(files, contents, layout=layout)


def with_manifest(files: dict[str, str], contents: PackageData, *, layout: str) -> dict[str, str]:
    """Return files with their manifest.

    Args:
        files: All others, by relative path.
        contents: What they are made from.
        layout: What the manifest says of them.
    """
    manifest = Manifest(
        api=contents.api,
        layout=layout,
        version=__version__,
        document={
            "title": contents.title,
            "version": contents.version,
            "sha256": contents.document_hash,
        },
        tools=tuple(record.name for record in contents.records),
        files={path: digest(text.encode()) for path, text in files.items()},
    )
    return files | {manifest_name(contents.api, layout): manifest.to_json()}


def _refuse_other(trees: Mapping[str, ast.Module], contents: PackageData, layout: str) -> None:
    """Raise unless the files hold the tools of the document, and all of them."""
    place = "tools.py.jinja" if layout == "package" else "module.py.jinja"
    try:
        if read_records(trees) == {record.name: record for record in contents.records}:
            return
    except Unreadable as error:
        place = f"{error.path}:{error.line}"
    reason = "what is written does not read back as what the document says."
    raise TemplateError(reason, template=place)


def _checked(files: Mapping[str, str], harmless_files: Mapping[str, str]) -> dict[str, ast.Module]:
    """Return the syntax trees of all Python files, which hold no form but harmless ones."""
    for path in files.keys() & harmless_files.keys():
        if path.endswith(".toml"):
            _check_toml(files[path], harmless_files[path], path=path)
    allowed = frozenset().union(
        *(forms(text, path=path) for path, text in harmless_files.items() if path.endswith(".py"))
    )
    return {
        path: check_forms(text, allowed, path=path)
        for path, text in files.items()
        if path.endswith(".py")
    }


def _check_toml(text: str, harmless_text: str, *, path: str) -> None:
    """Raise unless a file has the same keys as for a harmless document, with other values at most.

    Raises:
        TemplateError: It has others, or is no TOML.
    """
    try:
        allowed = set(_keys(tomllib.loads(harmless_text)))
        found = set(_keys(tomllib.loads(text)))
    except tomllib.TOMLDecodeError as error:
        reason = f"this is no TOML that can be read ({error}); what is printed has its quotes."
        raise TemplateError(reason, template=path) from None
    if found - allowed:
        reason = f"{min(found - allowed):.100}: this is not there for a harmless document."
        raise TemplateError(reason, template=path)


def _keys(node: Any, place: str = "") -> Iterator[str]:
    """Yield each value's place and type."""
    if isinstance(node, dict):
        for key, value in node.items():
            yield from _keys(value, f"{place}.{key}".strip("."))
    elif isinstance(node, list):
        for value in node:
            yield from _keys(value, f"{place}[]")
    else:
        yield f"{place} ({type(node).__name__})"
