"""What docs/ says of the settings, derived from their fields: `python tests/settings_page.py`.

It writes the table of docs/python.md and the JSON Schema of configuration files.
"""

import json
import re
from pathlib import Path

from openapi_tools.common.setting_fields import DEFAULT_SETTINGS, SettingFields, setting
from openapi_tools.serving.serving_tables import configuration_schema

DOCS = Path(__file__).parent.parent / "docs"
PAGE, SCHEMA = DOCS / "python.md", DOCS / "openapi-tools.schema.json"
TABLE = re.compile(r"(?<=\| setting \| default \| meaning \|\n\|---\|---\|---\|\n)(?:\|.*\n)+")


def row_of(name):
    value, meaning = getattr(DEFAULT_SETTINGS, name), setting(name)
    default = repr(value).replace("'", '"')
    if type(value) is int and value >= 10_000:
        default = f"{value:_}"
    link = f" [More]({meaning.page})." if meaning.page else ""
    return f"| `{name}` | `{default}` | {meaning.text}{link} |\n"


def table_of_settings():
    return "".join(map(row_of, SettingFields.__annotations__))


def main():
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(TABLE.sub(lambda _: table_of_settings(), page), encoding="utf-8")
    SCHEMA.write_text(json.dumps(configuration_schema(), indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
