"""A document of a farm, and overlays of it."""

import json

from documents import document, operation


def overlay(*actions, version="1.1.0", **fields):
    """Return an overlay with these actions."""
    info = {"title": "Changes", "version": "3"}
    return {"overlay": version, "info": info, "actions": list(actions), **fields}


def farm(**fields):
    """Return a document of a farm, with further fields."""
    paths = {
        "/cows": {"get": operation(operationId="cows", tags=["a", "b"])},
        "/hens": {"get": operation(operationId="hens"), "post": operation(operationId="hatch")},
    }
    return document(paths, **fields)


def write_file(path, value):
    """Write a text, or another value as JSON, and return the path."""
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


ADD = overlay({"target": "$.paths['/cows'].get", "update": {"summary": "Cows of the farm"}})
YAML = """
overlay: 1.1.0
info: {title: Changes, version: '3'}
actions:
  - target: $.paths['/cows'].get
    update: {summary: Cows of the farm}
"""
