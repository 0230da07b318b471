"""An OpenAI-compatible server with negligible cost, for measuring clients.

    python lab/judging/server.py --port 8901 --latency 0.05 --slots 20 --beyond 429

It answers every chat with the same text after a fixed time, with plain asyncio and HTTP/1.1
keep-alive. With `--slots N` it works on N requests at once; further requests wait in a queue
(`queue`), or get `429` or `503`, with `--retry-after` seconds if given. `GET /stats` returns
statistics, and `POST /reset` resets them.

Figures of `/stats`: requests, answered, refused, prompt_tokens and completion_tokens of answered
requests (bytes of the body / 4, bytes of the content / 4), most (maximum of concurrent requests),
busy (seconds of work times slots, so that busy / (slots * elapsed) is the share of the ideal),
elapsed (from the first request to the last answer), steady (answers per second between the first
quarter and nine tenths of the answers, without ramp-up and tail).
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import time
from array import array
from collections import deque
from dataclasses import dataclass, field

VERDICT = json.dumps({"reason": "r", "evidence": "", "answer": "yes", "confidence": 0.75})


@dataclass
class State:
    """The settings and the statistics of the server."""

    latency: float = 0.0
    slots: int = 0
    beyond: str = "queue"
    retry_after: float | None = None
    content: str = VERDICT
    requests: int = 0
    answered: int = 0
    refused: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    at_work: int = 0
    most: int = 0
    busy: float = 0.0
    first: float = 0.0
    last: float = 0.0
    line: deque[tuple[Connection, int]] = field(default_factory=deque)
    times: array[float] = field(default_factory=lambda: array("d"))

    def __post_init__(self) -> None:
        usage = '"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}'
        choice = {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": self.content},
        }
        head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": "test"}
        text = json.dumps({**head, "choices": [choice]}).replace("%", "%%")
        self.template = text[:-1] + "," + usage + "}"
        self.tokens_out = max(1, len(self.content) // 4)

    def stats(self) -> dict[str, float]:
        names = "requests answered refused prompt_tokens completion_tokens most busy".split()
        elapsed = self.last - self.first
        return {**{n: getattr(self, n) for n in names}, "elapsed": elapsed, "steady": self.steady()}

    def steady(self) -> float:
        begin, end = len(self.times) // 4, len(self.times) * 9 // 10
        spent = self.times[end] - self.times[begin] if end > begin else 0.0
        return (end - begin) / spent if spent > 0 else 0.0

    def reset(self) -> None:
        self.times = array("d")
        self.requests = self.answered = self.refused = self.most = 0
        self.prompt_tokens = self.completion_tokens = 0
        self.busy = self.first = self.last = 0.0


class Connection(asyncio.Protocol):
    """One keep-alive connection, with one request at a time."""

    def __init__(self, state: State) -> None:
        self.state = state
        self.buffer = b""
        self.transport: asyncio.Transport = None  # type: ignore[assignment]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            at = head.find(b"content-length:")
            size = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self.buffer) < end + 4 + size:
                return
            method, path, _ = self.buffer[:end].split(b" ", 2)
            self.buffer = self.buffer[end + 4 + size :]
            self.handle(method, path, size)

    def handle(self, method: bytes, path: bytes, size: int) -> None:
        state = self.state
        if method == b"GET":
            models = {"object": "list", "data": [{"id": "test", "object": "model"}]}
            self.send(json.dumps(state.stats() if path == b"/stats" else models).encode())
        elif path == b"/reset":
            state.reset()
            self.send(b"{}")
        else:
            state.requests += 1
            state.last = time.monotonic()
            state.first = state.first or state.last
            if not state.slots or state.at_work < state.slots:
                self.work(size)
            elif state.beyond == "queue":
                state.line.append((self, size))
            else:
                self.refuse()

    def refuse(self) -> None:
        self.state.refused += 1
        after = self.state.retry_after
        header = b"" if after is None else b"Retry-After: %g\r\n" % after
        self.send(b'{"error":{"message":"slow down"}}', self.state.beyond.encode(), header)

    def work(self, size: int) -> None:
        state = self.state
        state.at_work += 1
        state.most = max(state.most, state.at_work)
        if state.latency:
            loop = asyncio.get_running_loop()
            loop.call_later(state.latency, self.done, size, time.monotonic())
        else:
            self.done(size, 0.0)

    def done(self, size: int, started: float) -> None:
        state = self.state
        state.at_work -= 1
        state.answered += 1
        now = time.monotonic()
        if started:
            state.busy += now - started
        state.last = now
        state.times.append(now)
        tokens = max(1, size // 4)
        state.prompt_tokens += tokens
        state.completion_tokens += state.tokens_out
        counts = (tokens, state.tokens_out, tokens + state.tokens_out)
        self.send((state.template % counts).encode())
        if state.line:
            waiting, waiting_size = state.line.popleft()
            waiting.work(waiting_size)

    def send(self, body: bytes, status: bytes = b"200 OK", extra: bytes = b"") -> None:
        if not self.transport.is_closing():
            self.transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: application/json\r\n%bContent-Length: %d\r\n\r\n%b"
                % (status if b" " in status else status + b" Busy", extra, len(body), body)
            )


async def serve(state: State, port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(state), "127.0.0.1", port, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0, help="seconds for each answer")
    parser.add_argument("--slots", type=int, default=0, help="requests at once; 0 is no limit")
    parser.add_argument("--beyond", choices=["queue", "429", "503"], default="queue")
    parser.add_argument("--retry-after", type=float)
    parser.add_argument("--content", default=VERDICT, help="the text of every answer")
    options = parser.parse_args()
    state = State(
        options.latency, options.slots, options.beyond, options.retry_after, options.content
    )
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(state, options.port))


if __name__ == "__main__":
    main()
