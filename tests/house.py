"""The size and shape of the package, each figure beside its bound: `python tests/house.py`.

Exit status 1 when a bound is not met.
"""

import ast
import asyncio
import collections
import re
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "openapi_tools"
PUBLIC = ("_", "_asdict", "_exit", "_fields", "_make", "_replace")
"""Names that start with an underscore and are documented: `os._exit`, and those of named tuples."""
NEW_ROOMS = ("shaping", "search", "code", "serving", "browse")
"""Rooms with bounds of their own; the bound of modules counts the others."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOORS = ("__init__.py", "__main__.py", "_version.py")
PHRASES = re.compile(
    r"\b(what is|whoever|somebody|nobody|stands? in|as it is|(?:is|are) no (?!longer|more than)\w)",
    re.IGNORECASE,
)
"""Phrases that plain English does without."""


class Figure(NamedTuple):
    name: str
    value: int
    bound: int
    places: tuple[str, ...] = ()

    def __str__(self):
        verdict = "met" if self.value <= self.bound else "NOT MET"
        return f"{self.name:48} {self.value:7,} {self.bound:7,}  {verdict}"


def modules_of(folder):
    """Return the modules below a folder, but for what tests only write there."""
    return sorted(p for p in folder.rglob("*.py") if ".made" not in p.parts)


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def lines_of(paths):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def phrases_in(paths):
    return tuple(
        f"{name_of(path)}:{number} {line.strip()}"
        for path in paths
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if PHRASES.search(line)
    )


def prose_of():
    """Return the package's modules and templates, and the pages about it."""
    pages = [p for p in sorted(ROOT.glob("docs/**/*.md")) if p.name != "changelog.md"]
    templates = sorted(PACKAGE.rglob("*.jinja"))
    return [*modules_of(PACKAGE), *templates, ROOT / "README.md", *pages]


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def shared_names(paths):
    counts = collections.Counter(path.name for path in paths if path.name not in DOORS)
    return tuple(name for name, count in counts.items() if count > 1)


def small_modules(paths):
    return tuple(name_of(p) for p in paths if p.name not in DOORS and lines_of([p]) < 30)


def imports_in_functions(paths):
    """Return where functions import; `TYPE_CHECKING` blocks are not in functions."""
    return tuple(f"{name_of(path)}:{line}" for path in paths for line in _inner_imports(path))


def _inner_imports(path):
    functions = [n for n in ast.walk(tree_of(path)) if isinstance(n, FUNCTIONS)]
    nodes = [node for function in functions for node in ast.walk(function)]
    return sorted({n.lineno for n in nodes if isinstance(n, ast.Import | ast.ImportFrom)})


def private_uses(paths):
    """Return where a module uses a private attribute or module of another library.

    A private name is ours where the module that uses it defines it.
    """
    return tuple(
        f"{name_of(path)}:{line} {name}"
        for path in paths
        for line, name in sorted(set(_private_uses(tree_of(path))))
    )


def _private_uses(tree):
    own = set(_defined(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if _is_private(name) and name not in own:
                yield node.lineno, name
            case ast.Call(func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, said, *_]):
                name = getattr(said, "value", "")
                if isinstance(name, str) and _is_private(name) and name not in own:
                    yield node.lineno, name
            case ast.ImportFrom(module=str(module), level=0) if not module.startswith(PACKAGE.name):
                names = [*module.split("."), *(alias.name for alias in node.names)]
                yield from ((node.lineno, module) for name in names if _is_private(name))
            case ast.Import():
                for name in (alias.name for alias in node.names):
                    if any(map(_is_private, name.split("."))):
                        yield node.lineno, name
            case ast.Constant(value=str(text)) if (
                "._" in text and text.replace(".", "").isidentifier()
            ):
                yield node.lineno, text


def _is_private(name):
    return name.startswith("_") and not name.endswith("__") and name not in PUBLIC


def _defined(tree):
    """Yield the names that a module defines: functions, classes, targets, `__slots__`, fields."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Attribute(attr=name, value=ast.Name(id="self" | "cls"), ctx=ast.Store()):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=[ast.Name(id="__slots__")], value=value):
                yield from (n.value for n in ast.walk(value) if isinstance(n, ast.Constant))
            case ast.Assign(targets=targets):
                yield from (t.id for t in targets if isinstance(t, ast.Name))


@contextmanager
def run_modules():
    """Give a function that returns the modules of the package whose functions ran."""
    seen = set()

    def look(frame, event, _):
        if event == "call" and frame.f_code.co_name != "<module>":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        yield lambda: sorted(name_of(Path(f)) for f in seen if f.startswith(str(PACKAGE)))
    finally:
        sys.setprofile(None)


def modules_of_a_load():
    """Return the modules on the way of a small YAML document to names and descriptions."""
    from openapi_tools import Settings, load_tools

    def load():
        toolset = load_tools(ROOT / "specs/museum.yaml", settings=Settings(cache=False))
        assert [tool.description for tool in toolset if tool.name]

    load()  # what only a first load of a process does is not counted
    with run_modules() as seen:
        load()
    return seen()


async def modules_of_a_call():
    """Return the modules on the way of one POST to a server on loopback."""
    from openapi_tools import Settings, load_tools

    server = await asyncio.start_server(_answer, "127.0.0.1")
    port = server.sockets[0].getsockname()[1]
    settings = Settings(anonymous=True, base_url=f"http://127.0.0.1:{port}")
    arguments = {"ticketType": "general", "ticketDate": "2023-09-07"}
    async with server, load_tools(ROOT / "specs/museum.yaml", settings=settings) as toolset:
        tool = toolset["buy_museum_tickets"]
        results = [await tool.execute(arguments)]  # builds what later calls use
        with run_modules() as seen:
            results.append(await tool.execute(arguments))
    assert all(result.success for result in results), results
    return seen()


async def _answer(reader, writer):
    body = b'{"message": "sold"}'
    head = f"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with suppress(asyncio.CancelledError, asyncio.IncompleteReadError):
        while lines := (await reader.readuntil(b"\r\n\r\n")).lower():
            length = lines.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(head.encode() + b"\r\n\r\n" + body)


def new_rooms():
    """Return the folders of the new rooms that are there."""
    return [PACKAGE / name for name in NEW_ROOMS if (PACKAGE / name).is_dir()]


def figures():
    modules, tests = modules_of(PACKAGE), modules_of(ROOT / "tests")
    others = [path for path in modules if path.relative_to(PACKAGE).parts[0] not in NEW_ROOMS]
    rooms = new_rooms()
    loading, calling = modules_of_a_load(), asyncio.run(modules_of_a_call())
    lists = {
        "file names in more than one folder": (shared_names(modules), 0),
        "modules under 30 lines": (small_modules(modules), 0),
        "imports inside functions": (imports_in_functions(modules), 60),
        "private attributes of other libraries": (private_uses(modules), 0),
        "modules on the way of a load": (loading, 20),
        "modules on the way of a call": (calling, 20),
        "lines with phrases to avoid": (phrases_in(prose_of()), 39),
    }
    return [
        Figure("lines of openapi_tools", lines_of(modules), 40_000),
        *(Figure(f"lines of {room.name}/", lines_of(modules_of(room)), 2_500) for room in rooms),
        Figure("modules outside the new rooms", len(others), 130),
        # As for the rest of the house, one and a half lines of tests for each line of a new room.
        Figure("lines of tests", lines_of(tests), 45_000 + 3_750 * len(rooms)),
        *(Figure(name, len(places), bound, places) for name, (places, bound) in lists.items()),
    ]


def main():
    """Print each figure; with `-v` the places that it counts."""
    found = figures()
    print(f"{'':48} {'today':>7} {'bound':>7}")
    for figure in found:
        print(figure)
        for place in figure.places if "-v" in sys.argv[1:] else ():
            print("   ", place)
    return int(any(figure.value > figure.bound for figure in found))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
