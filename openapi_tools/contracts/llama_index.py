"""LlamaIndex: each tool as a `FunctionTool`.

LlamaIndex keeps only some keywords of the schema of a pydantic class. Here the class and the
metadata return the tool's whole schema.
"""

from __future__ import annotations

from base64 import b64decode
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from openapi_tools.common.visible_text import truncate_text
from openapi_tools.errors import require_extra
from openapi_tools.providers.definitions import write_brief_definition
from openapi_tools.result import context_for
from openapi_tools.toolsets.adapters import make_blocks, warn_about_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi_tools.result import ToolResult
    from openapi_tools.tools.tool import OperationTool

with require_extra("llama-index"):
    from llama_index.core.async_utils import asyncio_run
    from llama_index.core.base.llms.types import ImageBlock, TextBlock
    from llama_index.core.tools import FunctionTool, ToolMetadata, ToolOutput

_LONGEST = 1024  # characters; LlamaIndex refuses longer ones when it calls OpenAI's models


def to_tools(toolset: Iterable[OperationTool], *, context: Any = None) -> list[FunctionTool]:
    """Return tools as `FunctionTool`s for `FunctionAgent(tools=…)` and other agents.

    A call returns a `ToolOutput` with blocks of text and images, `is_error`, and the `ToolResult`
    as `raw_output`.

    Args:
        toolset: A toolset, or any of its tools.
        context: A `Context` for all calls, or a function, sync or async, that returns the one of a
            call.
    """
    warn_about_tokens(toolset)
    return [LlamaIndexTool(tool, context) for tool in toolset]


class LlamaIndexTool(FunctionTool):
    """A tool of a document as a tool of LlamaIndex."""

    def __init__(self, tool: OperationTool, context: Any) -> None:
        async def call(**arguments: Any) -> ToolResult:
            return await tool.execute(arguments, context=await context_for(context))

        super().__init__(async_fn=call, metadata=_make_metadata(tool))

    # Arguments may have any name, `self` too.
    def __call__(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override] # no others
        """Call the API, from code that is not async."""
        output: ToolOutput = asyncio_run(self.acall(**arguments))
        return output

    call = __call__

    async def acall(self, /, **arguments: Any) -> ToolOutput:  # type: ignore[override] # as above
        """Call the API."""
        arguments = {**self.partial_params, **arguments}
        result = await self.async_fn(**arguments)
        return ToolOutput(
            tool_name=self.metadata.get_name(),
            blocks=make_blocks(result, lambda text: TextBlock(text=text), _make_image),
            raw_input={"args": (), "kwargs": arguments},
            raw_output=result,
            is_error=result.is_error,
        )


class OperationMetadata(ToolMetadata):
    """A tool's name, description and schema for models."""

    def get_parameters_dict(self) -> dict[str, Any]:
        """Return a copy of the schema that the model sees, as clients of providers change it."""
        arguments: Any = self.fn_schema
        schema: dict[str, Any] = arguments.model_json_schema()
        return schema


def _make_metadata(tool: OperationTool) -> ToolMetadata:
    description, schema = write_brief_definition(tool, "openai")

    class ToolArguments(BaseModel):
        model_config = ConfigDict(title=tool.name, extra="allow")

        @classmethod
        def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
            return deepcopy(schema)

    return OperationMetadata(
        name=tool.name, description=truncate_text(description, _LONGEST), fn_schema=ToolArguments
    )


def _make_image(data: str, media_type: str) -> ImageBlock:
    return ImageBlock(image=b64decode(data), image_mimetype=media_type)
