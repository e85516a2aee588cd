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


def versions(folder):
    """Two versions of a document: half the operations and tags of the second differ."""
    document = json.loads(SPEC.read_text(encoding="utf-8"))
    (folder / "old.json").write_text(json.dumps(document))
    for number, item in enumerate(document["paths"].values()):
        for operation in item.values() if number % 2 else ():
            if isinstance(operation, dict) and "operationId" in operation:
                operation["operationId"] = f"new_{operation['operationId']}"
                operation["tags"] = [f"new {number % 7}"]
    (folder / "new.json").write_text(json.dumps(document))
    return [folder / "old.json", folder / "new.json"]


def arguments(spec, output):
    return [*GENERATE, str(spec), "--output", str(output), "--name", "discord"]


def generate(spec, output):
    """Run the command to its end; return the files, and how long it took."""
    begun = time.monotonic()
    ended = subprocess.run(arguments(spec, output), capture_output=True, text=True, check=False)
    said = [line for line in ended.stderr.splitlines() if not line.startswith("warning: /paths/")]
    assert (ended.returncode, said) == (0, [])
    return files_of(output), time.monotonic() - begun


def generate_killed(spec, output, seconds, *, writing):
    """Run the command and kill it so long after it began, or began to write."""
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


def test_a_killed_run_leaves_the_old_or_the_new_package(tmp_path, tmp_path_factory):
    output, chance = tmp_path / "out", random.Random(3)
    specs = versions(tmp_path_factory.mktemp("specs"))
    runs = [generate(spec, output) for spec in specs]
    states, whole = [files for files, _ in runs], runs[-1][1]
    seen, kills, healed = set(), 0, 0

    for number in range(KILLS):
        before = states.index(files_of(output))
        writing = number % 2 == 0
        # The first as soon as it writes, so that something to clear away is left for sure.
        seconds = chance.uniform(0, whole / (10 if writing else 1)) if number else 0.0
        kills += generate_killed(specs[1 - before], output, seconds, writing=writing)

        found = files_of(output)
        assert found in states
        seen.add((before, states.index(found)))
        if any(staging(output)) or number == KILLS - 1:
            goal = 1 - states.index(found)
            assert generate(specs[goal], output)[0] == states[goal]
            healed += 1
        assert [path.name for path in tmp_path.iterdir()] == ["out"]

    assert kills > KILLS // 4
    assert healed > 1
    assert len(seen) > 1
