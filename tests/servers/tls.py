"""A TLS server with blocking sockets, which sends its alerts, and certificates for it."""

import contextlib
import datetime as dt
import socket
import ssl
import threading
import time

import trustme

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
_PAST = dt.datetime(2001, 1, 1, tzinfo=dt.UTC)


class Authority:
    """A certificate authority; its own certificate is in `file`, a PEM file."""

    def __init__(self, folder, name="authority"):
        self._ca, self._folder, self._name = trustme.CA(), folder, name
        self.file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(self.file)

    def server(self, *names, expired=False, clients=None, subject=None):
        """Return the context of a server."""
        dates = {"not_before": _PAST, "not_after": _PAST.replace(year=2002)} if expired else {}
        addresses = () if subject else names or ("127.0.0.1",)
        leaf = self._ca.issue_cert(*addresses, common_name=subject, **dates)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        leaf.configure_cert(context)
        if clients is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(clients.file)
        return context

    def client(self):
        """Write a client's certificate with its key, and return the file."""
        path = self._folder / f"{self._name}-client.pem"
        self._ca.issue_cert("client@example.com").private_key_and_cert_chain_pem.write_to_path(path)
        return path


class TlsServer:
    """`with TlsServer(context) as server:` then `server.url`.

    Attributes:
        requests: Head of each request, with the subject of the client's certificate before it.
        greeted: How many connections were opened.
        failures: What its handshakes failed with.
        sent_later: Set when it has sent what it sends `later` than a response.
    """

    def __init__(self, context, response=OK, later=b""):
        self._context, self._response, self._later = context, response, later
        self._threads, self._open = [], []
        self.requests, self.failures, self.greeted = [], [], 0
        self.sent_later = threading.Event()

    @property
    def url(self):
        return f"{'https' if self._context else 'http'}://127.0.0.1:{self.port}"

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)
        return self

    def __exit__(self, *_):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _start(self, work, *args):
        thread = threading.Thread(target=work, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.greeted += 1
                self._open.append(connection)
                self._start(self._serve, connection)

    def _serve(self, plain):
        plain.settimeout(10)
        with contextlib.suppress(OSError), plain:
            if self._context is None:
                self._serve_requests(plain, "")
                return
            connection = self._context.wrap_socket(
                plain, server_side=True, do_handshake_on_connect=False
            )
            self._open.append(connection)
            with connection:
                try:
                    connection.do_handshake()
                except ssl.SSLError as error:
                    self.failures.append(str(error.reason))
                    _take_leave(connection)
                else:
                    self._serve_requests(connection, str(connection.getpeercert() or ""))

    def _serve_requests(self, connection, subject):
        while True:
            head = b""
            while b"\r\n\r\n" not in head:
                data = connection.recv(4096)
                if not data:
                    return
                head += data
            self.requests.append((subject, head))
            connection.sendall(self._response)
            if self._later:
                time.sleep(0.01)
                connection.sendall(self._later)
                self.sent_later.set()


def _take_leave(connection):
    """Close after the other side: to be first would overtake the alert with a reset."""
    connection.shutdown(socket.SHUT_WR)
    while socket.socket.recv(connection, 4096):
        pass
