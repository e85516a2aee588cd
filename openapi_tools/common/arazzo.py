"""Runtime expressions of Arazzo, as far as recorded workflows have them.

Spec: Arazzo 1.1.0, section Runtime Expressions.
"""

from __future__ import annotations

import re
from typing import Any

VERSION = "1.1.0"
_EXPRESSION = re.compile(
    r"\$(?:(?:url|method|statusCode|self)\Z"
    r"|(?:request|response|message|inputs|outputs|steps|workflows|sourceDescriptions|components)\.)"
)
STEP_OUTPUT = re.compile(r"\$steps\.([\w-]+)\.outputs\.([\w.-]+)(?:#(/.*))?", re.ASCII | re.DOTALL)
INPUT = re.compile(r"\$inputs\.([\w.-]+)", re.ASCII)
RESPONSE_BODY = re.compile(r"\$response\.body(?:#(/.*))?", re.DOTALL)
_UNUSUAL = re.compile(r"[^\w-]+", re.ASCII)
_LONGEST_NAME = 64


def is_expression(value: Any) -> bool:
    """Return whether a value is one expression, whose value may have any type."""
    return isinstance(value, str) and bool(_EXPRESSION.match(value))


def holds_expression(value: Any) -> bool:
    """Return whether a value is an expression, or a string with some in braces."""
    return is_expression(value) or (isinstance(value, str) and "{$" in value)


def make_identifier(text: str, default: str) -> str:
    """Return a text in the form of a name of a step, an input or an output."""
    return _UNUSUAL.sub("_", text)[:_LONGEST_NAME].strip("_") or default
