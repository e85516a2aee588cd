"""The cases of uritemplate-test (RFC 6570) that parameter styles can express, byte for byte.

Styles have no prefix modifier, no `/` and no `#` operator; a path variable always has a value, and
one that leaves a gap in the path is refused.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from servers.documents import document, parameter

FOLDER = Path(__file__).parents[3] / "shared" / "vectors" / "uritemplate-test"
FILES = ("spec-examples.json", "spec-examples-by-section.json", "extended-tests.json")
EXPRESSION = re.compile(r"\{([^{}]*)\}")
PATH_STYLES = {"": "simple", ".": "label", ";": "matrix"}

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"{FOLDER} is absent")


class Expressed(NamedTuple):
    """A template as an operation."""

    path: str
    parameters: list[dict[str, Any]]
    arguments: dict[str, Any]
    prefix: str


class NoStyleError(Exception):
    """Styles cannot express the template."""


def express(template, variables):
    """Return the operation whose target is what the template expands to."""
    if match := re.fullmatch(r"\{\+(\w+)(\*?)\}", template):
        return _express_reserved(match[1], variables, exploded=bool(match[2]))
    parameters: list[dict[str, Any]] = []
    arguments: dict[str, Any] = {}

    def replace(match: re.Match[str]) -> str:
        operator = match[1][0] if match[1][:1] in tuple("+#./;?&") else ""
        names = [_name(name) for name in match[1][len(operator) :].split(",")]
        values = {name: variables.get(name) for name, _ in names}
        if operator in PATH_STYLES:
            return _in_path(operator, names, values, parameters, arguments)
        if operator not in ("?", "&"):
            raise NoStyleError(operator)
        for name, exploded in names:
            parameters.append(parameter("query", unquote(name), explode=exploded))
            if values[name] is not None:
                arguments[unquote(name)] = values[name]
        return ""

    path = EXPRESSION.sub(replace, template)
    if "{&" in template and "?" not in template:  # it goes on with a query that the path has
        return Expressed(f"/x?fixed=1{path}", parameters, arguments, "/x?fixed=1")
    if not path.startswith("/"):
        return Expressed(f"/{path}", parameters, arguments, "/")
    return Expressed(path, parameters, arguments, "")


def _express_reserved(name, variables, *, exploded):
    value = variables.get(name)
    if value in (None, [], {}) or (exploded and isinstance(value, dict)):
        raise NoStyleError(name)
    declared = parameter("query", "v", explode=False, allowReserved=True)
    return Expressed("/x", [declared], {"v": value}, "/x?v=")


def _name(text):
    if ":" in text:
        raise NoStyleError("prefix")
    return text.removesuffix("*"), text.endswith("*")


def _in_path(operator, names, values, parameters, arguments):
    for name, exploded in names:
        leaves_a_gap = values[name] in ([], {}) or (values[name] == "" and operator == "")
        if values[name] is None or leaves_a_gap or name in arguments:
            raise NoStyleError(name)
        style = PATH_STYLES[operator]
        parameters.append(parameter("path", name, style=style, explode=exploded))
        arguments[name] = values[name]
    joint = "" if operator else ","
    return joint.join(f"{{{name}}}" for name, _ in names)


def _cases():
    cases = []
    for file in FILES:
        path = FOLDER / file
        groups = json.loads(path.read_text()) if path.is_file() else {}
        for title, group in groups.items():
            for template, expected in group["testcases"]:
                try:
                    case = express(template, group["variables"])
                except NoStyleError:
                    continue
                allowed = [expected] if isinstance(expected, str) else expected
                cases.append(pytest.param(case, allowed, id=f"{file} {title}: {template}"))
    return cases


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("case", "allowed"), _cases())
async def test_a_template_expands_as_the_rfc_says(case, allowed, wire):
    seen = await wire.send(
        document(version="3.2.0", path=case.path, parameters=case.parameters), case.arguments
    )

    assert seen.target.removeprefix(case.prefix) in allowed


def test_most_cases_can_be_expressed():
    assert len(_cases()) >= 100
