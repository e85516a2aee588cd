"""The format of a file of cases, checked by pydantic; its JSON Schema is published."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator

from openapi_tools.errors import SettingsError
from openapi_tools.responses.json_queries import parse_expression
from openapi_tools.responses.response_tables import Table
from openapi_tools.validation.check_cost import UNUSABLE, compile_schema

_READ = "GET "


def _check_expression(expression: str) -> str:
    try:
        parse_expression(expression)
    except SettingsError as error:
        raise ValueError(error.reason.removeprefix("fields: ")) from None
    return expression


def _check_schema(schema: Any) -> Any:
    if not isinstance(schema, dict | bool):
        raise ValueError("this must be a JSON Schema: an object, true or false.")  # noqa: TRY004 -- pydantic's
    try:
        compile_schema(schema)
    except UNUSABLE as error:
        raise ValueError(f"not a JSON Schema: {error!s:.200}.") from None
    return schema


def _read_number(value: Any) -> Any:
    # JSON Schema takes 6.0 for an integer, and neither "6" nor true.
    return int(value) if isinstance(value, float) and value.is_integer() else value


_JMESPath = Annotated[str, Field(min_length=1), AfterValidator(_check_expression)]
_Schema = Annotated[
    Any, AfterValidator(_check_schema), WithJsonSchema({"type": ["object", "boolean"]})
]
_Number = Annotated[int, Field(strict=True, ge=0), BeforeValidator(_read_number)]
_Positive = Annotated[int, Field(strict=True, ge=1), BeforeValidator(_read_number)]
_Name = Annotated[str, Field(min_length=1)]
_Switch = Annotated[bool, Field(strict=True)]


class ExpectedCall(Table):
    """A call that must succeed at the mock and meet every condition on its arguments."""

    tool: _Name = Field(description="A tool's name, an operationId, or a method and path.")
    arguments: dict[str, Any] = Field(
        default_factory=dict, description="Arguments that must be equal; others may be passed, too."
    )
    argument_schema: _Schema = Field(
        default=True,
        alias="schema",
        description="A JSON Schema that the object of arguments must match.",
    )
    jmespath: _JMESPath | None = Field(
        default=None, description="A JMESPath expression that must be true of the arguments."
    )


class Expectations(Table):
    """What must have happened at the mock."""

    calls: list[ExpectedCall] = Field(default_factory=list, max_length=100)
    order: Literal["any", "exact"] = Field(
        default="any",
        description="`exact`: the calls must come in this order, with any others in between.",
    )
    state: dict[str, _JMESPath] = Field(
        default_factory=dict,
        description="`GET /path`: a JMESPath expression that must be true of the final response.",
        json_schema_extra={"propertyNames": {"pattern": "^GET /"}},
    )

    @field_validator("state")
    @classmethod
    def _check_requests(cls, state: dict[str, str]) -> dict[str, str]:
        for request in state:
            if not request.startswith(f"{_READ}/"):
                raise ValueError(f"{request!r:.100} is not of the form 'GET /path'.")
        return state


class Prohibitions(Table):
    """What must not happen; a refused attempt counts, too."""

    tools: list[_Name] = Field(
        default_factory=list, description="Names of tools, or patterns with `*`, `?` and `[…]`."
    )
    writes: _Switch = Field(
        default=True, description="Whether calls that change something are allowed."
    )
    calls: _Number | None = Field(
        default=None, description="Maximum number of calls; 100 by default."
    )


class CaseLimits(Table):
    """When a run is ended."""

    turns: _Positive | None = Field(
        default=None, description="Maximum number of messages of the model; 20 by default."
    )
    tokens: _Positive | None = Field(
        default=None, description="Maximum tokens of input and output, without definitions."
    )


class EvalCase(Table):
    """A task, what must happen, and what must not."""

    name: _Name
    task: _Name = Field(description="What the model is asked to do.")
    expect: Expectations = Field(default_factory=Expectations)
    forbid: Prohibitions = Field(default_factory=Prohibitions)
    limits: CaseLimits = Field(default_factory=CaseLimits)
    approve: _Switch = Field(default=True, description="The reply to every request for approval.")


class CaseFile(Table):
    """A file of cases for `openapi-tools eval`."""

    cases: list[EvalCase] = Field(min_length=1)


def cases_schema() -> dict[str, Any]:
    """Return the JSON Schema of a file of cases, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **CaseFile.model_json_schema(),
    }
