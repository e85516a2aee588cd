"""The steps of a recorded workflow: each argument is a link, an input or a constant.

Spec: Arazzo 1.1.0, section Step Object.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

from openapi_tools.common.arazzo import holds_expression, make_identifier
from openapi_tools.common.http_rules import is_multipart
from openapi_tools.common.json_values import as_dict, as_string, dump_json, join_pointer
from openapi_tools.common.visible_text import strip_hidden, truncate_text
from openapi_tools.learning.evidence import NO_JSON
from openapi_tools.learning.value_origins import Origin, SentValue, ValueOrigins
from openapi_tools.redaction import MASK, redact_data
from openapi_tools.testing.recording import read_parameters
from openapi_tools.toolsets.document_info import document_pointer
from openapi_tools.transport.urls import read_url

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator

    from openapi_tools.conformance.routes import Route
    from openapi_tools.learning.evidence import RecordedExchange
    from openapi_tools.learning.schema_places import Keys
    from openapi_tools.tools.tool import OperationTool
    from openapi_tools.toolsets.toolset import Toolset

_LONGEST_VALUE = 80
_LONGEST_DESCRIPTION = 400


class ValueLinks:
    """The expressions that stand for values: outputs of earlier steps, and inputs.

    Attributes:
        steps: The step objects so far, by `stepId`.
        inputs: The schemas of the workflow's inputs, by name.
        count: Number of values that come from an output.
    """

    def __init__(self) -> None:
        self.steps: dict[str, dict[str, Any]] = {}
        self.inputs: dict[str, Any] = {}
        self.count = 0
        self.origins = ValueOrigins()

    def refer_to_output(self, origin: Origin) -> str:
        """Return the expression of a value of an earlier response, which becomes an output."""
        outputs = self.steps[origin.step].setdefault("outputs", {})
        pointer = join_pointer(origin.keys)
        expression = f"$response.body#{pointer}" if pointer else "$response.body"
        names = {text: output for output, text in outputs.items()}
        if expression not in names:
            name = _next_name(make_identifier(origin.name, "body"), outputs, Counter())
            outputs[name], names[expression] = expression, name
        self.count += 1
        return f"$steps.{origin.step}.outputs.{names[expression]}"

    def refer_to_input(self, name: str, schema: Any) -> str:
        """Return the expression of an input, and declare it."""
        name = make_identifier(name, "value")
        type_name = as_string(as_dict(schema).get("type"))
        self.inputs.setdefault(name, {"type": type_name} if type_name else {})
        return f"$inputs.{name}"


class StepWriter:
    """Writes the steps of a workflow, in the order of the calls.

    Attributes:
        links: The expressions that the steps use.
        descriptions: What each step does, with its constants, in a sentence.
        tool_names: The tool of each step.
        undeclared: Query parameters that the step's operation does not declare, as `step: names`.
    """

    def __init__(self, toolset: Toolset, summarize: Callable[[OperationTool], str]) -> None:
        self._toolset, self._summarize = toolset, summarize
        ids = Counter(entry.operation_id for entry in (*toolset, *toolset.skipped))
        self._unique_ids = {text for text, count in ids.items() if text and count == 1}
        self._step_numbers: Counter[str] = Counter()
        self.links = ValueLinks()
        self.descriptions: list[str] = []
        self.tool_names: list[str] = []
        self.undeclared: list[str] = []

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The step objects so far."""
        return list(self.links.steps.values())

    def add_step(self, tool: OperationTool, exchange: RecordedExchange, route: Route) -> None:
        """Add the call of an exchange as a step."""
        number = len(self.links.steps)
        step_name = make_identifier(tool.name, "step")
        step_id = _next_name(step_name, self.links.steps, self._step_numbers)
        step: dict[str, Any] = {"stepId": step_id, **self._name_operation(tool)}
        values = _StepValues(self.links, tool, number, self._toolset.producers(tool.name))
        sent = read_parameters(tool, read_url(exchange.url), route)
        arguments = tool.marked_values.hide_arguments(sent)
        if parameters := list(values.write_parameters(arguments)):
            step["parameters"] = parameters
        if body := values.write_body(exchange.request_body):
            step["requestBody"] = body
        step["successCriteria"] = [{"condition": f"$statusCode == {exchange.status}"}]
        self.links.steps[step_id] = step
        if exchange.body is not NO_JSON:
            self.links.origins.add_response(number, step_id, tool.name, exchange.body)
        self._note_undeclared(tool, exchange.url, step_id)
        self.tool_names.append(tool.name)
        self.descriptions.append(_describe_step(self._summarize(tool), values.constants))

    def _name_operation(self, tool: OperationTool) -> dict[str, Any]:
        operation_id = tool.operation_id
        if operation_id in self._unique_ids and not holds_expression(operation_id):
            return {"operationId": operation_id}
        # Braces would end the expression, so they are escaped as in the fragment of a URI.
        pointer = quote(document_pointer(tool), safe="/~!$&'()*+,;=:@")
        return {"operationPath": f"{{$sourceDescriptions.api.url}}#{pointer}"}

    def _note_undeclared(self, tool: OperationTool, url: str, step_id: str) -> None:
        declared = {part.name for part in tool.operation.parameters if part.location == "query"}
        declared |= dict(parse_qsl(tool.path.partition("?")[2])).keys()
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True)
        names = [name for name, value in pairs if name not in declared and value != MASK]
        if names:
            self.undeclared.append(f"{step_id}: {', '.join(names)}")


class _StepValues:
    """The parameters and the body of one step; no earlier step returned its `constants`."""

    def __init__(
        self,
        links: ValueLinks,
        tool: OperationTool,
        number: int,
        producers: dict[str, tuple[str, ...]],
    ) -> None:
        self._links, self._tool, self._number = links, tool, number
        self._schemas = as_dict(tool.input_schema.get("properties"))
        self._producers = producers
        self._enum_values = frozenset(_iter_enum_values(tool.input_schema))
        self.constants: dict[str, Any] = {}

    def write_parameters(self, arguments: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the parameters that were sent; required ones that are not recorded are inputs."""
        required = self._tool.input_schema.get("required", ())
        for part in self._tool.operation.parameters:
            place = {"name": part.name, "in": part.location}
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
                yield place | {"value": self._write_value(value, sent, schema, (part.name,))}
            elif part.argument in required:
                yield place | {"value": self._links.refer_to_input(part.name, schema)}

    def write_body(self, recorded: Any) -> dict[str, Any]:
        """Return the request body object; empty if none was sent."""
        body = self._tool.operation.body
        if body is None or recorded is None:
            return {}
        is_bytes = isinstance(recorded, dict) and recorded.keys() == {"base64"}
        if is_bytes or is_multipart(body.media_type):
            # The record of a multipart body is its bytes, with a random boundary.
            payload: Any = self._links.refer_to_input("body", None)
        else:
            data = redact_data(recorded, self._tool.marked_values.body)
            payload = self._write_value(data, SentValue(body.argument or "body", None), None)
        return {"contentType": body.media_type, "payload": payload}

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
        # A masked value is unknown, and a value that looks like an expression would be evaluated.
        if isinstance(value, str) and (MASK in value or holds_expression(value)):
            return self._links.refer_to_input(sent.name, schema)
        origins = self._links.origins
        # Enum values such as `open` recur in responses by chance.
        origin = None if value in self._enum_values else origins.find_origin(sent)
        if origin is not None:
            return self._links.refer_to_output(origin)
        origins.add_constant(self._number, sent.name, value)
        self.constants[join_pointer(keys or (sent.name,))[1:]] = value
        return value


def _next_name(name: str, names: Container[str], numbers: Counter[str]) -> str:
    # `numbers` has the last one of each name: to try all of them again takes long for many steps.
    candidate = name
    while candidate in names:
        numbers[name] += 1
        candidate = f"{name}_{numbers[name] + 1}"
    return candidate


def _iter_enum_values(schema: Any) -> Iterator[str]:
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield from (item for item in node.get("enum", ()) if isinstance(item, str))
            stack += node.values()
        elif isinstance(node, list):
            stack += node


def _describe_step(summary: str, constants: dict[str, Any]) -> str:
    values = ", ".join(f"{name} {_format_value(value)}" for name, value in constants.items())
    text = f"{summary.rstrip('.')}: {values}." if values else f"{summary.rstrip('.')}."
    return truncate_text(" ".join(strip_hidden(text).split()), _LONGEST_DESCRIPTION)


def _format_value(value: Any) -> str:
    text = value if isinstance(value, str) else dump_json(value)
    return truncate_text(text, _LONGEST_VALUE)
