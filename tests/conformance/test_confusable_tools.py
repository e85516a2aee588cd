"""Tools that a reader takes for another, by their words, and the words that `lint --fix` adds."""

import json

import pytest
from corpus import entries, parameters
from tool_words import check_words

from openapi_tools import load_tools
from openapi_tools.conformance import confusable_tools
from openapi_tools.conformance.argument_words import find_unclear_arguments
from openapi_tools.conformance.confusable_tools import find_confusions
from openapi_tools.conformance.lint_fixes import make_overlay
from openapi_tools.conformance.lint_rules import find_tool_problems


def document_of(*operations, parameters=(), path_key="operationId"):
    paths = {}
    for path, operation_id, summary, *method in operations:
        operation = {"operationId": operation_id, "summary": summary, "responses": {}}
        operation["parameters"] = list(parameters)
        paths.setdefault(path, {})[method[0] if method else "get"] = operation
    return {"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "paths": paths}


SECRETS = (
    ("/actions/secrets", "actionsListSecrets", "List the secrets of a repository."),
    ("/agents/secrets", "agentsListSecrets", "List the secrets of a repository."),
)


@pytest.mark.parametrize(
    ("operations", "confusable"),
    [
        (SECRETS, {"actions_list_secrets", "agents_list_secrets"}),
        ([("/a", "getA", "Get it."), ("/v2/a", "getA2", "Get it.")], {"get_a", "get_a2"}),
        # The descriptions say what the names differ in.
        ([("/pets", "listPets", "List pets."), ("/cats", "listCats", "List cats.")], set()),
        # One description does.
        ([("/p", "getPod", "Read a pod."), ("/p/s", "getPodStatus", "Read a pod status.")], set()),
        # A verb tells them apart.
        ([("/p", "getIt", "One."), ("/p", "deleteIt", "One.", "delete")], set()),
        ([("/p", "getIt", "One.")], set()),
        ([], set()),
    ],
)
def test_tools_are_confusable_if_no_description_says_what_differs(operations, confusable):
    confusions = find_confusions(load_tools(document_of(*operations)))
    assert set(confusions.confusable) == confusable
    assert confusions.group_confusable() == ([tuple(confusions.confusable)] if confusable else [])


def test_tools_with_other_arguments_are_not_confusable():
    document = document_of(*SECRETS)
    word = {"name": "visibility", "in": "query", "schema": {"type": "string"}}
    document["paths"]["/agents/secrets"]["get"]["parameters"] = [word]
    assert find_confusions(load_tools(document)).confusable == {}


def test_a_tool_that_its_own_words_do_not_find_is_unreachable():
    fillers = ("a", "an", "the", "of", "to", "for", "from", "by", "with", "in")
    document = document_of(*((f"/{each}", f"{each}Thing", "The things.") for each in fillers))
    toolset = load_tools(document)
    unreachable = find_confusions(toolset).unreachable
    assert set(unreachable) == {"with_thing", "in_thing"}
    assert len(unreachable["in_thing"]) == 8
    (finding,) = [
        f
        for f in find_tool_problems(toolset)
        if f.pointer == "/paths/~1in/get" and f.rule == "unreachable-tool"
    ]
    assert "finds eight others first, such as a_thing" in finding.message


def test_the_fix_adds_the_words_that_distinguish_tools_and_nothing_else():
    document = document_of(*SECRETS)
    toolset = load_tools(document)
    overlay, _ = make_overlay(toolset, lambda fix: load_tools(document, overlays=[fix]))
    summaries = [action["update"]["summary"] for action in overlay["actions"]]
    assert summaries == [
        "List the secrets of a repository. (actions)",
        "List the secrets of a repository. (agents)",
    ]
    fixed = load_tools(document, overlays=[overlay])
    assert find_confusions(fixed).confusable == {}
    assert [tool.name for tool in fixed] == [tool.name for tool in toolset]


@pytest.mark.parametrize(
    ("parameter", "unclear"),
    [
        ({"name": "q"}, True),
        ({"name": "filter", "description": "The filter."}, True),
        ({"name": "filter", "description": "An expression of CEL over labels."}, False),
        ({"name": "filter", "schema": {"type": "string", "enum": ["a", "b"]}}, False),
        ({"name": "data", "schema": {"type": "boolean"}}, False),
        ({"name": "value", "schema": {"type": "string", "format": "date"}}, False),
        ({"name": "city"}, False),
    ],
)
def test_an_argument_is_unclear_if_no_word_says_what_it_takes(parameter, unclear):
    parameter = {"in": "query", "schema": {"type": "string"}, **parameter}
    (tool,) = load_tools(document_of(("/a", "getA", "Get it."), parameters=[parameter]))
    assert find_unclear_arguments(tool) == ([parameter["name"]] if unclear else [])


def test_the_fix_describes_an_argument_by_the_words_of_the_same_document():
    document = document_of(("/a", "getA", "Get some."), ("/b", "listB", "List others."))
    query = {"name": "q", "in": "query", "schema": {"type": "string"}}
    document["paths"]["/a"]["get"]["parameters"] = [query]
    document["paths"]["/b"]["get"]["parameters"] = [{**query, "description": "Words to look for."}]
    toolset = load_tools(document)
    overlay, _ = make_overlay(toolset, lambda fix: load_tools(document, overlays=[fix]))
    (action,) = [a for a in overlay["actions"] if "parameters" in a["target"]]
    assert action == {
        "target": "$['paths']['/a']['get']['parameters'][0]",
        "update": {"description": "Words to look for."},
    }
    fixed = load_tools(document, overlays=[overlay])
    assert fixed["get_a"].input_schema["properties"]["q"]["description"] == "Words to look for."


def test_lint_says_that_a_very_large_set_is_not_compared(monkeypatch):
    monkeypatch.setattr(confusable_tools, "MOST_COMPARED", 1)
    monkeypatch.setattr("openapi_tools.conformance.lint_rules.MOST_COMPARED", 1)
    findings = find_tool_problems(load_tools(document_of(*SECRETS)))
    notes = [f.message for f in findings if f.rule == "confusable-tools"]
    assert notes == ["more than 1 tools are not compared with one another."]


def test_hostile_words_stay_data_in_the_overlay():
    hostile = "List.\n```\n$ref: x\u202e' | \"\x1b[31m"
    document = document_of(("/a", "listA", hostile), ("/b", "listB", hostile))
    toolset = load_tools(document)
    overlay, _ = make_overlay(toolset, lambda fix: load_tools(document, overlays=[fix]))
    fixed = load_tools(document, overlays=[json.loads(json.dumps(overlay))])
    assert [tool.name for tool in fixed] == ["list_a", "list_b"]


@pytest.mark.long
@pytest.mark.parametrize("entry", parameters(entries()[::5]))
def test_the_words_added_to_a_published_document_change_no_tool(entry):
    words = check_words(entry)
    if words is None:
        pytest.skip(f"{entry.path} has no tools")
    assert words.changes <= {"description", "schema"}
    for rule, count in words.after.items():
        assert count <= words.before[rule], rule
