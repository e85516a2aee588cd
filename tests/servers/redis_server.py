"""A Redis server of its own for tests, on a free port, which can be stopped and started again."""

import shutil
import signal
import socket
import subprocess
import tempfile
import time

import pytest

REDIS = shutil.which("redis-server")


class RedisServer:
    def __init__(self, *, keeps=False):
        self._keeps = "yes" if keeps else "no"  # what it has, over a restart
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._folder = tempfile.TemporaryDirectory(prefix="openapi-tools-redis-")
        self._process = None

    def start(self):
        options = {"port": self.port, "bind": "127.0.0.1", "save": "", "appendonly": self._keeps,
                   "dir": self._folder.name, "loglevel": "warning"}  # fmt: skip
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        self._process = subprocess.Popen([REDIS, *words], stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                assert self.ask("PING") == "+PONG"
            except (OSError, AssertionError):
                time.sleep(0.01)
            else:
                time.sleep(0.15)  # for that long a state does not try again after a failure
                return
        raise AssertionError("redis-server does not answer")

    def stop(self):
        if self._process is not None:
            self.resume()
            self._process.kill()
            self._process.wait()
            self._process = None

    def close(self):
        self.stop()
        self._folder.cleanup()

    def pause(self):
        self._process.send_signal(signal.SIGSTOP)

    def resume(self):
        self._process.send_signal(signal.SIGCONT)

    def ask(self, *words):
        """Return the first line of Redis's answer, without this package and redis-py."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=2) as peer:
            peer.sendall(" ".join(words).encode() + b"\r\n")
            return peer.recv(65536).decode("latin-1").partition("\r\n")[0]

    def dump(self):
        """Return all keys and values as they are in Redis, as one text of bytes."""
        import redis

        with redis.Redis.from_url(self.url) as client:
            content = b""
            for key in client.keys("*"):
                content += key + b"\n"
                if client.type(key) == b"string":
                    content += client.get(key) + b"\n"
            return content


@pytest.fixture(scope="session")
def running_redis():
    if REDIS is None:
        pytest.skip("redis-server is absent: what processes share over Redis is not tested")
    pytest.importorskip("redis")
    server = RedisServer()
    yield server
    server.close()


@pytest.fixture
def redis_server(running_redis):
    """The server, running and empty."""
    if running_redis._process is None:
        running_redis.start()
    running_redis.ask("FLUSHALL")
    return running_redis
