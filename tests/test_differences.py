"""What changes for the tools between two documents: one finding for each cause."""

import copy
from functools import cache
from pathlib import Path

import yaml

from openapi_tools import load_tools
from openapi_tools.differences import differences_of

SPECS = Path(__file__).parents[1] / "specs"


@cache
def read(name):
    return yaml.safe_load((SPECS / name).read_text(encoding="utf-8"))


def told(old, new):
    """Return the findings as (kind, breaking, cause, number of tools)."""
    found = differences_of(load_tools(old), load_tools(new))
    assert all(
        item["tool"] == (item["tools"][0] if len(item["tools"]) == 1 else "") for item in found
    )
    return [(i["kind"], i["breaking"], i["cause"], len(i["tools"])) for i in found]


def test_a_document_does_not_differ_from_itself():
    museum = read("museum.yaml")

    assert told(museum, copy.deepcopy(museum)) == []


def test_another_server_is_one_finding_for_all_tools():
    old = read("museum.yaml")
    new = old | {"servers": [{"url": "https://other.example.com"}]}

    assert told(old, new) == [("server", True, "/servers", 8)]
