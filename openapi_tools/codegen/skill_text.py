"""A skill's own texts: its front matter, its references by topic, its most useful operations.

Spec: Agent Skills, agentskills.io/specification (front matter, progressive disclosure).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import yaml

from openapi_tools.codegen import Code
from openapi_tools.codegen.package_plan import (
    MOST_LINES,
    ModuleItem,
    Names,
    claim_file_stem,
    sort_key,
    split_modules,
)
from openapi_tools.codegen.render import Templates, escape_markdown
from openapi_tools.common.http_rules import is_read
from openapi_tools.common.visible_text import plain_text, truncate_text
from openapi_tools.errors import format_count
from openapi_tools.search.stubs import describe_signature

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

MOST_NAME = 64  # characters of a skill's name, and of its description
MOST_DESCRIPTION = 1024
USEFUL = 10  # operations that SKILL.md has itself

FOLDER = Path(__file__).parent / "skill_templates"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_MOST_OPERATIONS = 40  # of one reference, which a model reads as a whole
_SUMMARY, _TITLE, _LINE = 400, 80, 160
_LISTED_TOPICS = 150
_MOST_REFERENCES = 500  # hosts need not take more than 512 files (SEP-2640)
_BACKTICKS = re.compile(r"`+")
_DASHES = re.compile(r"-{2,}")
_VERSION_SEGMENT = re.compile(r"v?[0-9.]+|api|rest")


@dataclass(frozen=True, slots=True)
class Skill:
    """What a skill is made of; `write_call` returns the example call of a tool."""

    name: str
    title: str
    summary: str
    tools: Sequence[Any]
    write_call: Callable[[Any], str]


class Reference(NamedTuple):
    """A file of operations: its stem, its topic for a reader, and its tools."""

    stem: str
    topic: str
    tools: list[Any]


def is_skill_name(name: str) -> bool:
    """Whether a skill may have this name."""
    return len(name) <= MOST_NAME and _NAME.fullmatch(name) is not None


def render_texts(
    skill: Skill, *, values: Mapping[str, Any], front_matter: Mapping[str, Any]
) -> dict[str, str]:
    """Return `SKILL.md` and the files in `references/`.

    Args:
        skill: The skill.
        values: What the template says besides: how operations are called and found.
        front_matter: Its fields besides name and description.
    """
    references, templates = plan_references(skill.tools), Templates(FOLDER)
    common = {
        **values,
        "title": clean_line(skill.title, _TITLE) or skill.name,
        "summary": clean_line(skill.summary, _SUMMARY),
        "count": Code(format_count(len(skill.tools), "operation")),
        "front_matter": write_front_matter(front_matter_of(skill, front_matter)),
        "useful": [_describe_operation(tool, skill) for tool in find_useful_tools(skill.tools)],
        "references": [_reference_row(each) for each in references[:_LISTED_TOPICS]],
        "more_references": len(references) - _LISTED_TOPICS,
    }
    files = {"SKILL.md": templates.render("SKILL.md", common)}
    for reference in references:
        rows = [_describe_operation(tool, skill) for tool in reference.tools]
        page = common | {"topic": reference.topic, "rows": rows}
        files[f"references/{reference.stem}.md"] = templates.render("reference.md", page)
    return files


def front_matter_of(
    skill: Skill, other_fields: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """Return the fields of the front matter."""
    return {"name": skill.name, "description": describe_skill(skill), **other_fields}


def write_front_matter(fields: Mapping[str, Any]) -> Code:
    """Return the YAML between the marks, each value on a line of its own."""
    text: str = yaml.safe_dump(dict(fields), sort_keys=False, allow_unicode=True, width=1 << 20)
    return Code(text.rstrip("\n"))


def describe_skill(skill: Skill) -> str:
    """Return the description, by which a model decides whether it needs the skill."""
    title = clean_line(skill.title, _TITLE) or skill.name
    count = format_count(len(skill.tools), "operation")
    summary = clean_line(skill.summary, _SUMMARY)
    topics = ", ".join(dict.fromkeys(_topic_words(tool) for tool in skill.tools))
    about = f"{summary.rstrip('.…')}. " if summary else ""
    use = f"Use it to read or change data of {title}: {clean_line(topics, MOST_DESCRIPTION)}"
    return truncate_text(f"Call the {count} of {title}. {about}{use}", MOST_DESCRIPTION)


def clean_line(text: str, limit: int) -> str:
    """Return text on one line without markup, and without what ends a front matter."""
    line = " ".join(plain_text(str(text), limit).replace("<", " ").replace(">", " ").split())
    line = "".join(character for character in line if character.isprintable())
    # Some readers of skills look for three dashes anywhere.
    return _DASHES.sub("-", line)


def write_code_span(text: str) -> Code:
    """Return text as a code span of Markdown on one line.

    Spec: CommonMark 0.31, section 6.1: no run of backticks inside is as long as the fence.
    """
    line = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) or " "
    longest = max((len(run) for run in _BACKTICKS.findall(line)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return Code(f"{fence}{pad}{line}{pad}{fence}")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def plan_references(tools: Iterable[Any]) -> list[Reference]:
    """Return the files of operations: one for each tag, split by paths where a tag is large."""
    weight = MOST_LINES // _MOST_OPERATIONS
    items = [ModuleItem(tool, sort_key(tool.operation), weight) for tool in tools]
    parts = list(split_modules(items, min_depth=1))
    if len(parts) > _MOST_REFERENCES:
        parts = list(split_modules(items))
    stems = Names()
    return [
        Reference(claim_file_stem(stems, steps), _describe_topic(steps), part)
        for steps, part in parts
    ]


def find_useful_tools(tools: Sequence[Any]) -> list[Any]:
    """Return one operation of each of the largest topics in turn, until there are enough.

    Within a topic, the first is the read with the most operations below its path.
    """
    below = Counter(path for tool in tools for path in _paths_above(tool.path))

    def rank(tool: Any) -> tuple[Any, ...]:
        required = len(tool.input_schema.get("required", ()))
        return (tool.deprecated, not is_read(tool.operation), -below[tool.path], required)

    topics: dict[str, list[Any]] = {}
    for tool in tools:
        topics.setdefault(_topic_words(tool), []).append(tool)
    queues = [sorted(each, key=rank) for each in sorted(topics.values(), key=len, reverse=True)]
    rounds = range(max(map(len, queues), default=0))
    in_turn = [queue[turn] for turn in rounds for queue in queues if turn < len(queue)]
    return in_turn[:USEFUL]


def _paths_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


def _topic_words(tool: Any) -> str:
    if tool.tags:
        return str(tool.tags[0])
    segments = (part for part in tool.path.split("/") if part and "{" not in part)
    return next((part for part in segments if not _VERSION_SEGMENT.fullmatch(part)), "other")


def _describe_topic(steps: Sequence[str]) -> str:
    tag, *segments = steps or ("",)
    path = "".join(f"/{segment}" for segment in segments if segment)
    return clean_line(f"{tag} {path}", _TITLE) or "Other operations"


def _reference_row(reference: Reference) -> dict[str, Any]:
    return {
        "link": Code(f"[{escape_markdown(reference.topic)}](references/{reference.stem}.md)"),
        "count": Code(format_count(len(reference.tools), "operation")),
    }


def _describe_operation(tool: Any, skill: Skill) -> dict[str, Any]:
    required, optional, response = describe_signature(tool)
    arguments = ", ".join(filter(None, (required, f"*, {optional}" if optional else "")))
    summary = clean_line(tool.description.strip().partition("\n")[0], _LINE)
    place = f"{tool.method} {tool.path}"
    heading = f"{write_code_span(tool.name)}: {write_code_span(_one_line(place))}"
    if summary and summary != clean_line(place, _LINE):
        heading += f": {escape_markdown(summary)}"
    return {
        "heading": Code(heading),
        "arguments": write_code_span(f"({arguments})" + (response and f" -> {response}")),
        "call": write_code_span(skill.write_call(tool)),
    }
