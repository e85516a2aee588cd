"""How `name=value` and `--json` are read."""

import click
import pytest

from openapi_tools.cli.call_command import read_arguments, read_json_argument

SCHEMA = {
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "state": {"enum": ["on", "off"]},
        "count": {"type": "integer"},
        "ratio": {"type": "number"},
        "flag": {"type": "boolean"},
        "filter": {"type": "object"},
        "nothing": {"type": "null"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "ids": {"type": "array", "items": {"type": "integer"}},
        "either": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
        "maybe": {"type": ["integer", "null"]},
        "name": {"type": ["string", "null"]},
        "big": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string"}]},
        "any": {},
        "object": {
            "anyOf": [
                {"type": "string", "pattern": "^(?!x)"},
                {"type": "object", "properties": {"n": {"type": "integer"}}},
            ]
        },
        "pet": {"$ref": "#/$defs/Pet"},
        "label": {"$ref": "#/$defs/Label"},
    },
    "$defs": {"Pet": {"type": "object"}, "Label": {"type": "string"}},
}

READ = [
    (["text=abc"], {"text": "abc"}),
    (["text=5"], {"text": "5"}),
    (["text="], {"text": ""}),
    (["text=a=b"], {"text": "a=b"}),
    (['text="quoted"'], {"text": '"quoted"'}),
    (["state=on"], {"state": "on"}),
    (["count=5"], {"count": 5}),
    (["count=-5"], {"count": -5}),
    (["ratio=1e3"], {"ratio": 1000.0}),
    (["flag=true"], {"flag": True}),
    (['filter={"a": 1}'], {"filter": {"a": 1}}),
    (["nothing=null"], {"nothing": None}),
    (['tags=["a", "b"]'], {"tags": ["a", "b"]}),
    (["tags=a", "tags=b"], {"tags": ["a", "b"]}),
    (["tags=a"], {"tags": ["a"]}),
    (["tags=5"], {"tags": ["5"]}),
    (["tags=a,b"], {"tags": ["a,b"]}),
    (["ids=1", "text=x", "ids=2"], {"ids": [1, 2], "text": "x"}),
    (["ids=[]"], {"ids": []}),
    (["either=5"], {"either": 5}),
    (["either=five"], {"either": "five"}),
    (["maybe=null"], {"maybe": None}),
    (["name=null"], {"name": None}),
    (["name=5"], {"name": "5"}),
    (["big=5"], {"big": "5"}),
    (["big=50"], {"big": 50}),
    (["maybe=[5]"], {"maybe": [5]}),
    (['object={"a": "b"}'], {"object": {"a": "b"}}),
    (['object={"n": "b"}'], {"object": '{"n": "b"}'}),
    (["object=[1]"], {"object": "[1]"}),
    (["any=[1]"], {"any": [1]}),
    (["any=1", "any=b"], {"any": [1, "b"]}),
    (["any=[1"], {"any": "[1"}),
    (['pet={"x": 1}'], {"pet": {"x": 1}}),
    (["label=7"], {"label": "7"}),
]


@pytest.mark.parametrize(("pairs", "expected"), READ, ids=[" ".join(row[0]) for row in READ])
def test_a_value_is_read_by_the_schema_of_its_argument(pairs, expected):
    assert read_arguments(tuple(pairs), SCHEMA) == expected


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["text"], "'text' is not of the form name=value"),
        (["=x"], "no argument is named ''"),
        (["txt=1"], "did you mean text"),
        (["zzzzzz=1"], "there are text, state"),
        (["count=five"], "count: 'five' is not valid JSON, but integer is expected"),
        (["filter={"], "is not valid JSON, but object is expected"),
        (["ids=x"], "ids: 'x' is not valid JSON, but integer is expected"),
        (["text=a", "text=b"], "text is given 2 times, but is not an array"),
    ],
)
def test_what_cannot_be_read_is_wrong_usage(pairs, said):
    with pytest.raises(click.UsageError, match=r".") as caught:
        read_arguments(tuple(pairs), SCHEMA)

    assert said in caught.value.message


def test_a_json_argument_may_stand_in_a_file(tmp_path):
    path = tmp_path / "input.json"
    path.write_text('{"a": "\u00e9"}', encoding="utf-8")

    assert read_json_argument(f"@{path}") == {"a": "\u00e9"}
    assert read_json_argument('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "text", ["{", "[1]", "5", "null", "@no/such/file", "[" * 100_000, "@/"], ids=str.__len__
)
def test_a_json_argument_that_is_no_object_is_wrong_usage(text):
    with pytest.raises(click.UsageError, match="--json"):
        read_json_argument(text)
