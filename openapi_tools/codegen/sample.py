"""A harmless package: whatever its files do is what the templates do, for any document."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from openapi_tools import model
from openapi_tools.codegen.package_data import PackageData, Record

_DEEP = 60


def harmless(api: str) -> PackageData:
    """Return contents with something of everything that a template can meet.

    Args:
        api: Name of the API whose files are to be compared with these.
    """
    shared = {"type": "object", "description": "word " * 60}
    records = [
        Record(f"tool_{number}", "Text.", {**schema, "$defs": {"Shared": shared}}, _operation())
        for number, schema in enumerate((_schema(), _schema(), _deep(_schema())))
    ]
    definition = _deep({})
    records += [
        replace(
            record, name=f"{record.name}_b", input_schema={**_schema(), "$defs": {"D": definition}}
        )
        for record in records[:2]
    ]
    return PackageData(
        api,
        tuple(records),
        title="Title",
        version="1",
        document_hash="0",
        schemes={"key": model.SecurityScheme("apiKey", "key", "query")},
        servers=_servers(),
        skipped=(model.Skipped("/paths", "Reason."),),
        counts={"operations": 1},
        settings={"prefix": "x_"},
    )


def _schema() -> dict[str, Any]:
    properties = {"a": {"type": "number", "minimum": -1, "default": None}}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def _deep(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that nests too deep for a literal."""
    for _ in range(_DEEP):
        schema = {"type": "array", "items": schema}
    return schema


def _servers() -> tuple[model.Server, ...]:
    variables = {"v": model.ServerVariable("x")}
    return (model.Server("https://{v}.example.com", variables),)


def _operation() -> model.Operation:
    """Return an operation that takes every class of the model to write down."""
    parameter = model.Parameter("a", "header")
    encoding = model.Encoding("a", content_type="text/plain", headers=(parameter,))
    body = model.RequestBody(
        "multipart/form-data", properties=(model.Property("a"),), encodings=(encoding,)
    )
    return model.Operation(
        "POST",
        "/a",
        parameters=(parameter,),
        body=body,
        servers=_servers(),
        tags=("0.0.0.0",),  # noqa: S104 -- makes the line appear that switches such rules off
    )
