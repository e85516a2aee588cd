"""The successful calls of a record as a workflow, whose steps pass values on.

Spec: Arazzo 1.1.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from openapi_tools.common.arazzo import VERSION, make_identifier
from openapi_tools.common.json_values import as_dict, join_pointer
from openapi_tools.errors import SourceError
from openapi_tools.learning.exchange_routes import find_route, list_routes
from openapi_tools.learning.workflow_steps import StepWriter
from openapi_tools.toolsets.document_info import document_pointer

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_tools.learning.evidence import Evidence
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_SUCCESS = range(200, 300)
_LONGEST_SUMMARY = 400


@dataclass(slots=True)
class RecordedWorkflow:
    """A workflow, and what of its record it leaves out.

    Attributes:
        document: The Arazzo document.
        link_count: Number of values that come from earlier responses.
        unmatched: Successful exchanges that fit no operation, as `file:entry`.
        undeclared: Query parameters that the step's operation does not declare, as `step: names`.
    """

    document: dict[str, Any]
    link_count: int = 0
    unmatched: list[str] = field(default_factory=list)
    undeclared: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The step objects of the workflow."""
        steps: list[dict[str, Any]] = self.document["workflows"][0]["steps"]
        return steps

    @property
    def inputs(self) -> dict[str, Any]:
        """The schemas of the workflow's inputs, by name."""
        properties: dict[str, Any] = as_dict(
            as_dict(self.document["workflows"][0].get("inputs")).get("properties")
        )
        return properties


def make_workflow(
    toolset: Toolset,
    evidence: Evidence,
    *,
    name: str,
    source_url: str,
    summarize: Callable[[OperationTool], str],
) -> RecordedWorkflow:
    """Return the successful calls of a record as a workflow, in order.

    Args:
        toolset: All tools of the document.
        evidence: The record.
        name: The workflow's name, which becomes its `workflowId`.
        source_url: The URL of the OpenAPI document, or its path relative to the workflow.
        summarize: Returns what a tool does, in one line.

    Raises:
        SourceError: No successful call belongs to an operation of the document.
    """
    writer = StepWriter(toolset, summarize)
    unmatched = []
    routes, tools = list_routes(toolset), {document_pointer(tool): tool for tool in toolset}
    for exchange in evidence.exchanges:
        if exchange.status not in _SUCCESS:
            continue
        route = find_route(routes, exchange)
        tool = None if route is None else tools.get(join_pointer(route.pointer))
        if route is None or tool is None:
            unmatched.append(exchange.source)
            continue
        try:
            writer.add_step(tool, exchange, route)
        except RecursionError:
            raise SourceError("is nested too deeply.", source=exchange.source) from None
    if not writer.steps:
        raise SourceError(_explain_missing_steps(evidence, unmatched), source="--from")
    document = _make_document(writer, make_identifier(name, "workflow"), source_url)
    return RecordedWorkflow(document, writer.links.count, unmatched, writer.undeclared)


def _explain_missing_steps(evidence: Evidence, unmatched: list[str]) -> str:
    if unmatched:
        return f"no successful call fits an operation of SPEC; the first is {unmatched[0]}."
    if evidence.exchanges:
        return "no recorded call succeeded."
    return "there are no calls with requests and responses; an audit log has none."


def _make_document(writer: StepWriter, name: str, source_url: str) -> dict[str, Any]:
    workflow: dict[str, Any] = {
        "workflowId": name,
        "summary": f"Calls of {', '.join(dict.fromkeys(writer.tool_names))}."[:_LONGEST_SUMMARY],
        "description": " ".join(writer.descriptions),
    }
    if inputs := writer.links.inputs:
        workflow["inputs"] = {"type": "object", "properties": inputs, "required": list(inputs)}
    return {
        "arazzo": VERSION,
        "info": {"title": "Recorded by `openapi-tools learn`", "version": "1.0.0"},
        "sourceDescriptions": [{"name": "api", "url": source_url, "type": "openapi"}],
        "workflows": [{**workflow, "steps": writer.steps}],
    }
