"""What tests of promises share: documents as hostile text, and a look at all that a tool says."""

import contextlib
import json
import logging
import re
import traceback

import pytest
from documents import document, operation, with_body
from tools.handlers import fine, load_with_handler

from openapi_tools import OpenAPIToolsError, load_tools

MOST_BYTES = 256_000
"""Of a tool's definition: name, description and schema as JSON."""
BASE = "https://api.example"
_CONTROL = re.compile(r"\\u00[01]|\\[bf]|[\x7f-\x9f\ud800-\udfff]")
"""As JSON has them, which escapes those of ASCII; of these, line ends and tabs are no matter."""


def refusal(source):
    """Return the words of the typed error that a document is refused with."""
    with pytest.raises(OpenAPIToolsError) as caught:
        load_tools(source)
    return str(caught.value)


def with_component(schema=None, **components):
    """Return a document with one POST whose JSON body is the component `S0`."""
    components.setdefault("S0", schema)
    paths = with_body(component("S0"))
    paths["/x"]["post"]["operationId"] = "x"
    return document(paths, components={"schemas": components})


def component(name):
    """Return a reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def an_object(properties):
    """Return the schema of an object with some properties."""
    return {"type": "object", "properties": properties}


def with_parameter(schema, **fields):
    """Return a document with one GET that has a query parameter `q`."""
    parameter = {"name": "q", "in": "query", "schema": schema, **fields}
    return document({"/x": {"get": operation(operationId="x", parameters=[parameter])}})


def secured_document(scheme, *, server=BASE, method="get", **fields):
    """Return a document whose one operation wants credentials of a scheme `k`."""
    paths = {"/x": {method: operation(operationId="x", security=[{"k": []}], **fields)}}
    components = {"securitySchemes": {"k": scheme}}
    return document(paths, servers=[{"url": server}], components=components)


def with_token_at(url):
    """Return a security scheme with a token endpoint."""
    return {"type": "oauth2", "flows": {"clientCredentials": {"tokenUrl": url, "scopes": {}}}}


def definition(tool):
    """Return what a model reads of a tool, as UTF-8 JSON without anything that JSON lacks."""
    texts = [tool.name, tool.description, tool.input_schema]
    return json.dumps(texts, allow_nan=False, ensure_ascii=False).encode()


def unseen_in(tool):
    """Return the control characters and lone surrogates in a tool's definition."""
    texts = [tool.name, tool.description, tool.input_schema]
    return _CONTROL.findall(json.dumps(texts, ensure_ascii=False))


def load_quietly(source, *, credentials=None, handler=fine, **settings):
    """Return the tools of a document whose API responds by a function, and what they send."""
    settings = {"base_url": BASE, **settings}
    return load_with_handler(source, handler, settings=settings, credentials=credentials)


async def use_tools(source):
    """Load a document, look at its tools in every way and call each; return the outcomes."""
    toolset, _ = load_quietly(source)
    outcomes = []
    for tool in toolset:
        assert len(definition(tool)) <= MOST_BYTES
        assert repr(tool)
        assert repr(tool.operation)
        for arguments in ({}, {"q": "x"}, {"body": {}}, {"body": []}):
            result = await tool.execute(arguments)
            json.dumps(result.model_dump(), allow_nan=False).encode()
            outcomes.append(result.error["type"] if result.error else "success")
    return outcomes


@contextlib.contextmanager
def listening():
    """Hear all that any logger says at DEBUG: texts, values and local variables."""
    texts, root = [], logging.getLogger()
    before = root.level

    def emit(record):
        texts.extend([ear.format(record), repr(vars(record))])
        if record.exc_info:
            trace = traceback.TracebackException(*record.exc_info, capture_locals=True)
            texts.extend(trace.format())

    ear = logging.Handler()
    ear.emit = emit
    root.addHandler(ear)
    root.setLevel(logging.DEBUG)
    try:
        yield texts
    finally:
        root.removeHandler(ear)
        root.setLevel(before)
