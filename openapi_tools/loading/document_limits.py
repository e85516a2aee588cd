"""What the text of a document may amount to, whatever its format.

Spec: RFC 8259, section 9: a parser may set limits on size, depth and the range of numbers.
"""

from __future__ import annotations

MAX_DEPTH = 201
"""Arrays and objects inside one another: what the JSON parser allows; YAML gets the same."""

MAX_NODES = 5_000_000
"""Values in a document, aliases written out; GitHub's 13 MB hold about 0.6 million."""

MAX_DIGITS = 4300
"""Digits of an integer; Python refuses to write more of them as text."""

MAX_NUMBER = 10**MAX_DIGITS
"""Numbers stay below it; so no float is infinite either."""

DUPLICATES_BYTES = 1_000_000
"""Up to this size repeated keys are looked for unless the caller says otherwise."""

TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels; flatten it with '$ref'"
TOO_MANY = f"more than {MAX_NODES:,} values; split the document"
TOO_LONG = f"an integer of more than {MAX_DIGITS:,} digits; make it a string"
NOT_FINITE = "a number that JSON does not have (NaN, infinity, out of range); make it a string"
