"""Send twelve requests with one of three packages, and compare them with the OpenAPI standard.

    python compare.py openapi_tools
    python compare.py fastmcp          # pip install fastmcp
    python compare.py google.adk       # pip install google-adk

Run each with a Python that has the package. A server on this machine records the requests; nothing
else is reached. A line is right only if the request is what the standard describes.
"""

import asyncio
import importlib
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from urllib.parse import unquote

JSON = "application/json"
WORDS = {"type": "array", "items": {"type": "string"}}
PAIR = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}


def query(name, schema, **more):
    """Return a query parameter."""
    return {"name": name, "in": "query", "schema": schema, **more}


def body(media_type, schema, **more):
    """Return a required request body."""
    return {"required": True, "content": {media_type: {"schema": schema, **more}}}


FORM = {"type": "object", "properties": {"note": {"type": "string"}, "data": PAIR}}
NULLABLE = {"type": "object", "properties": {"owner": {"type": ["string", "null"]}}}

# Name: the operation, the arguments, and whether a recorded request is right.
CASES = {
    "boolean_query": (
        {"parameters": [query("flag", {"type": "boolean"})]},
        {"flag": True},
        lambda sent: sent["query"] == "flag=true",
    ),
    "deep_object": (
        {"parameters": [query("filter", PAIR, style="deepObject", explode=True)]},
        {"filter": {"a": "x", "b": "y"}},
        lambda sent: sent["query"] == "filter[a]=x&filter[b]=y",
    ),
    "list_with_pipes": (
        {"parameters": [query("tags", WORDS, style="pipeDelimited", explode=False)]},
        {"tags": ["a", "b"]},
        lambda sent: sent["query"] == "tags=a|b",
    ),
    "list_with_commas": (
        {"parameters": [query("tags", WORDS, style="form", explode=False)]},
        {"tags": ["a", "b"]},
        lambda sent: sent["query"] == "tags=a,b",
    ),
    "json_in_the_query": (
        {"parameters": [{"name": "where", "in": "query", "content": {JSON: {"schema": PAIR}}}]},
        {"where": {"a": "x"}},
        lambda sent: sent["query"].replace(" ", "") == 'where={"a":"x"}',
    ),
    "integer_header": (
        {"parameters": [{"name": "limit", "in": "header", "schema": {"type": "integer"}}]},
        {"limit": 5},
        lambda sent: sent["headers"].get("limit") == "5",
    ),
    "matrix_path": (
        {
            "path": "/{point}",
            "parameters": [
                {"name": "point", "in": "path", "required": True, "style": "matrix", "schema": PAIR}
            ],
        },
        {"point": {"a": "x", "b": "y"}},
        lambda sent: sent["path"].endswith("/;point=a,x,b,y"),
    ),
    "slash_in_a_path_value": (
        {
            "path": "/{name}",
            "parameters": [
                {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
            ],
        },
        {"name": "a/b c"},
        lambda sent: sent["path"].endswith("/a%2Fb%20c"),
    ),
    "explicit_null": (
        {"method": "patch", "requestBody": body("application/merge-patch+json", NULLABLE)},
        {"owner": None},
        lambda sent: json.loads(sent["body"] or "0") == {"owner": None},
    ),
    "list_as_a_body": (
        {"method": "post", "requestBody": body(JSON, WORDS)},
        {"body": ["a", "b"]},
        lambda sent: json.loads(sent["body"] or "0") == ["a", "b"],
    ),
    "json_part_of_a_form": (
        {"method": "post", "requestBody": body("multipart/form-data", FORM)},
        {"note": "n", "data": {"a": "x"}},
        lambda sent: b'{"a":"x"}' in sent["body"].replace(b" ", b""),
    ),
    "server_of_a_path": (
        {"servers": "/v2"},
        {},
        lambda sent: sent["path"].startswith("/v2/"),
    ),
}


def document_of(url):
    """Return the OpenAPI document with one operation for each case."""
    paths = {}
    for name, (described, _, _) in CASES.items():
        given = dict(described)
        place = f"/{name}{given.pop('path', '')}"
        item = {"servers": [{"url": url + given.pop("servers")}]} if "servers" in given else {}
        method = given.pop("method", "get")
        answer = {"200": {"description": "ok", "content": {JSON: {"schema": {}}}}}
        item[method] = {"operationId": name, "summary": name, "responses": answer, **given}
        paths[place] = item
    info = {"title": "Compare", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "servers": [{"url": url}], "paths": paths}


class Recorder(BaseHTTPRequestHandler):
    """Keeps the last request, and answers with an empty object."""

    seen: dict = {}

    def answer(self):
        """Record a request."""
        path, _, asked = self.path.partition("?")
        size = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        Recorder.seen = {
            "path": path,
            "query": unquote(asked.replace("+", " ")),
            "headers": headers,
            "body": self.rfile.read(size),
        }
        self.send_response(200)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_GET = do_POST = do_PATCH = answer

    def log_message(self, *_):
        """Print nothing."""


async def with_openapi_tools(document, _url):
    """Return a function that calls a tool of openapi-tools."""
    from openapi_tools import load_tools

    toolset = load_tools(document)

    async def call(name, arguments):
        result = await toolset.call(name, arguments)
        return "" if result.success else str(result)

    return call, version("openapi-tools")


async def with_fastmcp(document, url):
    """Return a function that calls a tool of FastMCP."""
    import fastmcp
    import httpx2

    client = httpx2.AsyncClient(base_url=url)
    server = fastmcp.FastMCP.from_openapi(document, client=client)
    tools = {tool.name: tool for tool in await server.list_tools()}

    async def call(name, arguments):
        await tools[name].run(arguments)
        return ""

    return call, fastmcp.__version__


async def with_google_adk(document, _url):
    """Return a function that calls a tool of google-adk."""
    from google.adk.tools.openapi_tool import OpenAPIToolset

    toolset = OpenAPIToolset(spec_dict=document, allow_private_network_access=True)
    tools = {tool.name: tool for tool in await toolset.get_tools()}

    async def call(name, arguments):
        if name == "list_as_a_body":
            arguments = {"array": arguments["body"]}  # its name for such a body
        result = await tools[name].run_async(args=arguments, tool_context=None)
        return str(result["error"]) if isinstance(result, dict) and "error" in result else ""

    return call, version("google-adk")


PACKAGES = {
    "openapi_tools": with_openapi_tools,
    "fastmcp": with_fastmcp,
    "google.adk": with_google_adk,
}


async def compared(package, url):
    """Print a line for each case, and the number of right requests."""
    importlib.import_module(package)
    call, tested = await PACKAGES[package](document_of(url), url)
    right = 0
    for name, (_, arguments, is_right) in CASES.items():
        Recorder.seen = {}
        try:
            failed = await call(name, arguments)
        except Exception as error:
            failed = f"{type(error).__name__}: {error}"
        sent = Recorder.seen
        fits = bool(sent) and is_right(sent)
        right += fits
        shown = sent and f"{sent['path']}?{sent['query']} {sent['body'][:60]!r}"
        why = "" if fits else f"  {shown or failed.splitlines()[0][:90]}"
        print(f"{'right' if fits else 'WRONG':6}{name}{why}")
    print(f"{package} {tested}: {right} of {len(CASES)} requests are right")


def main():
    """Run the comparison for the package that is named."""
    package = sys.argv[1] if len(sys.argv) > 1 else "openapi_tools"
    with ThreadingHTTPServer(("127.0.0.1", 0), Recorder) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        asyncio.run(compared(package, f"http://127.0.0.1:{server.server_port}"))
        server.shutdown()


if __name__ == "__main__":
    main()
