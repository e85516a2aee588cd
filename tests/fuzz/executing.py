"""Any value -> `execute`, against servers that send anything."""

import asyncio
import copy
import json
import re
import time
from functools import cache
from urllib.parse import unquote

import httpx
import jsonschema_rs
from fuzz import seeds
from fuzz.budget import Harness, nothing_reached
from fuzz.inputs import CALLS, SECRET, make_value

from openapi_tools import Settings, ToolResult, load_tools
from openapi_tools.errors import ERROR_TYPES
from openapi_tools.providers.restore import Restorer

LONGEST = 5.0
"""Seconds of CPU for one call."""

_BASE = b"/base/path/"
_TARGET = re.compile(rb"[!-~]+")
_NAME = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_VALUE = re.compile(rb"[\t -~\x80-\xff]*")
_CLIENT_HEADERS = {
    *(b"host", b"accept", b"accept-encoding", b"connection", b"user-agent", b"content-type"),
    *(b"content-length", b"authorization", b"x-api-key", b"cookie", b"transfer-encoding"),
}
_LEVELS = 9
_SLACK = 2_000
_SETTINGS = Settings(timeout=3, max_response_bytes=2_000_000, max_output_chars=50_000)


class Server:
    """Sends whatever it was told to, and keeps what it was asked."""

    def __init__(self):
        self.reply, self.asked = None, []

    def __call__(self, request):
        self.asked.append(request)
        status, headers, body = self.reply
        encoded = [(name.encode(), value.encode("utf-8", "replace")) for name, value in headers]
        return httpx.Response(status, headers=encoded, stream=httpx.ByteStream(body))


@cache
def _line():
    runner, server = asyncio.Runner(), Server()
    client = httpx.AsyncClient(transport=httpx.MockTransport(server))
    toolset = load_tools(
        seeds.every_style(),
        settings=_SETTINGS,
        credentials=dict.fromkeys(seeds.SCHEMES, SECRET),
        client=client,
    )
    return runner, server, toolset


def check_call(call):
    """Fail if a call raises, sends what it should not, or gives what nobody can use."""
    runner, server, toolset = _line()
    server.reply, server.asked = call.reply, []
    arguments = make_value(call.template)
    before = copy.deepcopy(arguments) if _is_plain(call.template) else None
    started = time.process_time()
    with nothing_reached():
        result = runner.run(toolset[call.tool].execute(arguments))
    assert time.process_time() - started < LONGEST
    assert before is None or json.dumps(arguments) == json.dumps(before)
    _check_result(result)
    for number, request in enumerate(server.asked):
        _check_request(request, toolset[call.tool].operation.parameters, redirected=number > 0)
    if toolset[call.tool].method not in ("GET", "DELETE", "PUT"):
        # A 307 or 308 asks for the same request at another place, and is followed once.
        assert len(server.asked) <= (2 if call.reply.status in (307, 308) else 1)
    is_refused = result.error is not None and result.error["type"] == "invalid_input"
    assert is_refused or before is None or _may_fit(toolset[call.tool].input_schema, before)
    assert not (is_refused and server.asked)


def _may_fit(schema, arguments):
    """Return whether an input fits a schema, also once the words of providers are undone."""
    if not isinstance(arguments, dict):
        return False
    properties = {name: value for name, value in arguments.items() if name != "_tool_call_id"}
    try:
        fits = jsonschema_rs.Draft202012Validator(schema).is_valid
        return fits(properties) or fits(Restorer(schema).restore(properties))
    except (ValueError, TypeError, RecursionError):  # not JSON as it is
        return properties.keys() <= schema["properties"].keys()


def _is_plain(value):
    """Whether nothing of a strange type is inside."""
    if type(value) in (dict, list):
        return all(map(_is_plain, value.values() if type(value) is dict else value))
    return type(value) in (str, int, float, bool, type(None))


def _check_result(result):
    assert isinstance(result, ToolResult)
    whole = [result.output, result.error, result.metadata]
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False)
    text.encode()
    str(result).encode()
    assert len(str(result)) < _SETTINGS.max_output_chars + _SLACK
    assert SECRET not in text.replace("\\", "")
    assert "Traceback" not in text
    result.as_content()
    assert result.success == (result.error is None)
    if result.error is not None:
        assert result.error["type"] in ERROR_TYPES
        assert "unexpectedly" not in result.error["message"], result.error


def _check_request(request, parameters, *, redirected=False):
    assert (request.url.scheme, request.url.host, request.url.port) == ("https", "api.test", None)
    target = request.url.raw_path
    path, _, query = target.partition(b"?")
    assert _TARGET.fullmatch(target), target
    assert path.startswith(_BASE), path
    assert not _leaves(path), path
    declared = {p.name.lower().encode() for p in parameters if p.location == "header"}
    for name, value in request.headers.raw:
        assert _NAME.fullmatch(name), name
        assert _VALUE.fullmatch(value), value
        assert name.lower() in _CLIENT_HEADERS | declared, name
    headers = request.headers
    assert headers.get_list("authorization") == [f"Bearer {SECRET}"]
    assert headers.get_list("x-api-key") == [SECRET]
    assert headers.get_list("host") == ["api.test"]
    assert len(headers.get_list("content-length")) <= 1
    assert f"session={SECRET}" in headers["cookie"].split("; ")
    # Where a redirect leads is the server's choice.
    assert redirected or query.split(b"&").count(b"api_key=" + SECRET.encode()) >= 1


def _leaves(path):
    """Whether somebody who decodes a path, however often, is led elsewhere."""
    text = path.decode("latin-1")
    for _ in range(_LEVELS):
        for segment in re.split(r"[/\\]", text):
            if re.sub(r"[\x00-\x20\x7f]", "", re.split("[;?#]", segment)[0]) in (".", ".."):
                return True
        text = unquote(text)
    return False


EXECUTING = Harness("execute", CALLS, check_call)
