"""A team's server under load: two servers of tools and Redis behind nginx, and an API that counts.

`python tests/team_load.py CALLS` runs it, the same with a Redis that hangs, fails and comes back,
and one server alone, for the numbers of docs/operations.md.
"""

import asyncio
import itertools
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import httpx2
from documents import document, operation
from servers import issuer
from servers.recorder import CannedResponse, Recorder, _read_request

TOKEN = "alice-has-a-long-token-of-her-own"
OTHER = "bob-has-another-token-of-his-own"
KEY = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
IN_FLIGHT = 200
RATE = 150  # requests a second that both servers together may send to the API
PAUSE = 0.25  # seconds until a caller repeats a call that was not sent
HANGS, FAILS = 5.0, 3.0  # seconds for which Redis hangs, and is gone
SLICE = 2.0  # seconds over which the rate is judged


class Api(Recorder):
    """The API and its authorization server: they note each request; runs in this process."""

    def __init__(self):
        super().__init__()
        self.seen, self.times, self.tokens = Counter(), [], 0

    def next_response(self, request):
        if request.target == "/token":
            self.tokens += 1
            token = {"access_token": f"t{self.tokens}", "token_type": "Bearer", "expires_in": 3600}
            return CannedResponse(body=json.dumps(token).encode())
        if request.header("Authorization") != "Bearer t1":
            return CannedResponse(401)
        self.seen[json.loads(request.body)["number"]] += 1
        self.times.append(time.monotonic())
        return CannedResponse(201, body=request.body)

    @property
    def document(self):
        flow = {"tokenUrl": f"{self.url}/token", "scopes": {}}
        schemes = {"login": {"type": "oauth2", "flows": {"clientCredentials": flow}}}
        schema = {"type": "object", "required": ["number"]}
        schema["properties"] = {"number": {"type": "integer"}}
        body = {"required": True, "content": {"application/json": {"schema": schema}}}
        return document(
            {"/work": {"post": operation(operationId="add", requestBody=body)}},
            servers=[{"url": self.url}],
            security=[{"login": []}],
            components={"securitySchemes": schemes},
        )


class SlowIssuer(Recorder):
    """An issuer that publishes its keys, unless it hangs (`is_open` is clear) or `fails`."""

    def __init__(self):
        super().__init__()
        self.is_open, self.fails = asyncio.Event(), False
        self.is_open.set()

    async def _serve_peer(self, peer):
        while True:
            self.requests.append(await _read_request(peer._reader))
            await self.is_open.wait()
            keys = {"keys": [issuer.KEY.as_dict(private=False)]}
            response = (
                CannedResponse(503)
                if self.fails
                else CannedResponse(body=json.dumps(keys).encode())
            )
            await peer.write(response.to_bytes())

    @property
    def auth(self):
        """The table that lets its users in."""
        keys = f'audience = "{issuer.AUDIENCE}"\njwks_url = "{self.url}/jwks"'
        return f'[serve.auth]\nissuer = "{self.url}"\n{keys}'

    def token(self, user):
        now = int(time.time())
        times = {"iat": now, "exp": now + 3600}
        return issuer.sign_token({"iss": self.url, "aud": issuer.AUDIENCE, "sub": user, **times})


CONFIG = """
[serve]
port = {port}
allow_hosts = ["127.0.0.1"]
redis = "{redis}"
audit = "off"

{auth}

[apis.work]
source = "work.json"

[apis.work.credentials.login]
client_id = "tools"
client_secret = "${{WORK_SECRET}}"

[apis.work.settings]
rate = {rate}
timeout = 60
"""
STATIC = '[serve.auth.tokens]\nalice = "${ALICE_TOKEN}"\nbob = "${BOB_TOKEN}"'
NGINX = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    client_body_temp_path {folder}; proxy_temp_path {folder}; fastcgi_temp_path {folder};
    uwsgi_temp_path {folder}; scgi_temp_path {folder};
    upstream tools {{ least_conn; {servers} keepalive 256; }}
    server {{
        listen 127.0.0.1:{port} backlog=1024;
        location / {{
            proxy_pass http://tools;
            proxy_http_version 1.1;
            proxy_set_header Host $http_host;
            proxy_set_header Connection "";
            proxy_buffering off;
            proxy_read_timeout 90s;
            proxy_next_upstream error;
        }}
    }}
}}
"""


class Team:
    """The processes of a team's server, in a folder; `redis` is a server of the tests.

    `auth` is the table that lets users in: static tokens, or an issuer that a test makes hang.
    """

    def __init__(self, folder, api, redis, ports, auth=STATIC):
        self.folder, self.redis = folder, redis
        self.ports, self.port = ports[:2], ports[2]
        (folder / "work.json").write_text(json.dumps(api.document))
        for port in self.ports:
            text = CONFIG.format(port=port, redis=redis.url, rate=RATE, auth=auth)
            (folder / f"{port}.toml").write_text(text)
        servers = " ".join(
            f"server 127.0.0.1:{port} max_fails=1 fail_timeout=2s;" for port in self.ports
        )
        text = NGINX.format(folder=folder, port=self.port, servers=servers)
        (folder / "nginx.conf").write_text(text)
        self.processes = {}

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/mcp"

    def serve(self, port):
        """Start a server of tools."""
        variables = {"OPENAPI_TOOLS_STATE_KEY": KEY, "WORK_SECRET": "s3cret"}
        variables |= {"ALICE_TOKEN": TOKEN, "BOB_TOKEN": OTHER}
        command = [sys.executable, "-m", "openapi_tools", "serve", f"{port}.toml"]
        with (self.folder / f"{port}.log").open("a") as log:
            self.processes[port] = subprocess.Popen(
                command, cwd=self.folder, env=os.environ | variables, stderr=log
            )

    def proxy(self):
        """Start nginx."""
        command = ["nginx", "-c", self.folder / "nginx.conf", "-p", self.folder]
        self.processes["nginx"] = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def start(self):
        """Start all processes, and wait until they answer."""
        for port in self.ports:
            self.serve(port)
        self.proxy()
        await asyncio.gather(*(_ready(port) for port in (*self.ports, self.port)))

    def kill(self, port):
        """End a server of tools at once, as a crash does."""
        self.processes[port].send_signal(signal.SIGKILL)
        self.processes[port].wait()

    def close(self):
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(30)


def free_ports(count):
    """Return ports that are free now."""
    places = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [place.getsockname()[1] for place in places]
    for place in places:
        place.close()
    return ports


async def _ready(port):
    async with httpx2.AsyncClient(timeout=5) as http, asyncio.timeout(60):
        while True:
            with suppress(httpx2.HTTPError):
                response = await http.get(f"http://127.0.0.1:{port}/readyz")
                if response.status_code == 200:
                    return
            await asyncio.sleep(0.1)


class Load:
    """Calls under way at once through nginx; `outcomes` has each call's, by number.

    With `repeats` a caller makes a call again that was not sent, as its result or status 503 says;
    `refusals` counts these. The callers have the `tokens` by turns.
    """

    def __init__(self, team, calls, *, repeats=False, tokens=(TOKEN, OTHER)):
        self.team, self.calls, self.repeats, self.tokens = team, calls, repeats, tokens
        self.outcomes, self.seconds, self.refusals = {}, [], Counter()

    async def run(self, *events):
        """Make all calls; `events` are pairs of a share of the calls and what happens then."""
        self._left, self._reached = iter(range(self.calls)), asyncio.Event()
        self._awaited = math.inf
        limits = httpx2.Limits(max_connections=IN_FLIGHT, max_keepalive_connections=IN_FLIGHT)
        waiting = sorted(events, key=lambda pair: pair[0])
        headers = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(timeout=120, limits=limits, headers=headers) as http:
            callers = [
                asyncio.create_task(self._caller(http, token))
                for token in itertools.islice(itertools.cycle(self.tokens), IN_FLIGHT)
            ]
            for share, happen in waiting:
                self._awaited = share * self.calls
                await self._reached.wait()
                self._awaited = math.inf
                self._reached.clear()
                await happen()
            await asyncio.gather(*callers)

    async def _caller(self, http, token):
        for number in self._left:
            begun = time.monotonic()
            outcome = await self._outcome(http, token, number)
            while self.repeats and outcome[0] in ("unsent", "status 503"):
                self.refusals[outcome[0]] += 1
                await asyncio.sleep(PAUSE)
                outcome = await self._outcome(http, token, number)
            self.outcomes[number] = outcome
            self.seconds.append(time.monotonic() - begun)
            if len(self.outcomes) >= self._awaited:
                self._reached.set()

    async def _outcome(self, http, token, number):
        params = {"name": "add", "arguments": {"number": number}}
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        try:
            headers = {"Authorization": f"Bearer {token}"}
            response = await http.post(self.team.url, json=message, headers=headers)
        except httpx2.HTTPError as error:
            return "broken", type(error).__name__
        if response.status_code != 200:
            return f"status {response.status_code}", response.text
        reply = json.loads(response.text.strip().rpartition("data: ")[2])  # an event, if it is late
        if "error" in reply:
            return "refused", reply["error"]["message"]
        result, words = reply["result"], reply["result"]["content"][0]["text"]
        if not result["isError"]:
            return "ok", words
        return ("unsent" if "nothing was sent" in words or "not sent" in words else "failed"), words


def rates(times, slice_seconds=SLICE):
    """Return the requests a second in each slice between the first and the last request."""
    counts = Counter(int((moment - times[0]) / slice_seconds) for moment in times)
    return [
        counts[number] / slice_seconds
        for number in range(int((times[-1] - times[0]) / slice_seconds))
    ]


@asynccontextmanager
async def team_of(redis, ports, auth=STATIC):
    """Give an API, and a team whose processes are ended."""
    with tempfile.TemporaryDirectory(prefix="openapi-tools-load-") as folder:
        async with Api() as api:
            team = Team(Path(folder), api, redis, ports, auth)
            try:
                yield api, team
            finally:
                team.close()


async def measure_load(calls, redis, ports):
    """Return the API and the load after all calls, with a killed server and a Redis restart."""
    async with team_of(redis, ports) as (api, team):
        await team.start()
        load = Load(team, calls)

        async def crash():
            team.kill(team.ports[0])
            await asyncio.sleep(1)
            team.serve(team.ports[0])
            await _ready(team.ports[0])

        async def restart():
            redis.stop()
            await asyncio.sleep(0.5)
            redis.start()

        await load.run((0.3, crash), (0.6, restart))
    return api, load


async def load_in_trouble(calls, redis, ports):
    """Return the API and the load after all calls, with a Redis that hangs, fails, comes back."""
    async with team_of(redis, ports) as (api, team):
        await team.start()
        load = Load(team, calls, repeats=True)

        async def hang():
            redis.pause()
            await asyncio.sleep(HANGS)
            redis.resume()

        async def fail():
            redis.stop()
            await asyncio.sleep(FAILS)
            redis.start()

        await load.run((0.15, hang), (0.4, fail), (0.6, hang), (0.8, fail))
    return api, load


async def without_issuer(calls, redis, ports):
    """Return the API and the load after all calls, with an issuer that hangs, fails, comes back.

    A server starts again each time, so that it has no keys yet; the other one knows them.
    """
    async with SlowIssuer() as slow, team_of(redis, ports, slow.auth) as (api, team):
        await team.start()
        tokens = [slow.token(user) for user in ("ada", "bob")]
        load = Load(team, calls, repeats=True, tokens=tokens)

        async def restart(port):
            team.kill(port)
            team.serve(port)
            await _ready(port)
            await asyncio.sleep(HANGS)

        async def hang():
            slow.is_open.clear()
            await restart(team.ports[0])
            slow.is_open.set()

        async def fail():
            slow.fails = True
            await restart(team.ports[1])
            slow.fails = False

        await load.run((0.2, hang), (0.5, fail))
    return api, load


def resources_of(pid):
    """Return the CPU seconds and the MiB of a process."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    status = Path(f"/proc/{pid}/status").read_text()
    kilobytes = int(status.partition("VmRSS:")[2].split()[0])
    return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK"), kilobytes / 1024


async def measure_alone(calls, redis, ports):
    """Return the CPU milliseconds of a call at one server without nginx, and its MiB."""
    async with team_of(redis, ports) as (_, team):
        path = team.folder / f"{ports[0]}.toml"
        path.write_text(path.read_text().replace(f"rate = {RATE}\n", ""))
        team.port = ports[0]
        team.serve(ports[0])
        await _ready(ports[0])
        await Load(team, 100).run()
        before, _ = resources_of(team.processes[ports[0]].pid)
        await Load(team, calls).run()
        after, size = resources_of(team.processes[ports[0]].pid)
    return (after - before) / calls * 1000, size


def describe_load(api, load):
    """Return the numbers as lines."""
    kinds = Counter(kind for kind, _ in load.outcomes.values())
    call_rates, times = sorted(rates(api.times)), sorted(load.seconds)
    duration = api.times[-1] - api.times[0]
    over_all, slow = len(api.times) / duration, times[len(times) * 99 // 100]
    longest = times[-1]
    median, most = call_rates[len(call_rates) // 2], call_rates[-1]
    twice = sum(count > 1 for count in api.seen.values())
    slices = f"in slices of {SLICE:g} s at most {most:.1f}, median {median:.1f}"
    refused = f"; refused, and made again: {dict(load.refusals)}" if load.repeats else ""
    return [
        f"calls: {dict(kinds)}{refused}; sent twice: {twice}; token requests: {api.tokens}",
        f"requests a second: limit {RATE}, {over_all:.1f} in {duration:.0f} s; {slices}",
        f"seconds of a call: {times[len(times) // 2]:.2f}, 99 % {slow:.2f}, at most {longest:.2f}",
    ]


if __name__ == "__main__":
    from servers.redis_server import RedisServer

    redis = RedisServer(keeps=True)
    redis.start()
    try:
        for run in (measure_load, load_in_trouble, without_issuer):
            print(
                "\n".join(describe_load(*asyncio.run(run(int(sys.argv[1]), redis, free_ports(3)))))
            )
        cost, size = asyncio.run(measure_alone(1000, redis, free_ports(3)))
        print(f"one server: {cost:.2f} ms of CPU a call, {size:.0f} MiB")
    finally:
        redis.close()
