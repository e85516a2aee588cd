"""HTTP/1.1 messages as bytes (RFC 9112), written and read by h11."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h11
import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection

# As httpcore; h11's own 16 kB are fewer than some APIs send as links and cookies.
_LARGEST_HEAD = 100 * 1024
_SWITCHING_PROTOCOLS = 101
_FIRST_FINAL = 200


class WireExchange:
    """One request and its response as bytes; errors are those of httpx.

    Attributes:
        status: The status of the final response; 0 until its head has come.
        reason: Its reason phrase.
        version: Its version, as `b"HTTP/1.1"`.
        headers: Its header lines.
        is_complete: The response has ended.
    """

    def __init__(
        self,
        request: httpx.Request,
        *,
        target: bytes | None = None,
        proxy_headers: Collection[tuple[bytes, bytes]] = (),
    ) -> None:
        self._request = request
        self._h11 = h11.Connection(h11.CLIENT, max_incomplete_event_size=_LARGEST_HEAD)
        self.status, self.reason, self.version = 0, b"", b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.is_complete = False
        try:
            target = target or request.url.raw_path
            headers = _replace_headers(request.headers.raw, proxy_headers)
            event = h11.Request(method=request.method, target=target, headers=headers)
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error
        self._head = self._encode(event)

    @property
    def can_reuse_connection(self) -> bool:
        """Whether the connection can carry another request after the complete response."""
        states = (self._h11.our_state, self._h11.their_state)
        return self.is_complete and states == (h11.DONE, h11.DONE) and not self.trailing_data

    @property
    def trailing_data(self) -> bytes:
        """What has come behind the response."""
        return self._h11.trailing_data[0]

    def encode_whole(self) -> bytes | None:
        """Return the bytes of the request; None if its body comes in pieces."""
        if not isinstance(self._request.stream, httpx.ByteStream):
            return None
        body = b"".join(self._request.stream)
        content = self._encode(h11.Data(body)) if body else b""
        return b"".join((self._head, content, self._encode(h11.EndOfMessage())))

    async def encode_pieces(self) -> AsyncGenerator[bytes]:
        """Yield the bytes of the request as its body comes."""
        yield self._head
        async for piece in self._request.stream:  # type: ignore[union-attr] # of an AsyncClient
            yield self._encode(h11.Data(piece))
        yield self._encode(h11.EndOfMessage())

    def _encode(self, event: h11.Request | h11.Data | h11.EndOfMessage) -> bytes:
        try:
            return self._h11.send(event) or b""
        except h11.LocalProtocolError as error:
            raise httpx.LocalProtocolError(str(error)) from error

    def feed(self, data: bytes) -> bytes:
        """Take what the server sent, nothing at its end, and return the part of the body in it."""
        # h11's message for this names its own states.
        if not data and not self.status:
            reason = "the server disconnected without sending a response"
            raise httpx.RemoteProtocolError(reason)
        body = []
        try:
            self._h11.receive_data(data)
            while (event := self._h11.next_event()) is not h11.NEED_DATA:
                if isinstance(event, h11.Data):
                    body.append(bytes(event.data))
                elif isinstance(event, h11.Response | h11.InformationalResponse):
                    # Other interim responses (RFC 9110, section 15.2) announce the final one.
                    status = event.status_code
                    if status >= _FIRST_FINAL or status == _SWITCHING_PROTOCOLS:
                        self.status, self.reason = event.status_code, event.reason
                        self.version = b"HTTP/" + event.http_version
                        self.headers = event.headers.raw_items()
                else:  # the end of the message, or another protocol after a 101
                    self.is_complete = True
                    break
        except h11.RemoteProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        return body[0] if len(body) == 1 else b"".join(body)


def _replace_headers(
    headers: list[tuple[bytes, bytes]], replacements: Collection[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    if not replacements:
        return headers
    names = {name.lower() for name, _ in replacements}
    return [*(line for line in headers if line[0].lower() not in names), *replacements]
