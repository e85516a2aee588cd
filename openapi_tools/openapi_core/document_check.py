"""Check a document with openapi-core's validators, for `lint`: each finding with its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache, partial
from inspect import getmembers, isfunction
from itertools import chain
from typing import Any, NoReturn

import jsonschema_rs

from openapi_tools.errors import requiring
from openapi_tools.json_values import TYPES, join_pointer, resolve_pointer, split_pointer
from openapi_tools.openapi_core import Finding, shorten
from openapi_tools.validation import compile_schema
from openapi_tools.visible_text import visible

with requiring("testing"):
    import openapi_spec_validator
    from jsonschema import ValidationError, validators
    from jsonschema_path import SchemaPath
    from openapi_core.validation.schemas.factories import SchemaValidatorsFactory
    from openapi_spec_validator import schemas
    from openapi_spec_validator.validation.exceptions import OpenAPIValidationError
    from openapi_spec_validator.validation.registries import KeywordValidatorRegistry
    from referencing.exceptions import Unresolvable

_TRAVERSED = 64
_REFERENCE = re.compile(r"""'\$ref' is a required|"\$ref" is a""")  # in a message: it is missing
_TRAVELLING = frozenset({"enum", "const", "default"})
_NAMED = {("properties",), ("responses",), ("definitions",), ("schemas",), ("$defs",)}
"""Members whose keys are names of the document's own."""


def findings(root: Mapping[str, Any]) -> list[Finding]:
    """Return the errors of a document, each once.

    The JSON Schema of the document's version is checked first, then rules that no schema can state:
    duplicate ids and parameters, path variables without a parameter, defaults that do not fit,
    invalid schemas. References into other documents are not followed, but noted; so are look-alike
    ids.

    Spec: OpenAPI 2.0, 3.0, 3.1 and 3.2, with the JSON Schemas published beside them.
    """
    # As openapi-spec-validator's names have it: `2`, `30`, `31`, `32`.
    is_2 = str(root.get("swagger")).split(".")[0] == "2"
    version = "2" if is_2 else "".join(str(root.get("openapi")).split(".")[:2])
    if version not in ("2", "30", "31", "32"):
        said = root.get("openapi", root.get("swagger"))
        return [Finding("", f"version {said!r} is none of 2.0, 3.0, 3.1 and 3.2")]
    found = chain(_against_schema(root, version), _against_rules(root, version))
    kept: dict[Finding, None] = {}
    inner: dict[str, set[str]] = {}
    for finding in chain(
        found, _odd_ids(root), _unseen(root)
    ):  # a broken `$ref` also stops the checks around it
        places = inner.setdefault(finding.message, set())
        if not any(place.startswith(f"{finding.pointer}/") for place in places):
            kept[finding] = None
        if finding.message.startswith("$ref"):
            places.add(finding.pointer)
    return list(kept)


def _finding(place: Iterable[Any], message: str, severity: str = "error") -> Finding:
    return Finding(join_pointer(place), shorten(message), severity)


def _odd_ids(root: Mapping[str, Any]) -> Iterator[Finding]:
    paths = root.get("paths")
    for path, item in paths.items() if isinstance(paths, Mapping) else ():
        for method, node in item.items() if isinstance(item, Mapping) else ():
            found = node.get("operationId") if isinstance(node, Mapping) else None
            if isinstance(found, str) and not (found.isascii() and found.isprintable()):
                says = "has characters that may look like others or like none"
                place = ("paths", path, method, "operationId")
                yield _finding(place, f"the id {found!a:.200} {says}", "note")


def _unseen(root: Mapping[str, Any]) -> Iterator[Finding]:
    """Yield the names and values that are sent with invisible characters."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), root)]
    while waiting:
        place, node = waiting.pop()
        members = node.items() if isinstance(node, Mapping) else enumerate(node)
        for key, value in members:
            inner = (*place, key)
            texts = {key} if isinstance(key, str) else set()
            if key in _TRAVELLING and place[-1:] not in _NAMED:
                texts |= set(_texts(value))
            elif isinstance(value, Mapping | list):
                waiting.append((inner, value))
            for text in sorted(text for text in texts if visible(text) != text):
                says = "has characters that are not shown; it is sent unchanged"
                yield _finding(inner, f"{text!a:.200} {says}", "note")


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list):
        yield from (text for item in value for text in _texts(item))


def _against_schema(root: Mapping[str, Any], version: str) -> Iterator[Finding]:
    """Yield where the document departs from the JSON Schema of its version."""
    validator = jsonschema_rs.validator_for(dict(getattr(schemas, f"schema_v{version}")))
    try:
        for error in validator.iter_errors(root):
            deepest = _closest(error, root)
            yield _finding(deepest.instance_path, deepest.message)
    except (ValueError, RecursionError) as error:
        yield _unchecked((), error)


def _closest(error: Any, root: Any) -> Any:
    """Return the error inside the union branch that the value most likely means."""
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
    best = min(meant, key=lambda branch: _distance(branch, depth), default=None)
    if best is None:
        return error
    return _closest(max(best, key=lambda item: len(item.instance_path)), root)


def _distance(branch: list[Any], depth: int) -> tuple[bool, bool, int]:
    """Return how far a branch is from the value; `in` and fixed values tell kinds apart."""
    own = [error for error in branch if len(error.instance_path) == depth + 1]
    fixed = [error for error in own if type(error.kind).__name__.endswith(("Enum", "Constant"))]
    deepest = max(len(error.instance_path) for error in branch)
    return any(error.instance_path[-1] == "in" for error in own), bool(fixed), -deepest


def _value_at(root: Any, path: Iterable[Any]) -> Any:
    try:
        return resolve_pointer(root, join_pointer(path))
    except LookupError:
        return None


def _against_rules(root: Mapping[str, Any], version: str) -> Iterator[Finding]:
    """Yield the findings of openapi-spec-validator beyond the JSON Schema."""
    checks = getattr(openapi_spec_validator, f"OpenAPIV{version}SpecValidator").keyword_validators
    located = {name: _located(name, check) for name, check in checks.items()}
    root_check: Any = KeywordValidatorRegistry(located)["__root__"]
    for error in root_check(closed_path(root)):
        place = _literal(root, getattr(error, "place", ()))
        if getattr(error, "unchecked", False):
            yield _unchecked(place, error.__cause__)
        elif error.keyword == "default":
            yield _finding(place, f"the default does not fit: {error.message}")
        else:
            yield _finding((*place, *error.absolute_path), error.message)


def _located(name: str, check: Any) -> Any:
    """Return a keyword check that notes where it looks, and that one failure does not stop."""

    def call(self: Any, *arguments: Any, **options: Any) -> Iterator[Any]:
        place = next(item for item in arguments if isinstance(item, SchemaPath)).parts
        try:
            for found in check.__call__(self, *arguments, **options):
                if not hasattr(found, "place"):
                    found.place, found.keyword = place, name
                yield found
        except Exception as failure:  # noqa: BLE001 -- a document can break any assumption
            error: Any = OpenAPIValidationError("")
            error.place, error.keyword, error.unchecked = place, name, True
            error.__cause__ = failure
            yield error

    members: dict[str, Any] = {"__call__": call}
    members |= {
        key: _collected_once(method)
        for key, method in getmembers(check, isfunction)
        if method.__annotations__.get("return") == set[str]
    }
    return type(check.__name__, (check,), members)


def _collected_once(method: Any) -> Any:
    """Return a method that collects a schema's property names, visiting each schema once."""
    # openapi-spec-validator's own loops in cycles, and visits a diamond of `allOf` exponentially.

    def collect(self: Any, schema: Any) -> set[str]:
        known = self.__dict__.setdefault("collected", {})
        key = id(schema.read_value())
        if key not in known:
            known[key] = set()
            known[key] = method(self, schema)
        names: set[str] = known[key]
        return names

    return collect


def _literal(root: Mapping[str, Any], place: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the place in the text: the target of a `$ref`."""
    keys: tuple[Any, ...] = ()
    node: Any = root
    for key in place:
        for _ in range(_TRAVERSED):
            reference = node.get("$ref") if isinstance(node, Mapping) else None
            if not isinstance(reference, str) or not reference.startswith("#/"):
                break
            keys = split_pointer(reference[1:])
            node = _value_at(root, keys)
        keys = (*keys, key)
        node = _value_at(node, (key,))
    return keys


def _unchecked(place: tuple[Any, ...], failure: BaseException | None) -> Finding:
    if isinstance(failure, RecursionError):
        return _finding(place, "not checked: a circle of $ref, or too deep", "note")
    if not isinstance(failure, Unresolvable):
        reason = f"not checked further ({type(failure).__name__}: {failure})"
        return _finding(place, reason.replace(": )", ")"), "note")
    if failure.ref.startswith(("#", "/")):
        return _finding(place, f"$ref {'#' + failure.ref.removeprefix('#')!r} leads nowhere")
    note = f"$ref {failure.ref!r} leads to another document, which is not checked"
    return _finding(place, note, "note")


class LinearPatterns(SchemaValidatorsFactory):
    """The schema validators of another factory, whose patterns take linear time.

    Its own match with Python's `re`, in which `(a+)+$` takes years for a text of 60 letters.
    """

    def __init__(self, inner: SchemaValidatorsFactory) -> None:
        super().__init__(inner.schema_validator_cls, inner.format_checker)
        self._inner = inner

    def get_format_checker(self, *_formats: Any, **_others: Any) -> Any:
        """Return the one checker: no formats are added, so that no copy is needed."""
        return self.format_checker

    def get_validator_cls(self, spec: SchemaPath, schema: SchemaPath) -> Any:
        """Return the class of validators for a schema."""
        return _linear(self._inner.get_validator_cls(spec, schema))


@lru_cache(maxsize=32)
def _linear(cls: Any) -> Any:
    own: dict[str, Any] = {"pattern": _pattern, "patternProperties": _by_pattern}
    own |= {"additionalProperties": _others, "type": partial(_type, cls.VALIDATORS["type"])}
    extend: Any = validators.extend
    return extend(cls, {key: own[key] for key in own.keys() & cls.VALIDATORS.keys()})


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> Any:
    return compile_schema({"pattern": pattern})


def _matches(pattern: str, text: str) -> bool:
    return bool(_compiled(pattern).is_valid(text))


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[Any]:
    if isinstance(value, str) and not _matches(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")


def _type(of_one: Any, validator: Any, kinds: Any, value: Any, above: Any) -> Iterator[Any]:
    # Documents of 2.0 and 3.0 have lists of types, `null` and types of other languages, too.
    known = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind in TYPES]
    if known == [kinds] != ["null"]:
        yield from of_one(validator, kinds, value, above)
        return
    fits = (value is None if kind == "null" else validator.is_type(value, kind) for kind in known)
    if known and not any(fits):
        yield ValidationError(f"{value!r} is not of type {', '.join(map(repr, known))}")


def _by_pattern(validator: Any, patterns: Any, value: Any, _: Any) -> Iterator[Any]:
    for pattern, schema in patterns.items() if isinstance(value, dict) else ():
        for name in (name for name in value if _matches(pattern, name)):
            yield from validator.descend(value[name], schema, path=name, schema_path=pattern)


def _others(validator: Any, schema: Any, value: Any, above: Any) -> Iterator[Any]:
    """Check members that no other keyword of the schema `above` describes."""
    known, patterns = above.get("properties", {}), above.get("patternProperties", ())
    for name in value if isinstance(value, dict) and schema is not True else ():
        if name in known or any(_matches(pattern, name) for pattern in patterns):
            continue
        if schema is False:
            said = f"Additional properties are not allowed ({name!r} was unexpected)"
            yield ValidationError(said)
        else:
            yield from validator.descend(value[name], schema, path=name)


def closed_path(document: Mapping[str, Any]) -> SchemaPath:
    """Return a document for openapi-core to walk, without access to other documents.

    By default its resolver opens files and fetches URLs that a `$ref` names, even without handlers.
    """
    # The default separator, `#`, occurs in path templates and property names.
    options: dict[str, Any] = {"separator": "\0", "resolved_cache_maxsize": 128}
    return SchemaPath.from_dict(document, handlers=_Refusing(), **options)


class _Refusing(dict[str, Any]):
    def __contains__(self, key: object) -> bool:
        return True

    def __missing__(self, key: str) -> Any:
        return _refuse


def _refuse(uri: str) -> NoReturn:
    raise LookupError(f"{uri!r} is another document, which is not read here")
