"""Check parameters and headers, and the values of samples, against the schemas of a document.

Spec: OpenAPI 3.2.0, sections 4.12 (Parameter Object) and 4.21 (Header Object).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.http_rules import essence, is_json
from openapi_tools.common.json_values import follow_references, join_pointer
from openapi_tools.conformance.findings import elide_middle
from openapi_tools.conformance.text_values import TextReader, UndefinedReading
from openapi_tools.errors import require_extra
from openapi_tools.requests.encoding import is_token

with require_extra("testing"):
    from openapi_core.schema.parameters import get_style_and_explode
    from openapi_core.validation.schemas.exceptions import InvalidSchemaValue

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from jsonschema_path import SchemaPath

IGNORED_HEADERS = ("accept", "authorization", "content-type")
"""Names of header parameters that the standard ignores: OpenAPI 3.2.0, section 4.12.1."""

NOT_JUDGED = "not judged"
_MARKS = {"label": ".", "matrix": ";"}


class SampleFault(NamedTuple):
    """A value that departs from its schema; in a body, `name` is the property, or empty."""

    location: str
    name: str
    message: str


@dataclass(frozen=True, slots=True)
class DeclaredValue:
    """A Parameter or Header Object, its name and location (`"header"` in a response)."""

    path: SchemaPath
    name: str
    location: str
    node: Mapping[str, Any]

    @property
    def title(self) -> str:
        """What it is called in messages."""
        return f"{self.location} parameter" if "in" in self.node else "header"

    @property
    def label(self) -> str:
        """What messages about it begin with."""
        return f"{self.title} {self.name!r}: "

    @property
    def schema(self) -> SchemaPath:
        """Its Schema Object, which may be missing."""
        if "content" not in self.node:
            return self.path / "schema"
        content = self.path / "content"
        return content / next(iter(content.str_keys()), "") / "schema"


@dataclass(frozen=True, slots=True)
class ValueCheck:
    """Compares values with their schemas; `keys` are the locations and names of API keys."""

    spec: SchemaPath
    reader: TextReader
    keys: frozenset[tuple[str, str]] = frozenset()

    def find_errors(self, declared: DeclaredValue, strings: Any) -> Iterator[str]:
        """Yield the errors of a value among the values of its location; one line each."""
        if declared.location == "header" and not is_token(declared.name):
            if declared.node.get("required") is True:
                yield f"{NOT_JUDGED}: {declared.label}a header cannot have this name"
            return
        if strings is None:
            yield f"{NOT_JUDGED}: {declared.label}'in: {declared.location}' is not read here"
            return
        try:
            value = self._read(declared, strings)
        except KeyError:
            if declared.node.get("required") is True and not self._may_be_missing(
                declared, strings
            ):
                yield f"Missing required {declared.title}: {declared.name}"
        except UndefinedReading as error:
            yield f"{NOT_JUDGED}: {declared.label}{error}"
        except ValueError:
            yield f"{declared.label}the value is not valid JSON"
        else:
            if value != "" or declared.node.get("allowEmptyValue") is not True:
                yield from describe_errors(
                    self._schema_errors(declared.schema, value), declared.label
                )

    def sample_faults(
        self, schema: SchemaPath, value: Any, label: str, key: tuple[str, str]
    ) -> Iterator[SampleFault]:
        """Yield how a value departs from its schema."""
        location, name = key
        for error in self._schema_errors(schema, value):
            part = next(iter(error.absolute_path), "") if location == "body" else name
            yield SampleFault(location, str(part), next(describe_errors([error], label)))

    def _schema_errors(self, schema: SchemaPath, value: Any) -> list[Any]:
        if not schema.exists():
            return []
        try:
            self.reader.validators.create(self.spec, schema).validate(value)
        except InvalidSchemaValue as error:
            # Only properties can be read-only; a whole parameter that is read-only is sent.
            details: Any = error.schema_errors
            return [e for e in details if (e.validator, *e.path) != ("readOnly",)]
        return []

    def _read(self, declared: DeclaredValue, strings: Any) -> Any:
        if "content" in declared.node:
            kind = next(iter(follow_references(declared.node, declared.node["content"])), "")
            text = strings[declared.name]
            if is_json(kind):
                return json.loads(text)
            if essence(kind) != "text/plain":
                raise UndefinedReading(f"a parameter of media type {kind!r} is not read here")
            return text
        style, explode = get_style_and_explode(declared.path)
        explode |= style == "cookie" and "explode" not in declared.node  # its default, in 3.2
        if declared.location == "cookie" and style == "form" and explode:
            strings = _split_ampersands(strings)
        reader = self.reader.create(self.spec, declared.schema, style, explode, declared.name)
        return reader.deserialize(strings)

    def _may_be_missing(self, declared: DeclaredValue, strings: Any) -> bool:
        if (declared.location, declared.name.lower()) in self.keys:
            return True
        mark = _MARKS.get(str(declared.node.get("style")), "")
        return declared.location == "path" and str(strings.get(declared.name, "")).startswith(mark)


def _split_ampersands(cookies: Any) -> Any:
    # Spec: OpenAPI 3.2.0, Appendix D: style `form` separates exploded values with `&`, which a
    # server that follows RFC 6265 takes for a part of the first one.
    pairs = [
        (key, text)
        for name, value in cookies.items(multi=True)
        for key, text in _split_pairs(name, value)
    ]
    return type(cookies)(pairs)


def _split_pairs(name: str, value: str) -> list[tuple[str, str]]:
    first, *rest = value.split("&")
    if not all("=" in part for part in rest):
        return [(name, value)]
    return [(name, first), *((part.partition("=")[0], part.partition("=")[2]) for part in rest)]


def parameters_of(operation: SchemaPath, item: SchemaPath) -> Iterator[DeclaredValue]:
    """Yield an operation's parameters and its path's, without overridden and ignored ones."""
    seen: set[tuple[str, str]] = set()
    for holder in (operation, item):
        for path in holder.get("parameters", ()):
            node = path.read_value()
            location, name = str(node.get("in")), str(node.get("name"))
            is_ignored = location == "header" and name.lower() in IGNORED_HEADERS
            if (location, name) not in seen and not is_ignored:
                yield DeclaredValue(path, name, location, node)
            seen.add((location, name))


def describe_errors(errors: Iterable[Any], label: str) -> Iterator[str]:
    """Yield one line for each error of a schema: the label, then the fault."""
    for error in errors:
        where = join_pointer(getattr(error, "absolute_path", ()))
        text = str(getattr(error, "message", error))
        # openapi-core takes names in the mapping of a discriminator for references.
        _, has_reference, reference = text.partition("reference '")
        is_unresolved = " could not be resolved" in reference.partition("\n")[0]
        is_judged = not (has_reference and is_unresolved and not reference.startswith("#"))
        line = label + (f"{where}: {text}" if where else text)
        yield elide_middle(line if is_judged else f"{NOT_JUDGED}: {line}")
