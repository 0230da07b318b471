"""The process that takes the text out of fetched pages: `python -m pnyx.web.reader_worker`.

A hostile page can keep the parser busy for minutes, or take all memory: the parent kills this
process after its time limit. In: a line of JSON `{"size", "plain", "charset", "seconds"}`, then the
page's bytes; out: a line of JSON, `{"title", "text"}` or `{"error"}`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any

from pnyx.corpora.pages import decode_page, extract_page
from pnyx.errors import PnyxError, shorten
from pnyx.files import clean_text

__all__ = ["main"]

_MOST_MEMORY = 4 << 30


def main() -> None:
    """Answer until the input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints is no answer
    _bound_memory()
    source = sys.stdin.buffer
    while line := source.readline():
        asked = json.loads(line)
        content = source.read(asked["size"])
        _end_in(asked["seconds"])
        answer = _answer(content, asked["plain"], asked["charset"])
        _end_in(0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _answer(content: bytes, plain: bool, charset: str | None) -> dict[str, Any]:
    try:
        text = decode_page(content, charset)
        if plain:
            text = content.decode("utf-8", "replace") if text is None else text
            return {"title": "", "text": clean_text(text).removeprefix("\ufeff")}
        page = extract_page(content if text is None else text)
    except (PnyxError, MemoryError, RecursionError) as error:
        return {"error": shorten(str(error) or type(error).__name__)}
    return {"title": page.title, "text": page.text}


def _end_in(seconds: int) -> None:
    """Have the system end this process after some seconds, even within a library; 0: not at all."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def _bound_memory() -> None:
    """Have the system refuse this process more memory than any page is worth."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, _MOST_MEMORY))


if __name__ == "__main__":
    main()
