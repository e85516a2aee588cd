"""obligations.md lists every test of an obligation, and every test that it lists is there."""

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
PAGE = (HERE / "obligations.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (00[0-4]) \| (.+?) \| `(\w+)` \|$", re.MULTILINE)
ROWS = ROW.findall(PAGE)


def names_in(pattern):
    """Return the names of the tests in some files."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in HERE.glob(pattern)]
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    names = {node.name for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)}
    return {name for name in names if name.startswith("test_")}


def test_every_test_of_an_obligation_is_listed():
    assert names_in("test_text_*.py") - {name for *_, name in ROWS} == set()


def test_every_listed_test_is_there():
    assert {name for *_, name in ROWS} - names_in("*.py") == set()


def test_every_text_has_obligations_and_none_stands_twice():
    assert {text for text, *_ in ROWS} == {"000", "001", "002", "003", "004"}
    assert len({(text, words) for text, words, _ in ROWS}) == len(ROWS)
