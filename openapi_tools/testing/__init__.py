"""Tests of code that uses tools: an API that responds from its document, cassettes, models."""

from openapi_tools.errors import InvalidCases
from openapi_tools.testing.evaluation.evaluate import Evaluation, evaluate
from openapi_tools.testing.mock import MockApi, mock_api, mock_client
from openapi_tools.testing.mock_responses import Fault
from openapi_tools.testing.recording import Cassette, RecordedCall
from openapi_tools.validation.samples import sample

__all__ = [
    "Cassette",
    "Evaluation",
    "Fault",
    "InvalidCases",
    "MockApi",
    "RecordedCall",
    "evaluate",
    "mock_api",
    "mock_client",
    "sample",
]
