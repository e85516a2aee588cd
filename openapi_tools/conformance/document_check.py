"""Check a document with openapi-core's validators, for `lint`: each finding with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from inspect import getmembers, isfunction
from itertools import chain
from typing import Any, NoReturn

import jsonschema_rs

from openapi_tools.common.json_schema import TYPES
from openapi_tools.common.json_values import join_pointer, resolve_pointer, split_pointer
from openapi_tools.common.visible_text import strip_hidden
from openapi_tools.conformance.findings import Finding, elide_middle
from openapi_tools.errors import require_extra
from openapi_tools.validation.check_cost import compile_schema

with require_extra("testing"):
    import openapi_spec_validator
    from jsonschema import ValidationError, validators
    from jsonschema_path import SchemaPath
    from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
    from openapi_spec_validator import schemas
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError
    from openapi_spec_validator.validation.registries import KeywordValidatorRegistry
    from referencing.exceptions import Unresolvable

_MOST_REFERENCES = 64
_REFERENCE = re.compile(r"""'\$ref' is a required|"\$ref" is a""")  # in a message: it is missing
_SENT_KEYWORDS = frozenset({"enum", "const", "default"})
# Properties whose keys are names of the document's own.
_NAME_KEYED = {("properties",), ("responses",), ("definitions",), ("schemas",), ("$defs",)}


def find_document_errors(root: Mapping[str, Any]) -> list[Finding]:
    """Return the errors of a document, each once.

    The JSON Schema of the document's version is checked first, then rules that no schema can state:
    duplicate ids and parameters, path variables without a parameter, defaults that do not fit,
    invalid schemas. Notes name references to other documents, which are not followed, and ids with
    characters that look like others.

    Spec: OpenAPI 2.0, 3.0, 3.1 and 3.2, with the JSON Schemas published beside them.
    """
    # In the form of openapi-spec-validator's names: `2`, `30`, `31`, `32`.
    is_swagger = str(root.get("swagger")).split(".")[0] == "2"
    version = "2" if is_swagger else "".join(str(root.get("openapi")).split(".")[:2])
    if version not in ("2", "30", "31", "32"):
        version_text = root.get("openapi", root.get("swagger"))
        return [Finding("", f"version {version_text!r} is not one of 2.0, 3.0, 3.1 and 3.2")]
    errors = chain(_find_schema_errors(root, version), _find_rule_errors(root, version))
    result: dict[Finding, None] = {}
    inner_places: dict[str, set[str]] = {}
    for finding in chain(
        errors, _find_ambiguous_ids(root), _find_invisible_characters(root)
    ):  # a broken `$ref` also stops the checks around it
        places = inner_places.setdefault(finding.message, set())
        if not any(place.startswith(f"{finding.pointer}/") for place in places):
            result[finding] = None
        if finding.message.startswith("$ref"):
            places.add(finding.pointer)
    return list(result)


def _make_finding(place: Iterable[Any], message: str, severity: str = "error") -> Finding:
    return Finding(join_pointer(place), elide_middle(message), severity)


def _find_ambiguous_ids(root: Mapping[str, Any]) -> Iterator[Finding]:
    paths = root.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        for method, node in item.items() if isinstance(item, Mapping) else ():
            operation_id = node.get("operationId") if isinstance(node, Mapping) else None
            if isinstance(operation_id, str) and not (
                operation_id.isascii() and operation_id.isprintable()
            ):
                reason = "has characters that look like others or are invisible"
                place = ("paths", path, method, "operationId")
                yield _make_finding(place, f"the id {operation_id!a:.200} {reason}", "note")


def _find_invisible_characters(root: Mapping[str, Any]) -> Iterator[Finding]:
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), root)]
    while waiting:
        place, node = waiting.pop()
        entries = node.items() if isinstance(node, Mapping) else enumerate(node)
        for key, value in entries:
            inner = (*place, key)
            strings = {key} if isinstance(key, str) else set()
            if key in _SENT_KEYWORDS and place[-1:] not in _NAME_KEYED:
                strings |= set(_strings_in(value))
            elif isinstance(value, Mapping | list):
                waiting.append((inner, value))
            for text in sorted(text for text in strings if strip_hidden(text) != text):
                reason = "has invisible characters; it is sent unchanged"
                yield _make_finding(inner, f"{text!a:.200} {reason}", "note")


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _strings_in([*value, *value.values()])
    elif isinstance(value, list):
        yield from (text for item in value for text in _strings_in(item))


def _find_schema_errors(root: Mapping[str, Any], version: str) -> Iterator[Finding]:
    validator = jsonschema_rs.validator_for(dict(getattr(schemas, f"schema_v{version}")))
    try:
        for error in validator.iter_errors(root):
            deepest = _closest_error(error, root)
            yield _make_finding(deepest.instance_path, deepest.message)
    except (ValueError, RecursionError) as error:
        yield _make_unchecked_finding((), error)


def _closest_error(error: Any, root: Any) -> Any:
    # `{"$ref": …}` is a branch of nearly every union: it was meant only where there is a `$ref`.
    branches = getattr(error.kind, "context", None)
    if not branches:
        return error
    value = _value_at(root, error.instance_path)
    reference = isinstance(value, Mapping) and "$ref" in value
    depth = len(error.instance_path)
    meant = [
        branch
        for branch in branches
        if branch and reference == any(_REFERENCE.search(error.message) for error in branch)
    ]
    best = min(meant, key=lambda branch: _branch_distance(branch, depth), default=None)
    if best is None:
        return error
    return _closest_error(max(best, key=lambda item: len(item.instance_path)), root)


def _branch_distance(branch: list[Any], depth: int) -> tuple[bool, bool, int]:
    # `in` and fixed values distinguish kinds of objects: after an error there, the branch was not
    # meant.
    direct_errors = [error for error in branch if len(error.instance_path) == depth + 1]
    is_fixed = [
        error for error in direct_errors if type(error.kind).__name__.endswith(("Enum", "Constant"))
    ]
    deepest = max(len(error.instance_path) for error in branch)
    return any(error.instance_path[-1] == "in" for error in direct_errors), bool(is_fixed), -deepest


def _value_at(root: Any, path: Iterable[Any]) -> Any:
    try:
        return resolve_pointer(root, join_pointer(path))
    except LookupError:
        return None


def _find_rule_errors(root: Mapping[str, Any], version: str) -> Iterator[Finding]:
    checks = getattr(openapi_spec_validator, f"OpenAPIV{version}SpecValidator").keyword_validators
    located = {name: _make_locating_check(name, check) for name, check in checks.items()}
    root_check: Any = KeywordValidatorRegistry(located)["__root__"]
    for error in root_check(closed_path(root)):
        place = _resolve_place(root, getattr(error, "place", ()))
        if getattr(error, "unchecked", False):
            yield _make_unchecked_finding(place, error.__cause__)
        elif error.keyword == "default":
            yield _make_finding(place, f"the default does not match: {error.message}")
        else:
            yield _make_finding((*place, *error.absolute_path), error.message)


def _make_locating_check(name: str, check: Any) -> Any:
    # openapi-spec-validator does not say where an error is, and stops at its first exception.
    def call(self: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
        place = next(item for item in arguments if isinstance(item, SchemaPath)).parts
        try:
            for error in check.__call__(self, *arguments, **options):
                if not hasattr(error, "place"):
                    error.place, error.keyword = place, name
                yield error
        except Exception as failure:  # noqa: BLE001 -- a document can break any assumption
            unchecked: Any = OpenAPIValidationError("")
            unchecked.place, unchecked.keyword, unchecked.unchecked = place, name, True
            unchecked.__cause__ = failure
            yield unchecked

    attributes: dict[str, Any] = {"__call__": call}
    attributes |= {
        key: _collect_once(method)
        for key, method in getmembers(check, isfunction)
        if method.__annotations__.get("return") == set[str]
    }
    return type(check.__name__, (check,), attributes)


def _collect_once(method: Any) -> Any:
    # The original method never ends in a cycle, and takes exponential time for diamonds of `allOf`.

    def collect(self: Any, schema: Any) -> set[str]:
        collected = self.__dict__.setdefault("collected", {})
        key = id(schema.read_value())
        if key not in collected:
            collected[key] = set()
            collected[key] = method(self, schema)
        names: set[str] = collected[key]
        return names

    return collect


def _resolve_place(root: Mapping[str, Any], place: tuple[Any, ...]) -> tuple[Any, ...]:
    keys: tuple[Any, ...] = ()
    node: Any = root
    for key in place:
        for _ in range(_MOST_REFERENCES):
            reference = node.get("$ref") if isinstance(node, Mapping) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            keys = split_pointer(reference[1:])
            node = _value_at(root, keys)
        keys = (*keys, key)
        node = _value_at(node, (key,))
    return keys


def _make_unchecked_finding(place: tuple[Any, ...], failure: BaseException | None) -> Finding:
    if isinstance(failure, RecursionError):
        return _make_finding(place, "not checked: a cycle of $ref, or nested too deeply", "note")
    if not isinstance(failure, Unresolvable):
        reason = f"not checked further ({type(failure).__name__}: {failure})"
        return _make_finding(place, reason.replace(": )", ")"), "note")
    if failure.ref.startswith(("#", "/")):
        return _make_finding(place, f"$ref {'#' + failure.ref.removeprefix('#')!r} leads nowhere")
    note = f"$ref {failure.ref!r} points to another document, which is not checked"
    return _make_finding(place, note, "note")


class LinearPatterns(SchemaValidatorsFactory):
    """The schema validators of another factory, with patterns that take linear time.

    The originals match with Python's `re`, where `(a+)+$` takes years for a string of 60 letters.
    """

    def __init__(self, inner: SchemaValidatorsFactory) -> None:
        super().__init__(inner.schema_validator_cls, inner.format_checker)
        self._inner = inner

    def get_format_checker(self, *_formats: Any, **_options: Any) -> Any:
        """Return the one checker: no formats are added, so that no copy is needed."""
        return self.format_checker

    def get_validator_cls(self, spec: SchemaPath, schema: SchemaPath) -> Any:
        """Return the class of validators for a schema."""
        return _linear_validator_class(self._inner.get_validator_cls(spec, schema))


@lru_cache(maxsize=32)
def _linear_validator_class(cls: Any) -> Any:
    keywords: dict[str, Any] = {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
    }
    keywords |= {
        "additionalProperties": _check_additional_properties,
        "type": partial(_check_type, cls.VALIDATORS["type"]),
    }
    extend: Any = validators.extend
    return extend(cls, {key: keywords[key] for key in keywords.keys() & cls.VALIDATORS.keys()})


@lru_cache(maxsize=1024)
def _compile_pattern(pattern: str) -> Any:
    return compile_schema({"pattern": pattern})


def _matches(pattern: str, text: str) -> bool:
    return bool(_compile_pattern(pattern).is_valid(text))


def _check_pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    if isinstance(value, str) and not _matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _check_type(
    check_one: Any, validator: Any, kinds: Any, value: Any, parent: Any
) -> Iterator[Any]:
    # Documents of 2.0 and 3.0 have lists of types, `null` and types of other languages, too.
    known_types = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in TYPES]
    if known_types == [kinds] != ["null"]:
        yield from check_one(validator, kinds, value, parent)
        return
    fits = (
        value is None if kind == "null" else validator.is_type(value, kind) for kind in known_types
    )
    if known_types and not any(fits):
        yield ValidationError(f"{value!r} is not of type {', '.join(map(repr, known_types))}")


def _check_pattern_properties(validator: Any, patterns: Any, value: Any, _: Any) -> Iterator[Any]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name in (name for name in value if _matches(pattern, name)):
            yield from validator.descend(value[name], schema, path=name, schema_path=pattern)


def _check_additional_properties(
    validator: Any, schema: Any, value: Any, parent: Any
) -> Iterator[Any]:
    properties, patterns = parent.get("properties", {}), parent.get("patternProperties", ())
    for name in value if isinstance(value, dict) and schema is not True else ():
        if name in properties or any(_matches(pattern, name) for pattern in patterns):
            continue
        if schema is False:
            message = f"Additional properties are not allowed ({name!r} was unexpected)"
            yield ValidationError(message)
        else:
            yield from validator.descend(value[name], schema, path=name)


def closed_path(document: Mapping[str, Any]) -> SchemaPath:
    """Return a document for openapi-core to walk, without access to other documents.

    By default its resolver opens files and fetches URLs that a `$ref` names, even without handlers.
    """
    # The default separator, `#`, occurs in path templates and property names.
    options: dict[str, Any] = {"separator": "\0", "resolved_cache_maxsize": 128}
    return SchemaPath.from_dict(document, handlers=_RefusingHandlers(), **options)


# jsonschema-path looks up a handler by scheme, and falls back to one that fetches.
class _RefusingHandlers(dict[str, Any]):
    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return _refuse


def _refuse(uri: str) -> NoReturn:
    raise LookupError(f"{uri!r} is another document, which is not read here")
