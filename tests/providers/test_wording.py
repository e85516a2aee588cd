"""Words of definitions: which sentences a model reads, and that schemas stay what they were."""

import json

import pytest
from documents import document
from profile_rules import schema_of
from profile_values import array, make_tool, object_of, text

from openapi_tools import Settings, load_tools
from openapi_tools.providers.definitions import PROFILES, DefinitionLimits, define_tool
from openapi_tools.providers.wording import (
    WORDINGS,
    repeats_name,
    shorten_description,
    shorten_tool_description,
)

PROPERTIES = {
    "short": ("The name is not case sensitive.", "The name is not case sensitive."),
    "told nothing": (
        "The account owner of the repository, a name of letters. The name is not case sensitive.",
        "The account owner of the repository, a name of letters.",
    ),
    "values": (
        "The time since when results count in the answer. Format: `YYYY-MM-DD`. Some more words.",
        "The time since when results count in the answer. Format: `YYYY-MM-DD`.",
    ),
    "another page": (
        'Number of results on a page, 100 at most. For more information, see "Pagination."',
        "Number of results on a page, 100 at most.",
    ),
    "a condition": (
        "What the branch is compared with in the end. Required if `head` is given. A word.",
        "What the branch is compared with in the end. Required if `head` is given.",
    ),
    "a list": (
        "How the commit is merged in the end. It is:\n\n- `merge`: as one\n- `squash`: not",
        "How the commit is merged in the end.\n- `merge`: as one\n- `squash`: not",
    ),
    "a note": (
        "> [!NOTE]\n> The endpoint is in beta.\n\nA collection of reviewers with `id` each.",
        "The endpoint is in beta.\nA collection of reviewers with `id` each.",
    ),
    "abbreviations": (
        "The name of a user, e.g. octocat, i.e. a login of letters and of digits only.",
        "The name of a user, e.g. octocat, i.e. a login of letters and of digits only.",
    ),
}


@pytest.mark.parametrize(("description", "kept"), PROPERTIES.values(), ids=PROPERTIES)
def test_a_property_keeps_its_first_sentence_and_those_about_values(description, kept):
    assert shorten_description(description, 60, 300) == kept


def test_a_tool_keeps_all_but_who_may_call_it_and_where_to_read_on():
    description = (
        "List alerts\nLists alerts, newest first. They are made daily.\n\n"
        "OAuth tokens need the `repo` scope to use this endpoint. See the docs about alerts."
    )

    assert shorten_description(description, 60, 600, values_only=False) == (
        "List alerts\nLists alerts, newest first. They are made daily."
    )


def test_lines_about_responses_and_errors_stay():
    lines = "\nReturns: Pet (id)\nFails: 403 The token needs a scope"

    result = shorten_tool_description(f"Get a pet. {'It is one. ' * 100}{lines}", WORDINGS["tight"])

    assert result.endswith(f"…{lines}")
    assert len(result) < 330


@pytest.mark.parametrize("most", [10, 40, 100])
def test_a_text_is_cut_at_the_end_of_a_sentence_or_of_a_word(most):
    description = "Words of the first sentence. Use `b` then. " + "Use `c` or `d` with it. " * 20

    cut = shorten_description(description, 0, most)

    assert len(cut) <= most + 2
    assert cut.endswith("…")


@pytest.mark.parametrize(
    ("description", "name", "expected"),
    [
        ("The name of the secret.", "secret_name", True),
        ("The unique identifier of the comment.", "comment_id", True),
        ("The number that identifies the issue.", "issueNumber", True),
        ("The id of the owner's team.", "id", False),
        ("The `org`.", "org", False),
        ("The ID of the user in 2 parts.", "user_id", False),
    ],
)
def test_a_text_repeats_a_name_where_it_has_no_other_words(description, name, expected):
    assert repeats_name(description, name) is expected


NOISY = {
    "title": "Pets To List",
    "type": "object",
    "properties": {
        "limit": {"type": "integer", "title": "Limit", "default": 10, "maximum": 100},
        "kind": text(enum=["cat", "dog"], title="Which one", examples=["cat"]),
        "title": text(description="The title.", pattern="^a"),
        "tags": array(text(title="Tag of a pet", description="Each with `#`."), maxItems=9),
        "examples": object_of({"example": {"$ref": "#/$defs/Id"}}),
    },
    "required": ["limit"],
    "additionalProperties": False,
    "$defs": {"Id": text(title="Id", minLength=2)},
}


def test_constraints_defaults_and_properties_with_names_of_keywords_stay():
    result = schema_of("openai", define_tool(make_tool(NOISY), "openai", loosely=True).value)

    assert result == {
        "title": "Pets To List",
        "type": "object",
        "properties": {
            "limit": {"type": "integer", "default": 10, "maximum": 100},
            "kind": {"type": "string", "enum": ["cat", "dog"], "title": "Which one"},
            "title": {"type": "string", "pattern": "^a"},
            "tags": {
                "type": "array",
                "items": {"type": "string", "description": "Each with `#`."},
                "maxItems": 9,
            },
            "examples": {"type": "object", "properties": {"example": {"$ref": "#/$defs/Id"}}},
        },
        "required": ["limit"],
        "$defs": {"Id": {"type": "string", "minLength": 2}},
    }


@pytest.mark.parametrize("profile", PROFILES)
def test_full_words_are_all_of_them(profile):
    tool = make_tool(NOISY)

    full = define_tool(tool, profile, loosely=True, limits=DefinitionLimits("full", 0))

    assert full.value == define_tool(tool, profile).value


def test_settings_choose_the_wording():
    description = "List pets of the shop, each with its name. " + "They come with `id`. " * 30
    paths = {"/x": {"get": {"operationId": "x", "description": description}}}
    sizes = [
        len(json.dumps(load_tools(document(paths), settings=Settings(definitions=words))
                       .definitions("mcp")))
        for words in ("full", "short", "tight")
    ]  # fmt: skip

    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3
