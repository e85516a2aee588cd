"""Shaped responses of a published document, of loaded tools and of a generated package."""

import json

import pytest
from documents import document, operation
from packages import import_package
from servers.recorder import CannedResponse

from openapi_tools import Settings, SettingsError, generate_package, load_tools
from openapi_tools.common.json_values import dump_json, follow_references
from openapi_tools.responses.content import BodyContent
from openapi_tools.responses.response_shape import make_shaper


def hundred_of(root, path):
    """Return a list of 100 items as the document's own example shows one, or None."""
    response = follow_references(root, root["paths"][path]["get"]["responses"].get("200", {}))
    examples = response.get("content", {}).get("application/json", {}).get("examples", {})
    for example in examples.values():
        match follow_references(root, example).get("value"):
            case [dict() as item, *_]:
                return [{**item, "id": number} for number in range(100)]
    return None


@pytest.mark.untraced
def test_four_lines_make_the_lists_of_github_a_quarter(shared):
    github = json.loads((shared / "corpus" / "github" / "api.github.com.json").read_text())
    shaper = make_shaper(Settings(drop=("*_url", "url", "node_id", "_links"), nulls=False))
    lists = [hundred_of(github, path) for path, item in github["paths"].items() if "get" in item]
    contents = [BodyContent(items, is_data=True) for items in lists if items]
    before = sum(len(json.dumps(content.value, ensure_ascii=False)) for content in contents)

    assert [shaper.apply(content, {}) for content in contents] == [""] * len(contents)
    assert sum(len(dump_json(content.value)) for content in contents) <= 0.25 * before


PET = {
    "type": "object",
    "properties": {"id": {}, "name": {"type": "string"}, "photo_url": {"type": "string"}},
}
RESPONSES = {"200": {"description": "", "content": {"application/json": {"schema": {
    "type": "array", "items": PET}}}}}  # fmt: skip
DOCUMENT = document(
    {"/pets": {"get": operation(operationId="list_pets", responses=RESPONSES),
               "post": operation(operationId="add_pet", responses=RESPONSES)}},
    servers=[{"url": "http://127.0.0.1:9"}],
)  # fmt: skip
CONFIG = {
    "answers": {"drop": ["*_url"], "nulls": False},
    "tools": {
        "list_pets": {"answer": {"fields": "[].{n: name, photo_url: photo_url}", "max_items": 2}}
    },
}
PETS = [{"id": n, "name": None if n == 1 else f"p{n}", "photo_url": "x"} for n in range(4)]
SHORTENED = '[{"n":"p0"},{},"… 2 of 4 items left out; max_items is 2"]'
ADDED = '[{"id":0,"name":"p0"},{"id":1},{"id":2,"name":"p2"},{"id":3,"name":"p3"}]'


@pytest.fixture(params=["loaded", "generated"])
async def shaped(request, recorder, tmp_path):
    """The same tools with shapes of their own, loaded and from a generated package."""
    recorder.response = CannedResponse(body=json.dumps(PETS).encode())
    settings = Settings(base_url=recorder.url)
    if request.param == "loaded":
        yield load_tools(DOCUMENT, config=CONFIG, settings=settings)
        return
    generate_package(DOCUMENT, tmp_path / "out", name="shaped_pets", config=CONFIG)
    with import_package(tmp_path / "out", "shaped_pets_tools") as package:
        yield package.load(base_url=recorder.url)


async def test_a_whole_response_for_a_program_lacks_only_dropped_properties(shaped):
    lengths = []
    async with shaped:
        shaped.add_output_guardrails([lambda result, _: lengths.append(len(result.output))])
        context = {"whole": True, "answer": {"max_chars": 100}}
        result = await shaped.call("list_pets", {}, context=context)

    assert result.output == json.loads(ADDED)
    assert lengths == [4]


async def test_a_configured_response_is_that_of_its_tool(shaped):
    async with shaped:
        result = await shaped.call("list_pets", {})
        added = await shaped.call("add_pet", {})

    assert (str(result), str(added)) == (SHORTENED, ADDED)
    assert result.metadata["shaped"]["fields"] == "[].{n: name, photo_url: photo_url}"


async def test_a_call_counts_before_a_configured_tool(shaped):
    async with shaped:
        result = await shaped.call("list_pets", {}, fields="[-1]")
        has_schema = shaped["list_pets"].answer_schema is not None
        misspelt = await shaped.call("list_pets", {}, fields="[].nmae")
        wrong = await shaped.call("list_pets", {}, fields="[].")

    assert result.output == {"id": 3, "name": "p3"}
    assert misspelt.is_error is has_schema
    assert not has_schema or "did you mean name?" in str(misspelt)
    assert (wrong.error["type"], wrong.metadata) == ("invalid_input", {})


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("[].nmae", "unknown property 'nmae'; did you mean name?"),
        ("[].", "the JMESPath '[].' ends too early."),
    ],
)
def test_a_wrong_expression_of_a_configuration_ends_the_load(fields, message, tmp_path):
    path = tmp_path / "openapi-tools.toml"
    path.write_text(f'[tools.list_pets]\n\nanswer = {{ fields = "{fields}" }}\n')

    with pytest.raises(SettingsError) as caught:
        load_tools(DOCUMENT, config=path)

    assert str(caught.value).startswith(f"{path}:3: tools.list_pets.answer.fields: ")
    assert str(caught.value).endswith(message)
