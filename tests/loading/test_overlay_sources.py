"""Overlays of every source, the rules for fetching them, and their part in the cache's key."""

import copy
import json
import sqlite3
from contextlib import closing

import pytest
from cached import cached_files, is_from_cache
from farms import ADD, YAML, farm, overlay, write_file
from servers.site import Site, SiteResponse

from openapi_tools import InvalidOverlay, SettingsError, SourceError, aload_tools, load_tools
from openapi_tools.loading import cache


@pytest.fixture
def farm_file(tmp_path, monkeypatch):
    """A document that is large enough for the cache, and kept at once."""
    padding = {f"x-{number}": "long" * 20 for number in range(1_000)}
    monkeypatch.setattr(cache, "_FRESH", 0)
    return write_file(tmp_path / "farm.json", farm(**padding))


@pytest.mark.parametrize(
    "overlay",
    [ADD, json.dumps(ADD), json.dumps(ADD).encode(), YAML, YAML.encode(), "file", "path", "url"],
    ids=["dict", "text", "bytes", "yaml", "yaml bytes", "file", "path", "url"],
)
def test_an_overlay_is_read_from_any_source(overlay, tmp_path):
    with Site(lambda request: SiteResponse(ADD)) as site:
        sources = {
            "file": str(write_file(tmp_path / "a.json", ADD)),
            "path": write_file(tmp_path / "b.yaml", YAML),
        }
        sources |= {"url": f"{site.url}/c.json"}
        source = sources.get(overlay, overlay) if isinstance(overlay, str) else overlay

        toolset = load_tools(farm(), overlays=[source])

    assert toolset["cows"].description == "Cows of the farm"
    assert toolset.warnings == ()


async def test_an_overlay_is_applied_in_an_event_loop_too():
    toolset = await aload_tools(farm(), overlays=(ADD,), strict=True)

    assert toolset["cows"].description == "Cows of the farm"


@pytest.mark.parametrize("overlay", [7, None, {7}])
def test_overlays_of_another_type_are_refused(overlay):
    with pytest.raises(SettingsError, match="overlays: expected a list"):
        load_tools(farm(), overlays=overlay)


@pytest.mark.parametrize("overlay", [ADD, YAML, YAML.encode()])
def test_a_single_overlay_needs_no_list(overlay):
    assert (
        load_tools(farm(), overlays=overlay).document
        == load_tools(farm(), overlays=[overlay]).document
    )


def test_faults_of_the_source_name_the_overlay(tmp_path):
    path = write_file(tmp_path / "wrong.yaml", "overlay: 1.1.0\ninfo: [\n")

    with pytest.raises(SourceError, match=r"none\.yaml: no such file"):
        load_tools(farm(), overlays=["none.yaml"])
    with pytest.raises(InvalidOverlay, match=r"wrong\.yaml: not valid YAML"):
        load_tools(farm(), overlays=[path])
    with pytest.raises(InvalidOverlay, match="a list at the top level, not an object with 'overl"):
        load_tools(farm(), overlays=["[]"])
    with pytest.raises(InvalidOverlay, match=r"overlays\[0\]#/x-it: .*'object', which JSON"):
        load_tools(farm(), overlays=[ADD | {"x-it": object()}])
    with pytest.raises(InvalidOverlay, match="is an OpenAPI document, not an overlay"):
        load_tools(farm(), overlays=[farm()])
    with pytest.raises(SourceError, match="larger than 100 bytes"):
        load_tools(farm(), overlays=[json.dumps(ADD)], settings={"max_document_bytes": 100})


def test_credentials_go_to_an_overlay_only_where_the_settings_say_so():
    key = {"k": {"in": "header", "name": "X-Key", "value": "overlay-secret-4711"}}
    with Site(lambda request: SiteResponse(ADD)) as site:
        load_tools(farm(), overlays=[site.url], credentials=key)
        named = {"credential_origins": [site.url]}
        load_tools(farm(), overlays=[site.url], credentials=key, settings=named)

    assert [request.headers.get("X-Key") for request in site.requests] == [
        None,
        "overlay-secret-4711",
    ]


def test_a_server_of_an_overlay_that_asks_for_a_login_gets_none():
    key = {"k": {"in": "header", "name": "X-Key", "value": "overlay-secret-4712"}}
    with (
        Site(lambda request: SiteResponse(farm())) as home,
        Site(lambda request: SiteResponse(b"", 401)) as other,
    ):
        for source in (f"{home.url}/farm.json", farm()):
            with pytest.raises(SourceError, match="status 401"):
                load_tools(source, overlays=[other.url], credentials=key)

    assert [request.headers.get("X-Key") for request in other.requests] == [None, None]


def test_an_overlay_beside_a_document_at_a_url_is_fetched_with_its_rules():
    replies = {"/farm.json": farm(servers=[{"url": "v1"}]), "/more.json": ADD}
    with Site(lambda request: SiteResponse(replies[request.path])) as site:
        toolset = load_tools(f"{site.url}/farm.json", overlays=[f"{site.url}/more.json"])

        assert toolset["cows"].description == "Cows of the farm"
        assert [request.path for request in site.requests] == ["/more.json", "/farm.json"]
        site.respond = lambda request: SiteResponse(b"", 404)
        with pytest.raises(SourceError, match="status 404"):
            load_tools(farm(), overlays=[f"{site.url}/gone.json"])


@pytest.mark.parametrize(
    ("extends", "warns"),
    [
        ("farm.json", False),
        ("./farm.json", False),
        ("other.json", True),
        ("http://farm.example/farm.json", False),
        ("http://[", True),
        ("", False),
    ],
)
def test_another_document_in_extends_is_reported(tmp_path, extends, warns):
    path = write_file(tmp_path / "farm.json", farm())
    named = write_file(tmp_path / "overlay.json", ADD | {"extends": extends})

    warnings = load_tools(path, overlays=[named]).warnings

    expected = f"{named}#/extends: {extends!r} is not the document that is loaded."
    assert warnings == ((expected,) if warns else ())


@pytest.mark.parametrize(
    ("self_uri", "extends", "warns"),
    [
        # The examples of Overlay 1.2.0, appendix B.
        ("https://example.com/overlays/farm.overlay.yaml", "../openapi/farm.json", False),
        ("overlays/farm.overlay.yaml", "../openapi/farm.json", True),
        ("https://example.org/overlays/farm.overlay.yaml", "../openapi/farm.json", True),
        ("", "https://example.com/openapi/farm.json", False),
        ("http://[", "https://example.com/openapi/farm.json", False),
    ],
)
def test_extends_belongs_to_self_and_names_the_self_of_the_document(
    tmp_path, self_uri, extends, warns
):
    source = farm(openapi="3.2.0", **{"$self": "https://example.com/openapi/farm.json"})
    path = write_file(tmp_path / "mirror.json", source)
    fields = {"overlay": "1.2.0", "extends": extends, **({"$self": self_uri} if self_uri else {})}
    named = write_file(tmp_path / "farm.overlay.json", ADD | fields)

    warnings = load_tools(path, overlays=[named]).warnings

    assert any("is not the document that is loaded" in each for each in warnings) is warns


def test_extends_of_a_document_at_a_url_is_compared_without_query():
    same = "HTTP://127.0.0.1:{port}/farm.json?v=2"
    with Site(lambda request: SiteResponse(farm())) as site:
        port = site.url.rpartition(":")[2]
        overlay = ADD | {"extends": same.format(port=port)}
        other = ADD | {"extends": "http://farm.example/farm.json"}

        toolset = load_tools(f"{site.url}/farm.json?v=1", overlays=[overlay, other])

    assert [line.partition("#")[0] for line in toolset.warnings] == ["overlays[1]"] * 2
    assert load_tools(farm(), overlays=[other]).warnings == ()


def test_a_second_load_comes_from_the_cache_and_is_the_same(folder, farm_file):
    silent = overlay({"target": "$.nothing", "remove": True})
    overlays = [ADD, silent]

    first = load_tools(farm_file, overlays=overlays)
    second = load_tools(farm_file, overlays=copy.deepcopy(overlays))

    assert (is_from_cache(first), is_from_cache(second)) == (False, True)
    assert second.document == first.document
    assert second.warnings == first.warnings
    assert len(second.warnings) == 1
    assert second["cows"].description == "Cows of the farm"


def test_the_cache_never_gives_tools_of_another_overlay(folder, farm_file, tmp_path):
    path = write_file(tmp_path / "overlay.yaml", YAML)
    load_tools(farm_file, overlays=[path])
    path.write_text(YAML.replace("of the farm", "of the hill"))

    changed = load_tools(farm_file, overlays=[path])
    twice = load_tools(farm_file, overlays=[path, ADD])
    without = load_tools(farm_file)

    assert [is_from_cache(each) for each in (changed, twice, without)] == [False] * 3
    names = [each["cows"].description for each in (changed, twice, without)]
    assert names == ["Cows of the hill", "Cows of the farm", "GET /cows"]
    assert is_from_cache(load_tools(farm_file, overlays=[path]))
    assert len(cached_files(folder)) == 4


def test_a_wrong_overlay_is_found_beside_a_cached_document(folder, farm_file):
    load_tools(farm_file)

    with pytest.raises(InvalidOverlay):
        load_tools(farm_file, overlays=[overlay()])


def test_documents_of_urls_and_strings_are_cached_with_their_overlays(folder, farm_file):
    with Site(
        lambda request: SiteResponse(farm_file.read_bytes(), 200, (("ETag", '"1"'),))
    ) as site:
        for source in (f"{site.url}/farm.json", farm_file.read_bytes()):
            load_tools(source, overlays=[ADD])
            again = load_tools(source, overlays=[ADD])

            assert is_from_cache(again)
            assert again["cows"].description == "Cows of the farm"
            assert not is_from_cache(load_tools(source))


def test_a_damaged_copy_is_replaced_by_the_overlaid_document(folder, farm_file):
    load_tools(farm_file, overlays=[ADD])
    second = load_tools(farm_file, overlays=[ADD])
    (file,) = cached_files(folder)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE part SET sum = 0 WHERE place LIKE '/paths/%'")

    assert load_tools(farm_file, overlays=[ADD])["cows"].operation.path == "/cows"
    assert second.document["paths"]["/cows"]["get"]["summary"] == "Cows of the farm"
