"""Generated files as a reviewer reads them: words of every script, and nothing unseen."""

import subprocess

import pytest
from documents import document
from source_characters import loose_marks_in, unseen_in

from openapi_tools import generate_package

WORDS = {
    "chinese": "返回博物馆的营业时间，包括节假日。",
    "cyrillic": "Возвращает часы работы музея.",
    "greek": "Επιστρέφει τις ώρες λειτουργίας του μουσείου.",
    "hebrew": "מחזיר את שעות הפתיחה של המוזיאון.",
    "arabic": "يعيد ساعات عمل المتحف.",
    "hindi": "संग्रहालय के खुलने का समय लौटाता है।",
    "thai": "คืนเวลาเปิดทำการของพิพิธภัณฑ์",
    "korean": "박물관 운영 시간을 반환합니다.",
    "emoji and symbols": "Öffnungszeiten – ab 9 € … 🚀 → «heute»",
}
UNSEEN = "a\u202eb\u2066c\u200bd\ufeffe\u00adf\ue000g\u3164h\x1bi\u2028j\U000e0041k"


def hours(description, summary="Get hours"):
    get = {
        "operationId": "get_hours",
        "summary": summary,
        "description": description,
        "parameters": [
            {"name": "day", "in": "query", "description": description, "schema": {"type": "string"}}
        ],
        "responses": {"200": {"description": "ok"}},
    }
    return document({"/hours": {"get": get}}, info={"title": description[:60], "version": "1"})


def generate(source, folder, **options):
    """Generate a package and return its files as text, but for the manifest's digests."""
    generate_package(source, folder, name="museum", **options)
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


@pytest.mark.parametrize("target", ["python", "exathena"])
@pytest.mark.parametrize("words", WORDS.values(), ids=WORDS)
def test_words_of_every_script_stand_as_they_are(tmp_path, words, target):
    files = generate(hours(words), tmp_path, target=target)

    tools = "".join(text for path, text in files.items() if path.endswith((".py", ".ex")))
    assert tools.count(words) >= 2
    assert words[:60] in files["manifest.json"]
    for text in files.values():
        assert unseen_in(text) == []


@pytest.mark.parametrize("target", ["python", "exathena"])
def test_what_a_reader_would_not_see_is_an_escape_in_every_file(tmp_path, target):
    source = hours(UNSEEN, summary=UNSEEN)
    (parameter,) = source["paths"]["/hours"]["get"]["parameters"]
    parameter["schema"] = {"type": "string", "enum": [UNSEEN], "default": "\u0301mark"}

    files = generate(source, tmp_path, target=target)

    for path, text in files.items():
        assert unseen_in(text) == loose_marks_in(text) == [], path
    assert r"\u001bi\u2028j" in files["manifest.json"]


@pytest.mark.parametrize(
    ("summary", "docstring"),
    [
        ("Buy museum tickets", "GET /hours: Buy museum tickets."),
        ("Is it open?", "GET /hours: Is it open?"),
        ('Say "hi" \\ there', "GET /hours: Say 'hi' there."),
        ("时间", "GET /hours: 时间."),
        ("Long words " * 30, f"GET /hours: {'Long words ' * 6}Long ..."),
        ("时间" * 60, f"GET /hours: {'时间' * 18}时 ..."),
    ],
)
def test_a_class_says_what_its_operation_does(tmp_path, summary, docstring):
    files = generate(hours("", summary=summary), tmp_path)

    (text,) = [text for path, text in files.items() if "/tools" in path]
    assert f'class GetHours(OperationTool):\n    """{docstring}"""\n' in text


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_a_diff_of_a_changed_sentence_has_its_line_only(tmp_path, language):
    sentences = {
        "english": ["The museum opens at nine. ", "It closes at five on most days. "] * 6,
        "chinese": ["博物馆九点开门。", "大多数日子五点关门。"] * 6,
    }[language]
    changed = [*sentences]
    changed[4] = changed[4].replace("nine", "half past nine").replace("九点", "九点半")
    generate(hours("".join(sentences)), tmp_path / "old")
    generate(hours("".join(changed)), tmp_path / "new")

    folders = [str(tmp_path / name / "museum_tools") for name in ("old", "new")]
    command = ["git", "diff", "--no-index", "--unified=0", *folders]
    done = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    lines = [line[1:].strip() for line in done.splitlines() if line[:1] in "+-"]
    described = [line for line in lines if line[:1] == '"']
    # In the description of the tool and of the argument, which may be cut before it.
    assert 2 <= len(described) <= 4
    assert all(len(line) <= 100 for line in described)
    assert {line.strip('"') for line in described} == {sentences[4], changed[4]}
