"""A site, and a search API, that misbehave on purpose, over real HTTP on 127.0.0.1."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PARAGRAPH = (
    "Voting is a duty that every citizen owes the others, and a small one at that. Where it is "
    "compulsory, turnout is above ninety percent, and parties must speak to everybody. "
)


def article(title: str, paragraphs: int = 3) -> bytes:
    body = "".join(f"<p>{title} {i}. {PARAGRAPH}</p>" for i in range(paragraphs))
    return (
        f"<html><head><title>{title}</title></head><body><nav>Home Contact Login</nav>"
        f"<article><h1>{title}</h1>{body}</article></body></html>"
    ).encode()


class Server(ThreadingHTTPServer):
    """Serves until it is closed; `asked` has every request with its headers, lower case."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, handler: type[BaseHTTPRequestHandler], host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), handler)
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.closing = threading.Event()
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True)

    @property
    def port(self) -> int:
        return int(self.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]}:{self.port}"

    @property
    def paths(self) -> list[str]:
        return [path for path, _ in self.asked]

    def __enter__(self) -> Any:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


Play = Callable[["SiteHandler"], None]


class Site(Server):
    """A site of `pages`: path -> bytes of HTML, `(status, headers, body)` or what plays it."""

    def __init__(self, pages: dict[str, Any], host: str = "127.0.0.1") -> None:
        super().__init__(SiteHandler, host)
        self.pages = pages


class SiteHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Site

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers))
        page = self.server.pages.get(self.path)
        if callable(page):
            self.close_connection = True
            page(self)
        elif page is None:
            self.send(404, {}, b"not here")
        elif isinstance(page, bytes):
            self.send(200, {"Content-Type": "text/html; charset=utf-8"}, page)
        else:
            self.send(*page)

    def send(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def head(self, **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def trickle(self, head: bytes = b"") -> None:
        """Send a byte now and then, for ever."""
        self.wfile.write(head)
        while not self.server.closing.wait(0.05):
            self.wfile.write(b"a")

    def flood(self, part: bytes = b"a" * 65536) -> None:
        """Send as fast as it is taken, for ever."""
        self.head()
        while not self.server.closing.is_set():
            self.wfile.write(part)


def redirect(to: str, status: int = 302) -> tuple[int, dict[str, str], bytes]:
    return status, {"Location": to}, b"elsewhere"


class SearchServer(Server):
    """Answers as serper.dev does, with what `found` has for a query; plays `script` first.

    Args:
        found: query -> addresses, best first.
        script: statuses or bodies that are sent in place of answers, in turn.
        per_page: results on a page, whatever is asked for.
    """

    def __init__(
        self, found: dict[str, list[str]], script: list[Any] | None = None, per_page: int = 10
    ) -> None:
        super().__init__(SearchHandler)
        self.found, self.script, self.per_page = found, list(script or []), per_page
        self.queries: list[dict[str, Any]] = []
        self.delay = 0.0


class SearchHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: SearchServer

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers))
        self.server.queries.append(asked)
        time.sleep(self.server.delay)
        if self.server.script:
            self.play(self.server.script.pop(0))
            return
        start = (asked.get("page", 1) - 1) * self.server.per_page
        urls = self.server.found.get(asked["q"], [])[start : start + self.server.per_page]
        organic = [
            {"title": f"Title {i}", "link": url, "snippet": f"Snippet {i}", "position": i}
            for i, url in enumerate(urls, start=1)
        ]
        answer = {"searchParameters": asked, "organic": organic, "credits": 1}
        self.send(200, json.dumps(answer).encode())

    def play(self, act: Any) -> None:
        if isinstance(act, bytes):
            self.send(200, act)
        elif act == "hang up":
            self.close_connection = True
        else:
            echo = self.headers.get("X-API-KEY")
            texts = {400: "Not enough credits", 422: "bad query"}
            body = {"message": texts.get(act, f"no, {echo}"), "statusCode": act}
            self.send(act, json.dumps(body).encode(), {"Retry-After": "0"} if act == 429 else {})

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
