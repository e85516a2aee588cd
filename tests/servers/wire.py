"""From a document and arguments to the bytes that a server sees, through the public names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools import Settings, load_tools

if TYPE_CHECKING:
    import httpx
    from servers.recorder import Recorded, Recorder

    from openapi_tools import ToolResult


class Wire:
    def __init__(self, recorder: Recorder, client: httpx.AsyncClient) -> None:
        self.recorder = recorder
        self.client = client

    async def execute(
        self, document: dict[str, Any], arguments: dict[str, Any], **options: Any
    ) -> ToolResult:
        """Return the result of the call.

        Args:
            document: Has one operation.
            arguments: By the document's names of parameters and properties; `"part: X-Name"` is the
                header of a part.
            options: Settings, or `credentials`.
        """
        credentials = options.pop("credentials", None)
        settings = Settings(**{"base_url": self.recorder.url, **options})
        toolset = load_tools(
            document, settings=settings, client=self.client, credentials=credentials
        )
        assert not toolset.skipped
        (tool,) = toolset
        names = argument_names(tool.operation)
        return await tool.execute({names.get(name, name): v for name, v in arguments.items()})

    async def send(
        self, document: dict[str, Any], arguments: dict[str, Any], **options: Any
    ) -> Recorded:
        before = len(self.recorder.requests)
        result = await self.execute(document, arguments, **options)
        assert result.success, str(result)
        assert len(self.recorder.requests) == before + 1
        return self.recorder.last

    async def refuse(
        self, document: dict[str, Any], arguments: dict[str, Any], **options: Any
    ) -> dict[str, Any]:
        before = len(self.recorder.requests)
        result = await self.execute(document, arguments, **options)
        assert not result.success
        assert len(self.recorder.requests) == before
        assert result.error is not None
        return result.error


def argument_names(operation):
    names = {parameter.name: parameter.argument for parameter in operation.parameters}
    for encoding in operation.body.encodings if operation.body else ():
        names |= {f"{encoding.name}: {h.name}": h.argument for h in encoding.headers}
    return names
