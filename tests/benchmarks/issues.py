"""The document, the calls and the answer that the rows about calls share; plain data."""

from __future__ import annotations

import json
from typing import Any

BASE = "http://127.0.0.1:9"
URL = "/repos/ada/rex/issues"
QUERY = {"state": "open"}
BODY = {"title": "It does not bark", "labels": ["bug", "dog"]}
ANSWER = json.dumps({"id": 1, "name": "Rex", "open": True, "note": "x" * 150}).encode()
_TEXT = {"type": "string"}
_PATH = [
    {"name": name, "in": "path", "required": True, "schema": _TEXT} for name in ("owner", "repo")
]
_SCHEMA = {
    "type": "object",
    "properties": {"title": _TEXT, "labels": {"type": "array", "items": _TEXT}},
    "required": ["title"],
}
_RESPONSES = {"200": {"description": "Done."}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.1",
    "info": {"title": "Issues", "version": "1"},
    "paths": {
        "/repos/{owner}/{repo}/issues": {
            "get": {
                "operationId": "list",
                "parameters": [
                    *_PATH,
                    {
                        "name": "state",
                        "in": "query",
                        "schema": {"type": "string", "enum": ["open", "closed"]},
                    },
                ],
                "responses": _RESPONSES,
            },
            "post": {
                "operationId": "create",
                "parameters": _PATH,
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _SCHEMA}},
                },
                "responses": _RESPONSES,
            },
        }
    },
}
