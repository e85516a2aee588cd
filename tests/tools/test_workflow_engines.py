"""A process that is killed between a call and its checkpoint runs again, and writes once."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import pytest
from doc_pages import DOCS, ROOT
from fastapi import Body, FastAPI, Header, Request
from servers.paged_server import serving

EXAMPLES = DOCS / "examples"
KILLING = """
import os, runpy, signal, sys
from openapi_tools.toolsets.toolset import Toolset
if os.environ.get("KILLED"):
    whole = Toolset.call
    async def call(self, *given, **more):
        await whole(self, *given, **more)
        os.kill(os.getpid(), signal.SIGKILL)  # the API has answered, and nothing is noted yet
    Toolset.call = call
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
KEPT = """
import asyncio, base64, json, os, pathlib, signal, sys
from contextlib import asynccontextmanager
from openapi_tools import Context, load_tools

class Folder:
    '''A state in files, as a shared state keeps it.'''
    def place(self, key): return pathlib.Path(key.replace(":", "-"))
    async def get(self, key):
        return self.place(key).read_bytes() if self.place(key).exists() else None
    async def put(self, key, value, seconds=None): self.place(key).write_bytes(value)
    async def remove(self, key): self.place(key).unlink(missing_ok=True)
    @asynccontextmanager
    async def lock(self, key, seconds): yield
    @asynccontextmanager
    async def rate_limit(self, key, *, concurrency, rate, seconds): yield
    async def ping(self): pass

async def main(url, order):
    async with load_tools(f"{url}/openapi.json", state=Folder()) as toolset:
        context = Context(idempotency_key=order)
        result = await toolset.call("add_order", {"pet": "Rex"}, context=context)
        print(json.dumps([result.success, result.output]))

asyncio.run(main(*sys.argv[1:]))
"""


def create_app():
    """Return an API that knows the keys of its orders."""
    app = FastAPI()
    app.state.kept, app.state.orders = [], {}

    @app.middleware("http")
    async def keep(request: Request, pass_on):
        app.state.kept.append(request)
        return await pass_on(request)

    @app.post("/orders", operation_id="add_order")
    def add_order(
        pet: Annotated[str, Body(embed=True)],
        idempotency_key: Annotated[str | None, Header(include_in_schema=False)] = None,
    ):
        key = idempotency_key or str(len(app.state.kept))
        return app.state.orders.setdefault(key, {"pet": pet, "number": len(app.state.orders) + 1})

    return app


@pytest.fixture
def server():
    app = create_app()
    with serving(lambda: app) as site:
        site.orders = app.state.orders
        yield site


def run(folder, *args, killed):
    """Run a program in a folder; killed, it ends by itself right after the call."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENAPI_TOOLS_CACHE": "off"}
    environment |= {"KILLED": "1"} if killed else {}
    command = [sys.executable, *map(str, args)]
    options = {"cwd": folder, "env": environment, "capture_output": True, "text": True}
    return subprocess.run(command, check=False, timeout=60, **options)


def write_program(folder, text):
    path = Path(folder) / "program.py"
    path.write_text(textwrap.dedent(text))
    return path


def posts(server):
    return [request for request in server.kept if request.method == "POST"]


@pytest.mark.long
def test_a_step_of_dbos_is_sent_again_with_its_key_and_writes_once(server, tmp_path):
    pytest.importorskip("dbos")
    command = [write_program(tmp_path, KILLING), EXAMPLES / "dbos_agent.py", server.url, "order-1"]

    first = run(tmp_path, *command, killed=True)
    second = run(tmp_path, *command, killed=False)
    third = run(tmp_path, *command, killed=False)

    assert first.returncode == -signal.SIGKILL
    assert second.returncode == 0, second.stderr
    assert "{'pet': 'Rex', 'number': 1}" in second.stdout
    assert "{'pet': 'Rex', 'number': 1}" in third.stdout
    assert len(server.orders) == 1
    assert len(posts(server)) == 2
    assert len({request.headers["idempotency-key"] for request in posts(server)}) == 1


def test_with_a_state_the_write_is_not_even_sent_again(server, tmp_path):
    program = write_program(tmp_path, KILLING)
    step = Path(tmp_path) / "step.py"
    step.write_text(KEPT)

    first = run(tmp_path, program, step, server.url, "order-1", killed=True)
    second = run(tmp_path, program, step, server.url, "order-1", killed=False)

    assert first.returncode == -signal.SIGKILL
    assert json.loads(second.stdout) == [True, {"pet": "Rex", "number": 1}], second.stderr
    assert len(posts(server)) == 1


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Temporal looks for the classes of workflows there
    spec.loader.exec_module(module)
    return module


@pytest.mark.long
async def test_an_activity_of_temporal_that_is_tried_again_writes_once(server):
    testing = pytest.importorskip("temporalio.testing")
    agent = example("temporal_agent")
    for attempt in (1, 2):
        environment = testing.ActivityEnvironment()
        environment.info = replace(environment.default_info(), attempt=attempt)
        arguments = (f"{server.url}/openapi.json", "add_order", {"pet": "Rex"})
        assert await environment.run(agent.call, *arguments) == {"pet": "Rex", "number": 1}

    assert len(server.orders) == 1
    assert len(posts(server)) == 2


@pytest.mark.skipif(
    "TEMPORAL_TEST_SERVER" not in os.environ,
    reason="Temporal's test server is downloaded; TEMPORAL_TEST_SERVER names an installed one",
)
async def test_a_workflow_of_temporal_runs_on_its_test_server(server):
    testing = pytest.importorskip("temporalio.testing")
    from temporalio.worker import Worker

    agent = example("temporal_agent")
    path = os.environ["TEMPORAL_TEST_SERVER"]
    start = testing.WorkflowEnvironment.start_time_skipping(test_server_existing_path=path)
    async with await start as environment:
        worker_options = {
            "task_queue": "pets",
            "workflows": [agent.Agent],
            "activities": [agent.call],
        }
        async with Worker(environment.client, **worker_options):
            run_of = environment.client.execute_workflow
            start_options = {"args": [server.url, "Rex"], "id": "order-1", "task_queue": "pets"}
            assert await run_of(agent.Agent.run, **start_options) == {"pet": "Rex", "number": 1}
    assert len(server.orders) == 1
