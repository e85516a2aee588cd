"""Documents of URLs in the cache: asked for at each load, sent only when they changed."""

import re
import threading
import time

import pytest
import servers.site
from cached import cached_files, is_from_cache
from documents import document, operation
from servers.site import SiteResponse

from openapi_tools import Settings, SourceError, load_tools
from openapi_tools.loading import cache
from openapi_tools.transport import network_policy

pytestmark = pytest.mark.usefixtures("folder")


class Site(servers.site.Site):
    """A server with one document; `status` is sent in place of it, when it is not 200."""

    def __init__(self):
        super().__init__(self.reply)
        self.body = api("One")
        self.headers = {"ETag": '"one"'}
        self.status = 200
        self.moved = "/new.json"

    def reply(self, request):
        if request.path.startswith("/old"):
            return SiteResponse(b"", 302, (("Location", self.moved),))
        if self.status != 200:
            return SiteResponse(b"", self.status)
        conditions = [request.headers.get(name) for name in ("If-None-Match", "If-Modified-Since")]
        validators = [self.headers.get(name) for name in ("ETag", "Last-Modified")]
        if any(
            one is not None and one == other
            for one, other in zip(conditions, validators, strict=True)
        ):
            return SiteResponse(b"", 304, tuple(self.headers.items()))
        return SiteResponse(self.body, 200, tuple(self.headers.items()))

    def address_of(self, path="/openapi.json", user=""):
        return self.url.replace("//", f"//{user}") + path

    def load(self, path="/openapi.json", user="", **settings):
        return load_tools(self.address_of(path, user), settings=Settings(**settings))


@pytest.fixture
def site():
    with Site() as running:
        yield running


def api(summary):
    get = operation(operationId="get_it", summary=summary)
    return document({"/it": {"get": get}}, servers=[{"url": "v1"}])


def servers_of(toolset):
    return [server.url for server in toolset["get_it"].operation.servers]


@pytest.mark.parametrize(
    ("name", "value", "question"),
    [
        ("ETag", '"one"', "If-None-Match"),
        ("ETag", 'W/"weak"', "If-None-Match"),
        ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT", "If-Modified-Since"),
    ],
    ids=["etag", "weak", "date"],
)
def test_a_document_that_is_the_same_is_not_sent_again(site, folder, name, value, question):
    site.headers = {name: value}
    first = site.load()
    assert len(cached_files(folder)) == 1

    again = site.load()

    assert site.requests[0].headers.get(question) is None
    assert site.requests[1].headers[question] == value
    assert is_from_cache(again)
    assert not is_from_cache(first)
    assert again["get_it"].description == "One"
    assert again.document == site.body
    assert servers_of(again) == servers_of(first) == [site.address_of("/v1")]
    assert again.warnings == first.warnings == ()


def test_a_changed_document_is_read_again(site):
    site.load()
    site.body, site.headers = api("Two"), {"ETag": '"two"'}

    assert site.load()["get_it"].description == "Two"
    assert is_from_cache(site.load())
    assert site.requests[2].headers["If-None-Match"] == '"two"'


def test_a_server_that_has_no_names_for_versions_sends_it_but_it_is_not_parsed(site):
    site.headers = {}
    site.load()

    again = site.load()
    site.body = api("Two")

    assert is_from_cache(again)
    assert site.load()["get_it"].description == "Two"


@pytest.mark.parametrize("value", ["no-store", "max-age=60, No-Store", " no-store ,private"])
def test_a_server_may_forbid_to_keep_it_at_once_or_later(site, folder, value):
    site.headers["Cache-Control"] = value
    site.load()
    assert cached_files(folder) == []

    del site.headers["Cache-Control"]
    site.load()
    site.headers["Cache-Control"] = value

    assert site.load()["get_it"].description == "One"
    assert cached_files(folder) == []


@pytest.mark.parametrize("etag", ["unquoted", '"a"b"', f'"{"x" * 1000}"', '"\u00e9"'])
def test_a_name_that_is_none_is_not_sent_back(site, etag):
    site.headers = {"ETag": etag.encode().decode("latin-1")}
    site.load()

    site.load()

    assert site.requests[1].headers["If-None-Match"] is None


def test_a_server_that_was_not_asked_may_not_say_that_it_is_the_same(site):
    site.status = 304

    with pytest.raises(SourceError, match="status 304"):
        site.load()


def test_a_redirect_is_asked_for_again_and_to_another_place_is_another_document(site):
    first = site.load("/old.json")

    again = site.load("/old.json")

    assert is_from_cache(again)
    assert site.requests[3].headers["If-None-Match"] == '"one"'
    assert servers_of(again) == servers_of(first) == [site.address_of("/v1")]

    site.moved = "/deep/newer.json"
    moved = site.load("/old.json")

    assert not is_from_cache(moved)
    assert servers_of(moved) == [site.address_of("/deep/v1")]
    assert site.requests[-1].headers.get("If-None-Match") is None


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_copy_stands_in_for_a_server_that_fails_if_asked(site, status):
    first = site.load()
    site.status = status

    with pytest.raises(SourceError, match=str(status)):
        site.load()
    stale = site.load(stale=True)

    assert is_from_cache(stale)
    assert servers_of(stale) == servers_of(first)
    reason = f"the server responded with status {status}."
    copy = "The cached copy is from less than a minute ago."
    assert stale.warnings == (f"{site.address_of()} was not read: {reason} {copy}",)


def test_a_copy_stands_in_for_a_server_that_cannot_be_reached(site, monkeypatch):
    site.load()
    site.load("/old.json?x=1")
    site.close()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3 * 86_400 + 5)

    with pytest.raises(SourceError, match="no connection"):
        site.load()
    stale, moved = site.load(stale=True), site.load("/old.json?x=1", stale=True)

    assert "cached copy is from 3 days ago" in stale.warnings[0]
    assert stale["get_it"].description == moved["get_it"].description == "One"
    assert servers_of(moved) == [site.address_of("/v1")]


def test_a_copy_stands_in_for_a_server_that_is_too_slow(site, capfd):
    site.load()
    respond, given_up = site.respond, threading.Event()

    def late(*args):
        given_up.wait(60)
        return respond(*args)

    site.respond = late

    toolset = site.load(stale=True, timeout=0.2)
    given_up.set()
    site.close()

    assert "timeout" in toolset.warnings[0]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "settings", "reason"),
    [
        *((status, {}, str(status)) for status in (401, 403, 404, 410)),
        (200, {"allow_private": False}, "private"),
    ],
)
def test_no_copy_stands_in_for_a_server_that_says_no_or_may_not_be_reached(
    site, status, settings, reason
):
    site.load()
    site.status = status

    with pytest.raises(SourceError, match=reason):
        site.load(stale=True, **settings)


def test_without_a_copy_a_server_that_fails_is_an_error(site):
    site.status = 503

    with pytest.raises(SourceError, match="503") as caught:
        site.load(stale=True)
    assert caught.value.passing


def test_secrets_of_a_url_are_in_no_file_and_no_listing(site, folder):
    site.moved = "/new.json?signature=s1gned"
    for path in ("/old.json?token=s3cret", "/openapi.json?token=s3cret"):
        site.load(path, user="me:pa55word@")
        assert is_from_cache(site.load(path, user="me:pa55word@"))

    assert site.requests[-1].headers["Authorization"].startswith("Basic ")
    content = b"".join(path.read_bytes() for path in cached_files(folder))
    assert all(re.fullmatch(r"[0-9a-f]{40}\.index", path.name) for path in cached_files(folder))
    assert not re.search(rb"s3cret|pa55word|s1gned|bWU6cGE1NXdvcmQ|me:", content)
    labels = {(label.source, label.uri) for _, label in cache.labelled_entries()}
    assert labels == {
        (site.address_of("/old.json"), site.address_of("/new.json")),
        (site.address_of(), site.address_of()),
    }


def test_a_copy_is_for_those_who_can_name_it(site):
    site.load(user="me:pa55word@")

    other = site.load(user="me:other@")

    assert not is_from_cache(other)
    assert site.requests[1].headers.get("If-None-Match") is None


def test_where_a_copy_came_from_still_guards_calls(site, monkeypatch):
    real = network_policy.kind_of
    monkeypatch.setattr(network_policy, "kind_of", lambda a: "" if a == "127.0.0.1" else real(a))
    site.load()
    again = site.load()
    site.status = 500
    stale = site.load(stale=True)

    assert is_from_cache(again)
    assert [toolset.session.provenance.public for toolset in (again, stale)] == [True, True]


def test_a_document_that_no_longer_can_be_cached_leaves_no_copy(site, folder):
    site.load()
    site.body["paths"]["/it"]["get"]["parameters"] = [{"$ref": "other.json"}]
    site.headers = {"ETag": '"two"'}

    site.load()

    assert cached_files(folder) == []


def test_a_damaged_copy_is_fetched_again(site, folder):
    site.load()
    (path,) = cached_files(folder)
    path.write_bytes(b"\xff" + path.read_bytes()[1:])

    again = site.load()

    assert not is_from_cache(again)
    assert site.requests[1].headers.get("If-None-Match") is None
    assert path.read_bytes()[:1] != b"\xff"
