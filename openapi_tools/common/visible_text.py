"""A document's text as models may read it: names, and words without hidden characters and markup.

A name that was cut, lost characters or is taken gets a hash, so that adding an operation does not
rename another one. Spec: Unicode 16.0, section 5.21; UTS #51 for flags and emoji.
"""

from __future__ import annotations

import hashlib
import html
import keyword
import operator
import re
from collections import Counter
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

_JOINERS = "\u200c\u200d"
# Invisible characters carry text that a person does not see and a model reads ("ASCII
# smuggling", with tags of U+E0000).
_SELECTORS = "\ufe00-\ufe0f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    f"\U000e0000-\U000e0fff{_SELECTORS}"
)
_UNSEEN = f"{_INVISIBLE}{_JOINERS}"
LONGEST_FOLDED = 60  # characters of a name that means something to APIs in general
_NO_LETTER_OR_DIGIT = re.compile(r"[^a-z0-9]")
_LETTER = rf"[^\x00-\x7f{_UNSEEN}]"
_HAN = "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_MONGOLIAN = "[\u1820-\u18aa]"
# Unseen characters that change the look of the one before, each alone, or of a flag.
_SHAPING = "|".join(
    (
        "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f",  # a region's flag
        f"(?<={_HAN})[\U000e0100-\U000e01ef](?![{_UNSEEN}])",
        f"(?<={_MONGOLIAN})[\u180b-\u180d\u180f](?![{_UNSEEN}])",
        f"(?<={_LETTER})[{_SELECTORS}](?![{_INVISIBLE}])",
        "(?<=[#*0-9])\ufe0f(?=\u20e3)",  # a keycap
        f"(?<={_LETTER})[{_JOINERS}](?![{_UNSEEN}])",
        f"(?<={_LETTER}\ufe0f)\u200d(?![{_UNSEEN}])",  # in emoji of several parts
    )
)
_HIDDEN = re.compile(f"[{_UNSEEN}]")
# Compiled when it is first used: it takes as long as three modules, and few documents need it.
_SHAPING_OR_UNSEEN = f"({_SHAPING})|[{_UNSEEN}]"

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")
_BREAK = re.compile(r"<(?:br|/p|/li|/div|/h\d|/tr)\s*/?>", re.IGNORECASE)
_ELEMENTS = (
    "p|code|a|abbr|address|b|big|blockquote|br|caption|center|cite|col|colgroup|dd|del|details|dfn|div|"
    "dl|dt|em|figcaption|figure|font|footer|h[1-6]|header|hr|i|iframe|img|ins|kbd|li|main|mark|nav|"
    "nobr|ol|picture|pre|q|s|samp|script|section|small|source|span|strike|strong|style|sub|summary|"
    "sup|table|tbody|td|tfoot|th|thead|tr|tt|u|ul|var|video|wbr"
)
_MARKUP = rf"<(?:/?(?:{_ELEMENTS})(?:\s[^<>]{{0,300}})?/?>|!--.{{0,300}}?-->)"
# Tags in code spans, and tags with unknown names, are placeholders and stay.
_CODE_OR_TAG = re.compile(rf"`([^`\n]*`)|{_MARKUP}", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()\s]{0,1000}(?: \"[^\"]{0,300}\")?\)")
_VISIBLE = bytes([10, *range(32, 127)])
_USER = re.compile(r"(?<=//)[^/?#]*(?=@)")
_BLANK = re.compile(r"\n{3,}")

MAX_LENGTH = 64  # longest name that every provider takes, prefix included

RESERVED_ARGUMENTS = frozenset({"self", "config", "run_manager", "_tool_call_id"})
"""Names that coordinators take for themselves."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?<![a-z0-9][A-Z])(?=[A-Z][a-z])")
# The words between humps and separators, in ASCII: five times faster than to mark the humps.
_WORD = re.compile(
    r"(?<=[a-z0-9])[A-Z][A-Z][a-z][a-z0-9]*|[A-Z]+(?=[A-Z][a-z])|[A-Z]*[a-z0-9]+|[A-Z]+"
)
_OTHER = re.compile(r"[^A-Za-z0-9]+|__+")
# Of hexadecimal digits: 16 million, for the few names of a document that need one.
_HASH_LENGTH = 6
_NOT_WORD = re.compile(r"\W")
_NOT_IDENTIFIER = re.compile(r"\W+", re.ASCII)
_WIRE_NAME = operator.itemgetter(1)  # of a location, a name on the wire and more
_MAX_MOUNTS = 8  # leading parts of a path that an operation id may lack, at most


def strip_hidden(text: str) -> str:
    """Return a text without invisible characters, but for those that shape others."""
    if text.isascii() or not _HIDDEN.search(text):
        return text
    return re.sub(_SHAPING_OR_UNSEEN, lambda match: match[1] or "", text)


def is_visible(name: str) -> bool:
    """Return whether a name has characters, and none of them is invisible."""
    return bool(name) and strip_hidden(name) == name


def quote_name(name: str) -> str:
    """Return a name in backticks; with escapes if a part of it is invisible."""
    return f"`{name}`" if name.isprintable() and strip_hidden(name) == name else ascii(name)


def is_hidden(character: str) -> bool:
    """Return whether a character is invisible, also one that shapes others."""
    return _HIDDEN.match(character) is not None


def strip_hidden_in(value: Any) -> Any:
    """Return JSON-native data without hidden characters (`strip_hidden`); itself if it has none."""
    if isinstance(value, str):
        return strip_hidden(value)
    if isinstance(value, list):
        items = [strip_hidden_in(item) for item in value]
        return value if _are_same(items, value) else items
    if isinstance(value, dict):
        pairs = {strip_hidden_in(name): strip_hidden_in(item) for name, item in value.items()}
        is_same = _are_same(pairs, value) and _are_same(pairs.values(), value.values())
        return value if is_same else pairs
    return value


def _are_same(copies: Collection[Any], originals: Collection[Any]) -> bool:
    # By identity: where nothing is hidden, the document's own objects are used on, without a copy.
    return len(copies) == len(originals) and all(map(operator.is_, copies, originals))


def plain_text(text: str, limit: int) -> str:
    """Return a text without markup and control characters, cut at a word boundary to `limit`."""
    text = strip_markup(text[: limit * 8])  # far more than stays, and bounded
    if "[" in text and "](" in text:
        text = text.replace("![", "[") if "!" in text else text
        text = "".join(_LINK.split(text))  # what lies between, and the words
    return truncate_text(text.strip(), limit)


def strip_markup(text: str) -> str:
    """Return Markdown without HTML, control characters and invisible ones."""
    text = _clean_lines(text.strip())
    if "<" in text:
        text = _CODE_OR_TAG.sub(lambda match: match[0] if match[1] else "", _BREAK.sub("\n", text))
    return _strip_controls(html.unescape(text)) if "&" in text else text


def _clean_lines(text: str) -> str:
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if not text.isascii() or text.encode().translate(None, _VISIBLE):
        text = _strip_controls(text)
    return _BLANK.sub("\n\n", text) if "\n\n\n" in text else text


def _strip_controls(text: str) -> str:
    return strip_hidden(_CONTROL.sub(" ", text))


def truncate_text(text: str, limit: int) -> str:
    """Return a text cut at the last word boundary that leaves space for the mark, if it is long."""
    if len(text) <= limit:
        return text
    head = text[:limit]
    space = max(head.rfind(" "), head.rfind("\n"))
    head = head[:space] if space > limit // 2 else head[:-1]
    return head.rstrip(" \n,;:") + "…"


def url_user(url: str) -> str:
    """Return the user and password in a URL, empty where there is none (RFC 3986, 3.2.1)."""
    match = _USER.search(url)
    return match[0] if match else ""


def mask_user(text: str) -> str:
    """Return a text with `***` for the user and password of URLs in it: they reach no file."""
    return _USER.sub("***", text) if "@" in text else text


def short_hash(text: str) -> str:
    """Return a hash of six characters."""
    data = text.encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_HASH_LENGTH]


def fold_name(name: str) -> str:
    """Return the letters and digits of a name in lower case; empty for a long name."""
    return _NO_LETTER_OR_DIGIT.sub("", name.lower()) if len(name) <= LONGEST_FOLDED else ""


def python_name(name: str) -> str:
    """Return a name as an identifier of Python that is not a keyword: `from_`, `x_id`, `_1st`."""
    identifier = _NOT_IDENTIFIER.sub("_", name) or "_"
    identifier = f"_{identifier}" if identifier[0].isdigit() else identifier
    return f"{identifier}_" if keyword.iskeyword(identifier) else identifier


def snake_case(text: str) -> str:
    """Return a text as lower-case words joined by `_`; every separator is a word boundary."""
    if text.isascii():
        return "_".join(_WORD.findall(text)).lower()
    return _OTHER.sub("_", _HUMP.sub("_", text).lower()).strip("_")


class StableNames(NamedTuple):
    """The names that the tools of a generated package have."""

    names: Collection[str] = ()
    short: Mapping[str, str] = MappingProxyType({})  # method and path by a short name


NO_STABLE_NAMES = StableNames()


def tool_names(
    candidates: Iterable[tuple[str, str, str]],
    prefix: str = "",
    *,
    short: bool = False,
    stable: StableNames = NO_STABLE_NAMES,
) -> list[str]:
    """Return a name for each operation (id, method, path), in the same order.

    The first that wants a name gets it, others get a hash: appended operations rename none.
    """
    listed = list(candidates)
    preferred = [_preferred_name(name, f"{method} {path}", prefix) for name, method, path in listed]
    claimed = _short_names(listed, preferred, prefix, stable) if short else {}
    owners = {name: index for index, name in claimed.items()}
    names: dict[str, None] = {}
    for index, (_, method, path) in enumerate(listed):
        free = name = claimed.get(index, preferred[index])
        attempts = 0
        while free in names or owners.get(free, index) != index:
            free = _add_hash(name, f"{method} {path}{' again' * attempts}")
            attempts += 1
        names[free] = None
    return list(names)


def short_name(operation_id: str, method: str, path: str, prefix: str = "") -> str:
    """Return the name by an operation's function, of an id of FastAPI; empty for another id."""
    end = f"_{method.lower()}"
    if not operation_id.endswith(end):
        return ""
    rest, place = operation_id.removesuffix(end), f"{method} {path}"
    words = _NOT_WORD.sub("_", path)
    for start in _path_starts(path):
        tail = words[start:]
        function = rest.removesuffix(tail)
        # A tail of plain words could be the end of an id that a person wrote.
        if len(function) < len(rest) and (not start or "__" in tail or tail.endswith("_")):
            return (
                _preferred_name(function, place, prefix)
                if function.strip("_").isidentifier()
                else ""
            )
    return ""


def _path_starts(path: str) -> Iterable[int]:
    start = 0
    for _ in range(_MAX_MOUNTS):
        yield start
        start = path.find("/", start + 1)
        if start < 0 or "{" in path[:start]:
            return


def _short_names(
    candidates: Sequence[tuple[str, str, str]],
    preferred: Sequence[str],
    prefix: str,
    stable: StableNames,
) -> dict[int, str]:
    short_names = {
        index: name
        for index, candidate in enumerate(candidates)
        if (name := short_name(*candidate, prefix))
    }
    rivals = Counter(short_names.values())
    taken = set(preferred)
    chosen = {}
    for index, name in short_names.items():
        _, method, path = candidates[index]
        if name in stable.short:
            is_chosen = stable.short[name] == f"{method} {path}"
        else:
            is_chosen = (
                rivals[name] == 1 and name not in taken and preferred[index] not in stable.names
            )
        if is_chosen:
            chosen[index] = name
    return chosen


def _preferred_name(operation_id: str, place: str, prefix: str) -> str:
    source = operation_id or place
    words = snake_case(source)
    lost = not words or not source.isascii()
    words = words or snake_case(place)
    name = prefix + (f"_{words}" if not prefix and words[:1].isdigit() else words)
    return _add_hash(name, place) if lost or len(name) > MAX_LENGTH else name


def _add_hash(name: str, source: str) -> str:
    return f"{name[: MAX_LENGTH - _HASH_LENGTH - 1].rstrip('_-')}_{short_hash(source)}"


def argument_names(wires: Sequence[tuple[str, str, *tuple[Any, ...]]]) -> list[str]:
    """Return an argument name for each (location, wire name, …): that itself where all take it."""
    wire_names = list(map(_WIRE_NAME, wires))
    if len(set(wire_names)) == len(wire_names) and all(map(is_portable, wire_names)):
        return wire_names
    pairs = [wire[:2] for wire in wires]
    portable = [_make_portable(name) for _, name in pairs]
    spelled = Counter(name for _, name in pairs)
    changed = Counter(name for (_, wire), name in zip(pairs, portable, strict=True) if wire != name)
    names: list[str] = []
    for (location, wire), name in zip(pairs, portable, strict=True):
        rivals = spelled[name] if wire == name else spelled[name] + changed[name]
        crowded = rivals > 1 or name in RESERVED_ARGUMENTS
        names.append(_limit_length(f"{name}_{location}", wire) if crowded else name)
    return _make_distinct(names, pairs)


def hides_wire_name(name: str, wire: str) -> bool:
    """Return whether an argument's name hides its wire name: it was cut, or lost letters."""
    return name != wire and not (
        wire.isascii() and len(wire) <= MAX_LENGTH and _OTHER.sub("", wire)
    )


@lru_cache(maxsize=4096)
def is_portable(name: str) -> bool:
    """Return whether every provider and coordinator takes a name unchanged."""
    identifies = name.isascii() and name.isidentifier()
    return identifies and len(name) <= MAX_LENGTH and name not in RESERVED_ARGUMENTS


def _make_portable(name: str) -> str:
    if is_portable(name) or name in RESERVED_ARGUMENTS:
        return name
    words = _OTHER.sub("_", name).strip("_")
    words = f"_{words}" if words[:1].isdigit() else words
    return _limit_length(words, name) if words else f"argument_{short_hash(name)}"


def _limit_length(name: str, wire: str) -> str:
    return name if len(name) <= MAX_LENGTH else _add_hash(name, wire)


def _make_distinct(names: list[str], pairs: list[tuple[str, str]]) -> list[str]:
    counts = Counter(names)
    taken = {name for name, count in counts.items() if count == 1}
    result = []
    for name, (location, wire) in zip(names, pairs, strict=True):
        source = f"{location} {wire}"
        free = name
        if counts[name] > 1 and (name != wire or name in taken):
            free = _add_hash(name, source)
        while free in taken and counts[name] > 1:
            source += " again"
            free = _add_hash(name, source)
        taken.add(free)
        result.append(free)
    return result
