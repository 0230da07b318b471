"""A `/v1/embeddings` that misbehaves on purpose, over real HTTP on 127.0.0.1."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


def vector_of(text: str, dimensions: int) -> np.ndarray:
    """Return the vector of a text: made from its hash, not of length 1."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "little")
    return np.random.default_rng(seed).normal(size=dimensions).astype(np.float32) * 3


class EmbeddingServer(ThreadingHTTPServer):
    """Plays the behaviours of `script` in turn, then answers well.

    Args:
        script: names of the methods `do_NAME` of the handler.
        dimensions: length of a vector.
        most: texts that are taken at once; more are refused.
        longest: characters of a text that are taken.
        floats: whether `encoding_format` is ignored, as by old servers.
        rejects: parameters that are refused by name.
    """

    daemon_threads = True

    def __init__(
        self,
        script: Sequence[str] = (),
        *,
        dimensions: int = 8,
        most: int = 1000,
        longest: int = 100_000,
        floats: bool = False,
        rejects: Sequence[str] = (),
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.dimensions, self.most, self.longest = dimensions, most, longest
        self.floats, self.rejects = floats, tuple(rejects)
        self.asked: list[dict[str, Any]] = []
        self.embedded: list[str] = []
        self.lock = threading.Lock()
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def spec(self) -> str:
        return f"{self.url}#test"

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: EmbeddingServer

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.asked.append(
                {"path": self.path, "authorization": self.headers.get("Authorization"), **body}
            )
            behaviour = self.server.script.pop(0) if self.server.script else "ok"
        texts: list[str] = body["input"]
        for name in self.server.rejects:
            if name in body:
                self.send(400, {"error": {"message": f"{name} is not supported", "param": name}})
                return
        if len(texts) > self.server.most:
            self.send(422, {"error": {"message": f"batch size {len(texts)} > {self.server.most}"}})
        elif any(len(text) > self.server.longest for text in texts):
            self.send(400, {"error": {"message": "the input exceeds the context length"}})
        else:
            getattr(self, f"do_{behaviour}")(texts, body)

    def rows(self, texts: list[str], body: dict[str, Any]) -> list[dict[str, Any]]:
        binary = body.get("encoding_format") == "base64" and not self.server.floats
        rows = []
        for i, text in enumerate(texts):
            vector = vector_of(text, self.server.dimensions)
            shown = base64.b64encode(vector.tobytes()).decode() if binary else vector.tolist()
            rows.append({"object": "embedding", "index": i, "embedding": shown})
        return rows

    def answer(self, rows: list[dict[str, Any]]) -> None:
        self.send(200, {"object": "list", "data": rows, "model": "test"})

    def do_ok(self, texts: list[str], body: dict[str, Any]) -> None:
        with self.server.lock:
            self.server.embedded += texts
        self.answer(self.rows(texts, body))

    def do_shuffled(self, texts: list[str], body: dict[str, Any]) -> None:
        self.answer(self.rows(texts, body)[::-1])

    def do_too_few(self, texts: list[str], body: dict[str, Any]) -> None:
        self.answer(self.rows(texts, body)[:-1])

    def do_twice(self, texts: list[str], body: dict[str, Any]) -> None:
        self.answer([{**row, "index": 0} for row in self.rows(texts, body)])

    def do_shorter(self, texts: list[str], body: dict[str, Any]) -> None:
        rows = self.rows(texts, {})
        self.answer([{**row, "embedding": row["embedding"][:-1]} for row in rows])

    def do_nan(self, texts: list[str], body: dict[str, Any]) -> None:
        self.change_all(texts, float("nan"))

    def do_zero(self, texts: list[str], body: dict[str, Any]) -> None:
        self.change_all(texts, 0.0)

    def do_words(self, texts: list[str], body: dict[str, Any]) -> None:
        self.change_all(texts, "one")

    def do_huge(self, texts: list[str], body: dict[str, Any]) -> None:
        self.change_all(texts, 1e300)

    def change_all(self, texts: list[str], value: object) -> None:
        self.answer(
            [{"index": i, "embedding": [value] * self.server.dimensions} for i in range(len(texts))]
        )

    def do_bad_base64(self, texts: list[str], body: dict[str, Any]) -> None:
        self.answer([{"index": i, "embedding": "!" * 8} for i in range(len(texts))])

    def do_error_in_200(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send(200, {"error": {"message": "no such model"}})

    def do_html(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send_bytes(200, b"<html><body>It works</body></html>", {})

    def do_500(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send(500, {"error": "broken"})

    def do_429(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send(429, {"error": "slow down"}, {"Retry-After": "0.2"})

    def do_401(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send(401, {"error": f"bad key {self.headers.get('Authorization')}"})

    def do_404(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send(404, {"error": "The model `test` does not exist"})

    def do_400(self, texts: list[str], body: dict[str, Any]) -> None:
        self.send_bytes(400, b"Bad Request", {})

    def do_hang_up(self, texts: list[str], body: dict[str, Any]) -> None:
        self.close_connection = True

    def send(self, status: int, value: object, headers: dict[str, str] | None = None) -> None:
        self.send_bytes(status, json.dumps(value).encode(), headers or {})

    def send_bytes(self, status: int, content: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)
