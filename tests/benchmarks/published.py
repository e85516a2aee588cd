"""The documents that are measured, and their twins in the other format.

Twins are made once and kept in `.made` beside this file; a published document does not change.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import yaml
from pydantic_core import from_json

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
MADE = Path(__file__).parent / ".made"
_MISREAD = re.compile(
    r"[-+.]*\d.*|[-+]?\.\w+|~|=|<<|null|true|false|yes|no|on|off|y|n|", re.IGNORECASE | re.DOTALL
)
_NUMBERS = {"0o": 8, "0x": 16}


class Document(NamedTuple):
    name: str
    path: str
    goals: tuple[float, ...] = ()
    """For names and descriptions, for all input schemas, and for names of a parsed dict."""

    @property
    def file(self):
        return CORPUS / self.path

    def as_json(self):
        if self.file.suffix == ".json":
            return self.file
        return _made(
            f"{self.name}.json",
            lambda: json.dumps(yaml.load(self.file.read_bytes(), _Reader), ensure_ascii=False),
        )

    def as_yaml(self):
        if self.file.suffix != ".json":
            return self.file
        options = {"allow_unicode": True, "sort_keys": False}
        data = self.file.read_bytes()
        return _made(
            f"{self.name}.yaml", lambda: yaml.dump(from_json(data), Dumper=_Writer, **options)
        )


GITHUB = Document("GitHub", "github/api.github.com.json", (1.7, 2.5, 0.7))
KUBERNETES = Document("Kubernetes", "kubernetes/swagger.json", (1.7, 6, 0.7))
STRIPE = Document("Stripe", "stripe/stripe-old.yaml", (1.7, 3, 0.7))
DISCORD = Document("Discord", "discord/openapi.json")
OPENAI = Document("OpenAI", "openai/openapi.yaml")
DOCUMENTS = (GITHUB, STRIPE, KUBERNETES, DISCORD, OPENAI)


def _made(name, text):
    file = MADE / name
    if not file.exists():
        MADE.mkdir(exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(text(), encoding="utf-8")
        part.rename(file)
    return file


class _Writer(yaml.CSafeDumper):
    """Writes strings so that YAML 1.1 and 1.2 read the same; PyYAML alone has 1.1 in mind."""


def _text(writer, value):
    style = '"' if _MISREAD.fullmatch(value) else None
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


class _Reader(yaml.CSafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 -- PyYAML's own


def _integer(reader, node):
    return int(node.value.replace("0o", ""), _NUMBERS.get(node.value[:2], 10))


_Writer.add_representer(str, _text)
_Reader.add_constructor("tag:yaml.org,2002:int", _integer)
for tag, pattern, first in (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    whole = re.compile(f"^(?:{pattern})$")
    _Reader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", whole, [*first, ""])


def environment(**variables):
    return mock.patch.dict(os.environ, variables)
