"""Find arguments that nothing describes, and descriptions for them in the same document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

from openapi_tools.common.json_values import as_list, as_string, follow_references, split_pointer
from openapi_tools.search.index import terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi_tools.conformance.lint_rules import LintedOperation

    Node = Mapping[str, Any]

# Words that fit any argument, or name an expression without saying in which language.
_VAGUE = """
    arg argument body data expression field filter flags info input item key object option options
    param parameter params payload query text value values where
"""
_VAGUE_TERMS = frozenset(terms(_VAGUE))
_DESCRIPTIVE_KEYWORDS = {
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "default",
    "enum",
    "examples",
    "format",
    "items",
    "oneOf",
    "pattern",
    "properties",
}


class DescribedParameter(NamedTuple):
    """A parameter without a description, and one for it."""

    keys: tuple[str | int, ...]
    description: str


def find_unclear_arguments(tool: Any) -> list[str]:
    """Return the arguments whose name, description and schema do not say what they take."""
    schema, body = tool.input_schema, tool.operation.body
    whole_body = body.argument if body else ""  # the tool's description describes it
    return [
        name
        for name, part in schema.get("properties", {}).items()
        if name != whole_body
        and f"{{{name}}}" not in tool.path
        and not _is_described(schema, name, part)
    ]


def _is_described(schema: Node, name: str, part: Node) -> bool:
    node = follow_references(schema, part)
    if node.get("type") == "boolean" or not _DESCRIPTIVE_KEYWORDS.isdisjoint(node):
        return True
    text = f"{name} {part.get('description') or node.get('description') or ''}"
    return any(len(term) > 1 and term not in _VAGUE_TERMS for term in terms(text))


def find_descriptions(places: Iterable[LintedOperation], root: Node) -> Mapping[str, str]:
    """Return the most frequent description of the parameters of each name."""
    counts: dict[str, Counter[str]] = {}
    for place in places:
        for _, parameter in _iter_parameters(place, root):
            name, text = as_string(parameter.get("name")), as_string(parameter.get("description"))
            if name and text and any(term not in _VAGUE_TERMS for term in terms(text)):
                counts.setdefault(name, Counter())[text] += 1
    return {name: texts.most_common(1)[0][0] for name, texts in counts.items()}


def describe_unclear_parameters(
    place: LintedOperation, root: Node, descriptions: Mapping[str, str]
) -> Iterator[DescribedParameter]:
    """Yield the unclear parameters of an operation that are described elsewhere."""
    unclear = {terms(name) or name for name in find_unclear_arguments(place.tool)}
    for keys, parameter in _iter_parameters(place, root):
        name = as_string(parameter.get("name")) or ""
        if name in descriptions and (terms(name) or name) in unclear:
            yield DescribedParameter(keys, descriptions[name])


def _iter_parameters(
    place: LintedOperation, root: Node
) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    for keys, holder in ((place.keys[:2], place.item), (place.keys, place.node)):
        for number, listed in enumerate(as_list(holder.get("parameters"))):
            parameter = follow_references(root, listed)
            reference = listed.get("$ref") if isinstance(listed, dict) else None
            if reference is None:
                yield (*keys, "parameters", number), parameter
            elif isinstance(reference, str) and reference.startswith("#/"):
                yield split_pointer(unquote(reference[1:])), parameter
