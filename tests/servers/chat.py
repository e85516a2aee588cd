"""A server that responds as the endpoint of a model does, in turn."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def endpoint(*responses):
    """Serve responses in turn, each a value or (status, headers, bytes); yields URL, requests."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            response = responses[min(len(requests), len(responses) - 1)]
            requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if not isinstance(response, tuple):
                response = (200, {}, json.dumps(response).encode())
            status, headers, content = response
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
