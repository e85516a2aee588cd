"""From a plan to the files of a package, as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from openapi_tools.codegen.literals import Code, assignment, lint_codes
from openapi_tools.codegen.plan import plan_module, plan_package

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from openapi_tools.codegen.package_data import PackageData, Record
    from openapi_tools.codegen.plan import ModulePlan, Plan, SchemaModule, ToolPlan
    from openapi_tools.codegen.templating import Templates
    from openapi_tools.model import SecurityScheme, Server, Skipped

RUNTIME_VERSION = "0.1"
"""The first version of this package whose runtime can run what is written here."""

_WIDTH = 100
_SUMMARY = 120
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,3}")
_SCHEMES = Code("dict[str, SecurityScheme]")
_SERVERS = Code("SERVERS = tuple(SERVERS_BY_URL.values())")
_BARE = Code("# ruff: noqa: TC001 -- only annotations name them where there is no tool\n")


def render_package(contents: PackageData, templates: Templates) -> dict[str, str]:
    """Return every file of a distribution but the manifest, by relative path.

    Args:
        contents: What it is made from.
        templates: Theirs.

    Raises:
        TemplateError: A template is wrong.
    """
    plan = plan_package(contents)
    common = common_values(contents)
    package, shim = common["package"], common["shim"]

    def render(name: str, **more: Any) -> str:
        return templates.render(name, common | more)

    files = {"pyproject.toml": render("pyproject.toml"), "README.md": render("README.md")}
    files[f"{package}/__init__.py"] = render("init.py")
    files[f"{package}/py.typed"] = ""
    files[f"{package}/index.py"] = render("index.py", **_index(plan))
    for schemas in plan.schemas:
        files[f"{package}/{schemas.stem}.py"] = render("schemas.py", **_schemas(schemas))
    for module in plan.modules:
        files[f"{package}/{module.stem}.py"] = render("tools.py", **_tools(module))
    files[f"{shim}/__init__.py"] = render("shim.py")
    files[f"tests/test_{package}.py"] = render("test.py")
    return files


def render_module(contents: PackageData, templates: Templates) -> dict[str, str]:
    """Return the one module that holds a whole API, by its path.

    Args:
        contents: What it is made from.
        templates: Theirs.

    Raises:
        TemplateError: A template is wrong.
    """
    plan = plan_module(contents)
    (module,) = plan.modules
    index = _index(plan)["index"]
    schemas = [statement for part in plan.schemas for statement in part.statements]
    text = [*index, *schemas, *(part for tool in module.tools for part in tool.statements)]
    values = {
        **common_values(contents),
        "module": module,
        "index": index,
        "schemas": schemas,
        "imports": _imports(
            module.tools,
            json=any(map(_is_json, schemas)),
            typing=("TYPE_CHECKING", "Any", *(["ClassVar"] if module.tools else [])),
            model=_index_names(contents),
        ),
        "lint": _lint(text) if module.tools or _has_values(contents) else _BARE,
    }
    return {f"{contents.api}_tools.py": templates.render("module.py", values)}


def common_values(contents: PackageData) -> dict[str, Any]:
    """Return what every template may use.

    Args:
        contents: What the files are made from.
    """
    api = contents.api
    version = contents.version if _VERSION.fullmatch(contents.version) else "0"
    records = [_row(record) for record in contents.records]
    return {
        "api": Code(api),
        "api_dashed": Code(api.replace("_", "-")),
        "package": Code(f"{api}_tools"),
        "shim": Code(f"amplifier_module_tool_{api}"),
        "distribution": Code(f"{api}_tools".replace("_", "-")),
        "distribution_version": Code(version),
        "runtime_version": Code(RUNTIME_VERSION),
        "title": contents.title[:_SUMMARY],
        "version": contents.version[:_SUMMARY],
        "records": records,
        "schemes": [(name, _in_words(scheme)) for name, scheme in contents.schemes.items()],
        "skipped": [_left_out(item) for item in contents.skipped],
        "count": Code(f"{len(records)} operation{'' if len(records) == 1 else 's'}"),
    }


def _row(record: Record) -> dict[str, Any]:
    """Return a tool as a row of the README's table."""
    operation = record.operation
    return {
        "code": Code(record.name),
        "operation": f"{operation.method} {operation.path}",
        "summary": _shortened(record.description),
    }


def _shortened(text: str) -> str:
    """Return the first line of a text, cut at a word where it has several."""
    line = text.strip().partition("\n")[0]
    start = line[:_SUMMARY]
    return line if start == line else f"{start.rpartition(' ')[0] or start} …"


def _in_words(scheme: SecurityScheme) -> str:
    detail = f"{scheme.location} {scheme.name}" if scheme.type == "apiKey" else scheme.scheme
    return f"{scheme.type} {detail}".strip()


def _left_out(item: Skipped) -> dict[str, str]:
    return {"place": f"{item.method} {item.path}".strip() or item.pointer, "reason": item.reason}


def _index(plan: Plan) -> dict[str, Any]:
    """Return what the index module says."""
    contents = plan.contents
    servers: dict[str, Server] = {}
    for server in contents.servers:
        servers.setdefault(server.url, server)
    statements = [
        assignment(Code("INDEX"), plan.index, annotation=Code("dict[str, str]")),
        assignment(Code("SECURITY_SCHEMES"), dict(contents.schemes), annotation=_SCHEMES),
        assignment(Code("SERVERS_BY_URL"), servers, annotation=Code("dict[str, Server]")),
        _SERVERS,
        assignment(Code("SKIPPED"), contents.skipped, annotation=Code("tuple[Skipped, ...]")),
        assignment(Code("COUNTS"), dict(contents.counts), annotation=Code("dict[str, int]")),
        assignment(Code("SETTINGS"), dict(contents.settings), annotation=Code("dict[str, Any]")),
    ]
    imports = _imports((), typing=("Any",), model=_index_names(contents))
    return {"index": statements, "imports": imports, "lint": _lint(statements)}


def _index_names(contents: PackageData) -> tuple[str, ...]:
    """Return the classes of the model that the index module needs."""
    variables = any(server.variables for server in contents.servers)
    return ("SecurityScheme", "Server", "Skipped", *(["ServerVariable"] if variables else []))


def _has_values(contents: PackageData) -> bool:
    """Tell whether the index makes a value of the model, so that it imports more than types."""
    return bool(contents.schemes or contents.servers or contents.skipped)


def _schemas(module: SchemaModule) -> dict[str, Any]:
    imports = _imports((), json=any(map(_is_json, module.statements)), typing=("Any",))
    return {"module": module, "imports": imports, "lint": _lint(module.statements)}


def _is_json(statement: str) -> bool:
    """Tell whether what is assigned is JSON text."""
    return statement.partition(" = ")[2].startswith("json.loads(")


def _tools(module: ModulePlan) -> dict[str, Any]:
    statements = [statement for tool in module.tools for statement in tool.statements]
    imports = _imports(module.tools, typing=("Any", "ClassVar"))
    return {"module": module, "imports": imports, "lint": _lint(statements)}


def _imports(
    tools: Iterable[ToolPlan],
    *,
    json: bool = False,
    typing: tuple[str, ...] = (),
    model: tuple[str, ...] = (),
) -> Code:
    """Return the import statements of a module, sorted as isort does."""
    tools = list(tools)
    names = {*model, *(name for tool in tools for name in tool.model)}
    names |= {"OperationTool"} if tools else set()
    schemas = {stem for tool in tools for stem in tool.schemas}
    standard = ["import json"] if json or any(tool.as_json for tool in tools) else []
    groups = [
        [*standard, *_import("typing", typing)],
        list(_import("openapi_tools.runtime", names)),
        list(_import(".", schemas)),
    ]
    return Code("\n\n".join("\n".join(group) for group in groups if group))


def _import(module: str, names: Iterable[str]) -> Iterator[str]:
    """Yield `from module import names`, on one line or one name a line."""
    found = sorted(names, key=lambda name: (not name.isupper(), name))
    if found:
        line = f"from {module} import {', '.join(found)}"
        exploded = "".join(f"    {name},\n" for name in found)
        yield line if len(line) <= _WIDTH else f"from {module} import (\n{exploded})"


def _lint(statements: Iterable[str]) -> Code:
    """Return the line that switches off the lint rules which words of the API would break."""
    codes = {code for part in statements for code in lint_codes(part.strip())}
    return Code(f"# ruff: noqa: {', '.join(sorted(codes))} -- words of the API\n" if codes else "")
