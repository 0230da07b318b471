"""The progress bar: on a terminal only, and never in the way of the judge."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import pytest

from chat_server import ChatServer
from pnyx.cli.common.progress import _logged, counted, spent_so_far, watched
from pnyx.judge.base import Judge, ask
from pnyx.judge.encoder import EncoderJudge
from pnyx.judge.llm.judge import LlmJudge
from pnyx.judge.questions import Support
from pnyx.judge.store.completions import StoredModel
from pnyx.judge.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.prices import Price

QUESTIONS = [Support(str(i), "Fines lift turnout.", f"Fines work {i}.") for i in range(3)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_answers_are_the_same_and_nothing_is_said_soon(capsys) -> None:
    judge = EncoderJudge()
    with watched(judge) as wrapped:
        assert ask(wrapped, QUESTIONS) == ask(judge, QUESTIONS)
    assert capsys.readouterr().err == ""


def test_a_log_gets_a_line_now_and_then_with_the_expected_end(capsys, monkeypatch) -> None:
    clock = iter(range(0, 10_000, 20))  # each look at the clock is 20 seconds later
    monkeypatch.setattr("pnyx.cli.common.progress.time.monotonic", lambda: next(clock))
    show = _logged("judging")
    for done in range(1, 6):
        show(done, 100, "3 unscored")
    lines = capsys.readouterr().err.splitlines()
    assert lines == [
        "pnyx: judging 3 unscored: 2 of 100, about 33 min left",
        "pnyx: judging 3 unscored: 4 of 100, about 32 min left",
    ]


def test_what_an_earlier_run_has_done_makes_no_pace(capsys, monkeypatch) -> None:
    clock = iter(range(0, 10_000, 40))
    monkeypatch.setattr("pnyx.cli.common.progress.time.monotonic", lambda: next(clock))
    with counted("embedding documents", 1000) as advance:
        for done in (500, 510, 520):
            advance(done)
    assert capsys.readouterr().err.splitlines() == [
        "pnyx: embedding documents: 500 of 1,000",
        "pnyx: embedding documents: 510 of 1,000, about 33 min left",
        "pnyx: embedding documents: 520 of 1,000, about 32 min left",
    ]


def test_on_a_terminal_the_expected_end_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    with counted("embedding documents", 1000) as advance:
        for done in (0, 10, 20):
            advance(done)
            time.sleep(0.2)
    shown = re.sub("\x1b\\[[0-9;]*m", "", terminal.getvalue())
    assert re.search(r"20/1000 +[0-9.]+/s +0:00:0. +left +0:0[0-9]:[0-9]{2}", shown)


def test_on_a_terminal_answers_are_counted_and_unchanged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    judge = EncoderJudge()
    with watched(judge) as wrapped:
        assert isinstance(wrapped, Judge)
        assert (wrapped.name, wrapped.card, wrapped.kinds) == (judge.name, judge.card, judge.kinds)
        answers = [ask(wrapped, QUESTIONS), ask(wrapped, QUESTIONS)]
    assert answers == [ask(judge, QUESTIONS)] * 2
    assert "judging" in terminal.getvalue()
    assert "6/6" in terminal.getvalue()


def test_the_bar_says_what_is_unscored_and_what_was_spent(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    asked = [Support(str(n), f"{m} Text {n}.", "S.") for n, m in enumerate(["", "[[prose]]", ""])]
    ledger = Ledger(Price(1000.0, 1000.0, 1000.0))
    with ChatServer() as server, Store(tmp_path / "store.sqlite") as store:
        model = StoredModel(ChatEndpoint(server.url, "test", ledger=ledger), store)
        assert spent_so_far([model]) == "$0.0000"
        with watched(LlmJudge(model), [model]) as wrapped:
            ask(wrapped, asked)
        tokens = server.billed["prompt_tokens"] + server.billed["completion_tokens"]
    assert spent_so_far([model]) == f"{tokens} tokens, ${tokens / 1000:.4f}"
    shown = " ".join(terminal.getvalue().split())
    assert "3/3" in shown
    assert "1 unscored" in shown
    assert f"{tokens} tokens, ${tokens / 1000:.4f}" in shown
