"""OpenAPI Overlays 1.0 to 1.2: what they change, what is refused, how much work they may be."""

import copy
import json
import time

import corpus
import pytest
from documents import document, operation
from farms import farm, overlay
from hypothesis import given, settings
from hypothesis import strategies as st

from openapi_tools import DocumentError, InvalidOverlay, load_tools
from openapi_tools.loading import json_paths, overlay_actions


def overlaid(source, *actions, version="1.1.0"):
    """Return a document after one overlay, and the warnings."""
    toolset = load_tools(source, overlays=[overlay(*actions, version=version)])
    return toolset.document, list(toolset.warnings)


def refusal(*actions, source=None, version="1.1.0", **fields):
    with pytest.raises(InvalidOverlay) as raised:
        load_tools(source or farm(), overlays=[overlay(*actions, version=version, **fields)])
    return raised.value


BOX = {"keep": 1, "deep": {"left": True}, "list": ["x"], "rows": [{"n": "a"}, {"n": "b"}]}
A, B = BOX["rows"]
LESS = {"remove": True}


def box(*without, **changes):
    return {key: value for key, value in {**BOX, **changes}.items() if key not in without}


CHANGES = {  # the place below `x-box`, the change, and `x-box` after it
    "a member is added": ("", {"update": {"new": [2]}}, box(new=[2])),
    "a primitive replaces one": ("", {"update": {"keep": None}}, box(keep=None)),
    "objects merge inside": (
        *("", {"update": {"deep": {"right": 5}}}),
        box(deep={"left": True, "right": 5}),
    ),
    "arrays inside are joined": ("", {"update": {"list": ["x", "y"]}}, box(list=["x", "x", "y"])),
    "an object is appended": (".rows", {"update": {"n": "c"}}, box(rows=[A, B, {"n": "c"}])),
    "a text is appended": (".list", {"update": "y"}, box(list=["x", "y"])),
    "null is appended": (".list", {"update": None}, box(list=["x", None])),
    "many targets": (
        *(".rows[*]", {"update": {"on": True}}),
        box(rows=[{**A, "on": True}, {**B, "on": True}]),
    ),
    "a filter": (".rows[?@.n == 'b']", {"update": {"on": 1}}, box(rows=[A, {**B, "on": 1}])),
    "a member is removed": (".deep", LESS, box("deep")),
    "rows are removed by a filter": (".rows[?@.n == 'a']", LESS, box(rows=[B])),
    "all rows are removed": (".rows[*]", LESS, box(rows=[])),
    "rows and what is in them are removed": ("..*", LESS, {}),
    "rows chosen twice, in no order": (".rows[1, 0, 1]", LESS, box(rows=[])),
    "remove wins over update": (".rows", {**LESS, "update": {"n": "z"}}, box("rows")),
    "remove: false leaves the update": (
        *("", {"remove": False, "update": {"keep": 2}}),
        box(keep=2),
    ),
}
ONLY_1_1 = {
    "arrays are joined": (".list", {"update": ["y", "z"]}, box(list=["x", "y", "z"])),
    "a primitive is replaced": (".keep", {"update": "two"}, box(keep="two")),
    "a primitive row is replaced": (".list[0]", {"update": 7}, box(list=[7])),
    "a primitive row is removed": (".list[?@ == 'x']", LESS, box(list=[])),
    "an object is copied": (".deep", {"copy": "$.x-box.rows[0]"}, box(deep={"left": True, **A})),
    "an array is copied": (".list", {"copy": "$.x-box.rows"}, box(list=["x", A, B])),
    "a primitive is copied": (".keep", {"copy": "$.x-box.list[0]"}, box(keep="x")),
    "a whole is copied into its part": (
        *(".deep", {"copy": "$.x-box"}),
        box(deep={"left": True, **BOX}),
    ),
}
VERSIONS = [
    *((name, "1.0.0", *row) for name, row in CHANGES.items()),
    *(
        (name, version, *row)
        for version in ("1.1.0", "1.2.0")
        for name, row in {**CHANGES, **ONLY_1_1}.items()
    ),
]


@pytest.mark.parametrize(
    ("version", "target", "change", "expected"),
    [row[1:] for row in VERSIONS],
    ids=[f"{name} in {version}" for name, version, *_ in VERSIONS],
)
def test_an_action_changes_what_it_selects(version, target, change, expected):
    source = farm(**{"x-box": copy.deepcopy(BOX)})
    before = copy.deepcopy(source)

    changed, warnings = overlaid(source, {"target": f"$.x-box{target}", **change}, version=version)

    assert changed == before | {"x-box": expected}
    assert json.dumps(changed["x-box"], sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert warnings == []
    assert source == before


@pytest.mark.parametrize("openapi", ["2.0", "3.0.4", "3.1.1", "3.2.0"])
def test_documents_of_every_version_are_changed_before_they_are_read(openapi):
    source = farm(openapi=openapi)
    named = {"target": "$.paths['/cows'].get", "update": {"summary": "All cows", "x-safe": True}}
    many = {"target": "$.paths.*.get", "update": {"deprecated": True}}
    gone = {"target": "$.paths.*[?@.operationId == 'hatch']", "remove": True}

    toolset = load_tools(source, overlays=[overlay(named, many), overlay(gone, version="1.0.0")])

    assert [tool.name for tool in toolset] == ["cows", "hens"]
    assert toolset["cows"].description == "Deprecated. All cows"
    assert toolset["hens"].deprecated


def test_traits_are_applied_where_the_document_names_them():
    herd = operation(**{"x-traits": ["paged"], "parameters": [{"name": "id", "in": "query"}]})
    paths = {"/a": {"get": herd}, "/b": {"get": operation(**{"x-traits": ["other"]})}}
    parameters = [{"name": "top", "in": "query"}, {"name": "skip", "in": "query"}]
    target = "$.paths[?@.get['x-traits'][?@ == 'paged']].get"

    paged = overlay({"target": target, "update": {"parameters": parameters}})
    toolset = load_tools(document(paths), overlays=[paged])

    names = [list(tool.input_schema["properties"]) for tool in toolset]
    assert names == [["id", "top", "skip"], []]


def test_a_path_is_renamed_by_update_copy_and_remove():
    actions = (
        {"target": "$.paths", "update": {"/birds": {}}},
        {"target": "$.paths['/birds']", "copy": "$.paths['/hens']"},
        {"target": "$.paths['/birds'].get", "update": {"operationId": "birds"}},
        {"target": "$.paths['/hens']", "remove": True},
    )

    changed, warnings = overlaid(farm(), *actions)

    assert list(changed["paths"]) == ["/cows", "/birds"]
    assert changed["paths"]["/birds"]["get"]["operationId"] == "birds"
    assert warnings == []


def test_a_copy_and_its_origin_change_apart():
    actions = (
        {"target": "$.x-box.deep", "copy": "$.x-box.rows[0]"},
        {"target": "$.x-box.deep", "update": {"at": {"one": 1}}},
        {"target": "$.x-box.rows[1]", "copy": "$.x-box.deep"},
        {"target": "$.x-box.rows[1].at", "update": {"one": 2}},
    )

    changed, _ = overlaid(farm(**{"x-box": BOX}), *actions)

    assert changed["x-box"]["deep"]["at"] == {"one": 1}
    assert changed["x-box"]["rows"][0] == {"n": "a"}
    assert changed["x-box"]["rows"][1]["at"] == {"one": 2}


SHARED = """
openapi: 3.1.0
info: {title: t, version: '1'}
paths:
  /a: {get: &it {operationId: a, x-in: &in {n: [1]}, responses: {}}}
  /b: {get: {<<: *it, operationId: b}}
x-all: [*in, *in]
"""


def test_what_yaml_aliases_share_changes_at_the_selected_place_only():
    actions = (
        {"target": "$.paths['/b'].get.x-in.n", "update": 2},
        {"target": "$.x-all[1]", "update": {"m": 3}},
        {"target": "$.x-all[1].n[0]", "remove": True},
    )

    changed, _ = overlaid(SHARED, *actions)

    assert changed["paths"]["/a"]["get"]["x-in"] == {"n": [1]}
    assert changed["paths"]["/b"]["get"]["x-in"] == {"n": [1, 2]}
    assert changed["x-all"] == [{"n": [1]}, {"n": [], "m": 3}]


def test_overlay_1_0_appends_an_array_as_one_entry_and_says_so():
    action = {"target": "$.x-box.list", "update": ["y"]}

    changed, warnings = overlaid(farm(**{"x-box": BOX}), action, version="1.0.1")

    assert changed["x-box"]["list"] == ["x", ["y"]]
    assert warnings == [
        "overlays[0]#/actions/0: Overlay 1.0 appends an array as one item; 1.1 concatenates arrays."
    ]


def test_keys_without_value_leave_objects_in_overlay_1_0():
    action = {"target": "$", "update": {"paths": None, "info": {"x-done": True}}}

    changed, _ = overlaid(farm(), action, version="1.0.0")

    assert changed["paths"] == farm()["paths"]
    assert changed["info"]["x-done"] is True
    assert refusal(action).pointer == "/actions/0/update/paths"


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ({"target": "$.none", "update": {}}, "'$.none' selects nothing"),
        ({"target": "$.none", "copy": "$.none"}, "'$.none' selects nothing"),
        ({"target": "$.info", "update": {"title": "t"}}, "already has the value"),
        ({"target": "$.info.title", "update": "t"}, "already has the value"),
        ({"target": "$.info", "update": {}}, "already has the value"),
        ({"target": "$.info"}, "has neither 'remove' nor"),
        ({"target": "$.info", "update": {"x-a": 1}, "copy": "$.paths"}, "nor one of 'update'"),
        ({"target": "$.paths[?search(@.x, '(')]", "remove": True}, "selects nothing"),
    ],
)
def test_an_action_that_changes_nothing_is_reported(action, words):
    second = {"target": "$.info", "update": {"x-second": 1}}

    changed, warnings = overlaid(farm(), second, action)

    assert changed["info"].pop("x-second") == 1
    assert changed == farm()
    assert any(line.startswith("overlays[0]#/actions/1: ") for line in warnings)
    assert words in warnings[-1]
    assert "it changes nothing" in warnings[-1]


def test_a_pattern_that_cannot_be_used_is_reported():
    action = {"target": "$.info[?search(@, '(')]", "remove": True}

    _, warnings = overlaid(farm(), action)

    assert "the pattern '(' cannot be used and matches nothing" in warnings[0]


@pytest.mark.parametrize(
    ("change", "pointer", "words"),
    [
        ({"overlay": None}, "/overlay", "None is not a version"),
        ({"overlay": 1.0}, "/overlay", "1.0 is not a version 1.0.x, 1.1.x or 1.2.x; write it"),
        ({"overlay": "1.1"}, "/overlay", "not a version 1.0.x, 1.1.x or 1.2.x"),
        ({"overlay": "2.0.0"}, "/overlay", "'2.0.0' is not a version"),
        ({"overlay": "9.0.0"}, "/overlay", "'9.0.0' is not a version"),
        ({"info": []}, "/info", "is not an object"),
        ({"info": {"title": "t"}}, "/info", "'version' is missing"),
        ({"info": {"title": "t", "version": 1}}, "/info/version", "is not a string"),
        ({"info": {"title": "t", "version": "1", "desc": ""}}, "/info/desc", "'description'"),
        ({"extends": 5}, "/extends", "is not a string"),
        ({"actons": []}, "/actons", "did you mean 'actions'?"),
        ({"actions": {}}, "/actions", "is not an array"),
        ({"actions": []}, "/actions", "is empty"),
        ({"actions": [7]}, "/actions/0", "is not an object"),
        ({"actions": [{"update": {}}]}, "/actions/0", "'target' is missing"),
        ({"actions": [{"target": 1}]}, "/actions/0/target", "is not a string"),
        ({"actions": [{"target": "$", "delete": 1}]}, "/actions/0/delete", "is unknown"),
        ({"actions": [{"target": "$", "updat": 1}]}, "/actions/0/updat", "did you mean 'update'"),
        ({"actions": [{"target": "$", "remove": "yes"}]}, "/actions/0/remove", "not a boolean"),
        ({"actions": [{"target": "$", "copy": 1}]}, "/actions/0/copy", "is not a string"),
        ({"actions": [{"target": "$", "copy": "$["}]}, "/actions/0/copy", "not a JSONPath query"),
        (
            {"actions": [{"target": "$.x"}, {"target": "$.x"}]},
            "/actions/1",
            "is the same as action 0",
        ),
        ({"actions": [{"target": f"$.{n}"} for n in range(10_001)]}, "/actions", "10,000 actions"),
    ],
)
def test_a_wrong_overlay_is_refused_with_its_place(change, pointer, words):
    wrong = overlay({"target": "$.info", "x-why": 1}, **{"x-more": 2}) | change

    with pytest.raises(DocumentError) as raised:
        load_tools("no-such-document.json", overlays=[overlay({"target": "$"}), wrong])

    assert type(raised.value) is InvalidOverlay
    assert (raised.value.source, raised.value.pointer) == ("overlays[1]", pointer)
    assert words in raised.value.reason
    assert str(raised.value).startswith(f"overlays[1]#{pointer}: ")


@pytest.mark.parametrize("target", ["info", "$.", "$..", "$[?", "$.a | $.b", "$ ", "$[?@.a = 1]"])
def test_a_target_that_is_not_a_query_of_the_standard_is_refused(target):
    error = refusal({"target": target, "remove": True})

    assert error.pointer == "/actions/0/target"
    assert "is not a JSONPath query of RFC 9535" in error.reason


def test_fields_of_1_1_are_refused_in_1_0():
    copied = refusal({"target": "$.info", "copy": "$.paths"}, version="1.0.0")
    described = {"title": "t", "version": "1", "description": "d"}

    assert copied.reason == "'copy' needs Overlay 1.1; this is 1.0."
    assert refusal({"target": "$"}, version="1.0.0", info=described).pointer == "/info/description"


NOT_FOUND = {"404": {"description": "Not found"}}
REUSED = {"$ref": "#/components/actions/not~1found", "target": "$.paths['/cows'].get.responses"}


def reusing(*references, fields=None, name="not/found", **action_fields):
    """Return an overlay whose actions refer to one reusable action."""
    reusable = {"fields": {"update": NOT_FOUND} if fields is None else fields, **action_fields}
    return overlay(*references, version="1.2.0", components={"actions": {name: reusable}})


def test_a_reusable_action_is_applied_to_each_target():
    other = {**REUSED, "target": "$.paths['/hens'].get.responses", "description": "For hens."}

    toolset = load_tools(farm(), overlays=[reusing(REUSED, other, description="Adds a 404.")])

    paths = toolset.document["paths"]
    assert [paths[path]["get"]["responses"]["404"] for path in ("/cows", "/hens")] == [
        NOT_FOUND["404"]
    ] * 2
    assert toolset.warnings == ()


def test_a_reusable_action_removes_or_copies_too():
    fields = {"remove": True}
    removed = reusing({**REUSED, "target": "$.paths['/hens']"}, fields=fields)
    copied = reusing({**REUSED, "target": "$.info"}, fields={"copy": "$.paths['/cows']"})

    document = load_tools(farm(), overlays=[copied, removed]).document

    assert "/hens" not in document["paths"]
    assert "get" in document["info"]


def test_a_reusable_action_that_nothing_refers_to_changes_nothing():
    unused = reusing({"target": "$.info", "update": {"title": "Farm"}})

    document = load_tools(farm(), overlays=[unused]).document

    assert "404" not in json.dumps(document)


@pytest.mark.parametrize(
    ("wrong", "pointer", "words"),
    [
        (
            reusing({**REUSED, "$ref": "#/components/actions/not~1fund"}),
            *("/actions/0/$ref", "no reusable action is called 'not/fund'; did you mean not/found"),
        ),
        (
            reusing({**REUSED, "$ref": "other.yaml#/components/actions/x"}),
            *("/actions/0/$ref", "does not begin with '#/components/actions/'"),
        ),
        (reusing({**REUSED, "$ref": 5}), "/actions/0/$ref", "is not a string"),
        # The schema of Overlay 1.2 lets a reference override the description only.
        (reusing({**REUSED, "update": {}}), "/actions/0/update", "'update' is unknown"),
        (reusing({"$ref": REUSED["$ref"]}), "/actions/0", "'target' is missing"),
        (
            reusing(REUSED, fields={"target": "$"}),
            *("/components/actions/not~1found/fields/target", "'target' is unknown"),
        ),
        (
            reusing(REUSED, fields={"copy": "$["}),
            *("/components/actions/not~1found/fields/copy", "not a JSONPath query"),
        ),
        (
            reusing(REUSED, fields={"update": []}),
            *("/components/actions/not~1found/fields/update", "is an array, but the target"),
        ),
        (reusing(REUSED, update={}), "/components/actions/not~1found/update", "is unknown"),
        (reusing(REUSED) | {"components": []}, "/components", "is not an object"),
        (reusing(REUSED) | {"$self": "a.yaml#x"}, "/$self", "must not have a fragment"),
        (reusing(REUSED) | {"extends": "a.yaml#x"}, "/extends", "must not have a fragment"),
        (reusing(REUSED) | {"overlay": "1.1.0"}, "/components", "needs Overlay 1.2; this is 1.1"),
        (
            overlay(REUSED, version="1.1.0"),
            *("/actions/0/$ref", "'$ref' needs Overlay 1.2; this is 1.1."),
        ),
        (
            overlay({"target": "$"}, version="1.0.0") | {"$self": "a.yaml"},
            *("/$self", "needs Overlay 1.2; this is 1.0"),
        ),
    ],
)
def test_a_wrong_key_of_1_2_is_refused_with_its_place(wrong, pointer, words):
    with pytest.raises(InvalidOverlay) as raised:
        load_tools(farm(), overlays=[wrong])

    assert raised.value.pointer == pointer
    assert words in raised.value.reason


def test_an_empty_reusable_action_says_that_it_changes_nothing():
    (warning,) = load_tools(farm(), overlays=[reusing(REUSED, fields={})]).warnings

    assert "has neither 'remove' nor one of 'update' and 'copy'" in warning


@pytest.mark.parametrize(
    ("action", "pointer", "words"),
    [
        ({"target": "$", "remove": True}, "target", "the whole document cannot be removed"),
        ({"target": "$.info", "update": 1}, "update", "is a primitive value, but the target"),
        ({"target": "$.info", "update": []}, "update", "is an array, but the target selects obj"),
        ({"target": "$.info.title", "update": {}}, "update", "but the target selects primitives"),
        ({"target": "$.*", "update": {}}, "target", "selects objects and primitives; select one"),
        ({"target": "$.info", "copy": "$.nowhere"}, "copy", "selects 0 values"),
        ({"target": "$.info", "copy": "$.*"}, "copy", "values; it must select one"),
        (
            {"target": "$", "update": {"paths": {"/cows": []}}},
            "update/paths/~1cows",
            "an array cannot be merged into an object, at /paths/~1cows of the document",
        ),
    ],
)
def test_an_action_that_does_not_fit_the_document_is_refused(action, pointer, words):
    error = refusal(action)

    assert error.pointer == f"/actions/0/{pointer}"
    assert words in error.reason


def test_overlay_1_0_updates_no_primitives():
    error = refusal({"target": "$.info.title", "update": "T"}, version="1.0.0")

    assert "update the object around them in Overlay 1.0" in error.reason


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "'\\"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def places_in(node, keys=()):
    """Return the places of all values, the whole first."""
    items = node.items() if isinstance(node, dict) else ()
    items = enumerate(node) if isinstance(node, list) else items
    return [keys, *(place for key, value in items for place in places_in(value, (*keys, key)))]


def query_of(keys):
    return "$['x-it']" + "".join(f"[{json.dumps(key)}]" for key in keys)


def merge_values(old, new):
    """Return what Overlay 1.1 makes of a value and an update, or raise ValueError."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = {key: merge_values(old[key], new[key]) for key in old.keys() & new.keys()}
        return old | new | both
    if isinstance(old, list) and isinstance(new, list):
        return old + new
    if isinstance(old, dict | list) or isinstance(new, dict | list):
        raise ValueError  # noqa: TRY004 -- of a value
    return new


def value_at(node, keys):
    for key in keys:
        node = node[key]
    return node


def put(node, keys, value):
    """Return a copy of a node with another value at a place."""
    if not keys:
        return value
    clone = copy.copy(node)
    clone[keys[0]] = put(node[keys[0]], keys[1:], value)
    return clone


@given(VALUES, st.data())
@settings(max_examples=150)
def test_actions_in_order_change_what_a_plain_merge_changes(value, data):
    shared = {"one": value, "other": value}
    source, expected, actions = farm(**{"x-it": shared}), shared, []
    before = copy.deepcopy(source)
    for number in range(data.draw(st.integers(1, 4))):
        places = places_in(expected)
        place, origin = data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))
        is_copy = data.draw(st.booleans())
        new = value_at(expected, origin) if is_copy else data.draw(VALUES)
        old = value_at(expected, place)
        try:
            merged_list = (
                [*old, new] if isinstance(old, list) and not isinstance(new, list) else None
            )
            expected = put(
                expected, place, merge_values(old, new) if merged_list is None else merged_list
            )
        except ValueError:
            continue
        change = {"copy": query_of(origin)} if is_copy else {"update": new}
        actions.append({"target": query_of(place), "x-n": number, **change})

    changed = load_tools(source, overlays=[overlay({"target": "$.info"}, *actions)]).document

    assert json.dumps(changed["x-it"], sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert source == before
    assert source["x-it"]["one"] is source["x-it"]["other"]


FIVE = {
    *("discord/openapi.json", "docker/swagger.yaml", "figma/openapi.yaml"),
    *("spotify/fixed-spotify-open-api.yml", "redocly/cafe.yaml"),
}


@pytest.mark.untraced
@pytest.mark.parametrize("entry", corpus.parameters(e for e in corpus.entries() if e.path in FIVE))
def test_published_documents_are_changed_as_a_walk_over_them_changes_them(entry):
    plain = load_tools(entry.file)
    expected = json.loads(json.dumps(plain.document))  # without what YAML aliases share
    for method, path, node, _ in list(corpus.operations_of(expected)):
        node.setdefault("tags", []).append("all")
        node["x-at"] = 1
        if method == "DELETE":
            del expected["paths"][path]["delete"]
    methods = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
    every = ", ".join(map(repr, methods))
    changes = overlay(
        {"target": f"$.paths[*][{every}]", "update": {"tags": ["all"], "x-at": 1}},
        {"target": "$.paths[*].delete", "remove": True},
    )

    toolset = load_tools(entry.file, overlays=[changes])

    assert toolset.document == expected
    kept_tools = [tool for tool in plain if tool.method != "DELETE"]
    assert [tool.path for tool in toolset] == [tool.path for tool in kept_tools]
    assert all("all" in tool.tags for tool in toolset)
    assert [tool.input_schema for tool in toolset] == [tool.input_schema for tool in kept_tools]


def test_what_an_overlay_spoils_is_skipped_with_its_place_in_the_overlaid_document():
    broken = {"get": operation(parameters=[{"in": "query"}])}

    spoiling = overlay({"target": "$.paths", "update": {"/x": broken}})
    toolset = load_tools(farm(), overlays=[spoiling])

    assert [skipped.pointer for skipped in toolset.skipped] == ["/paths/~1x/get/parameters/0"]


def test_what_is_doubtful_in_the_text_of_an_overlay_is_reported():
    text = json.dumps(overlay({"target": "$.info", "update": {"x-a": 1}}))
    twice = text.replace('"target"', '"description": "a", "description": "b", "target"')

    assert load_tools(farm(), overlays=[twice]).warnings == (
        (
            "overlays[0]: /actions/0/description: 'description' is a duplicate key; "
            "the last one counts."
        ),
    )


ROWS = [
    {"n": "int", "v": 1, "same": 1.0},
    {"n": "text", "v": "b\ud800", "same": "b"},
    {"n": "true", "v": True, "same": 1},
    {"n": "null", "v": None, "same": None},
    {"n": "list", "v": [1, {"a": [2]}], "same": [1, {"a": [2]}]},
    {"n": "other", "v": [1, {"a": [2]}], "same": [1, {"a": [3]}]},
    {"n": "keys", "v": {"a": 1, "b": 2}, "same": {"a": 1, "c": 2}},
    {"n": "map", "v": {"a": 1}, "same": {"a": 1}, "line": "one\rtwo"},
]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("@.v == @.same", "int null list map"),
        ("@.v != @.same", "text true other keys"),
        ("@.v == 1", "int"),
        ("@.v == true", "true"),
        ("@.v < 2", "int"),
        ("@.v <= 1", "int"),
        ("@.v >= 1", "int"),
        ("@.v >= null", "null"),
        ("@.n > 'nz'", "text true other"),
        ("@.absent == @.missing && @.v < 2", "int"),
        ("@.absent < 1", ""),
        ("@.v == $['x-rows'][0].v", "int"),
        ("length(@.v) == 2", "text list other keys"),
        ("count(@.v.*) == 2", "list other keys"),
        ("value(@.v[0]) == 1", "list other"),
        ("@..[?@.a]", "list other keys map"),
        ("@.n..a", ""),
        ("!@.line && @.v == @.same", "int null list"),
        ("match(@.n, 'tr.e|m.p')", "true map"),
        ("match(@.n, 'e')", ""),
        ("search(@.n, '^t')", "text true"),
        ("search(@.v, 'b')", ""),
        ("search(@.n, 'a)|(t')", ""),
        ("match(@.line, 'one.two')", ""),
        ("match(@.line, 'one[\\\\r.]two')", "map"),
        ("search(@.n, '.{1,300}$') && @.v == 1", "int"),
        ("search(@.n, @.v)", ""),
        ("@.n[0:1]", ""),
        ("@.v[?@ == $['x-rows'][0].v]", "list other keys map"),
    ],
)
def test_a_filter_selects_by_the_rules_of_the_standard(query, expected):
    target = f"$['x-rows'][?{query}]"

    changed, _ = overlaid(farm(**{"x-rows": ROWS}), {"target": target, "update": {"hit": 1}})

    assert " ".join(row["n"] for row in changed["x-rows"] if "hit" in row) == expected


@pytest.mark.parametrize(
    "target",
    ["$[?@.a == 1e999999]", "$[" + "9" * 4_000 + "]", "$[" + "?@[" * 200 + "0" + "]" * 201],
)
def test_numbers_and_nesting_beyond_reason_are_refused(target):
    assert "is not a JSONPath query of RFC 9535" in refusal({"target": target}).reason


def test_a_query_of_too_many_segments_for_the_stack_is_refused():
    error = refusal({"target": "$" + ".a" * 1_500})

    assert error.pointer == "/actions/0/target"
    assert "goes too deep" in error.reason


# Limits


def test_a_filter_in_filters_counts_the_nodes_of_its_own_queries():
    numbers = {"a": {"b": list(range(40))}}
    queries = json_paths.Queries()
    query = queries.compile("$[?@[?@[?count($.a.b[?count($.a.b[*]) == 40]) == 40]]]")

    locations = queries.find_locations(query, numbers)

    assert locations == [("a",)]
    with pytest.raises(json_paths.QueryError, match="takes more than"):
        queries.count_steps(json_paths.MAX_STEPS - 40**3)


def test_a_selected_node_does_not_hold_the_nodes_beside_it():
    queries = json_paths.Queries()
    numbers = [1, 2, 3]

    first, *_ = queries.find_nodes(queries.compile("$[*]"), numbers, numbers)

    assert first.parent.children == []


def chain(depth, key="n"):
    value = {"end": 1}
    for _ in range(depth):
        value = {key: value}
    return value


def double_actions(count):
    """Return actions that copy a whole into its part, again and again."""
    return [{"target": "$.x-a", "update": {f"k{n}": {}}} for n in range(count)] + [
        {"target": f"$.x-a.k{n}", "copy": "$.x-a"} for n in range(count)
    ]


WIDE = {"x-wide": {str(n): {"type": "string", "n": [n] * 5} for n in range(20_000)}}


def deeper(count):
    """Return actions that copy a part to the end of itself."""
    for n in range(count):
        yield {"target": "$..end", "remove": True, "x-n": n}
        yield {"target": "$.x-a..[?count(@.*) == 0]", "copy": "$.x-a", "x-n": n}


def each(*targets, times=1, **change):
    return [{"target": t.format(n=n), "x-n": n, **change} for t in targets for n in range(times)]


SLOW = "$.x-a[?search(@, '(a+)+$|(a|a)*b')]"
EQUAL = "$.x-a[?" + " && ".join(["@.l == @.r"] * 200) + "]"
HOSTILE = {
    "mixed kinds": (WIDE, each("$..*", update={"n": 1}), "select one kind only"),
    "many descents": (WIDE, each("$..['{n}', 'z']", times=9_000, **LESS), "steps"),
    "descents in filters": (WIDE, each("$..[?@..[?@..*]]", **LESS), "steps"),
    "filters two levels deep": (WIDE, each("$[?@[?@[?count($..*) > 1]]]", **LESS), "steps"),
    "absent names": (WIDE, each("$..[" + "'z'," * 999 + "'z']", **LESS), "steps"),
    "flat root": ({f"x-{n}": n for n in range(9_000)}, each("$[?$..y]", **LESS), "steps"),
    "not singular": (WIDE, each("$..[?$..* == $.x]", **LESS), "is not a JSONPath"),
    "root in filters": (WIDE, each("$..[?count($..*) > 1]", **LESS), "steps"),
    "unions in filters": ({"x-a": chain(99)}, each("$[?@" + "[*,*]" * 60 + ".z]", **LESS), "steps"),
    "comparisons": (
        *({"x-a": [{"l": [*range(9_000)], "r": [*range(9_000)]}] * 9}, each(EQUAL, **LESS)),
        "steps",
    ),
    "unions": (WIDE, each("$" + "[*,*]" * 60 + "[*]", **LESS), "steps"),
    "doubling": ({"x-a": {}}, double_actions(60), "the overlays add more than 10,000 values"),
    "deep update": (
        *({"x-a": chain(30)}, each("$.x-a" + ".n" * 20, update=chain(190))),
        "deeper than 201 levels",
    ),
    "deep copies": ({"x-a": chain(5)}, [*deeper(9)], "deeper than 201 levels"),
    "parentheses": (WIDE, each("$[?" + "(" * 1_000 + "@.a" + ")" * 1_000 + "]"), "too deep"),
    "long target": (WIDE, each("$" + ".a" * 3_000), "longer than 4,096 characters"),
    "many long targets": (WIDE, each("$" + "[0]" * 1_300 + "['{n}']", times=9_000), "steps"),
    "slow pattern": ({"x-a": ["a" * 30_000] * 200}, each(SLOW, times=9_000), "steps"),
    "many patterns": ({"x-a": ["a"]}, each("$.x-a[?search(@, 'b{n}')]", times=9_000), "steps"),
}


@pytest.mark.long
@pytest.mark.untraced
@pytest.mark.parametrize(("fields", "actions", "words"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_overlay_ends_soon_with_its_place(fields, actions, words, monkeypatch):
    monkeypatch.setattr(json_paths, "MAX_STEPS", 500_000)
    monkeypatch.setattr(overlay_actions, "MAX_ADDED", 10_000)
    begun = time.process_time()

    error = refusal(*actions, source=farm(**fields))

    assert words in error.reason
    assert error.pointer.startswith("/actions/")
    assert time.process_time() - begun < 30
