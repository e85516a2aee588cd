"""PyPI's httpbin, with the Swagger 2.0 document that stands in its docstrings."""

from __future__ import annotations

import inspect
import json
import re
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_VARIABLE = re.compile(r"<(?:\w+:)?(\w+)>")
_VERBS = ("get", "post", "put", "delete", "patch", "trace")


def create_httpbin() -> Callable[..., Iterable[bytes]]:
    """Return httpbin as a WSGI application that also serves `/spec.json`."""
    from httpbin import app

    document = json.dumps(httpbin_document(app)).encode()

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["PATH_INFO"] != "/spec.json":
            return app(environ, start_response)
        length = str(len(document))
        start_response("200 OK", [("Content-Type", "application/json"), ("Content-Length", length)])
        return [document]

    return serve


def httpbin_document(app: Any) -> dict[str, Any]:
    """Return the document of an application whose views carry it in YAML below `---`.

    Views without it, and the methods HEAD and OPTIONS that Flask adds, are left out.
    """
    paths: dict[str, dict[str, Any]] = {}
    for rule in app.url_map.iter_rules():
        text = inspect.getdoc(app.view_functions[rule.endpoint]) or ""
        summary, separator, declared = text.partition("---\n")
        if not separator:
            continue
        item = paths.setdefault(_VARIABLE.sub(r"{\1}", rule.rule), {})
        common = yaml.safe_load(declared)
        operations = {verb: common.pop(verb, {}) for verb in _VERBS}
        for verb in _VERBS:
            if verb.upper() in rule.methods:
                item[verb] = {"summary": summary.strip(), **common, **operations[verb]}
    info = {"title": "httpbin", "version": "0"}
    return {"swagger": "2.0", "info": info, "paths": dict(sorted(paths.items()))}
