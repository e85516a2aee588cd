"""The bounds on the package's names, shape and prose: `python tests/house.py`.

Each row has today's number, the bound, and whether it is met; `-v ROW` lists the places of the
rows whose name has that word. Exit status 1 while a bound is not met.
"""

import ast
import asyncio
import collections
import re
import statistics
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "openapi_tools"
PUBLIC = ("_", "_asdict", "_exit", "_fields", "_make", "_replace")
"""Names that start with an underscore and are documented: `os._exit`, and those of named tuples."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOORS = ("__init__.py", "__main__.py", "_version.py")

REGULAR = re.compile(r"[a-z]+(?:ed|en)")
NOT_PARTICIPLES = frozenset(
    {"feed", "need", "seed", "embed", "speed", "listen", "open", "token", "screen", "len"}
)
"""Verbs and nouns that end like a participle."""
IRREGULAR = frozenset(
    {"begun", "bound", "bought", "brought", "built", "caught", "done", "drawn", "felt"}
    | {"fitted", "found", "gone", "got", "had", "heard", "held", "kept", "known", "laid", "led"}
    | {"left", "lent", "lost", "made", "meant", "met", "paid", "said", "seen", "sent"}
    | {"shown", "sought", "sold", "spent", "stood", "stuck", "sung", "taught", "thought", "thrown"}
    | {"told", "torn", "understood", "unset", "unbound", "won", "worn", "lacking", "lasting"}
)
"""Without `read`, `cut`, `put`, `set` and `split`, which are verbs, too."""
PARTICLES = frozenset(
    {"about", "above", "after", "again", "alone", "anew", "apart", "around", "aside", "as", "at"}
    | {"away", "back", "before", "behind", "below", "beneath", "beside", "between", "beyond", "by"}
    | {"down", "from", "here", "in", "inside", "into", "near", "of", "off", "on", "once", "out"}
    | {"outside", "over", "per", "since", "so", "there", "through", "to", "together", "under"}
    | {"until", "up", "upon", "with", "within", "without", "loosely", "strictly", "plainly"}
)
VARIABLES = frozenset(
    {"told", "given", "wanted", "own", "known", "made", "found", "others", "more"}
)
GLOSSARY = re.compile(
    r"\b(?:answer(?:s|ed)? of|an answer|the answers?|members?|text(?:s)? of|blanks?|circles?"
    r"|rooms?|mend(?:s|ed|ing)?|long work|count(?:s|ed)? over|kept answers?|half characters?"
    r"|made inputs?|lacks?|lacking|anew)\b",
    re.IGNORECASE,
)
"""Words of a dialect for which the standard, or plain English, has others."""
RIGHT_WORDS = ("enum member", "blank line", "no room", "team member")


class Row(NamedTuple):
    """A number with its bound: the most, or with `least` also the least."""

    name: str
    value: float
    bound: float
    places: tuple[str, ...] = ()
    least: float = 0

    @property
    def is_met(self):
        return self.least <= self.value <= self.bound

    def __str__(self):
        verdict = "met" if self.is_met else "NOT MET"
        bound = f"{self.least:g} to {self.bound:,g}" if self.least else f"{self.bound:,g}"
        return f"{self.name:64} {self.value:9,g} {bound:>10}  {verdict}"


def modules_of(folder):
    """Return the modules below a folder, but for what tests only write there."""
    return sorted(p for p in folder.rglob("*.py") if ".made" not in p.parts)


def name_of(path):
    return path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name


def lines_of(paths):
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


def functions_of(path):
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, FUNCTIONS)]


# Names


def is_participle(name):
    return name in IRREGULAR or (bool(REGULAR.fullmatch(name)) and name not in NOT_PARTICIPLES)


def bare_names(paths):
    """Return functions whose whole name is a participle, an adverb or a preposition.

    Properties are facts, and may be named so, and class methods of a public class are constructors
    beside its name: `ToolResult.failed(...)`. An alias of a function counts by its own name.
    """
    return tuple(
        f"{name_of(path)}:{line} {name}"
        for path in paths
        for line, name in _callable_names(tree_of(path))
        if is_participle(word := name.strip("_")) or word in PARTICLES
    )


def _callable_names(tree):
    constructors = {
        id(node)
        for owner in ast.walk(tree)
        if isinstance(owner, ast.ClassDef) and not owner.name.startswith("_")
        for node in owner.body
        if isinstance(node, FUNCTIONS)
        and "classmethod" in map(ast.unparse, node.decorator_list)
        and not node.name.startswith("_")
    }
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                decorators = {ast.unparse(each).rpartition(".")[2] for each in node.decorator_list}
                is_fact = decorators & {"property", "cached_property", "setter"}
                if not is_fact and id(node) not in constructors:
                    yield node.lineno, node.name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
                yield node.lineno, name


def shared_classes(paths):
    """Return class names that occur in more than one module, without a leading underscore."""
    homes = collections.defaultdict(set)
    for path in paths:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                homes[node.name.lstrip("_")].add(name_of(path))
    return tuple(f"{name}: {', '.join(sorted(p))}" for name, p in homes.items() if len(p) > 1)


def vague_variables(paths):
    """Return variables and parameters with a name that says how a sentence has them."""
    return tuple(
        f"{name_of(path)}:{line} {name}"
        for path in paths
        for line, name in sorted(set(_bound_names(tree_of(path))))
        if name.strip("_") in VARIABLES
    )


def _bound_names(tree):
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name
            case ast.arg(arg=name):
                yield node.lineno, name
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, name


def collected_arguments(paths):
    """Return calls of functions of the package with `**name`.

    A call is of another library if it goes to `super()`, to a name that the module imports from
    there, or to a parameter of a type from there.
    """
    functions = {
        node.name
        for path in paths
        for node in ast.walk(tree_of(path))
        if isinstance(node, (*FUNCTIONS, ast.ClassDef))
    }
    return tuple(
        f"{name_of(path)}:{node.lineno} {ast.unparse(node.func)}"
        for path in paths
        for node in _calls_of(functions, tree_of(path))
        if any(k.arg is None and isinstance(k.value, ast.Name) for k in node.keywords)
    )


def _calls_of(functions, tree):
    imports = set(_outside_names(tree))
    foreign = imports | {
        node.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.arg) and node.annotation and _root(node.annotation) in imports
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] in functions
            and _root(node.func) not in (*foreign, "super")
        ):
            yield node


def _root(node):
    """Return the first name of `name.attribute`, also in calls such as `name().attribute`."""
    while not isinstance(node, ast.Name | ast.Constant):
        node = next(ast.iter_child_nodes(node), ast.Constant(None))
    return getattr(node, "id", None)


def _outside_names(tree):
    """Yield the names that a module imports from other libraries."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) or (
            isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] != PACKAGE.name
        ):
            yield from (a.asname or a.name.partition(".")[0] for a in node.names)


# Imports


def hidden_imports(paths):
    """Return imports of every kind that do not stand at the top of a module."""
    return tuple(
        f"{name_of(path)}:{line} {kind}"
        for path in paths
        for line, kind in sorted(set(_hidden_imports(path)))
    )


def _hidden_imports(path):
    tree = tree_of(path)
    for function in functions_of(path):
        if function.name == "__getattr__" and function in tree.body:
            yield function.lineno, "__getattr__ of a module"
        for node in ast.walk(function):
            if isinstance(node, ast.Import | ast.ImportFrom):
                yield node.lineno, "import"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func)
            if name.rpartition(".")[2] in ("import_module", "__import__", "importer"):
                yield node.lineno, name


def cycles(paths):
    """Return the groups of modules that import each other, annotations included."""
    names = {_module_name(path): path for path in paths}
    graph = {name: set(_imports(tree_of(path), name, names)) for name, path in names.items()}
    return tuple(", ".join(sorted(group)) for group in _components(graph) if len(group) > 1)


def _module_name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imports(tree, module, names):
    for node in ast.walk(tree):
        listed = []
        if isinstance(node, ast.Import):
            listed = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            listed = [f"{node.module}.{alias.name}" for alias in node.names]
            listed = [name if name in names else node.module for name in listed]
        yield from (name for name in listed if name in names and name != module)


def _components(graph):
    """Yield the strongly connected components (Tarjan)."""
    order, low, stack, on_stack = {}, {}, [], set()

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        on_stack.add(node)
        for neighbour in sorted(graph[node]):
            if neighbour not in order:
                yield from visit(neighbour)
                low[node] = min(low[node], low[neighbour])
            elif neighbour in on_stack:
                low[node] = min(low[node], order[neighbour])
        if low[node] == order[node]:
            group = []
            while node not in group:
                group.append(stack.pop())
            on_stack.difference_update(group)
            yield group

    for node in sorted(graph):
        if node not in order:
            yield from visit(node)


def shared_names(paths):
    counts = collections.Counter(path.name for path in paths if path.name not in DOORS)
    return tuple(name for name, count in counts.items() if count > 1)


def names_given_twice(paths):
    """Return the functions and classes whose module defines their name a second time."""
    return tuple(
        f"{name_of(path)} {name}"
        for path in paths
        for name, count in _count_names(tree_of(path).body).items()
        if count > 1
    )


def _count_names(body):
    definitions = [node for node in body if isinstance(node, (*FUNCTIONS, ast.ClassDef))]
    # Those with decorators may belong together, as overloads do.
    names = [node.name for node in definitions if not node.decorator_list]
    targets = {
        target.id
        for node in body
        if isinstance(node, (ast.Assign, ast.AnnAssign))
        for target in getattr(node, "targets", None) or [node.target]
        if isinstance(target, ast.Name)
    }
    return collections.Counter([*names, *targets])


def small_modules(paths):
    return tuple(name_of(p) for p in paths if p.name not in DOORS and lines_of([p]) < 30)


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
    own_names = set(_defined_names(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr=name) if _is_private(name) and name not in own_names:
                yield node.lineno, name
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr" | "hasattr"), args=[_, literal, *_]
            ):
                name = getattr(literal, "value", "")
                if isinstance(name, str) and _is_private(name) and name not in own_names:
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


def _defined_names(tree):
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


# Traces


class Trace(NamedTuple):
    """What ran: modules, classes whose methods ran, and how deep frames of the package nested."""

    modules: tuple[str, ...]
    classes: tuple[str, ...]
    depth: int
    frames: tuple[str, ...]


@contextmanager
def traced():
    """Give a function that returns the trace of what ran inside."""
    modules, classes, frames = set(), set(), []
    depths = []

    def look(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(str(PACKAGE)):
            return
        if code.co_name == "<module>":
            return
        modules.add(name_of(Path(code.co_filename)))
        head, _, rest = code.co_qualname.partition(".")
        if rest and not rest.startswith("<locals>") and not head.startswith("<"):
            classes.add(head)
        names, above = [], frame
        while above is not None:
            if above.f_code.co_filename.startswith(str(PACKAGE)):
                names.append(above.f_code.co_qualname)
            above = above.f_back
        depths.append(len(names))
        if len(names) == max(depths):
            frames[:] = reversed(names)

    sys.setprofile(look)
    try:
        yield lambda: Trace(
            tuple(sorted(modules)), tuple(sorted(classes)), max(depths, default=0), tuple(frames)
        )
    finally:
        sys.setprofile(None)


def trace_load():
    """Trace a load of a small YAML document, its first schema and its first operation."""
    from openapi_tools import Settings, load_tools

    settings = Settings(cache=False)

    def load():
        toolset = load_tools(ROOT / "specs/museum.yaml", settings=settings)
        tool = toolset["buy_museum_tickets"]
        assert tool.description
        assert tool.input_schema
        assert tool.operation

    load()  # what only a first load of a process does is not counted
    with traced() as result:
        load()
    return result()


async def trace_call():
    """Trace one POST with a credential to a server on loopback."""
    from openapi_tools import Settings, load_tools

    server = await asyncio.start_server(_respond, "127.0.0.1")
    settings = Settings(base_url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    credentials = {"MuseumPlaceholderAuth": ("ada", "s3cret")}
    arguments = {"ticketType": "general", "ticketDate": "2023-09-07"}
    source = ROOT / "specs/museum.yaml"
    async with server, load_tools(source, settings=settings, credentials=credentials) as toolset:
        tool = toolset["buy_museum_tickets"]
        results = [await tool.execute(arguments)]  # builds what later calls use
        with traced() as result:
            results.append(await tool.execute(arguments))
    assert all(each.success for each in results), results
    return result()


async def _respond(reader, writer):
    body = b'{"message": "sold"}'
    head = f"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    with suppress(asyncio.CancelledError, asyncio.IncompleteReadError):
        while lines := (await reader.readuntil(b"\r\n\r\n")).lower():
            length = lines.partition(b"content-length:")[2].partition(b"\r\n")[0]
            await reader.readexactly(int(length))
            writer.write(head.encode() + b"\r\n\r\n" + body)


# Prose


def comment_share(paths):
    """Return the own-line comments in 100 lines of code."""
    lines = [line.strip() for path in paths for line in path.read_text("utf-8").splitlines()]
    return round(100 * sum(line.startswith("#") for line in lines) / len(lines), 1)


def pages():
    return [p for p in sorted(ROOT.glob("docs/**/*.md")) if p.name != "changelog.md"]


def dialect_words(paths):
    """Return words of the glossary's left columns: in pages, docstrings, messages and comments."""
    places = []
    for path in [*paths, *pages(), ROOT / "README.md"]:
        for number, text in _prose_of(path):
            for match in GLOSSARY.finditer(text):
                around = text[max(match.start() - 12, 0) : match.end() + 12]
                if not any(words in around for words in RIGHT_WORDS):
                    places.append(f"{name_of(path)}:{number} {match[0]}")
    return tuple(places)


def _prose_of(path):
    if path.suffix == ".md":
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        return
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if line.strip().startswith("#"):
            yield number, line


def words_of_docs():
    texts = [page.read_text(encoding="utf-8") for page in [*pages(), ROOT / "README.md"]]
    return sum(len(text.split()) for text in texts)


def function_lengths(paths):
    lengths = [f.end_lineno - f.lineno + 1 for path in paths for f in functions_of(path)]
    return statistics.median(lengths), round(statistics.quantiles(lengths, n=20)[-1])


def loose_modules():
    return tuple(name_of(p) for p in sorted(PACKAGE.glob("*.py")) if p.name not in DOORS)


def source_rows():
    """Return the rows that are counted in sources."""
    modules = modules_of(PACKAGE)
    median, high = function_lengths(modules)
    lists = [
        ("functions named by a participle, adverb or preposition alone", bare_names(modules), 0),
        ("class names in more than one module", shared_classes(modules), 0),
        ("variables named by the grammar of a sentence", vague_variables(modules), 40),
        ("calls of own functions with **name", collected_arguments(modules), 20),
        ("imports not at the top of a module, of every kind", hidden_imports(modules), 45),
        ("cycles between modules, annotations included", cycles(modules), 3),
        ("loose modules at the top", loose_modules(), 8),
        ("words of a dialect in docs, messages, docstrings", dialect_words(modules), 30),
        ("private attributes of other libraries", private_uses(modules), 0),
        ("file names in more than one folder", shared_names(modules), 0),
        ("modules under 30 lines", small_modules(modules), 0),
    ]
    return [
        *(Row(name, len(places), bound, places) for name, places, bound in lists),
        Row("own-line comments in 100 lines", comment_share(modules), 5, least=2),
        Row("words in docs and README", words_of_docs(), 45_000),
        Row("lines of a function, median", median, 10),
        Row("lines of a function, 95th percentile", high, 35),
    ]


def trace_rows():
    """Return the rows of what runs in a load and in a call."""
    load, call = trace_load(), asyncio.run(trace_call())
    lists = [
        ("load, schema and operation: modules", load.modules, 24),
        ("POST with a credential: modules", call.modules, 18),
        ("POST with a credential: classes", call.classes, 18),
        ("POST with a credential: frames deep", call.frames, 14),
    ]
    return [Row(name, len(places), bound, places) for name, places, bound in lists]


def main():
    """Print each row; with `-v WORD` the places of the rows whose name has the word."""
    rows = [*source_rows(), *trace_rows()]
    print(f"{'':64} {'today':>9} {'bound':>10}")
    word = sys.argv[2] if sys.argv[1:2] == ["-v"] and len(sys.argv) > 2 else None
    for row in rows:
        print(row)
        for place in row.places if word is not None and word in row.name else ():
            print("   ", place)
    return int(not all(row.is_met for row in rows))


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    sys.exit(main())
