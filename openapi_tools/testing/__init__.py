"""Tests of code that uses tools: an API that responds from its document, and cassettes."""

from openapi_tools.testing.mock import MockApi, mock_api, mock_client
from openapi_tools.testing.mock_responses import Fault
from openapi_tools.testing.recording import Cassette, RecordedCall
from openapi_tools.validation.samples import sample

__all__ = [
    "Cassette",
    "Fault",
    "MockApi",
    "RecordedCall",
    "mock_api",
    "mock_client",
    "sample",
]
