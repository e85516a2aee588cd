"""Which tools yield the identifiers that others require."""

import json

import pytest
from corpus import entries
from documents import document, operation
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openapi_tools import load_tools
from openapi_tools.search.producers import Producers

TEXT = {"type": "string"}


def path(method, place, response=None, required=(), ask=None, **fields):
    """Return (path, path item): `required` are query parameters, `response` a schema."""
    content = {} if response is None else {"content": {"application/json": {"schema": response}}}
    asked = ask or TEXT
    parameters = [{"name": n, "in": "query", "required": True, "schema": asked} for n in required]
    node = operation(parameters=parameters, **fields)
    node["responses"]["200"].update(content)
    return place, {method: node}


def objects(*names, **properties):
    return {"type": "object", "properties": {**dict.fromkeys(names, TEXT), **properties}}


def array(items):
    return {"type": "array", "items": items}


def ref(name):
    return {"$ref": f"#/components/schemas/{name}"}


def load_paths(*listed, **schemas):
    paths = {}
    for place, item in listed:
        paths.setdefault(place, {}).update(item)
    return load_tools(document(paths, components={"schemas": schemas}))


def producers(tools, asking):
    """Return what yields the arguments of the tool at a method and path, as methods and paths."""
    named = {f"{tool.method} {tool.path}": tool.name for tool in tools}
    places = {name: place for place, name in named.items()}
    by_argument = tools.producers(named[asking])
    return {argument: [places[name] for name in names] for argument, names in by_argument.items()}


BEST = {
    "the collection at the same path": (
        path("get", "/pets/{petId}"), "petId", "GET /pets",
        path("get", "/pets", array(objects("id", "name"))),
    ),
    "the collection with an ending": (
        path("delete", "/accounts/{AccountSid}.json"), "AccountSid", "GET /accounts.json",
        path("get", "/accounts.json", objects("uri")),
    ),
    "a search of the resource that the path names": (
        path("get", "/film/{film_id}/credits"), "film_id", "GET /search/film",
        path("get", "/search/film", objects(results=array(objects("id"))), ["query"]),
        path("get", "/person/popular", objects(results=array(objects("id")))),
    ),
    "a member of the answer called like the resource": (
        path("get", "/artists/{id}/albums"), "id", "GET /search",
        path("get", "/search", objects(artists=objects(items=array(objects("id")))), ["q"]),
    ),
    "an object in another, with that member": (
        path("get", "/teams/{team_slug}"), "team_slug", "GET /me/memberships",
        path("get", "/me/memberships", array(objects(team=objects("slug", "name")))),
        path("get", "/me/devices", array(objects(team=objects("colour")))),
    ),
    "a component called like the resource": (
        path("get", "/shops/{shop}/orders/{order}"), "shop", "GET /everything",
        path("get", "/everything", array(ref("Shop"))),
    ),
    "a required query parameter called like an id": (
        path("post", "/refunds", required=["invoice_id"]), "invoice_id", "GET /invoices",
        path("get", "/invoices", array(objects("id"))),
    ),
    "a parameter whose description mentions an id": (
        path("get", "/history", required=["channel"], ask={**TEXT, "description": "Its ID."}),
        "channel", "GET /channels.all",
        path("get", "/channels.all", objects(channels=array(objects("id", "name")))),
    ),
    "a list by its path alone, where the answer is unknown": (
        path("get", "/cards/{idCard}"), "idCard", "GET /boards/{idBoard}/cards",
        path("get", "/boards/{idBoard}/cards"),
    ),
    "the members of the same collection": (
        path("put", "/me/albums", required=["ids"]), "ids", "GET /me/albums",
        path("get", "/me/albums", array(ref("AlbumObject"))),
        path("get", "/all/of/them", array(ref("AlbumObject"))),
    ),
    "objects without a name that have the members of the resource": (
        path("get", "/actor/{actor_id}", objects("id", "born", "height")),
        "actor_id", "GET /films/{film}/cast",
        path("get", "/films/{film}/cast", array(objects("id", "born", "height", "part"))),
    ),
}  # fmt: skip


@pytest.mark.parametrize(("asking", "argument", "first", "listed"),
                         [(*row[:3], row[3:]) for row in BEST.values()], ids=BEST)  # fmt: skip
def test_the_best_producer_of_an_argument(asking, argument, first, listed):
    tools = load_paths(*listed, asking, Shop=objects("id"), AlbumObject=objects("id", "name"))
    method, place = next(iter(asking[1])).upper(), asking[0]

    assert producers(tools, f"{method} {place}")[argument][0] == first


def test_a_list_comes_before_the_tool_that_creates_and_reads_before_writes():
    tools = load_paths(
        path("get", "/pets/{petId}"),
        path("post", "/pets", objects("id")),
        path("get", "/pets", array(objects("id"))),
        path("delete", "/pets", array(objects("id"))),
    )

    assert producers(tools, "GET /pets/{petId}") == {"petId": ["GET /pets", "POST /pets"]}


def test_a_producer_never_requires_the_same_identifier():
    pet = objects("id", owner=objects("id"))
    tools = load_paths(
        path("get", "/pets/{petId}", pet),
        path("get", "/pets/{petId}/friends", array(pet)),
        path("get", "/owners/{ownerId}/pets", array(pet)),
    )

    by_argument = producers(tools, "GET /pets/{petId}")

    assert by_argument == {"petId": ["GET /owners/{ownerId}/pets"]}
    assert set(producers(tools, "GET /owners/{ownerId}/pets")) == {"ownerId"}


def test_identifiers_that_a_tool_requires_anyway_cost_a_producer_nothing():
    issues = array(objects("number", repo=objects("name")))
    tools = load_paths(
        path("get", "/repos", array(objects("name"))),
        path("get", "/repos/{repo}/issues", issues),
        path("get", "/users/{user}/issues", issues),
        path("get", "/repos/{repo}/issues/{issue_number}/comments"),
    )

    by_argument = producers(tools, "GET /repos/{repo}/issues/{issue_number}/comments")

    assert by_argument["issue_number"][0] == "GET /repos/{repo}/issues"
    assert by_argument["repo"][0] == "GET /repos"


def test_one_of_three_producers_starts_from_another_resource():
    films = objects(results=array(objects("id")))
    tools = load_paths(
        *(path("get", f"/film/{kind}", films) for kind in ("popular", "latest", "upcoming")),
        path("get", "/person/{person_id}/film", films),
        path("get", "/film/{film_id}"),
    )

    operations = producers(tools, "GET /film/{film_id}")["film_id"]

    assert len(operations) == 3
    assert operations[2] == "GET /person/{person_id}/film"


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "enum": ["a", "b"]},
        {"type": "string", "format": "date"},
        {"type": "boolean"},
        {"type": "number"},
        {"anyOf": [{"const": 1}, TEXT]},
    ],
)
def test_values_of_a_choice_a_date_or_a_measure_identify_nothing(schema):
    parameter = {"name": "day", "in": "path", "required": True, "schema": schema}
    tools = load_paths(
        path("get", "/days", array(objects("id"))),
        ("/days/{day}", {"get": operation(parameters=[parameter])}),
    )

    assert producers(tools, "GET /days/{day}") == {}


def test_a_tool_that_requires_nothing_needs_nothing():
    tools = load_paths(path("get", "/pets", array(objects("id"))))

    assert producers(tools, "GET /pets") == {}
    with pytest.raises(KeyError):
        tools.producers("other")


def test_an_argument_with_another_name_than_its_variable_is_found():
    variable = {"name": "name", "in": "path", "required": True, "schema": TEXT}
    other = {**variable, "in": "query"}
    tools = load_paths(
        path("get", "/shops", array(objects("name"))),
        ("/shops/{name}", {"get": operation(parameters=[variable, other])}),
    )

    assert producers(tools, "GET /shops/{name}")["name_path"] == ["GET /shops"]


def test_a_selection_names_its_own_tools_only():
    pets = array(objects("id"))
    tools = load_paths(
        *(path("get", f"/pets{rest}", pets) for rest in ("", "/old", "/new", "/all")),
        path("get", "/pets/{petId}"),
    )
    some = tools.select({"exclude": {"names": ["get_pets", "get_pets_old"]}})

    assert tools.producers("get_pets_pet_id")["petId"][0] == "get_pets"
    assert set(some.producers("get_pets_pet_id")["petId"]) == {"get_pets_new", "get_pets_all"}


def test_the_graph_is_plain_data():
    tools = load_paths(path("get", "/pets", array(objects("id"))), path("get", "/pets/{petId}"))
    graph = Producers(tools)

    kept = Producers(tools, json.loads(json.dumps(graph.data())))

    assert kept.data() == graph.data() == [{}, {"petId": [0]}]


def test_recursive_and_huge_responses_are_looked_at_within_bounds():
    node = objects("id", **{f"m{number}": ref("Node") for number in range(2_000)})
    node["allOf"] = [ref("Node"), {"oneOf": [ref("Node"), array(ref("Node"))]}]
    tools = load_paths(path("get", "/nodes", ref("Node")), path("get", "/nodes/{id}"), Node=node)

    assert producers(tools, "GET /nodes/{id}") == {"id": ["GET /nodes"]}


SCHEMAS = st.recursive(
    st.sampled_from([TEXT, True, {}, ref("A"), ref("B"), {"type": ["integer", "null"]}]),
    lambda inner: st.one_of(
        st.dictionaries(st.sampled_from(["id", "a_id", "name", "", "ß", "items"]), inner).map(
            lambda properties: {"type": "object", "properties": properties}
        ),
        inner.map(array),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"anyOf": branches}),
        st.lists(inner, min_size=1, max_size=3).map(lambda branches: {"allOf": branches}),
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(response=SCHEMAS, other=SCHEMAS)
def test_any_response_gives_a_graph_of_tools_that_there_are(response, other):
    tools = load_paths(
        path("get", "/a", response),
        path("get", "/b/{a_id}", other),
        path("post", "/a/{id}/{}", response),
        A=objects(self=ref("A"), b=ref("B")),
        B=array(response),
    )

    for tool in tools:
        for names in tools.producers(tool.name).values():
            assert 0 < len(names) <= 3
            assert tool.name not in names
            assert set(names) <= {other.name for other in tools}


def corpus_tools(name):
    entry = next((entry for entry in entries() if entry.path == name), None)
    if entry is None:
        pytest.skip("the published documents are not at hand")
    return load_tools(entry.file)


@pytest.mark.parametrize(
    ("name", "asking", "expected"),
    [
        ("discord/openapi.json", "GET /channels/{channel_id}/messages/{message_id}", {
            "channel_id": "GET /guilds/{guild_id}/channels",
            "message_id": "GET /channels/{channel_id}/messages",
        }),
        ("twilio/twilio_api_v2010.json",
         "GET /2010-04-01/Accounts/{AccountSid}/Messages/{Sid}.json", {
             "AccountSid": "GET /2010-04-01/Accounts.json",
             "Sid": "GET /2010-04-01/Accounts/{AccountSid}/Messages.json",
         }),
        ("spotify/fixed-spotify-open-api.yml", "GET /artists/{id}/top-tracks",
         {"id": "GET /search"}),
        ("swagger-petstore/openapi.yaml", "POST /pet/{petId}/uploadImage",
         {"petId": "GET /pet/findByStatus"}),
    ],
)  # fmt: skip
def test_published_documents(name, asking, expected):
    by_argument = producers(corpus_tools(name), asking)

    assert {argument: places[0] for argument, places in by_argument.items()} == expected
