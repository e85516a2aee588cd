"""`openapi-tools generate`, killed at any moment, leaves the old or the new package."""

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hostile_packages import files_of
from output_folders import POSIX

pytestmark = [pytest.mark.long, POSIX]

SPEC = Path(__file__).parents[1] / "specs" / "discord.json"
GENERATE = [sys.executable, "-m", "openapi_tools", "generate"]
KILLS = 20
POLL = 0.002


@pytest.fixture(scope="module")
def specs(tmp_path_factory):
    """Two versions of a document: half the operations and tags of the second differ."""
    folder = tmp_path_factory.mktemp("specs")
    old = json.loads(SPEC.read_text(encoding="utf-8"))
    (folder / "old.json").write_text(json.dumps(old))
    for number, item in enumerate(old["paths"].values()):
        for operation in item.values() if number % 2 else ():
            if isinstance(operation, dict) and "operationId" in operation:
                operation["operationId"] = f"new_{operation['operationId']}"
                operation["tags"] = [f"new {number % 7}"]
    (folder / "new.json").write_text(json.dumps(old))
    return [folder / "old.json", folder / "new.json"]


def arguments(spec, output):
    return [*GENERATE, str(spec), "--output", str(output), "--name", "discord"]


def generate(spec, output):
    """Run the command to its end."""
    ended = subprocess.run(arguments(spec, output), capture_output=True, text=True, check=False)
    said = [line for line in ended.stderr.splitlines() if not line.startswith("warning: /paths/")]
    assert (ended.returncode, said) == (0, [])


def generate_killed(spec, output, moment):
    """Run the command and kill it."""
    writing, seconds = moment
    with subprocess.Popen(
        arguments(spec, output), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as run:
        while writing and run.poll() is None and not any(staging(output)):
            time.sleep(POLL)
        time.sleep(seconds)
        run.send_signal(signal.SIGKILL)
        return run.wait() == -signal.SIGKILL


def staging(output):
    """What a run at work puts beside its folder, or into it."""
    yield from output.parent.glob(".*staging*")
    yield from output.glob(".*staging*")


def moments(seed, whole, writing):
    """Random moments: half of them at any time of a run, half while it writes.

    The first one is as soon as it writes, so that something to clear away is left for sure.
    """
    chance = random.Random(seed)
    early = [(False, chance.uniform(0, whole)) for _ in range(KILLS // 2)]
    late = [(True, chance.uniform(0, writing)) for _ in range(KILLS // 2 - 1)]
    return [(True, 0.0), *chance.sample([*early, *late], KILLS - 1)]


def spans(spec, output):
    """How long a run takes, and how long it writes."""
    begun = time.monotonic()
    with subprocess.Popen(arguments(spec, output), stdout=subprocess.DEVNULL) as run:
        while run.poll() is None and not any(staging(output)):
            time.sleep(POLL)
        writes = time.monotonic()
        assert run.wait() == 0
    return time.monotonic() - begun, time.monotonic() - writes


def test_a_killed_run_leaves_the_old_or_the_new_package(tmp_path, specs):
    output = tmp_path / "out"
    states = []
    for spec in specs:
        whole, writing = spans(spec, output)
        states.append(files_of(output))
        assert len(states[-1]) > 20
    seen, kills, healed = set(), 0, 0

    for number, moment in enumerate(moments(3, whole, writing)):
        before = states.index(files_of(output))
        kills += generate_killed(specs[1 - before], output, moment)

        found = files_of(output)
        assert found in states
        seen.add((before, states.index(found)))
        if any(staging(output)) or number == KILLS - 1:
            goal = 1 - states.index(found)
            generate(specs[goal], output)
            assert files_of(output) == states[goal]
            healed += 1
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    assert kills > KILLS // 4
    assert healed > 1
    assert len(seen) > 1
