"""The progress bar: on a terminal only, and never in the way of the judge."""

from __future__ import annotations

import io
import sys

import pytest

from pnyx.cli.progress import watched
from pnyx.judge.base import Judge, ask
from pnyx.judge.encoder import EncoderJudge
from pnyx.judge.questions import Support

QUESTIONS = [Support(str(i), "Fines lift turnout.", f"Fines work {i}.") for i in range(3)]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_terminal_the_judge_is_itself() -> None:
    judge = EncoderJudge()
    with watched(judge) as same:
        assert same is judge


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
