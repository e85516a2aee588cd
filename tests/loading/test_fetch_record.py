"""A second process loads what the first has fetched, without asking the servers again."""

import base64
import json
import pickle

import pytest
from documents import document, operation
from servers.site import Site, SiteResponse

from openapi_tools.configuration.config_file import read_configuration
from openapi_tools.errors import SourceError
from openapi_tools.loading.fetch_record import FetchRecord
from openapi_tools.loading.load import load_with_record

PATHS = {f"/{name}": {"get": operation(operationId=name)} for name in ("list_pets", "get_pet")}
OTHER = {"/secret": {"get": operation(operationId="get_secret")}}
OVERLAY = {
    "overlay": "1.0.0",
    "info": {"title": "o", "version": "1"},
    "actions": [{"target": "$.paths['/get_pet']", "remove": True}],
}
PAIR = base64.b64encode(b"ada:s3cr3t-word").decode()


def respond(request):
    """Respond with a document, another one for a user, parts, an overlay, or a refusal."""
    is_user = request.headers.get("Authorization") == f"Basic {PAIR}"
    if request.path == "/kept.json" and request.headers.get("If-None-Match") == '"1"':
        return SiteResponse(status=304, headers=(("ETag", '"1"'),))
    schemes = {"basic": {"type": "http", "scheme": "basic"}}
    parts = {"/parts": {"$ref": "part.json"}}
    bodies = {
        "/plain.json": document(PATHS),
        "/kept.json": document(PATHS),
        "/login.json": document(OTHER) if is_user else None,
        "/personal.json": document(
            {**PATHS, **(OTHER if is_user else {})},
            servers=[{"url": "/"}],
            security=[{"basic": []}],
            components={"securitySchemes": schemes},
        ),
        "/parts.json": document(parts),
        "/part.json": {"get": operation(operationId="get_part")},
        "/overlay.json": OVERLAY,
    }
    body = bodies.get(request.path)
    if body is None:
        return SiteResponse(b"no", 401)
    headers = (("ETag", '"1"'),) if request.path == "/kept.json" else ()
    return SiteResponse(body, headers=headers)


@pytest.fixture
def site():
    with Site(respond) as running:
        yield running


@pytest.fixture(params=["cache on", "cache off"])
def environment(request, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("LOGIN", "ada:s3cr3t-word")
    if request.param == "cache off":
        monkeypatch.setenv("OPENAPI_TOOLS_CACHE", "off")


def names_of(site, table, record):
    config = read_configuration({**table, "source": f"{site.url}/{table['source']}"})
    return [tool.name for tool in load_with_record(config, {}, record)]


LOGIN = {"login": {"scheme": "basic", "value": "${LOGIN}"}}
SOURCES = {
    "a document": ({"source": "plain.json"}, ["list_pets", "get_pet"], 1),
    "one that is kept": ({"source": "kept.json"}, ["list_pets", "get_pet"], 1),
    "behind a login": ({"source": "login.json", "credentials": LOGIN}, ["get_secret"], 2),
    "for its user": (
        {"source": "personal.json", "credentials": {"basic": "${LOGIN}"}},
        ["list_pets", "get_pet", "get_secret"],
        2,
    ),
    "of several files": ({"source": "parts.json"}, ["get_part"], 2),
    "with an overlay": ({"source": "plain.json", "overlays": ["overlay.json"]}, ["list_pets"], 2),
}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(("table", "names", "count"), SOURCES.values(), ids=SOURCES)
def test_a_second_load_asks_no_server(site, table, names, count):
    if "overlays" in table:
        table = {**table, "overlays": [f"{site.url}/overlay.json"]}
    record = FetchRecord()

    assert names_of(site, table, record) == names
    first = len(site.requests)
    handed = [pickle.loads(pickle.dumps(record.replay())) for _ in range(2)]
    results = [names_of(site, table, each) for each in handed]

    assert first == count
    assert results == [names, names]
    assert len(site.requests) == first
    assert "s3cr3t-word" not in repr(record)


def test_a_load_with_a_warm_cache_takes_the_response_that_nothing_changed(
    site, monkeypatch, tmp_path
):
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    table, record = {"source": "kept.json"}, FetchRecord()
    names_of(site, table, FetchRecord())
    names_of(site, table, record)
    again = names_of(site, table, record.replay())

    assert (len(site.requests), again) == (2, ["list_pets", "get_pet"])
    for file in (tmp_path / "cache").iterdir():
        file.unlink()
    # The record has a 304 only, and there is no copy that it could be about.
    assert names_of(site, table, record.replay()) == again
    assert [request.headers.get("If-None-Match") for request in site.requests] == [
        None,
        '"1"',
        None,
    ]


def test_a_record_is_taken_once(site):
    record = FetchRecord()
    names_of(site, {"source": "plain.json"}, record)
    replay = record.replay()
    names_of(site, {"source": "plain.json"}, replay)
    names_of(site, {"source": "plain.json"}, replay)

    assert len(site.requests) == 2


def test_a_failed_load_fails_again_without_a_request(site):
    record = FetchRecord()
    for each in (record, record):
        with pytest.raises(SourceError, match="status 401"):
            names_of(site, {"source": "nowhere.json"}, each)
    count = len(site.requests)
    with pytest.raises(SourceError, match="status 401"):
        names_of(site, {"source": "nowhere.json"}, pickle.loads(pickle.dumps(record.replay())))

    assert (count, len(site.requests)) == (2, 2)
    assert json.dumps([each.path for each in site.requests]) == '["/nowhere.json", "/nowhere.json"]'
