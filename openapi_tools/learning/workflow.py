"""Write recorded successful calls as a workflow whose steps pass values on.

Spec: Arazzo 1.1.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from openapi_tools.common.arazzo import VERSION, holds_expression, make_identifier
from openapi_tools.common.http_rules import is_multipart
from openapi_tools.common.json_values import as_dict, as_string, dump_json, join_pointer
from openapi_tools.common.visible_text import strip_hidden, truncate_text
from openapi_tools.errors import SourceError
from openapi_tools.learning.evidence import NO_JSON
from openapi_tools.learning.lessons import find_route, list_routes
from openapi_tools.learning.value_origins import Origin, SentValue, ValueOrigins
from openapi_tools.redaction import MASK, redact_data
from openapi_tools.testing.recording import read_parameters
from openapi_tools.toolsets.document_info import document_pointer
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi_tools.conformance.routes import Route
    from openapi_tools.learning.evidence import Evidence, RecordedExchange
    from openapi_tools.learning.schema_places import Keys
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_SUCCESS = range(200, 300)
_LONGEST_VALUE = 80
_LONGEST_LINE = 400


@dataclass(slots=True)
class RecordedWorkflow:
    """A workflow, and what its record shows.

    Attributes:
        document: The Arazzo document.
        links: How many values come from earlier responses.
        unmatched: Successful exchanges that fit no operation, as `file:entry`.
        unread: Query parameters that no operation declares, as `step: names`; they are left out.
    """

    document: dict[str, Any]
    links: int = 0
    unmatched: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps."""
        steps: list[dict[str, Any]] = self.document["workflows"][0]["steps"]
        return steps

    @property
    def inputs(self) -> dict[str, Any]:
        """The schemas of the inputs by name."""
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
    """Return the successful calls of a record as a workflow, in their order.

    Args:
        toolset: All tools of the document.
        evidence: The record.
        name: Of the workflow.
        source_url: Where the document is.
        summarize: Returns what a tool does, in a line.

    Raises:
        SourceError: No successful call belongs to an operation of the document.
    """
    writer = _StepWriter(toolset, summarize)
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
        raise SourceError(_explain_absence(evidence, unmatched), source="--from")
    document = _make_document(writer, make_identifier(name, "workflow"), source_url)
    return RecordedWorkflow(document, writer.links, unmatched, writer.unread)


def _explain_absence(evidence: Evidence, unmatched: list[str]) -> str:
    if unmatched:
        return f"no successful call fits an operation of SPEC; the first is {unmatched[0]}."
    if evidence.exchanges:
        return "no recorded call succeeded."
    return "there are no calls with requests and responses; an audit log has none."


def _make_document(writer: _StepWriter, name: str, source_url: str) -> dict[str, Any]:
    workflow: dict[str, Any] = {
        "workflowId": name,
        "summary": f"Calls of {', '.join(dict.fromkeys(writer.tool_names))}."[:_LONGEST_LINE],
        "description": " ".join(writer.lines),
    }
    if writer.inputs:
        names = list(writer.inputs)
        workflow["inputs"] = {"type": "object", "properties": writer.inputs, "required": names}
    return {
        "arazzo": VERSION,
        "info": {"title": "Recorded by `openapi-tools learn`", "version": "1.0.0"},
        "sourceDescriptions": [{"name": "api", "url": source_url, "type": "openapi"}],
        "workflows": [{**workflow, "steps": writer.steps}],
    }


class _StepWriter:
    """Writes one step after the other, and links the values of each to earlier responses."""

    def __init__(self, toolset: Toolset, summarize: Callable[[OperationTool], str]) -> None:
        self._toolset, self._summarize = toolset, summarize
        ids = [entry.operation_id for entry in (*toolset, *toolset.skipped)]
        self._unique_ids = {text for text in ids if text and ids.count(text) == 1}
        self._origins = ValueOrigins()
        self._steps_by_id: dict[str, dict[str, Any]] = {}
        self.inputs: dict[str, Any] = {}
        self.lines: list[str] = []
        self.tool_names: list[str] = []
        self.unread: list[str] = []
        self.links = 0

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The steps so far."""
        return list(self._steps_by_id.values())

    def add_step(self, tool: OperationTool, exchange: RecordedExchange, route: Route) -> None:
        """Add the step of an exchange."""
        step_id = _next_name(make_identifier(tool.name, "step"), self._steps_by_id)
        step: dict[str, Any] = {"stepId": step_id, **self._name_operation(tool)}
        producers = self._toolset.producers(tool.name)
        fields = _StepFields(self, tool, len(self._steps_by_id), producers)
        sent = read_parameters(tool, read_url(exchange.url), route)
        arguments = tool.marked_values.hide_arguments(sent)
        if parameters := list(fields.write_parameters(arguments)):
            step["parameters"] = parameters
        if body := fields.write_body(exchange.request_body):
            step["requestBody"] = body
        step["successCriteria"] = [{"condition": f"$statusCode == {exchange.status}"}]
        self._steps_by_id[step_id] = step
        if exchange.body is not NO_JSON:
            self._origins.add_response(fields.number, step_id, tool.name, exchange.body)
        self._note_unread(tool, exchange.url, step_id)
        self.tool_names.append(tool.name)
        self.lines.append(_describe_step(self._summarize(tool), fields.constants))

    def find_origin(self, sent: SentValue) -> Origin | None:
        """Return where a value comes from."""
        return self._origins.find_origin(sent)

    def add_constant(self, number: int, name: str, value: Any) -> None:
        """Note a value that a step sends, and no response has yielded."""
        self._origins.add_constant(number, name, value)

    def refer_to_output(self, origin: Origin) -> str:
        """Return the expression of a value of an earlier response, which becomes an output."""
        outputs = self._steps_by_id[origin.step].setdefault("outputs", {})
        pointer = join_pointer(origin.keys)
        expression = f"$response.body#{pointer}" if pointer else "$response.body"
        names = {text: output for output, text in outputs.items()}
        if expression not in names:
            name = _next_name(make_identifier(origin.name, "body"), outputs)
            outputs[name], names[expression] = expression, name
        self.links += 1
        return f"$steps.{origin.step}.outputs.{names[expression]}"

    def refer_to_input(self, name: str, schema: Any) -> str:
        """Return the expression of an input, which is added."""
        name = make_identifier(name, "value")
        kind = as_string(as_dict(schema).get("type"))
        self.inputs.setdefault(name, {"type": kind} if kind else {})
        return f"$inputs.{name}"

    def _name_operation(self, tool: OperationTool) -> dict[str, Any]:
        operation_id = tool.operation_id
        if operation_id in self._unique_ids and not holds_expression(operation_id):
            return {"operationId": operation_id}
        # Braces would end the expression, so they are escaped as in the fragment of a URI.
        pointer = quote(document_pointer(tool), safe="/~!$&'()*+,;=:@")
        return {"operationPath": f"{{$sourceDescriptions.api.url}}#{pointer}"}

    def _note_unread(self, tool: OperationTool, url: str, step_id: str) -> None:
        names = {part.name for part in tool.operation.parameters if part.location == "query"}
        names |= dict(parse_qsl(tool.path.partition("?")[2])).keys()
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
        unread = [name for name, value in pairs if name not in names and value != MASK]
        if unread:
            self.unread.append(f"{step_id}: {', '.join(unread)}")


class _StepFields:
    """The parameters and the body of one step; `constants` has what no expression stands for."""

    def __init__(
        self,
        writer: _StepWriter,
        tool: OperationTool,
        number: int,
        producers: dict[str, tuple[str, ...]],
    ) -> None:
        self._writer, self._tool, self.number = writer, tool, number
        self._schemas = as_dict(tool.input_schema.get("properties"))
        self._producers = producers
        self._symbols = frozenset(_iter_symbols(tool.input_schema))
        self.constants: dict[str, Any] = {}

    def write_parameters(self, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the parameters: those that were read, and those that the record lacks."""
        required = self._tool.input_schema.get("required", ())
        for part in self._tool.operation.parameters:
            where = {"name": part.name, "in": part.location}
            schema = self._schemas.get(part.argument)
            if part.argument in arguments:
                sent = SentValue(
                    part.name,
                    None,
                    in_url=True,
                    is_path=part.location == "path",
                    producers=self._producers.get(part.argument, ()),
                )
                value = arguments[part.argument]
                yield where | {"value": self._write_value(value, sent, schema, (part.name,))}
            elif part.argument in required:
                yield where | {"value": self._writer.refer_to_input(part.name, schema)}

    def write_body(self, recorded: Any) -> dict[str, Any]:
        """Return the body; empty if none was sent."""
        body = self._tool.operation.body
        if body is None or recorded is None:
            return {}
        is_bytes = isinstance(recorded, dict) and recorded.keys() == {"base64"}
        if is_bytes or is_multipart(body.media_type):
            # Neither bytes nor the random boundary of a form say what was sent.
            return {
                "contentType": body.media_type,
                "payload": self._writer.refer_to_input("body", None),
            }
        payload = redact_data(recorded, self._tool.marked_values.body)
        sent = SentValue(body.argument or "body", None)
        return {"contentType": body.media_type, "payload": self._write_value(payload, sent, None)}

    def _write_value(self, value: Any, sent: SentValue, schema: Any, keys: Keys = ()) -> Any:
        if isinstance(value, dict):
            return {
                key: self._write_value(
                    part,
                    sent._replace(name=key, producers=self._producers.get(key, ())),
                    self._schemas.get(key) if not keys else None,
                    (*keys, key),
                )
                for key, part in value.items()
            }
        if isinstance(value, list):
            return [
                self._write_value(part, sent, schema, (*keys, at)) for at, part in enumerate(value)
            ]
        return self._write_scalar(sent._replace(value=value), schema, keys)

    def _write_scalar(self, sent: SentValue, schema: Any, keys: Keys) -> Any:
        value = sent.value
        # What is masked is not known, and what looks like an expression would be evaluated.
        if isinstance(value, str) and (MASK in value or holds_expression(value)):
            return self._writer.refer_to_input(sent.name, schema)
        origin = None if value in self._symbols else self._writer.find_origin(sent)
        if origin is not None:
            return self._writer.refer_to_output(origin)
        self._writer.add_constant(self.number, sent.name, value)
        self.constants[join_pointer(keys or (sent.name,))[1:]] = value
        return value


def _next_name(name: str, names: Any) -> str:
    number, candidate = 1, name
    while candidate in names:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _iter_symbols(schema: Any) -> Iterator[str]:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield from (item for item in node.get("enum", ()) if isinstance(item, str))
            stack += node.values()
        elif isinstance(node, list):
            stack += node


def _describe_step(summary: str, constants: dict[str, Any]) -> str:
    values = ", ".join(f"{name} {_show_value(value)}" for name, value in constants.items())
    text = f"{summary.rstrip('.')}: {values}." if values else f"{summary.rstrip('.')}."
    return truncate_text(" ".join(strip_hidden(text).split()), _LONGEST_LINE)


def _show_value(value: Any) -> str:
    text = value if isinstance(value, str) else dump_json(value)
    return truncate_text(text, _LONGEST_VALUE)
