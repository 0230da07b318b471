"""The progress bar: on a terminal only, and never in the way of the judge."""

from __future__ import annotations

import io
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

import pnyx
from chat_server import ChatServer
from pnyx.core.progress import _logged, _Pace, _rate, counted
from pnyx.judging.base import Judge, ask
from pnyx.judging.counted_judge import Watched, spent_so_far, watched
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
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
    monkeypatch.setattr("pnyx.core.progress.time.monotonic", lambda: next(clock))
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
    monkeypatch.setattr("pnyx.core.progress.time.monotonic", lambda: next(clock))
    with counted("embedding documents", 1000) as advance:
        for done in (500, 510, 520):
            advance(done)
    assert capsys.readouterr().err.splitlines() == [
        "pnyx: embedding documents: 500 of 1,000",
        "pnyx: embedding documents: 510 of 1,000, about 33 min left",
        "pnyx: embedding documents: 520 of 1,000, about 32 min left",
    ]


def on_terminal(monkeypatch: pytest.MonkeyPatch, times: list[float]) -> Terminal:
    """Return a terminal of 200 columns; what is done is said at these times."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    clock = iter(times)
    fake = SimpleNamespace(monotonic=lambda: next(clock))
    monkeypatch.setattr("pnyx.core.progress.time", fake)
    return terminal


def lines_of(terminal: Terminal) -> list[str]:
    """Return what the bar has said, in its order."""
    text = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]|\r", "\n", terminal.getvalue())
    return [" ".join(one.split()) for one in text.split("\n") if any(map(str.isalnum, one))]


def test_on_a_terminal_the_expected_end_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = on_terminal(monkeypatch, [0, 10, 20])
    with counted("embedding documents", 1000) as advance:
        for done in (0, 10, 20):
            advance(done)
    said = lines_of(terminal)
    assert {"20 of 1,000 1.0/s", "about 16 min left"} <= set(said)  # 980 more at 1 a second
    assert not [one for one in said if "?" in one]


def test_the_first_moments_and_what_came_from_the_store_make_no_pace() -> None:
    pace = _Pace()

    def told(now: float, done: int, free: bool = False, of: int | None = 1000) -> tuple[str, str]:
        pace.take(now, done, of, free=free)
        return _rate(pace.rate), pace.left

    assert told(0.0, 0) == told(0.001, 128) == told(0.5, 130) == ("", "")
    assert told(2.4, 168) == ("", "")  # 1.9 s after what is told from
    assert told(4.5, 210) == ("20.0/s", "about 40 s left")  # 80 in 4 s, 790 more
    pace = _Pace()
    assert told(0.0, 0, free=True) == told(30.0, 900, free=True) == ("", "")
    assert told(40.0, 901) == ("0.1/s", "about 16 min left")  # 1 in 10 s, 99 more
    assert told(130.0, 903) == ("1.8/min", "about 54 min left")  # 3 in 100 s, 97 more
    assert told(150.0, 906, of=-950) == ("3.0/min", "")  # there may be more to come
    assert told(151.0, 5) == ("", "")  # another round has begun
    assert pace.counted == "5 of 1,000"


def test_answers_of_the_store_are_counted_and_make_no_pace(monkeypatch, tmp_path) -> None:
    with ChatServer() as server, Store(tmp_path / "store.sqlite") as store:
        ask(LlmJudge(StoredModel(ChatEndpoint(server.url, "test"), store)), QUESTIONS)
        again = StoredModel(ChatEndpoint(server.url, "test"), store)
        terminal = on_terminal(monkeypatch, [0, 40, 80, 120, 160, 200])
        with watched(LlmJudge(again), [again], lambda: 1000) as wrapped:
            ask(wrapped, QUESTIONS)
    said = lines_of(terminal)
    assert "3 of 1,000" in said
    assert not [one for one in said if "left" in one or "/s" in one or "/min" in one]


def test_what_is_asked_is_said_before_the_first_answer() -> None:
    told: list[tuple[int, int, int]] = []
    ask(Watched(EncoderJudge(), lambda *counts: told.append(counts)), QUESTIONS)
    assert told == [(0, 3, 0), (1, 3, 0), (2, 3, 0), (3, 3, 0)]


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
    assert "6 of 6" in terminal.getvalue()


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
    assert "3 of 3" in shown
    assert "1 unscored" in shown
    assert f"{tokens} tokens, ${tokens / 1000:.4f}" in shown


def test_calls_in_python_show_a_bar_where_somebody_looks(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.core.progress.WAIT_SECONDS", 0.0)
    judge, answers = EncoderJudge(), ask(EncoderJudge(), QUESTIONS)
    assert capsys.readouterr().err == ""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with ThreadPoolExecutor() as pool:
        assert pool.submit(ask, judge, QUESTIONS).result() == answers  # as of a server
    monkeypatch.setenv("PNYX_PROGRESS", "0")
    assert ask(judge, QUESTIONS) == answers
    assert terminal.getvalue() == ""
    monkeypatch.delenv("PNYX_PROGRESS")
    assert ask(judge, QUESTIONS) == answers
    assert "judging" in terminal.getvalue()
    assert "3 of 3" in terminal.getvalue()


def test_an_index_and_an_argument_in_python_show_their_bars(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pnyx.core.progress.WAIT_SECONDS", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    texts = ["Voting should be compulsory, as turnout rises.", "Nobody should be made to vote."]
    pnyx.open(texts).argue("Should voting be compulsory?")
    for said in ("indexing", "predicting quality", "embedding documents", "judging"):
        assert said in terminal.getvalue()


def test_a_notebook_gets_a_bar_that_is_gone_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class ZMQInteractiveShell: ...

    def display(data: dict[str, str], **_: object) -> SimpleNamespace:
        shown.append(data["text/html"])
        return SimpleNamespace(update=display)

    monkeypatch.setattr("pnyx.core.progress.WAIT_SECONDS", 0.0)
    monkeypatch.setattr("pnyx.core.progress._REDRAWN", 0.0)
    fake = SimpleNamespace(get_ipython=ZMQInteractiveShell)
    monkeypatch.setitem(sys.modules, "IPython", fake)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    ask(EncoderJudge(), QUESTIONS)
    assert shown[0] == shown[-1] == ""
    assert shown[-2].startswith('<progress max="3" value="3"></progress> judging 3 of 3')
