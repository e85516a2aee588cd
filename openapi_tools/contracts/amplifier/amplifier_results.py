"""Results as subclass of Amplifier's `ToolResult`, readable under every orchestrator."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any, Self

from pydantic import PrivateAttr, model_serializer

from openapi_tools.contracts import requiring
from openapi_tools.result import ImageContent, ToolResult, contents_of

if TYPE_CHECKING:
    from openapi_tools.result import TextContent

with requiring("amplifier"):
    from amplifier_core import ToolResult as CoreResult


def translated(result: ToolResult) -> Any:
    """Return a result as the `ToolResult` of `amplifier_core`."""
    try:
        return _translated(result)
    except (TypeError, ValueError, RecursionError) as error:
        # A guardrail may return an output that is not JSON.
        reason = f"the result cannot be shown ({type(error).__name__})."
        failed = ToolResult.failed("protocol", reason, metadata=result.metadata)
        return _translated(failed.for_call(result.tool_call_id))


def _translated(result: ToolResult) -> Any:
    contents, shown = result.as_content(), result.output
    blocks = None
    if any(isinstance(part, ImageContent) for part in contents):
        shown = "\n".join(map(str, contents_of(result.output, "")))
        blocks = list(map(_block, contents))
    # The message has the API's own words already; as `body` they would be shown twice.
    error = result.error and {key: result.error[key] for key in result.error if key != "body"}
    made = AmplifierResult(success=result.success, output=shown, error=error, content=blocks)
    str(made)  # raises for values that are not JSON
    return made.made_of(result)


def _block(part: Any) -> dict[str, Any]:
    if not isinstance(part, ImageContent):
        return {"type": "text", "text": part.text}
    source = {"type": "base64", "media_type": part.media_type, "data": part.data}
    return {"type": "image", "source": source}


class _Views:
    """Members of our results beyond the fields of `amplifier_core`."""

    _origin: ToolResult | None
    success: bool
    output: Any
    error: dict[str, Any] | None

    def made_of(self, origin: ToolResult | None) -> Self:
        """Set the original result and return this one."""
        self._origin = origin
        return self

    @property
    def is_error(self) -> bool:
        return not self.success

    @property
    def tool_call_id(self) -> str:
        """The id of the call, where input or coordinator told it."""
        return "" if self._origin is None else self._origin.tool_call_id

    @property
    def metadata(self) -> dict[str, Any]:
        """Facts about the answer."""
        return {} if self._origin is None else self._origin.metadata

    @property
    def header_note(self) -> str:
        """One line about facts in headers only."""
        return "" if self._origin is None else self._origin.header_note

    def as_content(self) -> list[TextContent | ImageContent]:
        """Return the result as contents for a model: texts, and images as images."""
        return (self._origin or ToolResult.ok(self.output)).as_content()

    def get_serialized_output(self) -> str:
        """Return the output as a string for a model.

        The package's own method removes the control characters that providers refuse, and has a
        text for empty results; alone, it would escape every letter beyond ASCII in JSON.
        """
        ours = ToolResult.ok(self.output, self.metadata, header_note=self.header_note)
        text = "" if self.output is None and not self.success else str(ours)
        shown = CoreResult(output=text).get_serialized_output()
        return str(
            shown or CoreResult(success=self.success, error=self.error).get_serialized_output()
        )

    def __str__(self) -> str:
        return self.get_serialized_output()


class AmplifierResult(_Views, CoreResult):  # type: ignore[misc]  # it ships no types
    """A result that is readable under every orchestrator.

    loop-basic shows the model `str(result)`, or `to_dict()` where that exists; so it does not.
    loop-streaming shows it `model_dump()`, as JSON if that is an object or an array.
    """

    _origin: ToolResult | None = PrivateAttr(default=None)

    def model_copy(self, *, update: dict[str, Any] | None = None, deep: bool = False) -> Any:
        """Return a copy with the images, which a dump leaves out."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        data = {**(deepcopy(fields) if deep else fields), **(update or {})}
        return type(self).model_validate(data).made_of(self._origin)

    def model_dump(self, **options: Any) -> Any:
        """Return the output for a model; with any option the fields, as pydantic does."""
        if options:
            return super().model_dump(**options)
        whole = isinstance(self.output, dict | list) and not self.header_note
        return self.output if whole else str(self)

    @model_serializer(mode="wrap")
    def serialize_model(self, handler: Any, info: Any) -> Any:
        """Leave out empty and repeated members, and images."""
        dump = handler(self)
        if not self.content or info.mode == "python":
            dump.pop("content", None)
        if self.error is None:
            dump.pop("error", None)
        elif self.output == self.error.get("message"):
            dump.pop("output", None)
        return dump
