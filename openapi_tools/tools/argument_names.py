"""The API's own names of arguments, which models and people use where a tool's name differs.

The names of arguments are such as every provider takes: `姓名` becomes `argument_50b5b1`,
`page[size]` becomes `page_size`. A call may use the API's own name for the same argument.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from unicodedata import normalize

from openapi_tools.common.visible_text import is_portable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.model import Operation


def find_api_names(operation: Operation, properties: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments by the API's own names, in Unicode's form NFC, where these differ.

    `properties` are those of the tool's input. A name that two arguments share, or that another
    argument has, is left out, and so is one that a tool could have: there a user chose another.
    """
    bodies = [] if operation.body is None else [operation.body, *operation.body.choices]
    parts: list[Any] = [
        *operation.parameters,
        *(part for body in bodies for part in body.properties),
    ]
    pairs = {
        (normalize("NFC", part.name), part.argument)
        for part in parts
        if part.argument in properties and not is_portable(part.name)
    }
    counts = Counter(name for name, _ in pairs)
    return {name: a for name, a in pairs if counts[name] == 1 and name not in properties}


def use_tool_names(arguments: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any] | None:
    """Return arguments under the tool's names for them; None where none has another name."""
    tool_names = {name: names.get(normalize("NFC", name), name) for name in arguments}
    has_api_name = any(name != tool_name for name, tool_name in tool_names.items())
    # Both names of one argument leave open which value counts.
    if not has_api_name or len({*tool_names.values()}) < len(tool_names):
        return None
    return {tool_names[name]: value for name, value in arguments.items()}
