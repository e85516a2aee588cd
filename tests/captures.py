"""What commands look like in tmux: `python tests/captures.py` writes tests/golden/terminal anew.

Each command is captured at 80 and at 200 columns, with colours and with NO_COLOR.
"""

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

from shells import write_program

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden" / "terminal"
HEIGHT = 150
COMMANDS = {
    "list": "list specs/museum.yaml",
    "list-long": "list specs/gotify.json --match messages --cost",
    "show": "show specs/museum.yaml buy_museum_tickets",
    "show-long": "show specs/petstore.yaml 'GET /pet/findByStatus'",
    "call": "call specs/museum.yaml get_museum_hours --mock --max-output-chars 400",
    "generate-diff": "generate changed.yaml --name museum --output generated/museum --diff",
}
CASES = [
    (name, width, has_colours)
    for name in COMMANDS
    for width in (80, 200)
    for has_colours in (True, False)
]
_END = "(end)"


def file_of(name, width, has_colours):
    return GOLDEN / f"{name}-{width}{'-colours' * has_colours}.txt"


def prepare(folder):
    (folder / "specs").symlink_to(ROOT / "specs")
    shutil.copytree(ROOT / "generated" / "museum", folder / "generated" / "museum")
    text = (ROOT / "specs" / "museum.yaml").read_text(encoding="utf-8")
    was = "Get details about a special event."
    assert text.count(was) == 1
    (folder / "changed.yaml").write_text(text.replace(was, "Tell of one event."), encoding="utf-8")
    write_program(folder)


def captured(name, width, has_colours, folder):
    """Return the screen behind a command, with the sequences for colours."""
    tmux = ["tmux", "-L", f"{name}-{width}-{has_colours}-{os.getpid()}", "-f", os.devnull]
    env = {
        "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}", "PYTHONPATH": str(ROOT), "PAGER": "",
        "OPENAPI_TOOLS_CACHE_DIR": str(folder / "kept"), "LC_ALL": "C.UTF-8", "HOME": str(folder),
        **({} if has_colours else {"NO_COLOR": "1"}),
    }  # fmt: skip
    # The lines of the terminal are those of the session, not those of a client.
    script = f"openapi-tools {COMMANDS[name]}; echo '{_END}'; exec sleep 1000"
    size = ["-x", str(width), "-y", str(HEIGHT)]
    start = [*tmux, "new-session", "-d", *size, "-c", str(folder), script]
    subprocess.run(start, check=True, env=env, capture_output=True)
    try:
        while True:
            look = [*tmux, "capture-pane", "-p", "-e"]
            screen = subprocess.run(look, check=True, env=env, capture_output=True).stdout.decode()
            if _END in screen:
                return screen.partition(_END)[0].rstrip() + "\n"
            time.sleep(0.05)
    finally:
        subprocess.run([*tmux, "kill-server"], check=False, env=env, capture_output=True)


def main():
    shutil.rmtree(GOLDEN, ignore_errors=True)
    GOLDEN.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name:
        prepare(folder := Path(name))
        for case in CASES:
            file_of(*case).write_text(captured(*case, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
