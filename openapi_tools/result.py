"""What a call gives back."""

from __future__ import annotations

import json
import operator
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi_tools.content_blocks import ImageContent, TextContent
    from openapi_tools.errors import ErrorType
    from openapi_tools.redaction import Redactor

_NOT_MODIFIED = 304


class ToolResult(BaseModel):
    """The answer to one call, for a model to read.

    `str(result)` is the string for the model: JSON for objects and arrays, a string as it is, the
    message for an error, a word where there is no output; then, after an empty line, the
    `header_note`, where there is one.

    Attributes:
        success: The API did what was asked.
        output: The answer as JSON-native data; for an error, its message.
        error: None, or `message` and `type` (one of `errors.ERROR_TYPES`) and, where known,
            `status`, `retryable`, `retry_after` (seconds) and `body` (the API's own words).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    success: bool = True
    output: Any = None
    error: dict[str, Any] | None = None

    _tool_call_id: str = PrivateAttr(default="")
    _metadata: dict[str, Any] = PrivateAttr(default_factory=dict)
    _header_note: str = PrivateAttr(default="")

    @classmethod
    def ok(
        cls, output: Any, metadata: dict[str, Any] | None = None, *, header_note: str = ""
    ) -> ToolResult:
        """Return a result that succeeded."""
        return cls._made(metadata, header_note, success=True, output=output, error=None)

    @classmethod
    def failed(
        cls,
        kind: ErrorType,
        message: str,
        *,
        metadata: dict[str, Any] | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> ToolResult:
        """Return a result that failed.

        Args:
            kind: The error's type.
            message: For the model: what happened, what is allowed, what to try.
            metadata: As in `metadata`.
            facts: Further members of `error`; those that are None are left out.
        """
        known = {name: value for name, value in (facts or {}).items() if value is not None}
        error = {"message": message, "type": kind, **known}
        return cls._made(metadata, success=False, output=message, error=error)

    @classmethod
    def _made(cls, metadata: dict[str, Any] | None, header_note: str = "", **members: Any) -> Self:
        """Return an instance, as `model_construct` does; that takes five times as long."""
        made = cls.__new__(cls)
        set_member = object.__setattr__
        set_member(made, "__dict__", members)
        set_member(made, "__pydantic_fields_set__", {*members})
        set_member(made, "__pydantic_extra__", None)
        facts = {} if metadata is None else metadata
        noted = {"_tool_call_id": "", "_metadata": facts, "_header_note": header_note}
        set_member(made, "__pydantic_private__", noted)
        return made

    def with_facts(self, metadata: dict[str, Any], header_note: str = "") -> Self:
        """Note facts about the answer, and return the result itself."""
        self._noted().update(_metadata=metadata, _header_note=header_note)
        return self

    def _noted(self) -> dict[str, Any]:
        """Return the values of the private members, which pydantic's own way is slow to set."""
        if self.__pydantic_private__ is None:  # made by `model_construct` of a subclass, say
            self.model_post_init(None)
        noted: dict[str, Any] = self.__pydantic_private__  # type: ignore[assignment] # set now
        return noted

    @property
    def is_error(self) -> bool:
        """Whether the call failed."""
        return not self.success

    @property
    def tool_call_id(self) -> str:
        """The `_tool_call_id` of the input; empty when it had none."""
        return self._tool_call_id

    @property
    def metadata(self) -> dict[str, Any]:
        """Facts about the answer: `status`, `media_type`, `headers`, `elapsed` (s) and more.

        docs/python.md lists the keys. It is empty when there was no answer.
        """
        return self._metadata

    @property
    def header_note(self) -> str:
        """One line on what only headers tell: a next page, totals, where a new resource is."""
        return self._header_note

    def for_call(self, tool_call_id: str) -> ToolResult:
        """Note which call this answers, and return the result itself."""
        self._noted()["_tool_call_id"] = tool_call_id
        return self

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: texts, and images as images."""
        from openapi_tools.content_blocks import contents_of

        return contents_of(self.output, self._text(), self.header_note)

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model, and what headers add to it."""
        return "\n\n".join(filter(None, (self._text(), self.header_note)))

    def _text(self) -> str:
        """Return the output as text, which is never empty: providers refuse that."""
        if self.output is None:
            return self._word()
        if isinstance(self.output, str):
            return self.output or self._word()
        from openapi_tools.content_blocks import images_in_words

        return images_in_words(self.output) or json.dumps(self.output, ensure_ascii=False)

    def _word(self) -> str:
        """Return what is said where there is no output."""
        if not self.success:
            return str((self.error or {}).get("message") or "Failed")
        return "Not modified" if self._metadata.get("status") == _NOT_MODIFIED else "Success"

    def __str__(self) -> str:
        return self.get_serialized_output()


def without_secrets(result: ToolResult, redactor: Redactor) -> ToolResult:
    """Return a result without the secrets that are known; itself when it holds none.

    Args:
        result: Whatever a call ends in.
        redactor: Knows the secrets.
    """
    if not redactor:
        return result
    parts = [result.output, result.error, result.metadata, result.header_note]
    clean = [redactor.data(part) for part in parts]
    if all(map(operator.is_, clean, parts)):
        return result
    output, error, *facts = clean
    other = type(result).model_construct(success=result.success, output=output, error=error)
    return other.with_facts(*facts).for_call(result.tool_call_id)
