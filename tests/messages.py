"""Every message that a user or a model can meet: `python tests/messages.py [WORD…]`.

It prints `module:line  kind  template` for each string of the package that reads as text: what is
raised, returned to a model, logged or written by the command line, and parts of such messages that
stand in variables. Words limit it to modules or templates that contain one of them. The help texts
of options.toml come last.
"""

import ast
import re
import sys
import tomllib

import house

RAISED = re.compile(r"\w*(?:Error|Document|Overlay|Reference|Feature|Approval|Parameter)")
LOGGED = {"critical", "debug", "error", "exception", "info", "log", "warning"}
WRITTEN = {"echo", "say", "remark", "confirm", "write", "fail"}
RETURNED = {"failed", "Fault", "Finding", "CallError"}
NOT_TEXT = {
    "compile",
    "sub",
    "search",
    "match",
    "fullmatch",
    "findall",
    "import_module",
    "strftime",
}
TEXT = re.compile(r"[A-Za-z{…][^\n]* [^\n]*[A-Za-z]{2}")
EXCERPT = 200  # characters of a value's expression


def template_of(node):
    """Return a string or an f-string as a template, adjacent strings joined; None for others."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(_part_of, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = [template_of(left), template_of(right)]
            if any(text is not None for text in texts):
                names = [ast.unparse(each)[:EXCERPT] for each in (left, right)]
                return "".join(
                    f"{{{name}}}" if text is None else text
                    for text, name in zip(texts, names, strict=True)
                )
    return None


def _part_of(part):
    if isinstance(part, ast.FormattedValue):
        return f"{{{ast.unparse(part.value)[:EXCERPT]}}}"
    return part.value


def messages_in(path):
    """Yield the line, the kind and the template of each message of a module."""
    tree = house.tree_of(path)
    skipped = set(_documentation(tree))

    def visit(node, kind):
        if id(node) in skipped:
            return
        template = template_of(node)
        if template is not None:
            if TEXT.search(template):
                yield node.lineno, kind, " ".join(template.split())
            return
        if isinstance(node, ast.Call):
            name = ast.unparse(node.func).rpartition(".")[2]
            if name in NOT_TEXT:
                return
            kind = _kind_of(name) or kind
        if isinstance(node, ast.AnnAssign):  # annotations are strings in places
            children = [node.value] if node.value else []
        else:
            children = list(ast.iter_child_nodes(node))
        for child in children:
            yield from visit(child, kind)

    yield from visit(tree, "text")


def _kind_of(name):
    if name in RETURNED:
        return "result"
    if name in LOGGED:
        return "log"
    if name in WRITTEN:
        return "output"
    return "raise" if RAISED.fullmatch(name) else None


def _documentation(tree):
    """Yield the ids of docstrings, and of strings below a constant."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str())):
                yield id(node)


def help_texts():
    """Yield the texts of the command line's options."""
    folder = house.PACKAGE / "cli"
    for path in sorted(folder.glob("*.toml")):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines, start=1):
            for text in re.findall(r'\bhelp = ("(?:[^"\\]|\\.)*")', line):
                yield path, number, tomllib.loads(f"x = {text}")["x"]


def main():
    """Print the messages; exit with 1 if there are none for the words."""
    words = sys.argv[1:]
    rows = [
        (house.name_of(path), line, kind, text)
        for path in house.modules_of(house.PACKAGE)
        for line, kind, text in messages_in(path)
    ]
    rows += [(house.name_of(path), line, "help", text) for path, line, text in help_texts()]
    count = 0
    for name, line, kind, text in rows:
        if not words or any(word in f"{name} {text}" for word in words):
            print(f"{name}:{line}  {kind}  {text}")
            count += 1
    print(f"{count} messages", file=sys.stderr)
    return int(not count)


if __name__ == "__main__":
    sys.exit(main())
