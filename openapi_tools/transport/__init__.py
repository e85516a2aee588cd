"""Sends requests over HTTP/1.1, and receives whole responses under one deadline."""

from openapi_tools.transport.exchange import APIResponse, SendOptions
from openapi_tools.transport.sender import Attempts, Sender

__all__ = ["APIResponse", "Attempts", "SendOptions", "Sender"]
