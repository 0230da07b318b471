"""An OpenAI-compatible server that misbehaves on purpose, over real HTTP on 127.0.0.1.

As a program: `python tests/chat_server.py --port 8900 --log served.jsonl`, then
`--llm http://127.0.0.1:8900/v1#test`. A prompt that contains `[[NAME]]` gets the behaviour NAME
(see `Handler`), one that contains `[[NAME_once]]` only the first time (a repair turn belongs to
its prompt), one that contains `[[NAME_unrepaired]]` until a repair turn; otherwise the behaviours
of `--script` are played in turn, then `ok` for ever.

The verdicts of `ok` are made from a hash of the prompt: they mean nothing, but they are the same
every time.
"""

from __future__ import annotations

import argparse
import email.utils
import hashlib
import json
import re
import select
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from chat_replies import (
    choice_in,
    entries,
    favouring,
    logprobs_of,
    reply_to,
    sides_reply,
    with_extra,
    with_repeated,
    without_last,
)

HTML = (
    b"<!DOCTYPE html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>"
)
LONG = ("messages", "parameters", "headers")
"""What of a request is kept in memory only."""
SPELLINGS = {"yes": 0.6, "no": 0.2, "maybe": 0.1}


class ChatServer(ThreadingHTTPServer):
    """Serves until `close`; `log` lists what was asked and what was wholly answered.

    Args:
        script: behaviours played in turn; after the last, `default`.
        default: the behaviour when the script is over.
        delay: seconds before each answer.
        reply: text that `ok` sends instead of a verdict made up from the prompt, or what makes
            it of the prompt.
        rejects: parameters that are refused by name with HTTP 400.
        formats: the response formats that are understood.
        slots: requests worked on at once; None for no limit.
        queue: whether a request beyond the slots waits, or gets HTTP 429.
        logprobs: how replies are cut into tokens (`chat_replies.STYLES`) where their
            probabilities are asked for; None sends none.
        spellings: probability of each alternative where an answer's word begins.
        sides: the same, for a text and two claims (first, second, neither): a model of its own.
        log: file that gets one JSON line as a request comes and one as its answer is out. An
            event `unread` takes back the last `answered` of its key: the client went away
            without reading it.

        tokenizes: which server's `/tokenize` it has, `vllm` or `llama`; its tokens are characters.

    Attributes:
        tokenized: requests to `/tokenize`.
        billed: tokens of every completion that was made, whatever became of it on the way.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(
        self,
        script: Sequence[str] = (),
        *,
        default: str = "ok",
        port: int = 0,
        delay: float = 0.0,
        reply: str | Callable[[str], str] | None = None,
        rejects: Sequence[str] = (),
        formats: Sequence[str] = ("json_schema", "json_object"),
        slots: int | None = None,
        queue: bool = True,
        logprobs: str | None = None,
        spellings: Mapping[str, float] | None = None,
        sides: Callable[[str, str, str], Mapping[str, float]] | None = None,
        log: str | None = None,
        tokenizes: str | None = None,
    ) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.script = list(script)
        self.default = default
        self.delay = delay
        self.reply = reply
        self.rejects = tuple(rejects)
        self.formats = tuple(formats)
        self.slots = threading.BoundedSemaphore(slots) if slots is not None else None
        self.queue = queue
        self.logprobs = logprobs
        self.spellings = spellings or SPELLINGS
        self.sides = sides
        self.log: list[dict[str, Any]] = []
        self.billed: Counter[str] = Counter()
        self.busy = self.busiest = 0
        self.closing = threading.Event()
        self._seen: Counter[str] = Counter()
        self._heads: set[str] = set()
        self.tokenizes = tokenizes
        self.tokenized = 0
        self._log_path = log
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=lambda: self.serve_forever(0.02), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    @property
    def spec(self) -> str:
        return f"{self.url}#test"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def record(self, event: str, **fields: Any) -> None:
        row = {"event": event, "at": time.monotonic(), **fields}
        with self._lock:
            self.log.append(row)
            if self._log_path is not None:
                with Path(self._log_path).open("a", encoding="utf-8") as stream:
                    short = {k: v for k, v in row.items() if k not in LONG}
                    stream.write(json.dumps(short) + "\n")

    def behaviour(self, prompt: str, item: str, turn: int) -> str:
        """Return how a prompt is treated; `item` tells it from others, repair turns apart."""
        mark = mark_of(prompt)
        with self._lock:
            self._seen[item] += 1
            if not mark:
                return self.script.pop(0) if self.script else self.default
            name, limit, _ = re.split(r"(_once|_unrepaired|$)", mark, maxsplit=1)
            bad = not limit or (turn == 1 if limit == "_unrepaired" else self._seen[item] == 1)
            return name if bad else "ok"

    def bill(self, prompt: str, text: str) -> dict[str, Any]:
        """Count a completion; a prompt's first 1,000 characters are cached once seen."""
        counts = {"prompt_tokens": len(prompt) // 4, "completion_tokens": len(text) // 4}
        with self._lock:
            cached = 250 if len(prompt) >= 1000 and prompt[:1000] in self._heads else 0
            self._heads.add(prompt[:1000])
            self.billed.update({**counts, "cached_tokens": cached, "completions": 1})
        return {
            **counts,
            "total_tokens": sum(counts.values()),
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def working(self, more: int) -> None:
        with self._lock:
            self.busy += more
            self.busiest = max(self.busiest, self.busy)

    def asked(self) -> list[dict[str, Any]]:
        return [row for row in self.log if row["event"] == "asked"]

    def answered(self) -> list[str]:
        return answered(self.log)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are part of the game."""


class Handler(BaseHTTPRequestHandler):
    """Each method `do_NAME` is a behaviour; of `[[NAME_over_2]]` only for more than 2 questions."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ChatServer
    handed = ""
    at_work = False
    spellings: Mapping[str, float] | None = None

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except ConnectionError:
            # A reset, and not an end: the client left bytes unread.
            if self.handed:
                self.server.record("unread", key=self.handed)
            raise

    def log_message(self, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        self.send_json({"object": "list", "data": [{"id": "test", "object": "model"}]})

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.body: dict[str, Any] = json.loads(raw)
        if self.path.endswith("/tokenize"):
            return self.tokenize()
        self.prompt = "\n".join(m["content"] for m in self.body["messages"])
        limit = self.body.get("max_tokens", self.body.get("max_completion_tokens"))
        self.key = key_of(self.body["messages"], limit)
        self.handed, self.spellings = "", None
        said = self.body["messages"]
        behaviour = self.server.behaviour(self.prompt, key_of(said[:2]), len(said) // 2)
        parameters = {k: v for k, v in self.body.items() if k != "messages"}
        self.server.record(
            "asked",
            key=self.key,
            behaviour=behaviour,
            item=mark_of(self.prompt),
            messages=self.body["messages"],
            parameters=parameters,
            authorization=self.headers.get("Authorization"),
            headers=str(self.headers),
        )
        if self.refused():
            return None
        slots = self.server.slots
        if slots is not None and not slots.acquire(blocking=self.server.queue):
            self.do_429()
            return None
        self.at_work = True
        self.server.working(1)
        try:
            self.server.closing.wait(self.server.delay)
            self.behave(behaviour)
        finally:
            self.rest()

    def tokenize(self) -> None:
        self.server.tokenized += 1
        field = {"vllm": "prompt", "llama": "content"}.get(self.server.tokenizes or "")
        if field is None or self.path != "/tokenize":
            return self.send_error_json(404, "there is no such path")
        tokens = list(map(ord, self.body[field]))
        more = {"count": len(tokens), "max_model_len": 4096} if field == "prompt" else {}
        return self.send_json({"tokens": tokens, **more})

    def rest(self) -> None:
        """Give the place back: once, and before the last bytes of an answer go out, or else the
        client's next question could find this one still at work."""
        if self.at_work:
            self.at_work = False
            self.server.working(-1)
            if self.server.slots is not None:
                self.server.slots.release()

    def behave(self, behaviour: str) -> None:
        name, over, limit = behaviour.partition("_over_")
        if over and entries(self.answer()) <= int(limit):
            name = "ok"
        getattr(self, f"do_{name}")()

    def refused(self) -> bool:
        for name in self.server.rejects:
            if name in self.body:
                self.send_error_json(
                    400, f"Unsupported parameter: '{name}' is not supported here.", param=name
                )
                return True
        form = (self.body.get("response_format") or {}).get("type")
        if form is not None and form not in self.server.formats:
            self.send_error_json(400, f"response_format type {form!r} is not supported")
            return True
        return False

    # --- what a well-behaved server sends

    def do_ok(self) -> None:
        reply = self.server.reply
        self.complete((reply(self.prompt) if callable(reply) else reply) or self.verdict())

    def do_fenced(self) -> None:
        self.complete(f"Here is my verdict:\n```json\n{self.verdict()}\n```\n")

    def do_thinking(self) -> None:
        self.complete('<think>{"answer": "no"} or yes?</think>\n' + self.verdict())

    def do_refusal(self) -> None:
        self.complete(None, refusal="I cannot help with that.")

    def do_length(self) -> None:
        self.complete(self.verdict()[:-20], finish_reason="length")

    def do_tight(self) -> None:
        """Thinks so long that less than 1,000 tokens are not enough."""
        limit = self.body.get("max_tokens", self.body.get("max_completion_tokens"))
        self.do_length() if limit is not None and limit < 1000 else self.do_ok()

    def do_content_filter(self) -> None:
        self.complete("", finish_reason="content_filter")

    def do_first(self) -> None:
        """Prefers whatever comes first."""
        self.complete(json.dumps(favouring(self.answer(), "first")))

    def do_good(self) -> None:
        """Prefers the argument in which GOOD stands, wherever it comes."""
        second = re.search(r"<<<second (\w+)\n.*?GOOD.*?\nsecond \1>>>", self.prompt, re.DOTALL)
        text = json.dumps(favouring(self.answer(), "second" if second else "first"))
        score = 5 if second is None and "GOOD" in self.prompt else 1
        self.complete(re.sub(r'"score": \d+', f'"score": {score}', text))

    # --- trouble in the text

    def do_missing(self) -> None:
        self.complete(without_last(self.answer()))

    def do_extra(self) -> None:
        self.complete(with_extra(self.answer()))

    def do_repeated(self) -> None:
        self.complete(with_repeated(self.answer()))

    def do_empty(self) -> None:
        self.complete("")

    def do_no_content(self) -> None:
        self.complete(None)

    def do_truncated_json(self) -> None:
        self.complete(self.verdict()[:-9])

    def do_wrong_schema(self) -> None:
        self.complete('{"verdict": "yes", "score": 9}')

    def do_out_of_range(self) -> None:
        self.complete('{"reason": "", "evidence": "", "answer": "yes", "confidence": 950}')

    def do_prose(self) -> None:
        self.complete("Yes, with a confidence of 0.9, I would say.")

    # --- trouble in the protocol

    def do_no_choices(self) -> None:
        self.send_json({"id": "1", "object": "chat.completion", "choices": []})

    def do_html(self) -> None:
        self.send(200, HTML, {"Content-Type": "text/html"})

    def do_cut_body(self) -> None:
        self.send_json({}, content=json.dumps(self.completion(self.verdict())).encode()[:-30])

    def do_429(self) -> None:
        self.send_error_json(429, "slow down")

    def do_429_after(self) -> None:
        self.send_error_json(429, "slow down", headers={"Retry-After": "0.3"})

    def do_429_date(self) -> None:
        later = email.utils.formatdate(time.time() + 2, usegmt=True)
        self.send_error_json(429, "slow down", headers={"Retry-After": later})

    def do_429_forever(self) -> None:
        self.send_error_json(429, "come back in thirty years", headers={"Retry-After": "1e9"})

    def do_quota(self) -> None:
        self.send_error_json(429, "no money left", code="insufficient_quota")

    def do_500(self) -> None:
        self.send(500, b"Internal Server Error", {"Content-Type": "text/plain"})

    def do_503(self) -> None:
        self.send_error_json(503, "overloaded")

    def do_busy(self) -> None:
        self.send_error_json(503, "overloaded", headers={"Retry-After": "0.02"})

    def do_401(self) -> None:
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        self.send_error_json(401, f"Incorrect API key provided: {key}")

    def do_404(self) -> None:
        self.send_error_json(404, "The model `test` does not exist")

    def do_400(self) -> None:
        self.send(400, b"Bad Request", {"Content-Type": "text/plain"})

    def do_echo(self) -> None:
        """Refuses with the whole prompt in the message."""
        self.send_error_json(400, f"cannot answer: {self.prompt}")

    def do_blind(self) -> None:
        """Refuses any response format without saying why."""
        if "response_format" in self.body:
            self.do_400()
        else:
            self.do_ok()

    def do_too_long(self) -> None:
        message = "This model's maximum context length is 100 tokens; reduce your max_tokens."
        self.send_error_json(400, message, code="context_length_exceeded")

    def do_hang(self) -> None:
        self.server.closing.wait(600)

    def do_drip(self) -> None:
        """A byte now and then: alive, but never done."""
        self.start(200, 1 << 20, {"Content-Type": "application/json"})
        while not self.server.closing.wait(0.05):
            self.wfile.write(b" ")
            self.wfile.flush()

    def do_reset(self) -> None:
        """The connection is reset in the middle of the body."""
        content = json.dumps(self.completion(self.verdict())).encode()
        self.start(200, len(content), {"Content-Type": "application/json"})
        self.wfile.write(content[: len(content) // 2])
        self.wfile.flush()
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True
        self.connection.close()

    # --- how it is sent

    def answer(self) -> dict[str, Any]:
        return reply_to(self.body, self.prompt, self.key)

    def verdict(self) -> str:
        """An answer in the asked-for schema, made from the prompt's hash, or a side's."""
        asked, sides = choice_in(self.prompt), self.server.sides
        if sides is not None and (listed := sides_reply(self.prompt, sides)):
            return json.dumps(listed)
        if asked is None or sides is None:
            return json.dumps(self.answer())
        self.spellings = sides(*asked)
        return json.dumps({"answer": max(self.spellings, key=self.spellings.__getitem__)})

    def completion(self, text: str | None, **message: Any) -> dict[str, Any]:
        finish_reason = message.pop("finish_reason", "stop")
        choice = {
            "index": 0,
            "finish_reason": finish_reason,
            "message": {"role": "assistant", "content": text, **message},
        }
        style = self.server.logprobs
        if text and style is not None and self.body.get("logprobs"):
            choice["logprobs"] = logprobs_of(text, style, self.spellings or self.server.spellings)
        return {
            "id": f"chatcmpl-{self.key[:12]}",
            "object": "chat.completion",
            "created": 0,
            "model": self.body["model"],
            "choices": [choice],
            "usage": self.server.bill(self.prompt, text or ""),
        }

    def complete(self, text: str | None, **message: Any) -> None:
        completion = self.completion(text, **message)
        if self.is_gone():
            return
        self.send_json(completion)
        if not self.is_gone(after=True):
            self.handed = self.key
            self.server.record("answered", key=self.key)

    def is_gone(self, *, after: bool = False) -> bool:
        """Whether the client has hung up; after an answer that is only certain of a reset."""
        if not select.select([self.connection], [], [], 0)[0]:
            return False
        try:
            return not self.connection.recv(1, socket.MSG_PEEK) and not after
        except ConnectionError:
            return True

    def send_json(self, value: Any, *, content: bytes | None = None) -> None:
        content = json.dumps(value).encode() if content is None else content
        self.send(200, content, {"Content-Type": "application/json"})

    def send_error_json(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        error = {"message": message, "type": "error", "param": param, "code": code}
        content = json.dumps({"error": error}).encode()
        self.send(status, content, {"Content-Type": "application/json", **(headers or {})})

    def send(self, status: int, content: bytes, headers: Mapping[str, str]) -> None:
        self.start(status, len(content), headers, content)

    def start(
        self, status: int, length: int, headers: Mapping[str, str], content: bytes = b""
    ) -> None:
        lines = {**headers, "Content-Length": str(length)}.items()
        head = f"HTTP/1.1 {status} -\r\n" + "".join(f"{k}: {v}\r\n" for k, v in lines)
        if len(content) == length:
            self.rest()
        self.wfile.write(head.encode() + b"\r\n" + content)


def mark_of(prompt: str) -> str:
    """Return the NAME of the `[[NAME]]` in a prompt, or an empty string."""
    marked = re.search(r"\[\[(\w+)\]\]", prompt)
    return marked.group(1) if marked else ""


def key_of(messages: Sequence[Mapping[str, str]], limit: int | None = None) -> str:
    """Return what a prompt is called in the log: with more room for its reply it is another."""
    said = [[message["role"], message["content"]] for message in messages]
    return hashlib.sha256(json.dumps([said, limit]).encode()).hexdigest()


def patience(trouble: str) -> float:
    """Return the seconds that an attempt gets: few only where the server never ends."""
    return 2.0 if trouble.startswith(("hang", "drip")) else 60.0


def answered(log: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys of all answers that a client read, once for each time."""
    keys = [row["key"] for row in log if row["event"] == "answered"]
    for row in log:
        if row["event"] == "unread":
            keys.remove(row["key"])
    return keys


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--script", default="", help="comma-separated behaviours")
    parser.add_argument("--default", default="ok")
    parser.add_argument("--slots", type=int)
    parser.add_argument("--no-queue", action="store_true", help="429 beyond the slots")
    parser.add_argument("--logprobs", help="how replies are cut into tokens")
    parser.add_argument("--log")
    options = parser.parse_args()
    script = [name for name in options.script.split(",") if name]
    server = ChatServer(
        script,
        default=options.default,
        port=options.port,
        delay=options.delay,
        slots=options.slots,
        queue=not options.no_queue,
        logprobs=options.logprobs,
        log=options.log,
    )
    print(server.url, flush=True)  # noqa: T201 - the one line that callers read
    try:
        server.serve_forever(0.02)
    except KeyboardInterrupt:
        server.server_close()


if __name__ == "__main__":
    main()
