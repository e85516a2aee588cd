"""What commands look like on a terminal: `python tests/captures.py` writes tests/golden/terminal.

Each command is captured at 80, 120 and 200 columns, with colours and with NO_COLOR. Words after the
script's name limit the commands that are captured. Documents of `../shared/corpus` are captured if
the folder is there.
"""

import json
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

import terminals
from corpus import FOLDER
from shells import write_program

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "terminal"
WIDTHS = (80, 120, 200)
COMMANDS = {
    "help": "--help",
    "call-help": "call --help",
    "list": "list specs/museum.yaml",
    "list-cost": "list specs/gotify.json --match messages --cost",
    "list-unsummarised": "list specs/discord.json --match guild_application",
    "list-fastapi": "list fastapi.json",
    "list-github": "list github.json --match reactions",
    "list-stripe": "list stripe.yaml --match refund",
    "search": "search specs/museum.yaml buy a ticket",
    "search-github": "search github.json comment on an issue --limit 4",
    "search-nothing": "search specs/museum.yaml zebra",
    "stubs": "stubs specs/museum.yaml buy_museum_tickets get_ticket_code",
    "stubs-stripe": "stubs stripe.yaml 'POST /v1/refunds'",
    "stats": "stats specs/museum.yaml",
    "stats-github": "stats github.json --limit 8",
    "show": "show specs/museum.yaml buy_museum_tickets",
    "show-enum": "show specs/petstore.yaml 'GET /pet/findByStatus'",
    "show-nested": "show fastapi.json create_order",
    "show-file": "show fastapi.json upload_image",
    "show-github": "show github.json issues/create",
    "call": "call specs/museum.yaml get_museum_hours --mock --max-output-chars 400",
    "call-failure": "call specs/museum.yaml buy_museum_tickets --mock",
    "run": "run specs/museum.yaml program.py --mock",
    "lint": "lint fastapi.json",
    "lint-long": "lint specs/gotify.json",
    "prove": "prove specs/museum.yaml",
    "eval": "eval eval/shop.yaml --cases eval/shop-cases.yaml --model models:confused"
    " --model-dir eval",
    "diff": "diff specs/museum.yaml changed.yaml",
    "lock": "lock changed.yaml --lock museum.lock",
    "generate": "generate specs/museum.yaml --name museum --output generated/museum",
    "generate-diff": "generate changed.yaml --name museum --output generated/museum --diff",
    "explain": "explain timeout",
    "error": "show specs/museum.yaml get_musuem_hours",
}
CASES = [
    (name, width, has_colours)
    for name in COMMANDS
    for width in WIDTHS
    for has_colours in (True, False)
]
CORPUS = {"github.json": "github/api.github.com.json", "stripe.yaml": "stripe/stripe-old.yaml"}
STRING, NULL = {"type": "string"}, {"type": "null"}
ADDRESS = {"type": "object", "required": ["street"], "properties": {"street": STRING}}
ORDER = {
    "type": "object",
    "title": "Order",
    "required": ["ship_to"],
    "properties": {
        "ship_to": {"$ref": "#/components/schemas/Address"},
        "at": {"anyOf": [{"type": "string", "format": "date-time"}, NULL], "title": "At"},
        "tags": {"type": "array", "items": STRING, "title": "Tags", "default": []},
    },
}


def operation(function, path, method, *, docstring="", body=None, parameters=()):
    """Return an operation as FastAPI writes one."""
    return {
        "summary": function.replace("_", " ").title(),
        "operationId": f"{function}{path.replace('/', '_')}_{method}",
        "parameters": [
            {"name": name, "in": "query", "required": False, "schema": schema}
            for name, schema in parameters
        ],
        "responses": {"200": {"description": "Successful Response"}},
        **({"description": docstring} if docstring else {}),
        **({"requestBody": {"required": True, "content": body}} if body else {}),
    }


def fastapi_document():
    image = {"type": "object", "required": ["image"]}
    image["properties"] = {"image": {"type": "string", "format": "binary", "title": "Image"}}
    order = {"application/json": {"schema": ORDER}}
    upload = {"multipart/form-data": {"schema": image}}
    users = operation(
        "list_users", "/users", "get", docstring="Every user of the shop.\n\nSorted by name.",
        parameters=[("active", {"type": "boolean", "default": True})],
    )  # fmt: skip
    created = operation("create_order", "/orders", "post", docstring="Place an order.", body=order)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Shop", "version": "0.1.0"},
        "servers": [{"url": "https://shop.example.com"}],
        "paths": {
            "/users": {"get": users},
            "/orders": {"post": created},
            "/images": {"post": operation("upload_image", "/images", "post", body=upload)},
        },
        "components": {"schemas": {"Address": ADDRESS}},
    }


def file_of(name, width, has_colours):
    return GOLDEN / f"{name}-{width}{'-colours' * has_colours}.txt"


def is_available(name):
    """Return whether the document of a command is at hand."""
    return FOLDER.exists() or not any(file in COMMANDS[name] for file in CORPUS)


def prepare(folder):
    """Write what the commands read into a folder."""
    (folder / "specs").symlink_to(ROOT / "specs")
    (folder / "eval").symlink_to(ROOT / "docs" / "examples" / "eval")
    for name, path in CORPUS.items():
        (folder / name).symlink_to(FOLDER / path)
    shutil.copytree(ROOT / "generated" / "museum", folder / "generated" / "museum")
    (folder / "fastapi.json").write_text(json.dumps(fastapi_document()), encoding="utf-8")
    (folder / "program.py").write_text("hours = await get_museum_hours(limit=2)\nhours[0]\n")
    text = (ROOT / "specs" / "museum.yaml").read_text(encoding="utf-8")
    for old, new in (
        ("Get details about a special event.", "Tell of one event."),
        ("operationId: getTicketCode", "operationId: getQRCode"),
    ):
        assert text.count(old) == 1
        text = text.replace(old, new)
    (folder / "changed.yaml").write_text(text, encoding="utf-8")
    write_program(folder)
    run_command("lock specs/museum.yaml --lock museum.lock", folder, width=80)


def run_command(command, folder, *, width, **env):
    return terminals.run_in_terminal(
        *shlex.split(command), width=width, cwd=folder, program=[folder / "openapi-tools"],
        PYTHONPATH=str(ROOT), PAGER="", LC_ALL="C.UTF-8", HOME=str(folder),
        OPENAPI_TOOLS_CACHE_DIR=str(folder / "cache"), **env,
    )  # fmt: skip


def capture_command(name, width, has_colours, folder):
    """Return what a command writes, with the sequences for colours."""
    env = {} if has_colours else {"NO_COLOR": "1"}
    text = run_command(COMMANDS[name], folder, width=width, **env)
    # What a line of progress leaves; it takes as long as the machine is slow.
    lines = [line.rpartition("\r")[2].rstrip() for line in text.split("\n")]
    return "\n".join(lines).rstrip("\n") + "\n"


def main(chosen):
    GOLDEN.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if is_available(case[0])]
    with tempfile.TemporaryDirectory() as name:
        prepare(folder := Path(name))
        for case in cases:
            if not chosen or case[0] in chosen:
                file_of(*case).write_text(capture_command(*case, folder), encoding="utf-8")
    if not chosen:
        for file in set(GOLDEN.iterdir()) - {file_of(*case) for case in CASES}:
            file.unlink()


if __name__ == "__main__":
    main(sys.argv[1:])
