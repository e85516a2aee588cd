"""Synonyms of the configuration, and an embedder of the user's."""

import documents
import pytest

from openapi_tools import Settings, Toolset, load_tools
from openapi_tools.errors import SettingsError


def document(*summaries, title="Shop"):
    paths = {
        f"/p{number}": {"get": documents.operation(summary=text)}
        for number, text in enumerate(summaries)
    }
    return documents.document(paths, info={"title": title, "version": "1"})


SHOP = document("List purchases", "Weather of tomorrow", "Cancel a purchase")
TOPICS = {"buy": 0, "purchase": 0, "weather": 1, "rain": 1, "cancel": 2, "undo": 2}


def embed(texts):
    """Return how often each of three topics is in a text."""
    vectors = []
    for text in texts:
        vector = [0.0, 0.0, 0.0]
        for word, topic in TOPICS.items():
            vector[topic] += text.lower().count(word)
        vectors.append(vector)
    return vectors


def names(toolset, query):
    return [hit.tool.name for hit in toolset.search(query)]


def test_a_synonym_finds_what_its_word_does_not():
    plain = load_tools(SHOP)
    shop = load_tools(SHOP, settings=Settings(synonyms={"orders": "purchase", "rain": ["weather"]}))

    assert names(plain, "my order") == []
    assert names(shop, "my order") == ["get_p0", "get_p2"]
    assert names(shop, "raining?") == ["get_p1"]
    assert names(shop, "weather") == names(plain, "weather")


def test_a_synonym_of_several_words_needs_them_all():
    shop = load_tools(SHOP, settings=Settings(synonyms={"change mind": ["cancel"]}))

    assert names(shop, "I changed my mind") == ["get_p2"]
    assert names(shop, "change") == []


def test_synonyms_stand_in_a_configuration():
    shop = load_tools(SHOP, config={"settings": {"synonyms": {"rain": "weather"}}})

    assert names(shop, "rain") == ["get_p1"]


@pytest.mark.parametrize("synonyms", [["rain"], {"rain": 1}, "rain", {"rain": [None]}])
def test_synonyms_are_a_mapping_of_words(synonyms):
    with pytest.raises(SettingsError, match="synonyms"):
        Settings(synonyms=synonyms)


def test_an_embedder_finds_other_words_and_is_fused_by_rank():
    shop = load_tools(SHOP, settings=Settings(embed=embed))

    assert names(shop, "rain")[0] == "get_p1"
    assert names(shop, "undo")[0] == "get_p2"
    assert names(shop, "list purchase")[0] == "get_p0"
    assert shop.search("undo")[0].score == pytest.approx(1 / 61)


def test_vectors_of_tools_are_made_once():
    asked = []
    shop = load_tools(SHOP, settings=Settings(embed=lambda t: asked.append(len(t)) or embed(t)))

    for toolset in (shop, shop, shop.select({"paths": ["/p1"]}), Toolset.union(shop)):
        assert names(toolset, "rain")[0] == "get_p1"
    assert asked == [1, 3, 1, 1, 1]


def test_a_union_searches_by_the_embedder_of_any_part():
    zoo = load_tools(document("Undo a visit", title="Zoo"), settings=Settings(embed=embed))

    assert names(Toolset.union(load_tools(SHOP), zoo), "undo")[:2] == ["zoo_get_p0", "get_p2"]


def raises(texts):
    raise RuntimeError("key sk-embed-9231 is wrong")


async def later(texts):
    return embed(texts)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda texts: None, "not NoneType"),
        (lambda texts: "abc", "not str"),
        (lambda texts: [1.0, 2.0], "not list"),
        (lambda texts: [], "1 text got 0 vectors"),
        (lambda texts: [[1.0]] * 9, "1 text got 9 vectors"),
        (lambda texts: [[]] * len(texts), "a vector is empty"),
        (lambda texts: [[float("nan")]] * len(texts), "not finite"),
        (lambda texts: [[1.0] * len(texts)] * len(texts), "differ in length"),
        (lambda texts: [[1.0] * n for n in range(1, len(texts) + 1)], "the vectors differ"),
        (lambda texts: later([*texts]), "not coroutine"),
        (raises, "the function raised RuntimeError"),
    ],
)
def test_a_wrong_result_of_an_embedder_is_named(function, reason):
    shop = load_tools(SHOP, settings=Settings(embed=function))

    with pytest.raises(SettingsError, match=reason) as failed:
        shop.search("rain")
    assert "sk-embed" not in str(failed.value)


@pytest.mark.parametrize("value", ["model", 3, later])
def test_an_embedder_is_a_plain_function(value):
    with pytest.raises(SettingsError, match="embed"):
        Settings(embed=value)
