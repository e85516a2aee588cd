"""The files of deploy/: the container runs, and each file fits its format."""

import json
import re
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import httpx
import pytest

pytest.importorskip("mcp", reason="mcp is not installed")

import yaml
from containers import Image, missing
from team_load import KEY, TOKEN, free_ports
from team_servers import running_at

from openapi_tools.serving import team_server, web_server

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"


def get_response(url, **headers):
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def waited_for(url, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        try:
            return get_response(url)
        except OSError:
            time.sleep(0.2)
    process.kill()
    pytest.fail(f"nothing answers at {url}: {process.stderr.read()}")


@pytest.mark.long
@pytest.mark.skipif(missing() != "", reason=f"the container's steps cannot run: {missing()}")
def test_the_container_serves_with_a_root_that_cannot_be_written(tmp_path):
    image = Image(DEPLOY / "Containerfile", ROOT, tmp_path)
    config = image.root / "etc/openapi-tools/openapi-tools.toml"
    (port,) = free_ports(1)
    text = config.read_text().replace('redis = "${REDIS_URL}"\n', "")
    config.write_text(text.replace('host = "0.0.0.0"', f'host = "0.0.0.0"\nport = {port}'))

    with image.start(OPENAPI_TOOLS_STATE_KEY=KEY, ALICE_TOKEN=TOKEN) as process:
        try:
            status, _ = waited_for(f"http://127.0.0.1:{port}/healthz", process)
            ready = get_response(f"http://127.0.0.1:{port}/readyz")
            refused = get_response(f"http://127.0.0.1:{port}/mcp")
            process_status = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        finally:
            process.terminate()
            log = process.communicate(timeout=60)[1]

    assert process.returncode == 0
    assert {line.split()[1] for line in process_status if line.startswith(("Uid", "Gid"))} == {
        "10001"
    }
    assert (status, ready[0], refused[0]) == (200, 200, 401)
    assert TOKEN not in log


def test_the_health_check_asks_the_port_that_the_configuration_has():
    text = (DEPLOY / "Containerfile").read_text()

    assert "http://127.0.0.1:8000/healthz" in text
    assert "EXPOSE 8000" in text
    assert "USER 10001:10001" in text


def test_compose_fits_its_schema():
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    done = subprocess.run(
        [*command, DEPLOY / "compose.yaml"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stdout
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    assert set(services) == {"tools-1", "tools-2", "redis", "nginx"}


def test_the_manifests_fit_the_schemas_of_kubernetes():
    import kubernetes_validate

    manifests = list(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    for manifest in manifests:
        kubernetes_validate.validate(manifest, "1.32", strict=True)

    kinds = [manifest["kind"] for manifest in manifests]
    assert kinds == ["Deployment", "Service", "PodDisruptionBudget", "HorizontalPodAutoscaler"]


async def test_the_probes_of_the_manifest_are_answered_at_the_address_of_a_pod(
    tmp_path, monkeypatch
):
    """The kubelet sends the pod's address as `Host`, which no configuration can know."""
    monkeypatch.setenv("ALICE_TOKEN", TOKEN)
    (deployment, *_) = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    paths = [container[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "readiness")]
    text = (DEPLOY / "openapi-tools.toml").read_text().replace('redis = "${REDIS_URL}"\n', "")
    (tmp_path / "openapi-tools.toml").write_text(text)
    shutil.copy(ROOT / "specs" / "museum.yaml", tmp_path)
    started = team_server.start_server(str(tmp_path / "openapi-tools.toml"), {})
    with web_server.open_socket(started.serve.host, 0) as place:
        async with running_at(place, started), httpx.AsyncClient() as client:
            address = f"http://127.0.0.2:{place.getsockname()[1]}"
            statuses = [(await client.get(address + path)).status_code for path in paths]

    assert (paths, statuses) == (["/healthz", "/readyz"], [200, 200])


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
def test_nginx_takes_its_file(tmp_path):
    text = (DEPLOY / "nginx.conf").read_text().replace("tools-", "127.0.0.")
    file = tmp_path / "nginx.conf"
    file.write_text(f"pid {tmp_path}/pid;\nerror_log {tmp_path}/log;\n{text}")

    done = subprocess.run(
        ["nginx", "-t", "-c", file, "-p", tmp_path], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path):
    program = shutil.which("true")
    text = (DEPLOY / "openapi-tools.service").read_text()
    unit = tmp_path / "openapi-tools.service"
    unit.write_text(re.sub("/opt/openapi-tools/bin/openapi-tools", program, text))

    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_every_file_has_the_same_command_and_configuration():
    texts = [path.read_text() for path in DEPLOY.iterdir()]
    command = "serve --config /etc/openapi-tools/openapi-tools.toml --transport http"

    assert command in (DEPLOY / "openapi-tools.service").read_text()
    assert json.dumps(command.split()) in (DEPLOY / "Containerfile").read_text()
    assert sum("/etc/openapi-tools/openapi-tools.toml" in text for text in texts) == 4
