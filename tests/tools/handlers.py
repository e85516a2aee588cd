"""Tools whose calls are served by a function, without a network."""

import httpx

from openapi_tools import Settings, load_tools

BASE = "https://api.example.com/v1"


def fine(_):
    return httpx.Response(200, json={})


def load_with_handler(source, handler=fine, **options):
    """Return the tools of a document, and the list of the requests that they send."""
    sent: list[httpx.Request] = []

    def handle(request):
        sent.append(request)
        return handler(request)

    client = httpx.AsyncClient(transport=httpx.MockTransport(handle))
    settings = Settings(**{"base_url": BASE, **options.pop("settings", {})})
    return load_tools(source, client=client, settings=settings, **options), sent
