"""A front before a cluster that refuses, changes or encrypts what a test wants."""

from __future__ import annotations

import contextlib
import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Answer = tuple[int, Any]


class Front:
    """Passes requests on to `HOST:PORT`, unless `refuse` has an answer of its own.

    `asked` holds method and path of all requests, `users` what they were authorised by.
    """

    def __init__(self, behind: str) -> None:
        self.behind = behind
        self.asked: list[tuple[str, str]] = []
        self.users: set[str | None] = set()
        self.refuse: Callable[[str, str, bytes], Answer | None] = lambda *_: None
        self.address = ""

    def answer(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        self.asked.append((method, path))
        own = self.refuse(method, path, body)
        if own is not None:
            content = own[1] if isinstance(own[1], bytes) else json.dumps(own[1]).encode()
            return own[0], content
        return self.passed_on(method, path, body, kind)

    def passed_on(self, method: str, path: str, body: bytes, kind: str) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.behind, timeout=120)
        try:
            connection.request(method, path, body or None, {"content-type": kind})
            found = connection.getresponse()
            return found.status, found.read()
        finally:
            connection.close()


@contextlib.contextmanager
def front(
    behind: str, certificate: Path | None = None, kind: Callable[[str], Front] = Front
) -> Iterator[Front]:
    """Start one before `HOST:PORT`; with a certificate (PEM, and its key) it speaks TLS."""
    own = kind(behind)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # headers and body in one piece, for which the client does not wait

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except (ConnectionError, ssl.SSLError):
                self.close_connection = True

        def do_GET(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length)
            own.users.add(self.headers.get("authorization"))
            kind = self.headers.get("content-type") or "application/json"
            status, content = own.answer(self.command, self.path, body, kind)
            self.send_response(status)
            page = content.startswith(b"<")
            self.send_header("content-type", "text/html" if page else "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    for method in ("POST", "PUT", "DELETE", "HEAD"):
        setattr(Handler, f"do_{method}", Handler.do_GET)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, client_address: Any) -> None:
            if certificate is None:
                super().finish_request(request, client_address)
                return
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            with (
                contextlib.suppress(ssl.SSLError, ConnectionError),  # of who does not trust it
                context.wrap_socket(request, server_side=True) as secure,
            ):
                super().finish_request(secure, client_address)

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    own.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield own
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
