"""Documents of URLs in the cache: asked for at each load, sent only when they changed."""

import json
import re
import threading
import time
from pathlib import Path

import pytest
import servers.site
from cached import is_from_cache, kept
from servers.site import Said

from openapi_tools import Settings, SourceError, load_tools
from openapi_tools.loading import cache
from openapi_tools.transport import network_policy

STALE = Settings(stale=True, timeout=2.0)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty cache of the test's own."""
    monkeypatch.setenv("OPENAPI_TOOLS_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAPI_TOOLS_CACHE", raising=False)
    return tmp_path / "cache"


class Site(servers.site.Site):
    """A server with one document; `status` is sent in place of it, when it is not 200."""

    def __init__(self):
        super().__init__(self.reply)
        self.body = document()
        self.headers = {"ETag": '"one"'}
        self.status = 200
        self.moved = "/new.json"

    def reply(self, asked):
        if asked.path.startswith("/old"):
            return Said(b"", 302, (("Location", self.moved),))
        if self.status != 200:
            return Said(b"", self.status)
        known = [asked.headers.get(name) for name in ("If-None-Match", "If-Modified-Since")]
        own = [self.headers.get(name) for name in ("ETag", "Last-Modified")]
        if any(one is not None and one == other for one, other in zip(known, own, strict=True)):
            return Said(b"", 304, tuple(self.headers.items()))
        return Said(self.body, 200, tuple(self.headers.items()))

    def at(self, path="/openapi.json", user=""):
        return self.url.replace("//", f"//{user}") + path


@pytest.fixture
def site():
    with Site() as running:
        yield running


def document(summary="One"):
    operation = {"operationId": "get_it", "summary": summary, "responses": {}}
    return {"openapi": "3.1.0", "paths": {"/it": {"get": operation}}, "servers": [{"url": "v1"}]}


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
def test_a_document_that_is_the_same_is_not_sent_again(site, name, value, question):
    site.headers = {name: value}
    first = load_tools(site.at())

    again = load_tools(site.at())

    assert site.asked[0].headers.get(question) is None
    assert site.asked[1].headers[question] == value
    assert is_from_cache(again)
    assert not is_from_cache(first)
    assert again["get_it"].description == "One"
    assert again.document == site.body
    assert servers_of(again) == servers_of(first) == [site.at("/v1")]
    assert again.warnings == first.warnings == ()


def test_a_document_of_any_size_is_kept(site, folder):
    load_tools(site.at())

    assert len(json.dumps(site.body)) < cache.MIN_BYTES
    assert len(kept(folder)) == 1


def test_a_changed_document_is_read_anew(site):
    load_tools(site.at())
    site.body, site.headers = document("Two"), {"ETag": '"two"'}

    changed = load_tools(site.at())

    assert changed["get_it"].description == "Two"
    assert is_from_cache(load_tools(site.at()))
    assert site.asked[2].headers["If-None-Match"] == '"two"'


def test_a_server_that_has_no_names_for_versions_sends_it_but_it_is_not_parsed(site):
    site.headers = {}
    load_tools(site.at())

    again = load_tools(site.at())
    site.body = document("Two")

    assert is_from_cache(again)
    assert load_tools(site.at())["get_it"].description == "Two"


@pytest.mark.parametrize("value", ["no-store", "max-age=60, No-Store", " no-store ,private"])
def test_a_server_may_forbid_to_keep_it(site, folder, value):
    site.headers = {"ETag": '"one"', "Cache-Control": value}

    load_tools(site.at())

    assert kept(folder) == []


def test_a_server_may_forbid_later_to_keep_it(site, folder):
    load_tools(site.at())
    site.headers["Cache-Control"] = "no-store"

    again = load_tools(site.at())

    assert again["get_it"].description == "One"
    assert kept(folder) == []


@pytest.mark.parametrize("etag", ["unquoted", '"a"b"', f'"{"x" * 1000}"', '"\u00e9"'])
def test_a_name_that_is_none_is_not_sent_back(site, etag):
    site.headers = {"ETag": etag.encode().decode("latin-1")}
    load_tools(site.at())

    load_tools(site.at())

    assert site.asked[1].headers["If-None-Match"] is None


def test_a_server_that_was_not_asked_may_not_say_that_it_is_the_same(site):
    site.status = 304

    with pytest.raises(SourceError, match="status 304"):
        load_tools(site.at())


def test_a_redirect_is_asked_for_again(site):
    first = load_tools(site.at("/old.json"))

    again = load_tools(site.at("/old.json"))

    assert is_from_cache(again)
    assert site.asked[3].headers["If-None-Match"] == '"one"'
    assert servers_of(again) == servers_of(first) == [site.at("/v1")]


def test_a_redirect_to_another_place_is_another_document(site):
    load_tools(site.at("/old.json"))
    site.moved = "/deep/newer.json"

    moved = load_tools(site.at("/old.json"))

    assert not is_from_cache(moved)
    assert servers_of(moved) == [site.at("/deep/v1")]
    assert site.asked[-1].headers.get("If-None-Match") is None


def test_a_larger_document_than_allowed_is_refused_as_without_a_cache(site):
    load_tools(site.at())

    with pytest.raises(SourceError, match="larger than 20 bytes"):
        load_tools(site.at(), settings=Settings(max_document_bytes=20))


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_copy_stands_in_for_a_server_that_fails_if_asked(site, status):
    first = load_tools(site.at())
    site.status = status

    with pytest.raises(SourceError, match=str(status)):
        load_tools(site.at())
    stale = load_tools(site.at(), settings=STALE)

    assert is_from_cache(stale)
    assert servers_of(stale) == servers_of(first)
    reason = f"the server answered with status {status}."
    copy = "This is the copy of less than a minute ago."
    assert stale.warnings == (f"{site.at()} was not read: {reason} {copy}",)


def test_a_copy_stands_in_for_a_server_that_cannot_be_reached(site, monkeypatch):
    load_tools(site.at())
    load_tools(site.at("/old.json?x=1"))
    site.close()
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 3 * 86_400 + 5)

    with pytest.raises(SourceError, match="no connection"):
        load_tools(site.at())
    stale = load_tools(site.at(), settings=STALE)
    moved = load_tools(site.at("/old.json?x=1"), settings=STALE)

    assert "the copy of 3 days ago" in stale.warnings[0]
    assert stale["get_it"].description == moved["get_it"].description == "One"
    assert servers_of(moved) == [site.at("/v1")]


def test_a_copy_stands_in_for_a_server_that_is_too_slow(site, capfd):
    load_tools(site.at())
    answer, given_up = site.answer, threading.Event()

    def late(*args):
        given_up.wait(60)
        return answer(*args)

    site.answer = late

    toolset = load_tools(site.at(), settings=Settings(stale=True, timeout=0.2))
    given_up.set()
    site.close()

    assert "timeout" in toolset.warnings[0]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_no_copy_stands_in_for_a_server_that_says_no(site, status):
    load_tools(site.at())
    site.status = status

    with pytest.raises(SourceError, match=str(status)):
        load_tools(site.at(), settings=STALE)


def test_no_copy_stands_in_for_what_may_not_be_reached(site):
    load_tools(site.at())

    with pytest.raises(SourceError, match="private"):
        load_tools(site.at(), settings=Settings(stale=True, allow_private=False))


def test_without_a_copy_a_server_that_fails_is_an_error(site):
    site.status = 503

    with pytest.raises(SourceError, match="503") as caught:
        load_tools(site.at(), settings=STALE)
    assert caught.value.passing


def test_secrets_of_a_url_are_in_no_file(site, folder):
    url = site.at("/old.json?token=s3cret", user="me:pa55word@")
    site.moved = "/new.json?signature=s1gned"
    load_tools(url)

    again = load_tools(url)

    assert is_from_cache(again)
    assert site.asked[-1].headers["Authorization"].startswith("Basic ")
    names = [path.name for path in kept(folder)]
    content = b"".join(path.read_bytes() for path in kept(folder))
    assert all(re.fullmatch(r"[0-9a-f]{40}\.index", name) for name in names)
    assert not re.search(rb"s3cret|pa55word|s1gned|bWU6cGE1NXdvcmQ|me:", content)


def test_a_copy_is_for_those_who_can_name_it(site):
    load_tools(site.at(user="me:pa55word@"))

    others = load_tools(site.at(user="me:other@"))

    assert not is_from_cache(others)
    assert site.asked[1].headers.get("If-None-Match") is None


def test_where_a_copy_came_from_still_guards_calls(site, monkeypatch):
    real = network_policy.kind_of
    monkeypatch.setattr(network_policy, "kind_of", lambda a: "" if a == "127.0.0.1" else real(a))
    load_tools(site.at())
    again = load_tools(site.at())
    site.status = 500
    stale = load_tools(site.at(), settings=STALE)
    monkeypatch.setattr(network_policy, "kind_of", real)

    assert is_from_cache(again)
    assert [toolset.session.provenance.public for toolset in (again, stale)] == [True, True]


def test_a_document_that_no_longer_can_be_kept_leaves_no_copy(site, folder):
    load_tools(site.at())
    site.body["paths"]["/it"]["get"]["parameters"] = [{"$ref": "other.json"}]
    site.headers = {"ETag": '"two"'}

    load_tools(site.at())

    assert kept(folder) == []


def test_a_damaged_copy_is_fetched_again(site, folder):
    load_tools(site.at())
    path = kept(folder)[0]
    data = path.read_bytes()
    path.write_bytes(b"\xff" + data[1:])

    again = load_tools(site.at())

    assert not is_from_cache(again)
    assert site.asked[1].headers.get("If-None-Match") is None
    assert path.read_bytes()[:1] != b"\xff"


def test_the_address_of_a_copy_is_what_listings_show(site):
    load_tools(site.at("/openapi.json?token=s3cret", user="me:pa55word@"))

    labels = [label for _, label in cache.listed()]

    assert [label.source for label in labels] == [site.at()]
    assert labels[0].uri == site.at()
    assert Path(labels[0].source).name == "openapi.json"
