"""Fixed arguments that name environment variables: sent, and shown nowhere."""

import json
import logging

import pytest
from documents import document, operation, with_body
from packages import bytes_in, import_package

from openapi_tools import Settings, SettingsError, load_tools
from openapi_tools.generate import generate_package

SECRET = "s3cr3t-fixed-value"
STRING = {"type": "string"}


@pytest.fixture(autouse=True)
def _secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    monkeypatch.delenv("SHOP_UNSET", raising=False)


def api(schema=STRING, location="query"):
    token = {"name": "token", "in": location, "required": True, "schema": schema}
    return document({"/x": {"get": operation(operationId="do", parameters=[token])}})


def fixing(value, name="token", tool="do"):
    return {"tools": {tool: {"fixed": {name: value}}}}


@pytest.mark.parametrize("location", ["query", "header", "cookie"])
@pytest.mark.parametrize("value", ["${SHOP_TOKEN}", "Token-${SHOP_TOKEN}"])
async def test_the_value_is_sent_and_shown_nowhere(location, value, recorder, caplog):
    caplog.set_level(logging.DEBUG)
    seen = []
    recorder.response.body = json.dumps({"you": SECRET}).encode()
    settings = Settings(
        base_url=recorder.url,
        approve=lambda preview: seen.append(preview) or True,
        approve_for="all",
    )

    async with load_tools(
        api(location=location), config=fixing(value), settings=settings
    ) as toolset:
        tool = toolset["do"]
        result = await tool.execute({})
        masked = tool.preview({})

    assert result.success
    assert value.replace("${SHOP_TOKEN}", SECRET).encode() in recorder.last.raw
    assert tool.input_schema["properties"] == {}
    visible = [result, result.metadata, seen, masked.url, masked.headers.raw, tool.operation]
    assert SECRET not in f"{visible} {caplog.text} {seen[0]} {seen[0].arguments}"
    assert "***" in str(result)


async def test_a_property_of_a_body_may_name_one(recorder):
    root = document(with_body({"type": "object", "properties": {"key": STRING, "n": STRING}}))
    config = fixing("${SHOP_TOKEN}", "key", "post_x")

    async with load_tools(root, config=config, base_url=recorder.url) as toolset:
        assert (await toolset["post_x"].execute({"n": "1"})).success

    assert json.loads(recorder.last.body) == {"key": SECRET, "n": "1"}


async def test_a_number_of_a_parameter_is_read(recorder, monkeypatch):
    monkeypatch.setenv("SHOP_TENANT", "4711")
    root = api({"type": "integer", "minimum": 1000})

    async with load_tools(root, config=fixing("${SHOP_TENANT}"), base_url=recorder.url) as toolset:
        assert (await toolset["do"].execute({})).success

    assert recorder.last.target == "/x?token=4711"


def test_a_value_that_does_not_fit_is_refused_without_being_shown():
    with pytest.raises(SettingsError, match="the value of SHOP_TOKEN is not valid") as caught:
        load_tools(api({"type": "integer"}), config=fixing("${SHOP_TOKEN}"))

    assert SECRET not in str(caught.value)


async def test_a_variable_that_is_not_set_is_a_warning_and_fails_the_call(recorder):
    asked = []
    settings = Settings(base_url=recorder.url, approve=asked.append, approve_for="all")

    async with load_tools(api(), config=fixing("${SHOP_UNSET}"), settings=settings) as toolset:
        result = await toolset["do"].execute({})

    assert any("tools.do.fixed.token: SHOP_UNSET is not set" in w for w in toolset.warnings)
    assert result.error["type"] == "credentials"
    assert "SHOP_UNSET is not set" in result.error["message"]
    assert (recorder.requests, asked) == ([], [])


def test_a_variable_in_a_default_is_not_read_and_a_warning_says_so():
    config = {"tools": {"do": {"defaults": {"token": "${SHOP_TOKEN}"}}}}

    toolset = load_tools(api(), config=config)

    assert any("tools.do.defaults.token: SHOP_TOKEN is not read" in w for w in toolset.warnings)
    assert toolset["do"].input_schema["properties"]["token"]["default"] == "${SHOP_TOKEN}"


@pytest.mark.parametrize("layout", ["package", "module"])
async def test_a_generated_package_names_the_variable_and_reads_it(layout, recorder, tmp_path):
    (tmp_path / "api.json").write_text(json.dumps(api()))
    generate_package(
        tmp_path / "api.json",
        tmp_path / "out",
        name="fixed",
        layout=layout,
        config=fixing("${SHOP_TOKEN}"),
    )

    written = b"".join(bytes_in(tmp_path / "out").values())
    assert SECRET.encode() not in written
    assert b"${SHOP_TOKEN}" in written
    with import_package(tmp_path / "out", "fixed_tools") as package:
        async with package.load(base_url=recorder.url) as toolset:
            assert (await toolset["do"].execute({})).success
    assert recorder.last.target == f"/x?token={SECRET}"
