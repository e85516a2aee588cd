"""A proxy on this machine: it forwards, opens tunnels by CONNECT and SOCKS 5, and counts."""

import asyncio
import contextlib

from servers.faults import Faults
from servers.recorder import _read_request

END = b"\r\n\r\n"


class LoopbackProxy(Faults):
    """`async with LoopbackProxy() as proxy:`; every name leads to this machine.

    Attributes:
        requests: What was sent to the proxy itself, the requests for tunnels included.
        tunnels: Host and port of each tunnel, as they were asked for.
        accepted: What it responds to CONNECT, and does not open a tunnel unless the status is 200.
    """

    def __init__(self, *, accepted=b"HTTP/1.1 200 Connection established" + END, context=None):
        super().__init__(self._serve_client)
        self.accepted, self.context = accepted, context
        self.tunnels, self._writers = [], set()

    async def _serve(self, reader, writer):
        self._writers.add(writer)
        try:
            await super()._serve(reader, writer)
        finally:
            self._writers.discard(writer)

    def drop_connections(self):
        """Close all connections, as a proxy does that is started again."""
        for writer in self._writers:
            writer.close()

    async def _serve_client(self, peer):
        while True:
            request = await _read_request(peer._reader)
            self.requests.append(request)
            self.changed.set()
            if request.method == "CONNECT":
                self.tunnels.append(request.target)
                await peer.write(self.accepted)
                if b" 200 " not in self.accepted.partition(b"\r\n")[0]:
                    return
                await relay(peer, int(request.target.rpartition(":")[2]))
                return
            await peer.write(await self.forward(request))

    async def forward(self, request):
        """Send a request on without what is the proxy's, and return the response."""
        authority, _, path = request.target.partition("://")[2].partition("/")
        lines = [
            f"{name}: {value}"
            for name, value in request.headers
            if name.lower() not in ("proxy-authorization", "connection")
        ]
        head = "\r\n".join([f"{request.method} /{path} HTTP/1.1", *lines, "Connection: close"])
        port = int(authority.rpartition(":")[2])
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.closing(writer):
            writer.write(head.encode("latin-1") + END + request.body)
            response = await reader.readuntil(END)
            length = int(response.lower().partition(b"content-length: ")[2].partition(b"\r")[0])
            return response + await reader.readexactly(length)


class SocksProxy(Faults):
    """Opens tunnels by SOCKS 5, its replies byte by byte; `code` refuses (RFC 1928, 6).

    Attributes:
        tunnels: Kind of address, host and port of each tunnel, as they were asked for.
        logins: User and password, as they were sent.
    """

    def __init__(self, *, method=0, code=0, login=0):
        super().__init__(self._serve_client)
        self._method, self._code, self._login = method, code, login
        self.tunnels, self.logins = [], []

    async def _serve_client(self, peer):
        reader = peer._reader
        count = (await reader.readexactly(2))[1]
        self.requests.append(await reader.readexactly(count))
        await drip(peer, bytes((5, self._method)))
        if self._method == 2:
            await reader.readexactly(1)
            self.logins.append([await read_counted(reader) for _ in "up"])
            await drip(peer, bytes((1, self._login)))
        kind = (await reader.readexactly(4))[3]
        sizes = {1: 4, 4: 16}
        host = await (reader.readexactly(sizes[kind]) if kind in sizes else read_counted(reader))
        port = int.from_bytes(await reader.readexactly(2), "big")
        self.tunnels.append((kind, host, port))
        self.changed.set()
        bound = b"\x03\x05bound" if kind == 3 else b"\x01" + bytes(4)
        await drip(peer, bytes((5, self._code, 0)) + bound + bytes(2))
        if not self._code:
            await relay(peer, port)


async def read_counted(reader):
    """Read bytes behind a byte that counts them."""
    return await reader.readexactly((await reader.readexactly(1))[0])


async def drip(peer, data):
    """Send bytes one by one."""
    for byte in data:
        await peer.write(bytes([byte]))
        await asyncio.sleep(0)


async def relay(peer, port):
    """Carry bytes between a client and a port of this machine, until both have ended."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with contextlib.closing(writer):
        await asyncio.gather(carry(peer._reader, writer), carry(reader, peer._writer))


async def carry(reader, writer):
    """Carry bytes in one direction."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    if writer.can_write_eof():
        writer.write_eof()
    else:
        writer.close()
