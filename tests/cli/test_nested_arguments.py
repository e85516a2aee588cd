"""`openapi-tools call`: names of values inside arguments, and options meant as arguments."""

import contextlib
import json
import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from openapi_tools.cli.argument_values import read_arguments

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
ADDRESS = {
    "type": "object",
    "properties": {
        "street": STRING,
        "number": INTEGER,
        "lines": {"type": "array", "items": STRING},
        "next": {"$ref": "#/components/schemas/Address"},
    },
}
ITEM = {"type": "object", "properties": {"name": STRING, "price": {"type": "number"}}}
ODD = {
    "type": "object",
    "properties": {
        "a.b": STRING,
        "a": {"type": "object", "properties": {"b": INTEGER}},
        "c[0]": INTEGER,
        "d:": STRING,
        "e=": STRING,
    },
}
KINDS = {
    "ship_to": {"$ref": "#/components/schemas/Address"},
    "maybe": {"anyOf": [{"$ref": "#/components/schemas/Address"}, {"type": "null"}]},
    "tags": {"type": "array", "items": STRING},
    "pair": {"type": "array", "prefixItems": [INTEGER, STRING]},
    "items": {"type": "array", "items": ITEM},
    "grid": {"type": "array", "items": {"type": "array", "items": INTEGER}},
    "labels": {"type": "object", "additionalProperties": INTEGER},
    "free": {},
    "odd": ODD,
    "text": STRING,
    "filter.by": STRING,
}
READ = [
    ("ship_to.street=A ship_to.number=5", {"ship_to": {"street": "A", "number": 5}}),
    ("ship_to[street]=5", {"ship_to": {"street": "5"}}),
    ("ship_to.next.next.number=4", {"ship_to": {"next": {"next": {"number": 4}}}}),
    ("ship_to.lines=a ship_to.lines=b", {"ship_to": {"lines": ["a", "b"]}}),
    ('ship_to.next:={"number":1}', {"ship_to": {"next": {"number": 1}}}),
    ("maybe.number=1", {"maybe": {"number": 1}}),
    ("tags[]=a tags[]=b", {"tags": ["a", "b"]}),
    ("tags[1]=b tags[0]=a", {"tags": ["a", "b"]}),
    ("tags.0=a", {"tags": ["a"]}),
    ("pair[0]=1 pair[1]=1", {"pair": [1, "1"]}),
    ("items[0].name=x items[0][price]=2", {"items": [{"name": "x", "price": 2}]}),
    ("items[].name=x items[].name=y", {"items": [{"name": "x"}, {"name": "y"}]}),
    ("grid[0][]=1 grid[0][]=2 grid[]=[3]", {"grid": [[1, 2], [3]]}),
    ("labels.0=1 labels[b]=2", {"labels": {"0": 1, "b": 2}}),
    ("free.a.0=x free.b[0]=1", {"free": {"a": {"0": "x"}, "b": [1]}}),
    (r"free[\0]=x free.a\.b=y", {"free": {"0": "x", "a.b": "y"}}),
    ("odd.a.b=1", {"odd": {"a.b": "1"}}),
    ("odd[a][b]=1", {"odd": {"a": {"b": 1}}}),
    (r"odd.a\.b=1", {"odd": {"a.b": "1"}}),
    ("odd.c[0]=1", {"odd": {"c[0]": 1}}),
    ("odd[c[0]]=1", {"odd": {"c[0]": 1}}),
    (r"odd.d\:=x", {"odd": {"d:": "x"}}),
    (r"odd.e\==x", {"odd": {"e=": "x"}}),
    ("filter.by=x", {"filter.by": "x"}),
    (r"filter\.by=x", {"filter.by": "x"}),
]
REFUSED = [
    ("ship_to={} ship_to.street=B", "ship_to= and ship_to.street= both set ship_to; use one of"),
    ("ship_to.street=B ship_to:={}", "ship_to.street= and ship_to:= both set ship_to"),
    ("ship_to.street=A ship_to[street]=B", "both set ship_to.street"),
    ("tags=a tags[]=b", "tags= and tags[]= both set tags"),
    ("tags[]=a tags=b", "tags[]= and tags= both set tags"),
    ("tags:=[] tags:=[]", "tags is passed twice; use one of them."),
    ("tags[0]=a tags[0]=b", "tags[0] is passed 2 times, but is not an array"),
    ("free.a=1 free[]=2", "free.a= and free[]= both set free"),
    ("tags[1]=a", "tags[0] is missing; number the items from 0, or write tags[]=VALUE."),
    ("tags[99999999999]=a", "tags[0] is missing"),
    ("ship_to.stret=A", "ship_to has no property 'stret'; did you mean street?"),
    ("ship_to.zzz=A", "ship_to has no property 'zzz'; expected one of lines, next, number, street"),
    ("ship_to[]=A", "ship_to is an object and has no items; write ship_to.NAME=VALUE."),
    ("tags.name=A", "tags is an array and has no property 'name'; write tags[]=VALUE."),
    ("text.name=A", "text is a string and has no property 'name'; write text=VALUE."),
    ("shipto.street=A", "unknown argument 'shipto'; did you mean ship_to?"),
    ("ship_to.=A", "ship_to. has no name of a property after the dot"),
    ("ship_to[street=A", "ship_to[street: the closing ] is missing"),
    ("ship_to[street]x=A", "ship_to.street: expected '.', '[' or '=' before 'x'"),
    ("items[0].price=x", "items[0].price: expected a number, got 'x'"),
    (f"free{'.a' * 60}=1", "free: a name has at most 50 parts"),
]


@pytest.fixture
def kinds(send):
    content = {"application/json": {"schema": {"type": "object", "properties": KINDS}}}
    return send(content, required=True, components={"schemas": {"Address": ADDRESS}})


@pytest.mark.parametrize(("pairs", "expected"), READ, ids=[row[0] for row in READ])
def test_a_value_inside_an_argument_is_named(run, kinds, pairs, expected):
    result = run("call", kinds, "send", *pairs.split(), "--dry-run")

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout.splitlines()[-1]) == expected


@pytest.mark.parametrize(("pairs", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_a_name_that_fits_no_schema_or_two_forms_of_one_value_are_wrong_usage(
    refused, kinds, pairs, message
):
    assert refused("call", kinds, "send", *pairs.split(), messages=[message]).count("\n") == 2


def test_a_named_value_overrides_that_of_json_and_leaves_its_neighbours(run, kinds):
    text = '{"ship_to": {"street": "A", "number": 1}, "tags": ["a", "b"], "text": "x"}'
    pairs = ("ship_to.street=B", "tags[]=c")

    result = run("call", kinds, "send", "--json", text, *pairs, "--dry-run")

    assert json.loads(result.stdout.splitlines()[-1]) == {
        "ship_to": {"street": "B", "number": 1},
        "tags": ["c"],
        "text": "x",
    }


def test_a_schema_of_endless_alternatives_is_read_once(run, send):
    loop = {"oneOf": [{"$ref": "#/components/schemas/Loop"}] * 40 + [ITEM]}
    content = {"application/json": {"schema": {"type": "object", "properties": {"loop": loop}}}}
    path = send(content, required=True, components={"schemas": {"Loop": loop}})

    result = run("call", path, "send", "loop.price=1", "--dry-run")

    assert json.loads(result.stdout.splitlines()[-1]) == {"loop": {"price": 1}}


NAMES = st.text(min_size=1, max_size=6)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda parts: st.one_of(
        st.lists(parts, min_size=1, max_size=3), st.dictionaries(NAMES, parts, min_size=1)
    ),
    max_leaves=12,
)


def write_pairs(value, name):
    """Yield the pairs that describe a value, its properties and items named one by one."""
    if isinstance(value, dict):
        for key, part in value.items():
            escaped = re.sub(r"(.)", r"\\\1", key, flags=re.DOTALL)
            yield from write_pairs(part, f"{name}[{escaped}]")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from write_pairs(part, f"{name}[{index}]")
    else:
        yield f"{name}:={json.dumps(value)}"


@given(VALUES)
def test_every_json_value_can_be_typed_part_by_part(value):
    schema = {"type": "object", "properties": {"value": {}}}

    assert read_arguments(tuple(write_pairs(value, "value")), schema, {}) == {"value": value}


@given(st.text(max_size=30), st.sampled_from(["ship_to", "tags", "free", "odd"]))
def test_no_name_breaks_the_command(text, start):
    schema = {
        "type": "object",
        "properties": KINDS,
        "components": {"schemas": {"Address": ADDRESS}},
    }

    with contextlib.suppress(click.UsageError):
        json.dumps(read_arguments((f"{start}{text}=1",), schema, {}))


MEANT = [
    (["--start_date", "2023-01-01"], "written startDate=2023-01-01."),
    (["--startDate=2023-01-01"], "no such option '--startDate'; an argument of the tool is"),
    (["--start-date", "two words"], "written 'startDate=two words'."),
    (["-startDate", "x"], "no such option '-startDate'; an argument of the tool is written start"),
    (["--zzz=1", "--startDate=x"], "No such option '--zzz'."),
    (["--timout", "3"], "'--timeout'"),
]


@pytest.mark.parametrize(("words", "message"), MEANT)
def test_an_option_that_is_an_argument_is_reported_with_its_form(refused, museum, words, message):
    for line in ([museum, "get_museum_hours", *words], [*words, museum, "get_museum_hours"]):
        assert refused("call", *line, messages=[message]).count("\n") == 2


def test_a_secret_that_was_typed_as_an_option_is_not_repeated(refused, write):
    key = {"name": "api_key", "in": "query", "schema": STRING}
    path = write({"/a": {"get": {"operationId": "a", "parameters": [key]}}})

    error = refused("call", path, "a", "--api-key", "s3cr3t-value", messages=["api_key=VALUE."])

    assert "s3cr3t" not in error


def test_without_a_document_the_form_of_arguments_is_named(refused):
    refused("call", "nowhere.json", "a", "--x-id", "5", messages=["is written x-id=VALUE."])
