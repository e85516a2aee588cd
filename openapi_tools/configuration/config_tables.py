"""The tables of a configuration file, checked by pydantic."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal, NoReturn

from pydantic import AfterValidator, BaseModel, Field, field_validator
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit

from openapi_tools.common.http_rules import is_media_type, is_wildcard
from openapi_tools.common.options import find_variables
from openapi_tools.common.setting_fields import setting
from openapi_tools.configuration.tool_shape import ArgumentShape, ToolShape
from openapi_tools.model import AnswerShape, Paging
from openapi_tools.responses.response_tables import Answers, Table, ToolAnswers
from openapi_tools.settings import Settings


def _check_json_value(value: Any) -> Any:
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"JSON cannot express this value ({error!s:.100}).") from None
    return value


class _FileSchema(GenerateJsonSchema):
    # A file cannot hold a function: a setting may lose one of its types, as `approve_for` does.
    def callable_schema(self, schema: Any) -> NoReturn:  # noqa: ARG002 -- pydantic's signature
        raise PydanticOmit


def _describe_settings(schema: dict[str, Any]) -> None:
    whole = Settings.model_json_schema(schema_generator=_FileSchema)
    schema["properties"] = {
        name: {**part, "description": setting(name).text}
        for name, part in whole["properties"].items()
        if not setting(name).python_only
    }
    schema["additionalProperties"] = False


_Value = Annotated[Any, AfterValidator(_check_json_value)]
_Seconds = Annotated[float, Field(allow_inf_nan=False)]


class PagesTable(Table):
    """How the next page is asked for; `items` and `next` are JMESPath."""

    style: Literal["page", "offset", "cursor", "limit", "link"]
    argument: str = ""
    size: str = ""
    items: str = ""
    next: str = ""


class ArgumentTable(Table):
    """A new name or description of an argument."""

    name: str = ""
    description: str = ""


class ToolTable(Table):
    """How one tool is shaped; docs/shaping.md describes each key."""

    name: str = ""
    description: str = ""
    hide: tuple[str, ...] = ()
    fixed: dict[str, _Value] = Field(default_factory=dict)
    defaults: dict[str, _Value] = Field(default_factory=dict)
    arguments: dict[str, ArgumentTable] = Field(default_factory=dict)
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None
    timeout: _Seconds | None = Field(default=None, gt=0)
    wait: _Seconds | None = Field(default=None, ge=0)
    media_type: str | tuple[str, ...] = ()
    answer: ToolAnswers | None = None
    pages: PagesTable | None = None

    @field_validator("media_type")
    @classmethod
    def _check_media_type(cls, media_types: str | tuple[str, ...]) -> str | tuple[str, ...]:
        if media_types == ():
            raise ValueError("an empty list names no media type; remove the key.")
        for kind in (media_types,) if isinstance(media_types, str) else media_types:
            if not is_media_type(kind) or is_wildcard(kind):
                raise ValueError(f"{kind!r:.60} is not a media type such as 'application/json'.")
        return media_types

    def create_shape(self, prefix: str) -> ToolShape:
        """Return the table as a shape, with the prefix before a new name."""
        kinds = (self.media_type,) if isinstance(self.media_type, str) else self.media_type
        names = ("description", "hide", "fixed", "defaults", "timeout", "wait")
        return ToolShape(
            **{name: getattr(self, name) for name in names},
            name=prefix + self.name if self.name else "",
            arguments={n: ArgumentShape(a.name, a.description) for n, a in self.arguments.items()},
            hints=self._hints(),
            media_types=kinds,
            answer=None if self.answer is None else AnswerShape(**self.answer.model_dump()),
            paging=None if self.pages is None else Paging(**self.pages.model_dump()),
        )

    def _hints(self) -> dict[str, bool]:
        implied = {"idempotent": True, "destructive": False} if self.read_only else {}
        hints = {n: getattr(self, n) for n in ("read_only", "destructive", "idempotent")}
        return {**implied, **{name: value for name, value in hints.items() if value is not None}}


class SelectTable(Table):
    """The operations that become tools, by the document's names, with the conditions of `Select`.

    An absent key sets no limit; an empty list takes no operation.
    """

    tags: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    paths: tuple[str, ...] | None = None
    deprecated: bool | None = None
    read_only: bool | None = None
    exclude: SelectTable | None = None


class Configuration(Table):
    """The root table of a configuration file; docs/shaping.md describes each key."""

    source: str = ""
    overlays: tuple[str, ...] = ()
    prefix: str = ""
    base_url: str = ""
    read_only: bool = False
    select: SelectTable | None = None
    credentials: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict, json_schema_extra=_describe_settings)
    answers: Answers | None = None
    tools: dict[str, ToolTable] = Field(default_factory=dict)
    lock: str = ""
    policy: Literal["note", "quarantine", "refuse"] = "quarantine"

    @field_validator("credentials")
    @classmethod
    def _check_credentials(cls, credentials: dict[str, Any]) -> dict[str, Any]:
        for name, value in credentials.items():
            if not find_variables(value):
                reason = "must name an environment variable, '${NAME}', instead of a secret."
                raise ValueError(f"{name!r:.60} {reason}")
        return credentials


TABLES: dict[str, type[BaseModel]] = {
    "answer": ToolAnswers,
    "answers": Answers,
    "pages": PagesTable,
}
TABLES |= {"arguments": ArgumentTable, "tools": ToolTable}
TABLES |= dict.fromkeys(("exclude", "select"), SelectTable)  # those inside the file, by their keys
