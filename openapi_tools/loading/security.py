"""Read a document's security schemes and requirements, also where their spelling is not standard.

Published documents write types and locations in another case (`apikey`, `Header`), take the scheme
of HTTP for a type (`bearer`), and mix the flows of versions. What they mean is plain.

Spec: Swagger 2.0, Security Scheme Object; OpenAPI 3.0.4, sections 4.7.27 to 4.7.30; 3.2.0, sections
4.27 to 4.30 (from 3.2 on a requirement may name a scheme by URI).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from openapi_tools.common.json_values import (
    Node,
    as_dict,
    as_list,
    as_string,
    is_string,
    pointer_token,
)
from openapi_tools.common.visible_text import fold_name, mask_user
from openapi_tools.errors import DocumentError
from openapi_tools.model import SecurityScheme

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi_tools.loading.references import References, Resource
    from openapi_tools.loading.versions import Dialect

    Requirements = tuple[dict[str, tuple[str, ...]], ...]

BY_URI = 2  # the minor version of OpenAPI 3 from which requirements name schemes by URI
# The type, and the scheme of `http`, for each spelling; keys as by `fold_name`.
_TYPES = {
    **dict.fromkeys(("apikey", "apikeyauth"), ("apiKey", "")),
    "http": ("http", ""),
    **dict.fromkeys(("oauth2", "oauth20", "oauth"), ("oauth2", "")),
    **dict.fromkeys(("openidconnect", "oidc"), ("openIdConnect", "")),
    **dict.fromkeys(("mutualtls", "mtls"), ("mutualTLS", "")),
    **dict.fromkeys(("basic", "basicauth", "httpbasic"), ("http", "basic")),
    **dict.fromkeys(("bearer", "bearerauth", "httpbearer", "jwt"), ("http", "bearer")),
    **dict.fromkeys(("digest", "httpdigest"), ("http", "digest")),
}

_LOCATIONS = {"header": "header", "headers": "header", "query": "query", "cookie": "cookie"}
_FLOWS = {
    **dict.fromkeys(("application", "clientcredentials"), "clientCredentials"),
    **dict.fromkeys(("accesscode", "authorizationcode"), "authorizationCode"),
    "implicit": "implicit",
    "password": "password",
    "deviceauthorization": "deviceAuthorization",
}
_FLOW_URLS = ("authorizationUrl", "deviceAuthorizationUrl", "tokenUrl", "refreshUrl")
# Properties that show the type of a scheme without one.
_TYPE_KEYS = (
    ("flows", "oauth2"),
    ("flow", "oauth2"),
    ("openIdConnectUrl", "openIdConnect"),
    ("scheme", "http"),
    ("in", "apiKey"),
)

# Only before a placeholder is a word a prefix: `Token <key>`, but not `Token authentication`.
_PLACEHOLDER = r"(?:[<{\[$`'\"…]|\.{3}|x{3}|[Yy]our_|YOUR|[\w-]*\d|[\w-]+\.[\w-]+\.)"
_QUOTE = "[`'\"\u201c\u201d\u2018\u2019]"
# Words that APIs want before a key: GitHub and Django (Token), Discord (Bot), Okta (SSWS),
# Opsgenie (GenieKey).
_PREFIXES = r"(Token|Basic|Bot|JWT|Api-?Key|Key|OAuth|SSWS|GenieKey)"
# `Bearer` anywhere, a word before a placeholder of a key, and phrases that name a prefix;
# compiled when it is first used, as many documents describe no scheme.
_PREFIX = (
    rf"\b((?i:bearer))\b|\b{_PREFIXES} (?={_PLACEHOLDER})"
    r"|[`'\"]([A-Za-z][\w-]{1,20}) [`'\"]"
    rf"|\b(?i:prefix(?:ed)?)\b[^.\n]{{0,40}}?{_QUOTE}([A-Za-z][\w-]{{1,20}}){_QUOTE}"
    r"|\b(?i:prefix(?:ed)?)(?: it)?(?: ?[:=]| is:?| of| with| by| must be) ?(?:the word )?"
    r"([A-Z][\w-]{1,20})\b"
    rf"|\b(?i:starts?|starting|begins?|beginning|preceded) (?:with|by) (?:the word )?{_QUOTE}?"
    rf"{_PREFIXES}\b|\bAuthorization: ([A-Za-z][\w-]{{1,20}}) (?={_PLACEHOLDER})"
)
_NO_PREFIX = frozenset(
    {"your", "the", "an", "it", "this", "api", "none", "no", "not", "and", "or", "value", "header"}
    | {"required", "optional", "authorization"}
)
_MOST_ALTERNATIVES = 100  # of an operation that are read
_SEARCHED = 4_000  # characters of a description


class _ReadScheme(NamedTuple):
    """A Security Scheme Object as OpenAPI 3 writes it, its JSON Pointer, and how it was read."""

    node: Node
    pointer: str
    notes: tuple[tuple[str, str], ...]


class Security:
    """Reads the security schemes and requirements of one document.

    It holds no `Document`: in a cycle of objects that would outlive its tools.
    """

    def __init__(self, entry: Resource, references: References, dialect: Dialect) -> None:
        self._entry = entry
        self._references = references
        self._dialect = dialect
        self._read_lists: dict[int, Requirements] = {}
        self._by_uri: dict[tuple[int, str], str] = {}
        self._component_warnings: list[str] = []
        self._schemes: dict[str, _ReadScheme] = dict(self._read_components())

    @property
    def schemes(self) -> dict[str, SecurityScheme]:
        """The schemes by name; those that cannot be read are left out.

        One that requirements name by a URI outside of the components has the end of the URI.
        """
        return {name: _make_scheme(scheme.node) for name, scheme in self._schemes.items()}

    @property
    def warnings(self) -> Iterator[str]:
        """Warnings about schemes whose spelling is not standard."""
        for scheme in self._schemes.values():
            yield from (f"{scheme.pointer}{place}: {note}" for place, note in scheme.notes)
        yield from self._component_warnings
        yield from self.uri_warnings(self._entry.root, "")

    def uri_warnings(self, node: Mapping[str, Any], pointer: str) -> Iterator[str]:
        """Yield a warning for each URI in the requirements of an object, up to OpenAPI 3.1."""
        version, is_usual = self._dialect.version, self._dialect.minor >= BY_URI
        for requirement in () if is_usual else as_list(node.get("security")):
            for name in filter(is_scheme_uri, as_dict(requirement)):
                if name not in self._schemes:
                    note = f"{name!r:.100} is a URI, which {version} does not have"
                    yield f"{pointer}/security: {note}; it is read as in 3.2."

    @property
    def key_prefixes(self) -> Iterator[tuple[str, str]]:
        """The words that keys in `Authorization` begin with by their descriptions, by scheme."""
        for name, scheme in self.schemes.items():
            # Other headers have the bare key; in this one RFC 9110 wants a scheme before it.
            if scheme.type == "apiKey" and scheme.name.lower() == "authorization":
                description = as_string(self._schemes[name].node.get("description"))
                if prefix := _find_prefix(description[:_SEARCHED]):
                    yield name, prefix

    def requirements(self, node: Mapping[str, Any], resource: Resource) -> Requirements:
        """Return an operation's security requirements, by default those of the document."""
        if "security" not in node:
            node, resource = self._entry.root, self._entry
        listed = node.get("security")
        # An object in place of the list is meant as the only alternative.
        if isinstance(listed, dict) and listed:
            return self._read_requirements([listed], resource)
        if not isinstance(listed, list):
            return ()
        if id(listed) not in self._read_lists:  # which operations share
            self._read_lists[id(listed)] = self._read_requirements(
                listed[:_MOST_ALTERNATIVES], resource
            )
        return self._read_lists[id(listed)]

    def _read_requirements(self, listed: list[Any], resource: Resource) -> Requirements:
        return tuple(
            {
                self._scheme_name(name, resource): tuple(filter(is_string, as_list(scopes)))
                for name, scopes in requirement.items()
            }
            for requirement in listed
            if isinstance(requirement, dict)
        )

    def _scheme_name(self, name: str, resource: Resource) -> str:
        if name in self._schemes or not is_scheme_uri(name):
            return name
        key = (id(resource), name)
        if key not in self._by_uri:
            try:
                self._by_uri[key] = self._resolve_scheme_uri(name, resource)
            except DocumentError:
                return name  # calls say that the document does not define it
        return self._by_uri[key]

    def _resolve_scheme_uri(self, uri: str, resource: Resource) -> str:
        references, entry = self._references, self._entry
        first = references.resolve(uri, resource)  # a component may be a reference itself
        for name, scheme in self._schemes.items():
            if first.resource is entry and scheme.pointer == first.pointer:
                return name
        target = references.follow({"$ref": uri}, resource)
        node_and_notes = read_scheme(target.node, swagger=False)
        if node_and_notes is None:
            return uri
        name = uri.rpartition("/")[2] or uri
        name = uri if name in self._schemes else name
        is_entry = target.resource is entry
        place = target.pointer if is_entry else f"{target.resource.name}#{target.pointer}"
        node, notes = node_and_notes
        self._schemes[name] = _ReadScheme(node, place, notes)
        return name

    def _read_components(self) -> Iterator[tuple[str, _ReadScheme]]:
        holder, above = as_dict(self._entry.root.get("components")), "/components/securitySchemes"
        if self._dialect.swagger:
            holder, above = self._entry.root, "/securityDefinitions"
        for name, node in as_dict(holder.get(above.rpartition("/")[2])).items():
            place = f"{above}{pointer_token(name)}"
            try:
                target = self._references.follow(node, self._entry)
            except DocumentError as error:
                self._component_warnings.append(f"{place}: {error.reason}")
                continue
            scheme = read_scheme(target.node, swagger=self._dialect.swagger)
            if scheme is None:
                self._component_warnings.append(
                    f"{place}: this is not a security scheme; it is ignored."
                )
            else:
                yield name, _ReadScheme(scheme[0], place, scheme[1])


def is_scheme_uri(name: str) -> bool:
    """Return whether the name of a scheme can be a URI."""
    return "#" in name or "/" in name


def read_scheme(node: Any, *, swagger: bool) -> tuple[Node, tuple[tuple[str, str], ...]] | None:
    """Return a Security Scheme Object as OpenAPI 3 writes it, and notes; None for anything else."""
    if not isinstance(node, dict):
        return None
    reader = _SchemeReader(node, swagger=swagger)
    return (reader.out, tuple(reader.notes)) if reader.read() else None


class _SchemeReader:
    """Reads one Security Scheme Object; `notes` are places in it, and how they were read."""

    def __init__(self, node: Node, *, swagger: bool) -> None:
        self.out = dict(node)
        self.notes: list[tuple[str, str]] = []
        self._node = node
        self._swagger = swagger

    def read(self) -> bool:
        """Fill `out`; False where the type is not known."""
        written = self._node.get("type")
        # Without a type its other properties show what is meant.
        if written is None:
            written = next((kind for key, kind in _TYPE_KEYS if key in self._node), None)
        if not isinstance(written, str) or not written:
            return False
        kind, scheme = _TYPES.get(fold_name(written), (written, ""))
        self.out["type"] = kind
        # Swagger 2.0 has `basic` as a type: that is no misspelling.
        is_usual = self._swagger and written == "basic"
        if kind != self._node.get("type") and not is_usual:
            self._note("type", f"{kind} {scheme}".strip())
        match kind:
            case "http":
                self._read_http(scheme)
            case "apiKey":
                self._read_location()
            case "oauth2":
                self._read_flows()
        return True

    def _read_http(self, scheme: str) -> None:
        scheme = scheme or as_string(self._node.get("scheme")).strip()
        if not scheme and "bearerFormat" in self._node:
            scheme = "bearer"
            self._note("scheme", scheme)
        self.out["scheme"] = scheme

    def _read_location(self) -> None:
        written = as_string(self._node.get("in"))
        location = _LOCATIONS.get(fold_name(written), written)
        self.out["in"] = location
        if location != written:
            self._note("in", location)

    def _read_flows(self) -> None:
        # Each version has names of its own for the flows; 2.0 has one flow in a scheme.
        declared = as_dict(self._node.get("flows"))
        if self._swagger or (not declared and "flow" in self._node):
            written = as_string(self._node.get("flow")) or "implicit"
            flow = _FLOWS.get(fold_name(written), written)
            keys = self._node.keys() & {*_FLOW_URLS, "scopes"}
            self.out["flows"] = {flow: {key: self._node[key] for key in keys}}
            if not self._swagger:
                self._note("flow", flow)
            return
        self.out["flows"] = flows = {}
        for written, node in declared.items():
            if isinstance(node, dict) and not written.startswith("x-"):
                flow = _FLOWS.get(fold_name(written), written)
                flows[flow] = node
                if flow != written:
                    note = f"{written!r:.60} is read as {flow!r}."
                    self.notes.append((f"/flows{pointer_token(written)}", note))

    def _note(self, key: str, meaning: str) -> None:
        if key in self._node:
            self.notes.append((f"/{key}", f"{self._node[key]!r:.60} is read as {meaning!r}."))
        else:
            self.notes.append(("", f"{key!r} is missing; it is read as {meaning!r}."))


def _make_scheme(node: Node) -> SecurityScheme:
    return SecurityScheme(
        type=node["type"],
        name=as_string(node.get("name")),
        location=as_string(node.get("in")),
        scheme=as_string(node.get("scheme")).lower(),
        flows={key: _make_flow(flow) for key, flow in as_dict(node.get("flows")).items()},
        openid_connect_url=mask_user(as_string(node.get("openIdConnectUrl"))),
    )


def _make_flow(node: Any) -> Node:
    node = as_dict(node)
    # The standard's properties only: extensions may be huge.
    flow: Node = {key: mask_user(node[key]) for key in _FLOW_URLS if is_string(node.get(key))}
    scopes = node.get("scopes")
    if isinstance(scopes, dict):
        flow["scopes"] = {name: as_string(text) for name, text in scopes.items()}
    return flow


def _find_prefix(description: str) -> str:
    for match in re.finditer(_PREFIX, description):
        word = next(filter(None, match.groups()))
        before = description[max(0, match.start() - 10) : match.start()].lower()
        is_negated = before.rstrip().endswith(("no", "without"))
        if word.lower() not in _NO_PREFIX and not is_negated:
            return "Bearer" if word == "bearer" else word
    return ""
