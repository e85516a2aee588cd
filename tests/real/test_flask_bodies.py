"""A Flask application that takes uploads, merge patches, lines of JSON, integers and flags."""

import json
import threading

import pytest
from call_ways import WAYS, call_by
from documents import document, operation
from flask import Flask, request
from servers.documents import object_of
from werkzeug.serving import WSGIRequestHandler, make_server

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
BINARY, CSV = {"type": "string", "format": "binary"}, {"type": "string", "format": "text/csv"}
FORM, DATA = "application/x-www-form-urlencoded", "multipart/form-data"
MERGE, NDJSON = "application/merge-patch+json", "application/x-ndjson"
STORED = {"title": "old", "tags": ["a"], "owner": {"name": "x", "mail": "y"}}
FILE = {"text": "a;b", "filename": "rows.csv"}


class Quiet(WSGIRequestHandler):
    def log(self, *_):
        """Keep the test run's output free of access logs."""


def merge_patch(target, patch):
    """Apply a merge patch, as the pseudocode of RFC 7396, section 2, does."""
    if not isinstance(patch, dict):
        return patch
    kept = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            kept.pop(name, None)
        else:
            kept[name] = merge_patch(kept.get(name), value)
    return kept


def create_app():
    app = Flask("bodies")

    @app.post("/upload")
    def upload():
        files = {
            name: [f.filename, f.mimetype, f.read().decode()] for name, f in request.files.items()
        }
        return {"files": files, "form": request.form.to_dict()}

    @app.patch("/item")
    def patch():
        return merge_patch(STORED, json.loads(request.data))

    @app.post("/bulk")
    def bulk():
        return {"lines": [json.loads(line) for line in request.data.splitlines()]}

    @app.post("/count")
    def count():
        values = request.get_json()
        if not all(type(value) is int for value in values.values()):
            return {"error": f"integers are wanted: {values}"}, 400
        return values

    @app.get("/flag")
    def flag():
        return {"query": request.args.to_dict(), "raw": request.query_string.decode()}

    return app


@pytest.fixture(scope="module")
def url():
    """The address of the application under werkzeug's server."""
    server = make_server("127.0.0.1", 0, create_app(), threaded=True, request_handler=Quiet)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield f"http://127.0.0.1:{server.port}"
    server.shutdown()
    thread.join(timeout=10)
    server.server_close()


def sending(path, contents, method="post"):
    content = {kind: {"schema": schema} for kind, schema in contents.items()}
    body = {"requestBody": {"required": True, "content": content}}
    return document({path: {method: operation(operationId="send", **body)}}, openapi="3.0.3")


UPLOAD = object_of(file=BINARY, note=STRING)
PATCH = object_of(
    title=STRING, tags={"type": "array", "items": STRING}, owner=object_of(name=STRING, mail=STRING)
)
FLAG = [{"name": "pretty", "in": "query", "schema": {"type": "boolean"}, "allowEmptyValue": True}]
ROWS = {
    "an upload, urlencoded listed first": (
        sending("/upload", {FORM: UPLOAD, DATA: UPLOAD}),
        {"file": FILE, "note": "n"},
        {"files": {"file": ["rows.csv", "application/octet-stream", "a;b"]}, "form": {"note": "n"}},
    ),
    "a format that is a media type": (
        sending("/upload", {DATA: object_of(file=CSV)}),
        {"file": FILE},
        {"files": {"file": ["rows.csv", "text/csv", "a;b"]}, "form": {}},
    ),
    "a file described as a string": (
        sending("/upload", {DATA: object_of(file=STRING, note=STRING)}),
        {"file": FILE, "note": "n"},
        {"files": {"file": ["rows.csv", "application/octet-stream", "a;b"]}, "form": {"note": "n"}},
    ),
    "a file of type file": (
        sending("/upload", {DATA: object_of(file={"type": "file"})}),
        {"file": FILE},
        {"files": {"file": ["rows.csv", "application/octet-stream", "a;b"]}, "form": {}},
    ),
    "a merge patch": (
        sending("/item", {MERGE: PATCH}, "patch"),
        {"title": None, "owner": {"mail": None}},
        {"tags": ["a"], "owner": {"name": "x"}},
    ),
    "lines of JSON": (
        sending("/bulk", {NDJSON: STRING}),
        {"body": '{"index":{}}\n{"a":1}\n'},
        {"lines": [{"index": {}}, {"a": 1}]},
    ),
    "integers with a point, and in a string": (
        sending("/count", {"application/json": object_of(a=INTEGER, b=INTEGER)}),
        {"a": 5.0, "b": "6"},
        {"a": 5, "b": 6},
    ),
    "a flag without a value": (
        document({"/flag": {"get": operation(operationId="send", parameters=FLAG)}}),
        {"pretty": ""},
        {"query": {"pretty": ""}, "raw": "pretty="},
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("api", "arguments", "expected"), ROWS.values(), ids=ROWS)
async def test_the_application_receives_what_was_meant(
    api, arguments, expected, way, url, tmp_path
):
    text = await call_by(way, api, arguments, url, tmp_path)

    assert json.loads(text) == expected


@pytest.mark.parametrize("schema", [BINARY, STRING, CSV], ids=["binary", "string", "media type"])
async def test_a_file_is_named_on_the_command_line(schema, url, tmp_path):
    (tmp_path / "rows.csv").write_text("a;b")
    typed = [f"file=@{tmp_path / 'rows.csv'}", "note=n"]
    api = sending("/upload", {DATA: object_of(file=schema, note=STRING)})

    received = json.loads(await call_by("command line", api, typed, url, tmp_path))

    assert received["files"]["file"][::2] == ["rows.csv", "a;b"]
    assert received["form"] == {"note": "n"}
