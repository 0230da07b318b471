"""Extracting the text of fetched pages, in processes that are killed if they take too long.

A hostile page can keep the parser busy for minutes, or take all memory. The process reads a line
`{"size", "kind", "charset", "seconds"}` followed by the page, and writes `{"title", "text"}` or
`{"error"}`.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pnyx
from pnyx.core.errors import PnyxError, shorten
from pnyx.core.files import clean_text
from pnyx.formats.text.pages import decode_page, extract_page
from pnyx.formats.text.pdf_text import extract_pdf
from pnyx_crawl.fetch_result import TEXT, Fetched

if TYPE_CHECKING:
    from anyio.abc import Process
    from anyio.streams.buffered import BufferedByteReceiveStream

_MOST_MEMORY = 4 << 30
_CHARSET = re.compile(r"charset\s*=\s*+(?:[\"']\s*+)?([A-Za-z0-9_:.+-]{1,40})", re.IGNORECASE)
_MOST_ANSWER = 256 * 1024 * 1024


class Reader:
    """Reads pages in at most `processes`, `seconds` for each; an async context manager."""

    def __init__(self, seconds: float = 30.0, processes: int | None = None) -> None:
        self.seconds = seconds
        self._processes = processes or min(4, os.cpu_count() or 1)
        self._idle: list[tuple[Process, BufferedByteReceiveStream]] = []

    async def __aenter__(self) -> Reader:
        import anyio

        self._slots = anyio.Semaphore(self._processes)
        return self

    async def __aexit__(self, *_: object) -> None:
        while self._idle:
            await _end(self._idle.pop()[0])

    async def read(self, page: Fetched) -> Fetched:
        """Extract the text of a page with a stored body: `TEXT`, `no_text` or `unreadable`."""
        import anyio

        async with self._slots:
            worker = self._idle.pop() if self._idle else await _start()
            whole = False
            try:
                with anyio.fail_after(self.seconds):
                    answer = await _ask(worker, page, self.seconds)
                whole = True
            except TimeoutError:
                return replace(page, outcome="unreadable", detail=f"not read in {self.seconds:g} s")
            except _crashes():
                return replace(page, outcome="unreadable", detail="the parser crashed")
            finally:
                if whole:
                    self._idle.append(worker)
                else:
                    await _end(worker[0])
        if "error" in answer:
            return replace(page, outcome="unreadable", detail=shorten(str(answer["error"])))
        text = str(answer["text"]).strip()
        if not text:
            return replace(page, outcome="no_text")
        return replace(page, outcome=TEXT, title=str(answer["title"]), text=text)


def _crashes() -> tuple[type[Exception], ...]:
    """Return the exceptions raised if the other end of a pipe is gone or sends invalid data."""
    import anyio

    broken = (anyio.BrokenResourceError, anyio.ClosedResourceError, anyio.EndOfStream)
    return (*broken, anyio.IncompleteRead, anyio.DelimiterNotFound, OSError, ValueError)


async def _start() -> tuple[Process, BufferedByteReceiveStream]:
    import anyio
    from anyio.streams.buffered import BufferedByteReceiveStream

    homes = [str(Path(file).parents[1]) for file in (__file__, pnyx.__file__)]
    path = os.environ.get("PYTHONPATH")
    # -P keeps the current folder off the path; a separate session shields it from Ctrl-C.
    process = await anyio.open_process(
        [sys.executable, "-P", "-m", "pnyx_crawl.reader"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([*homes, *filter(None, [path])])},
    )
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    return process, BufferedByteReceiveStream(process.stdout)


async def _ask(
    worker: tuple[Process, BufferedByteReceiveStream], page: Fetched, seconds: float
) -> dict[str, Any]:
    process, answers = worker
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    charset = _CHARSET.search(page.content_type)
    header = {
        "size": len(page.body),
        "kind": _kind(page),
        "charset": charset[1] if charset else None,
        "seconds": math.ceil(seconds) + 5,  # in case this process is killed meanwhile
    }
    await process.stdin.send(json.dumps(header).encode() + b"\n" + page.body)
    answer: dict[str, Any] = json.loads(await answers.receive_until(b"\n", _MOST_ANSWER))
    return answer


def _kind(page: Fetched) -> str:
    """Return the kind of a body: `pdf`, `plain` or `html`."""
    if page.body[:1024].lstrip().startswith(b"%PDF-"):
        return "pdf"
    plain = page.content_type.partition(";")[0].strip().lower() == "text/plain"
    return "plain" if plain else "html"


async def _end(process: Process) -> None:
    """Kill and reap a process; it holds nothing worth saving."""
    import anyio

    with anyio.CancelScope(shield=True), anyio.move_on_after(5):
        if process.returncode is None:
            process.kill()
        await process.aclose()


# The process: lines of JSON and pages in, lines of JSON out.


def main() -> None:
    """Run as the process: answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # output printed by a library is not an answer
    _bound_memory()
    source = sys.stdin.buffer
    while line := source.readline():
        header = json.loads(line)
        content = source.read(header["size"])
        _end_in(header["seconds"])
        answer = _answer(content, header["kind"], header["charset"])
        _end_in(0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(content: bytes, kind: str, charset: str | None) -> dict[str, Any]:
    try:
        if kind == "pdf":
            file = extract_pdf(content)
            return {"title": file.title, "text": file.text}
        text = decode_page(content, charset)
        if kind == "plain":
            text = content.decode("utf-8", "replace") if text is None else text
            return {"title": "", "text": clean_text(text).removeprefix("\ufeff")}
        page = extract_page(content if text is None else text)
    except (PnyxError, MemoryError, RecursionError) as error:
        return {"error": shorten(str(error) or type(error).__name__)}
    return {"title": page.title, "text": page.text}


def _end_in(seconds: int) -> None:
    """Let the system end this process after some seconds, even inside a library; 0: never."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _bound_memory() -> None:
    """Limit the memory of this process."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


if __name__ == "__main__":
    main()
