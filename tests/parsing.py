"""Documents as text, parsed in a test."""

import pytest

from openapi_tools.errors import InvalidDocument
from openapi_tools.loading.source import parse_document


def root(text, **options):
    """The value of a text."""
    data = text.encode() if isinstance(text, str) else text
    return parse_document(data, name="", **options).root


def refusal(text, **options):
    """The error for a text, in full."""
    data = text.encode() if isinstance(text, str) else text
    with pytest.raises(InvalidDocument) as raised:
        parse_document(data, name="api", **options)
    return str(raised.value)
