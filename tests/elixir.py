"""Generated Elixir, compiled and run by Debian's Elixir where there is one."""

import asyncio
import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from openapi_tools.codegen.elixir_literals import write_elixir_literal
from openapi_tools.toolsets.packages import class_name

GOLDEN = Path(__file__).parent / "golden" / "exathena"
"""What is generated for `specs/petstore.yaml`."""
STUBS = Path(__file__).parent / "exathena_stubs.ex"
needs_elixir = pytest.mark.skipif(
    shutil.which("elixirc") is None, reason="elixir is not installed (Debian: apt install elixir)"
)
_SAY = """
say = fn {kind, text} ->
  IO.puts(Base.encode64("#{kind} #{if is_binary(text), do: text, else: inspect(text)}"))
end
"""


def compile_project(folder, into):
    """Compile the modules of a project and the stubs; return what the compiler has to say."""
    into.mkdir(parents=True, exist_ok=True)
    sources = [str(path) for path in sorted((folder / "lib").rglob("*.ex"))]
    options = ["--warnings-as-errors", "--ignore-module-conflict", "-o", str(into)]
    done = subprocess.run(
        ["elixirc", *options, str(STUBS), *sources], capture_output=True, text=True, check=False
    )
    return (done.stdout + done.stderr)[:2000]


def check_format(folder):
    command = ["mix", "format", "--check-formatted", f"{folder}/**/*.{{ex,exs}}"]
    done = subprocess.run(command, cwd=folder.parent, capture_output=True, text=True, check=False)
    return done.stderr[:2000] if done.returncode else ""


async def evaluate(compiled, script):
    """Run a script beside compiled modules; return what it put out, a text for each line."""
    file = compiled / "script.exs"
    file.write_text(_SAY + script, encoding="utf-8")
    process = await asyncio.create_subprocess_exec(
        *("elixir", "-pa", str(compiled), str(file)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    output, errors = await process.communicate()
    assert (process.returncode, errors.decode()) == (0, "")
    return [base64.b64decode(line).decode() for line in output.split(b"\n") if line]


def elixir(value):
    return str(write_elixir_literal(json.loads(json.dumps(value))))


def context(**settings):
    """Return a tool's context that configures the petstore's tools."""
    return f"%ExAthena.ToolContext{{assigns: %{{petstore_tools: {elixir(settings)}}}}}"


def call_script(invocations, ctx):
    lines = (
        f"say.({module}.execute({elixir(arguments)}, ctx))" for module, arguments in invocations
    )
    return "\n".join([f"ctx = {ctx}", *lines])


def module(name):
    return f"PetstoreTools.Tools.{class_name(name)}"


async def call_tools(compiled, invocations, **settings):
    """Return what each call of a petstore's tool gave: its kind and its text.

    Credentials need not be among the settings, unless `anonymous` is.
    """
    ctx = context(**{"anonymous": True, **settings})
    script = call_script(((module(name), arguments) for name, arguments in invocations), ctx)
    return [tuple(line.split(" ", 1)) for line in await evaluate(compiled, script)]
