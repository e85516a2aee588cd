"""Words of definitions: the sentences that a model needs to choose a tool and to fill a call in.

Only keywords that refuse nothing are changed here, so a schema accepts what it did before.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.json_values import UNIONS, resolve, unequal
from openapi_tools.visible_text import cut

if TYPE_CHECKING:
    Schema = dict[str, Any]

_END = re.compile(r"(\n\s*\n|\n(?=\s*(?:[-*+>•]|\d+[.)])\s)|(?<=[.!?])\s+(?=[^a-z\s]))")
_ELSEWHERE = re.compile(
    r"[\W_]*(?:(?:please )?note:?[\W_]*)?(?:"
    r"for (?:more|further|additional|complete|full|an? (?:over|complete|full)|details|guidance|"
    r"information|examples)\b[^`]*?\b(?:see|refer|read|visit|check)\b|"
    r"(?:please )?(?:see|read|refer to|visit|check out)\b(?!.*`)|"
    r"(?:to )?(?:learn|read|find out) more\b|more (?:details|information|info)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""The start of a sentence that sends the reader to a page, which a model cannot open."""
_ACCESS = re.compile(
    r"(?=.*\b(?:oauth|(?:access )?tokens?|scopes?|permissions?|authenticated|authorized|owners?)\b)"
    r"(?=.*\b(?:access|admin\w*|owners?|permissions?|scopes?|users?)\b)"
    r"(?=.*\b(?:grant\w*|must|needs?|required|requires?)\b)",
    re.IGNORECASE | re.DOTALL,
)
"""A sentence about who may call an operation: no argument changes that."""
_PAGES = ("see", "more", "read", "refer", "visit", "check")
_CALLERS = ("oauth", "token", "scope", "permission", "authenticated", "authorized", "owner")
_MORE = (*_CALLERS, *_PAGES, "[!")
"""Signs, in lower case, of sentences that may go; looking for them is fast."""
_LINES = re.compile(r"(?:\n(?:Returns|Fails): .*)+\Z")
_ALERT = re.compile(r"\s*>?\s*\[!\w+\]\s*")
_TELLING = re.compile(
    r"[`\d\"“]|\b(?:accepts?|allowed|an array|at (?:least|most)|boolean|can be|cannot|can't|comma|"
    r"default\w*|deprecated|e\.g|either|empty|encoded|example|exclusive|false|format\w*|id|if|"
    r"ignored|inclusive|instead|list|maximum|minimum|must|null|number|omit\w*|one of|only|optional|"
    r"required?|requires|separated|set|specif\w+|string|supported|true|unless|use|valid|when|"
    r"ISO|UTC)\b",
    re.IGNORECASE,
)
"""Signs of a sentence about values: quoted or counted ones, bounds, conditions, defaults."""
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_WORD = re.compile(r"[^\W_]+")
_SMALL = frozenset(
    {"a", "an", "by", "for", "in", "is", "its", "of", "on", "that", "the", "this", "to", "with"}
)
_IMPLIED = {
    "id": {"unique", "identifier", "identifies", "id"},
    "number": {"identifies"},
    "ids": {"identifiers"},
}
"""Words that say nothing more where a member's name has another one."""
UNREAD = ("examples", "example", "$comment")
"""Keywords that models do without."""
_FIRST_VALUES = 12
_LONGEST_SHOWN = 40
_LONGEST_LIST = 300
_LONGEST_KEPT = 120
_REPEATED = 80
"""Characters of a description that may be a repetition of a name."""


class Wording(NamedTuple):
    """How much is said: characters of texts that stay whole, of members, of tools."""

    whole: int
    member: int
    tool: int


WORDINGS = {"short": Wording(60, 300, 500), "tight": Wording(40, 120, 240)}
"""The wordings of `Settings.definitions`, but for `full`, which changes nothing."""


def brief(text: str, whole: int, most: int, *, telling: bool = True) -> str:
    """Return a text without sentences that tell nothing about a call, cut at the end of one.

    Args:
        text: Of a document.
        whole: A text of so many characters stays.
        most: Characters that stay at most.
        telling: After the first sentence, keep those that speak of values, as is right for a
            member; else all but those that say who may call, as is right for a tool.
    """
    if len(text) <= whole or not (telling or len(text) > most or _has(text, _MORE)):
        return text
    pieces = _END.split(text)
    kept, between = "", ""
    for sentence, end in zip(pieces[::2], [*pieces[1::2], ""], strict=True):
        said = _ALERT.sub("", sentence) if "[!" in sentence else sentence
        if said and (not kept or _is_needed(said, telling=telling)):
            more = kept + between + said if kept else said.lstrip("> ")
            if len(more) > most:
                return f"{kept} …" if len(kept) > whole else cut(more, most)
            kept = more
            between = ""
        between = "\n" if "\n" in between + end else " "
    return kept if len(kept) < len(text) else text


def brief_tool(text: str, wording: Wording) -> str:
    """Return the description of a tool in a wording; lines about answers and errors stay."""
    said = _LINES.search(text) if "\nReturns: " in text or "\nFails: " in text else None
    lines = said[0] if said else ""
    body = text.removesuffix(lines)
    return brief(body, wording.whole, wording.tool, telling=False) + lines


def _is_needed(sentence: str, *, telling: bool) -> bool:
    if _has(sentence, _PAGES) and _ELSEWHERE.match(sentence):
        return False
    if telling:
        return _TELLING.search(sentence) is not None
    return not (_has(sentence, _CALLERS) and _ACCESS.match(sentence))


def _has(text: str, words: tuple[str, ...]) -> bool:
    lower = text.lower()
    return any(word in lower for word in words)


def repeats(text: str, name: str) -> bool:
    """Tell whether a text has no words but those of a name."""
    if len(text) > _REPEATED or "`" in text:
        return False
    named = _words(name)
    return _words(text) - _SMALL <= named.union(*(_IMPLIED.get(word, ()) for word in named))


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(_HUMP.sub(" ", text))}


def words_for(node: Schema, root: Schema) -> Schema:
    """Return a schema's type and a description that names its members or alternatives."""
    target = target_of(node, root)
    kinds = types_of(node, root)
    kept = typed(kinds)
    text = node.get("description") or target.get("description")
    if isinstance(text, str):
        kept["description"] = brief(text, 0, _LONGEST_KEPT)
    said = _named_in(target, root)
    return with_words(kept, said) if said else kept


def target_of(node: Any, root: Schema) -> Schema:
    """Return a schema, or the one that its reference leads to."""
    for _ in range(16):
        reference = node.get("$ref") if isinstance(node, dict) else None
        if not isinstance(reference, str):
            break
        node = resolve(root, reference)
    return node if isinstance(node, dict) else {}


def types_of(node: Any, root: Schema, depth: int = 3) -> list[str]:
    """Return the types that a schema allows, as far as it names them; none where any may fit."""
    target = target_of(node, root)
    kinds = target.get("type", [])
    if kinds or depth == 0:
        return list(kinds) if isinstance(kinds, list) else [kinds]
    for union in UNIONS:
        told = [types_of(part, root, depth - 1) for part in target.get(union, ())]
        if told and all(told):
            return unequal(kind for kinds in told for kind in kinds)
    told = [types_of(part, root, depth - 1) for part in target.get("allOf", ())]
    return next((kinds for kinds in told if kinds), [])


def typed(kinds: list[str]) -> Schema:
    """Return a schema of some types; of none, one that accepts anything."""
    return {"type": kinds[0] if len(kinds) == 1 else kinds} if kinds else {}


def _named_in(node: Schema, root: Schema) -> str:
    """Return a sentence that names the members or the alternatives of a schema."""
    items = node.get("items")
    if isinstance(items, dict) and "properties" not in node:
        said = _named_in(target_of(items, root), root)
        return f"Items: {said[:1].lower()}{said[1:]}" if said else ""
    members = node.get("properties")
    if isinstance(members, dict) and members:
        required = node.get("required", ())
        names = sorted(members, key=lambda name: name not in required)
        listed = ", ".join(f"{name} (required)" if name in required else name for name in names)
        return cut(f"Members: {listed}", _LONGEST_KEPT) + "."
    for union in UNIONS:
        titles = [_title(part, root) for part in node.get(union, ())]
        if any(titles):
            return cut(f"One of: {', '.join(filter(None, titles))}", _LONGEST_KEPT) + "."
    return ""


def _title(node: Any, root: Schema) -> str:
    """Return a name for an alternative."""
    if not isinstance(node, dict):
        return ""
    reference = node.get("$ref")
    named = reference.rpartition("/")[2] if isinstance(reference, str) else node.get("title")
    return str(named or next(iter(types_of(node, root)), ""))


def first_of(values: list[Any]) -> str:
    """Return the count of values and the first of them in words."""
    first = (cut(json.dumps(value, ensure_ascii=False), _LONGEST_SHOWN) for value in values)
    shown = ", ".join(islice(first, _FIRST_VALUES))
    return cut(f"One of {len(values)} values: {shown}, …", _LONGEST_LIST)


def with_words(node: Schema, said: str) -> Schema:
    """Return a schema whose description has one more sentence."""
    text = node.get("description")
    before = text.rstrip() if isinstance(text, str) else ""
    if before and not before.endswith((".", "!", "?", "…")):
        before += "."
    return {**node, "description": f"{before} {said}".lstrip()}
