"""Calls that use the API's own names of arguments."""

import json
import unicodedata

import pytest
from documents import document, operation

from openapi_tools import load_tools

STRING = {"type": "string"}


def of_body(*names):
    schema = {"type": "object", "properties": dict.fromkeys(names, STRING), "required": [names[0]]}
    body = {"content": {"application/json": {"schema": schema}}, "required": True}
    return document({"/x": {"post": operation(operationId="do", requestBody=body)}})


def of_parameters(*names, location="query"):
    listed = [{"name": name, "in": location, "schema": STRING} for name in names]
    return document({"/x": {"get": operation(operationId="do", parameters=listed)}})


@pytest.mark.parametrize(
    "names",
    [
        ["姓名", "年龄"],
        ["größe", "straße"],
        ["with space", "$filter"],
        ["X-Ray", "пол"],
        ["a.b[c]"],
    ],
    ids=lambda names: ascii(names[0]),
)
async def test_a_property_of_a_body_is_called_by_its_own_name(names, recorder):
    async with load_tools(of_body(*names), base_url=recorder.url) as toolset:
        result = await toolset.call("do", dict.fromkeys(names, "x"))

    assert result.success, result
    assert json.loads(recorder.last.body) == dict.fromkeys(names, "x")


@pytest.mark.parametrize(
    ("name", "query"), [("都市", "%E9%83%BD%E5%B8%82"), ("page[size]", "page%5Bsize%5D")]
)
async def test_a_parameter_is_called_by_its_own_name(name, query, recorder):
    async with load_tools(of_parameters(name, "q"), base_url=recorder.url) as toolset:
        result = await toolset.call("do", {name: "x", "q": "1"})

    assert result.success, result
    assert recorder.last.target == f"/x?{query}=x&q=1"


async def test_a_name_in_another_form_of_unicode_is_the_same(recorder):
    async with load_tools(of_body("größe"), base_url=recorder.url) as toolset:
        result = await toolset.call("do", {unicodedata.normalize("NFD", "größe"): "x"})

    assert result.success, result
    assert json.loads(recorder.last.body) == {"größe": "x"}


@pytest.mark.parametrize(
    "arguments", [{"姓名": "x", "argument_50b5b1": "y"}, {"姓": "x"}, {"姓名": 7}], ids=ascii
)
async def test_other_faults_are_still_reported(arguments, recorder):
    async with load_tools(of_body("姓名"), base_url=recorder.url) as toolset:
        assert "argument_50b5b1" in toolset["do"].input_schema["properties"]
        result = await toolset.call("do", arguments)

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []


async def test_a_name_that_two_arguments_share_is_not_guessed(recorder):
    listed = [
        {"name": "a b", "in": location, "schema": STRING, "required": location == "path"}
        for location in ("path", "query")
    ]
    root = document({"/x/{a b}": {"get": operation(operationId="do", parameters=listed)}})

    async with load_tools(root, base_url=recorder.url) as toolset:
        result = await toolset.call("do", {"a b": "x"})

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []


async def test_a_hidden_argument_is_not_reached_by_its_own_name(recorder):
    config = {"tools": {"do": {"fixed": {"argument_d7eef7": "Bonn"}}}}

    async with load_tools(of_parameters("都市"), config=config, base_url=recorder.url) as toolset:
        result = await toolset.call("do", {"都市": "Kyoto"})

    assert result.error["type"] == "invalid_input"
    assert recorder.requests == []


async def test_a_renamed_argument_keeps_the_apis_name_as_a_synonym(recorder):
    config = {"tools": {"do": {"arguments": {"argument_d7eef7": {"name": "city"}}}}}

    async with load_tools(of_parameters("都市"), config=config, base_url=recorder.url) as toolset:
        assert (await toolset.call("do", {"都市": "Kyoto"})).success
        assert (await toolset.call("do", {"city": "Kyoto"})).success

    assert len({request.target for request in recorder.requests}) == 1
