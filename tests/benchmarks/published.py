"""The documents that are measured, and their twins in the other format.

Twins are made once and kept in `.made` beside this file; a published document does not change.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import yaml
from pydantic_core import from_json, to_json

from openapi_tools import load_tools

CORPUS = Path(__file__).parents[3] / "shared" / "corpus"
WORK_FOLDER = Path(__file__).parent / ".made"
_MISREAD = re.compile(
    r"[-+.]*\d.*|[-+]?\.\w+|~|=|<<|null|true|false|yes|no|on|off|y|n|", re.IGNORECASE | re.DOTALL
)


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
        return _write_example(
            f"{self.name}.json", lambda: to_json(load_tools(self.file).document).decode()
        )

    def as_yaml(self):
        if self.file.suffix != ".json":
            return self.file
        options = {"allow_unicode": True, "sort_keys": False}
        data = self.file.read_bytes()
        return _write_example(
            f"{self.name}.yaml", lambda: yaml.dump(from_json(data), Dumper=_Writer, **options)
        )


GITHUB = Document("GitHub", "github/api.github.com.json", (1.7, 2.8, 1.5))
KUBERNETES = Document("Kubernetes", "kubernetes/swagger.json", (3.5, 8.5, 3.2))
STRIPE = Document("Stripe", "stripe/stripe-old.yaml", (2.3, 5.2, 2.3))
DISCORD = Document("Discord", "discord/openapi.json")
OPENAI = Document("OpenAI", "openai/openapi.yaml")
DOCUMENTS = (GITHUB, STRIPE, KUBERNETES, DISCORD, OPENAI)


def _write_example(name, text):
    file = WORK_FOLDER / name
    if not file.exists():
        WORK_FOLDER.mkdir(exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(text(), encoding="utf-8")
        part.rename(file)
    return file


class _Writer(yaml.CSafeDumper):
    """Writes strings so that YAML 1.1 and 1.2 read the same; PyYAML alone has 1.1 in mind."""


def _text(writer, value):
    style = '"' if _MISREAD.fullmatch(value) else None
    return writer.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Writer.add_representer(str, _text)


def environment(**variables):
    return mock.patch.dict(os.environ, variables)
