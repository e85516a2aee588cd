"""What hypothesis draws: inputs for a JSON Schema, and values that are no input at all.

`hypothesis_jsonschema.from_schema` reads no recursive schemas and needs seconds for large ones.
What is drawn here is judged by a validator, so a keyword that is not understood costs a retry, not
a wrong input.
"""

import base64
import math
import re

import jsonschema_rs
from hypothesis import assume
from hypothesis import strategies as st
from makers import ImpossibleError, Maker

OPTIONAL_PROPERTIES = 6
"""Most optional members of one object."""
TRIES = 4

_FORMATS = {
    "byte": st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode()),
    "date": st.dates().map(str),
    "date-time": st.datetimes().map(lambda moment: moment.isoformat() + "Z"),
    "email": st.from_regex(r"[a-z]{1,8}@[a-z]{1,8}\.org", fullmatch=True),
    "int64": st.integers(0, 2**63).map(str),
    "uri": st.from_regex(r"https://[a-z]{1,8}\.org/[a-z?=&%25#+]{0,8}", fullmatch=True),
    "uuid": st.uuids().map(str),
}
_TRICKY = "aZ09-._~ /?#[]@!$&'()*+,;=%|\\\"<>{}^`é€🚀\t"
_SIGNS = "+&=%;,/?#|[] \"'."
TEXT = st.one_of(
    st.text(alphabet="abcxyz019", max_size=8),
    st.text(alphabet=_TRICKY, max_size=8),
    st.text(alphabet=_SIGNS, max_size=5),
    st.text(max_size=6),
    st.sampled_from(["", ".", "..", "a/../b", "%2e%2e", "a,b", "a b", "null", "true", "1", "1.0"]),
)
NUMBERS = st.one_of(
    st.integers(-1000, 1000),
    st.integers(-(2**53), 2**53),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)
JSON = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def nodes(names, words=("a",), leaves=12):
    """Draw what documents and schemas consist of, in any order and place."""
    scalars = st.none() | st.booleans() | st.integers() | st.text("ab#/~$", max_size=6)
    return st.recursive(
        scalars | st.sampled_from(words),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names), inner, max_size=5)
        ),
        max_leaves=leaves,
    )


def inputs(schema):
    """Draw an input that a tool's schema accepts; the test case is rejected when none is found."""
    return _inputs(_Hidden(schema))


class _Hidden:
    """A schema that is not shown: hypothesis prints what a strategy was made of."""

    def __init__(self, schema):
        self.schema = schema
        try:
            self.is_valid = jsonschema_rs.Draft202012Validator(schema).is_valid
        except jsonschema_rs.ValidationError:  # a pattern needs more room than an engine has
            self.is_valid = lambda _: False

    def __repr__(self):
        return "…"


@st.composite
def _inputs(draw, hidden):
    drawn = _Drawn(hidden.schema, draw)
    for attempt in range(TRIES):
        # Each retry draws less: what is optional is often what did not fit.
        try:
            value = drawn.value([hidden.schema], attempt * 2)
        except ImpossibleError:
            continue
        if hidden.is_valid(value):
            return value
    assume(condition=False)
    raise AssertionError


class _Drawn(Maker):
    """Draws what may be chosen."""

    deepest = 4

    def __init__(self, root, draw):
        super().__init__(root)
        self.draw = draw

    def pick(self, options):
        return self.draw(st.sampled_from(options))

    def anything(self, depth):
        return self.draw(JSON if depth <= self.deepest else TEXT)

    def length(self, least, most, depth):
        return self.draw(st.integers(least, min(most, least + 3 * (depth <= self.deepest))))

    def optional(self, names, least, depth):
        least = min(least, len(names))
        most = min(OPTIONAL_PROPERTIES, len(names)) if depth <= self.deepest else least
        count = self.draw(st.integers(least, max(least, most)))
        start = self.draw(st.integers(0, max(0, len(names) - 1)))
        step = self.draw(st.sampled_from([1, 7, 11]))
        picked = dict.fromkeys((start + step * turn) % len(names) for turn in range(count))
        return [names[index] for index in sorted(picked)]

    def extra_names(self, parts, least, most, depth):
        """Draw names that a schema allows without listing them."""
        patterns = [pattern for part in parts for pattern in part.get("patternProperties", ())]
        closed = any(part.get("additionalProperties") is False for part in parts)
        listed = any(part.get("properties") for part in parts)
        if closed and not patterns:
            return []
        count = 2 if depth <= self.deepest and (patterns or not listed) else 0
        names = [part["propertyNames"] for part in parts if "propertyNames" in part]
        names = {"allOf": names, "type": "string"}
        return [
            self.text(self.pick(patterns), 0, 64) if patterns else self.value([names], depth + 1)
            for _ in range(self.draw(st.integers(least, max(least, min(most, count)))))
        ]

    def text(self, pattern, least, most, form=None):
        most = min(most, 1000 if pattern else least + 12)
        if pattern:
            return self._matching(pattern, least, most)
        if form in _FORMATS and not least:
            return self.draw(_FORMATS[form])
        text = self.draw(TEXT)[:most]
        if len(text) < least:
            text += self.draw(st.text(alphabet="ab-1", min_size=least, max_size=least))
        return text[:most]

    def _matching(self, pattern, least, most):
        """Draw a text that a regular expression matches, where Python reads it."""
        try:
            if not re.search(r"\{\d*,?\d{4,}\}", pattern):  # no text of that length is drawn
                read = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
                for _ in range(3):
                    text = self.draw(st.from_regex(read, fullmatch=True))
                    if least <= len(text) <= most:
                        return text
        except re.error:
            pass
        return self.draw(TEXT)[:most]

    def number(self, bounds):
        lows = [bounds[key] for key in ("minimum", "exclusiveMinimum") if key in bounds]
        highs = [bounds[key] for key in ("maximum", "exclusiveMaximum") if key in bounds]
        low = max(lows) if lows else min([-1000, *highs])
        high = min(highs) if highs else max(low, 0) + 10_000
        if not bounds.keys() & {"type", "multipleOf"} and self.draw(st.booleans()):
            return self.draw(st.floats(float(low), float(max(low, high))))
        step = int(bounds.get("multipleOf", 1)) or 1
        first, last = math.ceil(low / step), math.floor(high / step)
        first += low == bounds.get("exclusiveMinimum") and first * step == low
        last -= high == bounds.get("exclusiveMaximum") and last * step == high
        return self.draw(st.integers(first, max(first, last))) * step
