"""Convert a document of Swagger 2.0 to OpenAPI 3, with the loader's `versions` and `security`.

Checks of requests and responses read OpenAPI 3 only. They get Swagger 2.0, and its parts in
documents of 3.x, in this form; paths and pointers of operations stay.

Spec: Swagger 2.0; OpenAPI 3.0.4, section 4.8.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi_tools.common.json_schema import transform_schemas
from openapi_tools.common.json_values import (
    Node,
    as_dict,
    as_list,
    follow_references,
    is_string,
    omit_keys,
)
from openapi_tools.loading import versions
from openapi_tools.loading.security import read_scheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_VERSION = "3.0.4"  # whose Schema Object is that of Swagger 2.0 in all that both have
_METHODS = frozenset({*versions.METHODS, "query"})
_FORMS = ("multipart/form-data", "application/x-www-form-urlencoded")


def convert_to_openapi_3(root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a document without external references as OpenAPI 3 has it.

    A document of OpenAPI 3 without parts of 2.0 is returned itself. Of Swagger 2.0, `definitions`
    stays where references look for it.
    """
    converter = _SwaggerConverter(dict(root))
    items = as_dict(root.get("paths"))
    paths = {path: converter.convert_path_item(item) for path, item in items.items()}
    if not converter.swagger:
        is_same = all(paths[path] is items[path] for path in items)
        return root if is_same else {**root, "paths": paths}
    # Schemas stay at `/definitions`, so that references to them need no change.
    return {
        **omit_keys(converter.root, ["swagger"]),
        "openapi": _VERSION,
        "servers": versions.swagger_servers(converter.root, {}),
        "paths": paths,
        "definitions": transform_schemas({"definitions": root.get("definitions")}, _convert_schema)[
            "definitions"
        ],
        "components": {"securitySchemes": dict(converter.security_schemes())},
    }


class _SwaggerConverter:
    """Converts the parts of one document."""

    def __init__(self, root: Node) -> None:
        self.root = root
        self.swagger = "swagger" in root

    def security_schemes(self) -> Iterator[tuple[str, Node]]:
        for name, node in as_dict(self.root.get("securityDefinitions")).items():
            if scheme := read_scheme(dict(follow_references(self.root, node)), swagger=True):
                yield name, scheme[0]

    def convert_path_item(self, item: Any) -> Any:
        """Return a Path Item Object; in documents of 3.x the same one where nothing is of 2.0."""
        node = dict(follow_references(self.root, item))
        operations = {
            key: value
            for key, value in node.items()
            if isinstance(key, str) and key.lower() in _METHODS and isinstance(value, dict)
        }
        additional = as_dict(node.get("additionalOperations"))
        holders = (node, *operations.values(), *additional.values())
        if not self.swagger and not any(map(self._has_leftovers, holders)):
            return item
        shared = dict(self._parameters(node))
        converted = {
            key: self._convert_operation(shared, value) for key, value in operations.items()
        }
        if additional:
            converted["additionalOperations"] = {
                method: self._convert_operation(shared, value) if isinstance(value, dict) else value
                for method, value in additional.items()
            }
        return {**omit_keys(node, ["parameters"]), **converted}

    def _has_leftovers(self, holder: Any) -> bool:
        for entry in as_list(as_dict(holder).get("parameters")):
            node = dict(follow_references(self.root, entry))
            location = versions.standard_location(node.get("in"))
            is_misplaced = location != node.get("in") or str(location) in versions.OF_BODY
            if is_misplaced or versions.convert_parameter(node, swagger=False) is not node:
                return True
        return False

    def _parameters(self, holder: Node) -> Iterator[tuple[tuple[str, str], Node]]:
        for entry in as_list(holder.get("parameters")):
            node = dict(follow_references(self.root, entry))
            node["in"] = versions.standard_location(node.get("in"))
            yield (str(node["in"]), str(node.get("name"))), node

    def _convert_operation(self, shared: dict[tuple[str, str], Node], node: Node) -> Node:
        declared = {**shared, **dict(self._parameters(node))}
        in_body = [part for (location, _), part in declared.items() if location in versions.OF_BODY]
        outside_body = [
            part for (location, _), part in declared.items() if location not in versions.OF_BODY
        ]
        out = {**node, "parameters": [self._convert_parameter(part) for part in outside_body]}
        if "requestBody" not in node and (body := self._convert_body(node, in_body)):
            out["requestBody"] = body
        if self.swagger:
            out["responses"] = self._convert_responses(node)
        if self.swagger and "schemes" in node:
            out["servers"] = versions.swagger_servers(self.root, node)
        return out

    def _convert_parameter(self, node: Node) -> Node:
        return _convert_schema_of(
            versions.convert_parameter(_set_inner_formats(node), swagger=self.swagger)
        )

    def _convert_body(self, node: Node, declared: list[Node]) -> Node | None:
        consumes = self._media_types(node, "consumes")
        body = versions.convert_request_body(list(map(_set_inner_formats, declared)), consumes)
        if body is None:
            return None
        content = {kind: _convert_schema_of(media) for kind, media in body["content"].items()}
        # The loader sends one of the forms that `consumes` has; other clients may send another.
        if all(part.get("in") == "formData" for part in declared):
            media = next(iter(content.values()))
            content |= {kind: media for kind in consumes if kind in _FORMS and kind not in content}
        return {**body, "content": content}

    def _convert_responses(self, node: Node) -> Any:
        declared = node.get("responses")
        if not isinstance(declared, dict):
            return declared
        produces = self._media_types(node, "produces")
        responses = {}
        for status, entry in declared.items():
            response = versions.convert_response(
                dict(follow_references(self.root, entry)), produces
            )
            if "content" in response:
                content = response["content"].items()
                response["content"] = {kind: _convert_schema_of(media) for kind, media in content}
            responses[status] = response
        return responses

    def _media_types(self, node: Node, key: str) -> list[str]:
        return list(filter(is_string, as_list(node.get(key, self.root.get(key)))))


def _set_inner_formats(node: Node) -> Node:
    items = node.get("items")
    if not isinstance(items, dict) or items.get("type") != "array":
        return node
    return {**node, "items": {"collectionFormat": "csv", **_set_inner_formats(items)}}


def _convert_schema_of(holder: Node) -> Node:
    if "schema" not in holder:
        return holder
    return {**holder, "schema": transform_schemas(holder["schema"], _convert_schema)}


def _convert_schema(node: Node) -> Node:
    if isinstance(node.get("discriminator"), str):
        node = omit_keys(node, ["discriminator"])
    return {**node, "nullable": True} if node.get("x-nullable") is True else node
