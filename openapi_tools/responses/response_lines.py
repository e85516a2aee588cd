"""Lines of a tool's description: what comes back, and when a call fails, as the document says.

They read the document's own nodes, not converted schemas: descriptions are written for all tools
at a load. Each response and component is looked at once.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openapi_tools.common.http_rules import essence, is_json, is_media_type, is_wildcard
from openapi_tools.common.json_values import as_list
from openapi_tools.common.visible_text import plain_text, truncate_text
from openapi_tools.errors import DocumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    Follow = Callable[[Any, Any], tuple[Any, Any, str]]

# Of a tool's budget some 40 tokens: enough for a name and its first properties.
MAX_RETURNS: Final = 160  # characters of the line about what comes back
MAX_FAILS: Final = 200  # characters of the line about failures
ENOUGH: Final = 100  # characters of a description that needs no line about what comes back

_MOST_NAMES = 5
_NEW = 2  # new words that the description of a response must have; that of an error needs one
_LOOKED_AT = 24  # properties and branches of one schema that are looked at
_DEEPEST = 4  # arrays in one another
_CLAUSE = 90
_NAME = re.compile(r"[A-Za-z_$@][\w$@.-]{0,39}", re.ASCII)
_WORD = re.compile(r"[^\W\d_]{3,}")
_OPENING = re.compile(  # a status in words, before those that say more
    r"^(?:(?:response|bad request|forbidden|not found|conflict|gone|precondition failed|"
    r"unprocessable (?:entity|content)|validation failed|invalid request)"
    r"(?:\s*[.,:;-]+\s*|\s+(?=(?:if|when|because)\b)|$))+",
    re.IGNORECASE,
)
# Methods that read or create; the responses of others seldom hold anything to work with.
_TELLING = frozenset({"GET", "POST", "QUERY"})
# Statuses of 4xx that say nothing about one operation.
_GENERAL_STATUSES = frozenset({"401", "407", "429"})
_WORDS = Path(__file__).with_name("empty_words.txt")  # that say nothing by themselves
_EMPTY = frozenset(_WORDS.read_text(encoding="ascii").split())
_ENVELOPE = frozenset({"apiVersion", "code", "data", "error", "errors", "infos", "items", "kind"})
_ENVELOPE |= {"message", "metadata", "ok", "result", "status", "success", "warnings"}
"""Properties that say nothing about what comes back."""


class ResponseLines:
    """Makes the lines, `"returns"` and `"errors"`, for the operations of one document."""

    def __init__(self, follow: Follow, chosen: Collection[str]) -> None:
        self._follow = follow
        self._returns, self._fails = "returns" in chosen, "errors" in chosen
        self._schemas: dict[tuple[int, str], str] = {}

    def lines(
        self, method: str, operation: dict[str, Any], resource: Any, description: str
    ) -> list[str]:
        """Return the lines that add something to the description."""
        responses = operation.get("responses")
        lines: list[str] = []
        if not isinstance(responses, dict) or not (self._returns or self._fails):
            return lines
        needs_return = self._returns and len(description) < ENOUGH and method in _TELLING
        failures = ""
        for key, node in islice(responses.items(), _LOOKED_AT):
            status = key if key.__class__ is str else str(key)
            if status[:1] == "4":
                # A component is shared: it says nothing about this operation.
                is_own = (
                    node.__class__ is dict
                    and "$ref" not in node
                    and status not in _GENERAL_STATUSES
                )
                if not (self._fails and is_own):
                    continue
                if clause := _new_clause(node.get("description"), description + failures, 1):
                    failures += f"; {status} {truncate_text(clause, _CLAUSE)}"
            elif needs_return and status[:1] == "2":
                needs_return = False  # further ones are variants
                if clause := self._describe_return(node, resource, description):
                    lines.append(truncate_text(f"Returns: {clause}", MAX_RETURNS))
        if failures:
            lines.append(truncate_text(f"Fails: {failures[2:]}", MAX_FAILS))
        return lines

    def _describe_return(self, node: Any, resource: Any, description: str) -> str:
        try:
            node, resource, _ = self._follow(node, resource)
            if not isinstance(node, dict):
                return ""
            clause = _new_clause(node.get("description"), description, _NEW)
            return clause or self._describe_content(node, resource)
        except DocumentError:  # a response that cannot be read does not spoil the tool
            return ""

    def _describe_content(self, response: dict[str, Any], resource: Any) -> str:
        content = response.get("content")
        if not isinstance(content, dict):
            return self._describe_schema(response.get("schema"), resource)
        kind = "application/json"
        if kind not in content:
            kinds = list(filter(is_media_type, map(str, islice(content, _LOOKED_AT))))
            kind = next(filter(is_json, kinds), kinds[0] if kinds else "")
            if kind and not is_json(kind):
                return "" if is_wildcard(kind) else truncate_text(essence(kind), _CLAUSE)
        media, resource, _ = self._follow(content.get(kind), resource)
        return (
            self._describe_schema(media.get("schema"), resource) if isinstance(media, dict) else ""
        )

    def _describe_schema(self, node: Any, resource: Any, deepest: int = _DEEPEST) -> str:
        if not isinstance(node, dict) or not deepest:
            return ""
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return self._describe_inline(node, resource, "", deepest)
        key = (id(resource), reference)
        text = self._schemas.get(key)
        if text is None:
            target, owner, _ = self._follow(node, resource)
            fragment = reference.partition("#")[2]  # empty for a whole file
            name = fragment.rpartition("/")[2].rpartition(".")[2]
            text = self._describe_inline(target, owner, name, deepest)
            if text or deepest == _DEEPEST:  # else it may be too deep here only
                self._schemas[key] = text
        return text

    def _describe_inline(self, node: Any, resource: Any, component: str, deepest: int) -> str:
        if not isinstance(node, dict):
            return ""
        if node.get("type") == "array" or isinstance(node.get("items"), dict):
            items = self._describe_schema(node.get("items"), resource, deepest - 1)
            return f"array of {items}" if items else ""
        name = next(filter(_is_name, (component, node.get("title"))), "object")
        names = list(islice(self._iter_names(node, resource), _MOST_NAMES + 1))
        if _ENVELOPE.issuperset(names):
            return ""
        ellipsis = ", …" if len(names) > _MOST_NAMES else ""
        return f"{name} ({', '.join(names[:_MOST_NAMES])}{ellipsis})"

    def _iter_names(self, node: dict[str, Any], resource: Any) -> Iterator[str]:
        seen = set()
        needed = as_list(node.get("required"))[:_LOOKED_AT]
        for name in chain(needed, self._iter_properties(node, resource)):
            if _is_name(name) and name not in seen:
                seen.add(name)
                yield name

    def _iter_properties(self, node: Any, resource: Any) -> Iterator[Any]:
        waiting = [(node, resource)]
        for part in waiting:  # grows while it is walked
            node, owner, _ = self._follow(*part)
            if not isinstance(node, dict):
                continue
            properties, branches = node.get("properties"), node.get("allOf")
            if isinstance(properties, dict):
                yield from islice(properties, _LOOKED_AT)
            if isinstance(branches, list):
                remaining = _LOOKED_AT - len(waiting)
                waiting += [(branch, owner) for branch in branches[: max(remaining, 0)]]


def _new_clause(text: Any, description: str, new: int) -> str:
    if text.__class__ is not str:
        return ""
    clause, words = _read_description(text)
    description = description.lower()
    return clause if sum(word not in description for word in words) >= new else ""


@lru_cache(maxsize=4096)
def _read_description(text: str) -> tuple[str, set[str]]:
    plain = " ".join(plain_text(text, MAX_FAILS).split())
    plain = _OPENING.sub("", plain).strip(" .;,:-")
    words = {word.lower() for word in _WORD.findall(plain)} - _EMPTY
    return plain, {word[: max(4, len(word) - 2)] for word in words}


def _is_name(text: Any) -> bool:
    return isinstance(text, str) and _NAME.fullmatch(text) is not None
