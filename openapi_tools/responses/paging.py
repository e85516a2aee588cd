"""The page after a response: the arguments that request it, or its URL.

Spec: RFC 8288, section 3, for `Link`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, unquote

from openapi_tools.common import page_names
from openapi_tools.common.http_rules import find_link, header_label, is_safe
from openapi_tools.common.json_schema import coerce_value
from openapi_tools.common.json_values import contains_value, dump_json_bytes, parse_integer
from openapi_tools.common.visible_text import fold_name
from openapi_tools.errors import SettingsError
from openapi_tools.model import Operation, Paging
from openapi_tools.responses.argument_paths import arguments_with, property_schema, value_at
from openapi_tools.responses.json_queries import evaluate
from openapi_tools.responses.response_lists import find_list
from openapi_tools.transport.urls import InvalidUrlError, remove_pairs, resolve_api_url

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import httpx


CERTAIN, LIKELY, POSSIBLE = 3, 2, 1
_OTHER_RELATIONS = ("first", "last", "prev", "previous")
_SHOWN = 1000
# What servers write for "no next page": null, false, an empty string, -1.
_NOTHING = (None, False, "", "-1", "0", "false", "none", "null", -1, 0)
_COUNTS = frozenset({"totalpages", "pagetotal", "pagecount", "lastpage", "numberofpages"})
_ROUND = (10, 25)
_NONE = Paging("")


class Step(NamedTuple):
    """How to request the next page: by arguments or a URL; neither if that is not known.

    Attributes:
        arguments: The arguments that change.
        url: The URL of the page.
        certainty: Whether there is one: `CERTAIN`, `LIKELY` after a full page, or `POSSIBLE`.
        refusal: Why it is not requested: its URL is not one of the API.
        may_repeat: It may be the same page again, as the number of the first one is not known.
        is_linked: The response named its URL.
        shortfall: How many items came, if no argument requests more.
    """

    arguments: Mapping[str, Any] = {}
    url: str = ""
    certainty: int = CERTAIN
    refusal: str = ""
    may_repeat: bool = False
    is_linked: bool = False
    shortfall: str = ""


def search_value(expression: str, value: Any) -> Any:
    """Return what a JMESPath expression finds; None where it or the value does not fit."""
    try:
        return evaluate(expression, value)
    except (SettingsError, ValueError):
        return None


def find_items(value: Any, paging: Paging | None) -> list[Any] | None:
    """Return the items in a response; None if it has no plain list of them."""
    items = search_value(paging.items, value) if paging is not None and paging.items else None
    return items if isinstance(items, list) else find_list(value)


@dataclass(eq=False, slots=True)
class PageReader:
    """Finds the next page in a response.

    Attributes:
        arguments: The arguments of the request.
        url: The URL of the request.
        server: The base URL of the API, below which the next page has to be.
        hidden: The names of credentials in queries, which are left out of URLs.
        linked: The request's URL was named by a page; if this one names none, it is the last.
        followed: The request's URL came from a response, so that `arguments` do not describe it.
        step: How to request the next page, once a response was read; None after the last page.
    """

    operation: Operation
    schema: Mapping[str, Any]
    _: KW_ONLY
    arguments: Mapping[str, Any]
    url: httpx.URL
    server: str
    hidden: Collection[str] = ()
    linked: bool = False
    followed: bool = False
    step: Step | None = None
    total: int | None = None  # items in all, if the response says it
    _value: Any = None
    _properties: dict[str, Any] = field(default_factory=dict)

    @property
    def _paging(self) -> Paging:
        return self.operation.paging or _NONE

    def read(self, value: Any, headers: Mapping[str, str]) -> str:
        """Note the step after a response, and return it as a line for a model; empty for none."""
        self._value = value
        properties = list(page_names.find_properties(value, page_names.PAGE_CONTAINERS, 2))
        self._properties = dict(reversed(properties))  # the first ones count
        self.total = self._total(headers)[0]
        self.step = step = self._find_step(headers) or self._find_shortfall(headers)
        # The note has what a header says of the next page.
        names_next = any(header_label(name) == "Next page" for name in headers)
        is_noted = step and not step.arguments and (step.url or step.shortfall) and names_next
        return "" if is_noted else describe_step(step)

    def _find_step(self, headers: Mapping[str, str]) -> Step | None:
        links = headers.get("link", "")
        if target := find_link(links, "next"):
            return self._step_to_address(target)
        # A server that links its pages links all of them.
        is_last = links and any(find_link(links, relation) for relation in _OTHER_RELATIONS)
        flags = [
            self._properties[name] for name in page_names.MORE_FLAGS if name in self._properties
        ]
        if is_last or any(contains_value(_NOTHING, flag) for flag in flags):
            return None
        named = self._next_values(headers, has_more=bool(flags))
        fit = [v for v in named if isinstance(v, str) or parse_integer(v) is not None]
        value = next((v for v in fit if self._paging.style or _is_address(v)), None)
        if value is not None:
            if self._paging.style == "link" or _is_address(value):
                return self._step_to_address(str(value))
            return self._step_to_value(self._paging.argument, value)
        # What no argument takes still says that there is more: `true`, an object, a token.
        is_named = any(v not in fit for v in named) if self._paging.style else self._names_token()
        # The property for the next page is absent, rather than empty.
        last, names = fold_name(self._paging.next.rpartition(".")[2]), self._properties
        silent = last not in names if last else not any(map(page_names.NEXT_NAME.fullmatch, names))
        step = self._step_by_count(headers) if (silent or is_named) and not self.linked else None
        return (step or Step())._replace(certainty=CERTAIN) if flags or is_named else step

    def _next_values(self, headers: Mapping[str, str], *, has_more: bool) -> list[Any]:
        paging = self._paging
        if paging.next:
            # The last item's id is there on the last page, too.
            is_id = "[" in paging.next or fold_name(paging.next) == "lastid"
            candidates = [search_value(paging.next, self._value)] if has_more or not is_id else []
        else:
            candidates = [
                v for name, v in self._properties.items() if page_names.NEXT_NAME.fullmatch(name)
            ]
            argument = fold_name(paging.argument) if paging.style == "cursor" else ""
            candidates += (
                [self._properties[argument]]
                if argument in page_names.CURSOR_NAMES and argument in self._properties
                else []
            )
        header_names = (name for name in headers if name != "link" and "has" not in name)
        candidates += [headers[name] for name in header_names if header_label(name) == "Next page"]
        values = map(self._unwrap_next, candidates)
        return [v for v in values if v not in ({}, []) and not contains_value(_NOTHING, v)]

    def _unwrap_next(self, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        # `{"href": …}` of HAL, or the arguments of the next page: `{"page": 2, "limit": 10}`.
        inner = {fold_name(name): entry for name, entry in value.items()}
        argument = fold_name(self._paging.argument.rpartition(".")[2])
        return next((inner[name] for name in ("href", argument) if name in inner), value)

    def _names_token(self) -> bool:
        return any(
            page_names.NEXT_TOKEN.fullmatch(name)
            and isinstance(value, str | int)
            and not contains_value(_NOTHING, value)
            for name, value in self._properties.items()
        )

    def _step_to_value(self, argument: str, value: Any, certainty: int = CERTAIN) -> Step | None:
        schema = property_schema(self.schema, argument) if argument else None
        if schema is None:
            return None if self._paging.argument else Step(certainty=certainty)  # it is hidden
        taken = coerce_value(value, schema)
        if taken is None:
            return None
        return Step(arguments_with(self.arguments, argument, taken), certainty=certainty)

    def _find_shortfall(self, headers: Mapping[str, str]) -> Step | None:
        # Only on the first page: behind it, only the caller knows how many items came in all.
        items = find_items(self._value, self._paging)
        if items is None or not self._is_first():
            return None
        count = len(items)
        if self.total is not None:
            shortfall = f"{count} of {self.total} items were returned; no argument requests more"
            return Step(shortfall=shortfall) if count < self.total else None
        if not count or count != self._asked_size() or self._names_no_next_page(headers):
            return None
        shortfall = f"{count} items were returned, as many as requested; no argument requests more"
        return Step(certainty=LIKELY, shortfall=shortfall)

    def _is_first(self) -> bool:
        paging = self._paging
        if self.followed or self.linked:
            return False
        value = value_at(self.arguments, paging.argument) if paging.argument else None
        if value is None or paging.style in ("limit", "link"):
            return True
        start, base = self._page_start()
        return paging.style in ("page", "offset") and start == base

    def _asked_size(self) -> int | None:
        if self._paging.size:
            return self._number(self._paging.size)
        named = (
            v for name, v in self.arguments.items() if fold_name(name) in page_names.SIZE_NAMES
        )
        return next((n for value in named if (n := parse_integer(value)) is not None), None)

    def _names_no_next_page(self, headers: Mapping[str, str]) -> bool:
        if headers.get("link") and any(
            find_link(headers["link"], name) for name in _OTHER_RELATIONS
        ):
            return True
        names = self._properties
        return any(name in names for name in page_names.MORE_FLAGS) or any(
            page_names.NEXT_NAME.fullmatch(name) for name in names
        )

    def _step_to_address(self, target: str) -> Step:
        if not is_safe(self.operation.method):  # an address would be asked by GET
            return Step()
        try:
            url = resolve_api_url(target, self.url, self.server)
        except InvalidUrlError as error:
            return Step(refusal=str(error))
        url = remove_pairs(url, self.hidden)
        changes = None if self.followed else self._argument_changes(url)
        return Step(changes or {}, str(url), is_linked=True)

    def _argument_changes(self, url: httpx.URL) -> dict[str, Any] | None:
        properties = self.schema.get("properties", {})
        sent, asked = (parse_qs(u.query.decode(), keep_blank_values=True) for u in (self.url, url))
        taken = {
            p.name: p.argument
            for p in self.operation.parameters
            if p.location == "query" and not p.media_type and p.argument in properties
        }
        changes = {}
        for name in {**sent, **asked}:
            if sent.get(name) == asked.get(name):
                continue
            values = asked.get(name, [])
            if name not in taken or len(values) != 1 or "\ufffd" in values[0]:
                return None
            schema = properties[taken[name]]
            value = coerce_value(values[0], schema)
            if value is None:
                return None
            if name in sent or value != schema.get("default"):
                changes[taken[name]] = value
        paths = {unquote(each.raw_path.partition(b"?")[0].decode()) for each in (self.url, url)}
        return changes if len(paths) == 1 or self._paging.argument in changes else None

    def _step_by_count(self, headers: Mapping[str, str]) -> Step | None:
        paging, items = self._paging, find_items(self._value, self._paging)
        if not items or paging.style not in ("page", "offset", "limit"):
            return None
        count, size = len(items), self._number(paging.size)
        if paging.style == "limit":
            return self._step_by_size(count)
        start, base = self._page_start()
        after = (base if start is None else start) + (1 if paging.style == "page" else count)
        total, pages = self._total(headers)
        if paging.style == "page" and pages is not None:
            if after - base >= pages:
                return None
            return self._step_to_page(after, is_known=start is not None)
        done = count if start is None else (start - base) * (size or count)
        done = done + count if paging.style == "page" and start is not None else after - base
        if total is not None and (size or paging.style == "offset"):
            certainty = CERTAIN if done < total else 0
        else:
            certainty = self._likelihood(count, size, paging.size)
        if paging.style == "page" and certainty:
            return self._step_to_page(after, certainty, is_known=start is not None)
        return self._step_to_value(paging.argument, after, certainty) if certainty else None

    def _step_to_page(
        self, number: int, certainty: int = CERTAIN, *, is_known: bool
    ) -> Step | None:
        # The first page is 0 or 1: the response to `1` decides.
        step = self._step_to_value(self._paging.argument, number if is_known else 1, certainty)
        return step._replace(may_repeat=not is_known) if step is not None else None

    def _likelihood(self, count: int, size: int | None, argument: str) -> int:
        if size is None:
            return POSSIBLE
        if count >= size:
            return LIKELY
        # Servers lower a large limit to a round number.
        schema = self._schema_of(argument)
        is_bounded = "maximum" in schema or parse_integer(schema.get("default")) == size
        return 0 if is_bounded or all(count % each for each in _ROUND) else POSSIBLE

    def _step_by_size(self, count: int) -> Step | None:
        # Without pages, a larger size gives the first items again, and more.
        argument = self._paging.argument
        size, schema = self._number(argument), self._schema_of(argument)
        certainty = self._likelihood(count, size, argument)
        if not certainty or (size is not None and count < size):
            return Step(certainty=certainty) if certainty else None
        double = 2 * max(count, size or 0)
        larger = min(double, int(schema.get("maximum", double)))
        return (
            self._step_to_value(argument, larger, certainty)
            if larger > count
            else Step(certainty=POSSIBLE)
        )

    def _page_start(self) -> tuple[int | None, int]:
        name, style = self._paging.argument, self._paging.style
        schema = self._schema_of(name)
        word = fold_name(name.rpartition(".")[2])
        echoed = parse_integer(self._properties.get(word))
        if echoed is None and style == "page" and self._says_page_one():
            echoed = 1
        declared = (parse_integer(schema.get(keyword)) for keyword in ("default", "minimum"))
        first = next((n for n in declared if n is not None), None)
        usual = 1 if style == "page" or word == "startindex" else 0
        base = first if first in (0, 1) else usual
        number = parse_integer(value_at(self.arguments, name))
        if number is None and echoed is not None:
            return echoed, min(echoed, base)
        if number is None:
            number = first if style == "page" else base
        return number, base

    def _says_page_one(self) -> bool:
        # Spring counts `number` from 0 whatever its argument does, so 0 says nothing.
        echoes = (self._properties.get(name) for name in page_names.PAGE_ECHOES)
        return any(parse_integer(echo) == 1 for echo in echoes)

    def _schema_of(self, argument: str) -> Mapping[str, Any]:
        return (property_schema(self.schema, argument) if argument else None) or {}

    def _number(self, name: str) -> int | None:
        if not name:
            return None
        value = value_at(self.arguments, name)
        return parse_integer(self._schema_of(name).get("default") if value is None else value)

    def _total(self, headers: Mapping[str, str]) -> tuple[int | None, int | None]:
        counts = {fold_name(n): v for n, v in headers.items() if header_label(n) == "Total"}
        counts = {name.removeprefix("x"): value for name, value in counts.items()}
        counts |= self._properties
        numbers = {name: n for name, v in counts.items() if (n := parse_integer(v)) is not None}
        total = next(
            (n for name, n in numbers.items() if page_names.TOTAL_NAME.fullmatch(name)), None
        )
        # A plain `count` is of this page, unless it is above what came (Django REST framework).
        count, items = numbers.get("count"), find_items(self._value, self._paging)
        if total is None and count is not None and items is not None and count > len(items):
            total = count
        return total, next((n for name, n in numbers.items() if name in _COUNTS), None)


def describe_step(step: Step | None) -> str:
    """Return a step as a line for a model: words, numbers, and an address inside the API."""
    if step is None or step.certainty < LIKELY:
        return ""
    if step.refusal:
        return f"Next page: not followed because {step.refusal}"
    label = "More" if step.certainty == CERTAIN else "Perhaps more"
    if step.arguments:
        values = {name: dump_json_bytes(value).decode() for name, value in step.arguments.items()}
        if not all(_is_word(text) and "\\" not in text for text in values.values()):
            return ""
        pairs = ", ".join(f"{name}={text}" for name, text in values.items())
        return f"{label}: call again with {pairs}"
    if not step.url:
        usual = (
            "there are more items; no argument requests them" if step.certainty == CERTAIN else ""
        )
        shortfall = step.shortfall or usual
        return f"{label}: {shortfall}" if shortfall else ""
    place = step.url.partition("://")[2].partition("/")[2]
    return f"Next page: /{place}" if _is_word(place) else ""


def _is_word(text: str) -> bool:
    return text.isprintable() and " " not in text and len(text) <= _SHOWN


def _is_address(value: Any) -> bool:
    return isinstance(value, str) and value.startswith(("http://", "https://", "/", "?"))
