"""The engine of runs: a window of items that slides, answers in the order of the items."""

from __future__ import annotations

import contextlib
import resource
import signal

import anyio
import pytest

from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.answers import Judged, Provenance
from pnyx.judging.questions import Support
from pnyx.judging.runs.engine import Journal, answer_items


class Waiting:
    """Answers all at once, but the first item only when an item of the next block is asked."""

    name, card, kinds = "waiting", "", frozenset({Support})

    def __init__(self):
        self.blocks: list[int] = []
        self.moved = anyio.Event()

    async def answer(self, questions, emit):
        self.blocks.append(len(questions))
        if len(self.blocks) > 1:
            self.moved.set()
        for position in reversed(range(len(questions))):
            if questions[position].id == "i0":
                with anyio.fail_after(120):
                    await self.moved.wait()
            await anyio.lowlevel.checkpoint()
            emit(position, Judged(True, Provenance(self.name), 0.5))


def items(count, taken):
    for n in range(count):
        taken.append(n)
        yield Support(f"i{n}", f"Text {n}.", "It is.")


def row_of(item, answer):
    return [item.id, answer.probability]


def opened(tmp_path):
    return Journal(tmp_path / "out.jsonl", {}, lambda found: True)


def test_a_slow_answer_holds_up_no_other_and_the_order_stays(tmp_path):
    judge, taken = Waiting(), []
    with opened(tmp_path) as journal:
        assert answer_items(judge, items(40, taken), journal, row_of, block=8) == 40
        assert [name for name, _ in journal.rows()] == [f"i{n}" for n in range(40)]
    assert judge.blocks == [8] * 5


def test_items_are_taken_as_they_are_needed(tmp_path):
    taken = []

    class Looking(Waiting):
        async def answer(self, questions, emit):
            self.blocks.append(len(taken))
            for position in range(len(questions)):
                await anyio.lowlevel.checkpoint()
                emit(position, Judged(True, Provenance(self.name), 0.5))

    judge = Looking()
    with opened(tmp_path) as journal:
        answer_items(judge, items(400, taken), journal, row_of, block=8)
    assert judge.blocks == [*range(9, 401, 8), 400]  # and one more, which may belong to the block


def test_what_cannot_be_read_ends_the_run_and_keeps_what_is_known(tmp_path):
    def broken():
        yield from items(20, [])
        raise InputError("line 21 is broken")

    class Plain(Waiting):
        async def answer(self, questions, emit):
            for position in range(len(questions)):
                emit(position, Judged(True, Provenance(self.name), 0.5))

    with opened(tmp_path) as journal, pytest.raises(InputError, match="line 21 is broken"):
        answer_items(Plain(), broken(), journal, row_of, block=8)
    with opened(tmp_path) as journal:
        assert journal.reused == 16


@pytest.mark.parametrize(("times", "said"), [(0, "left 3 questions"), (2, "question 0 twice")])
def test_a_judge_that_does_not_answer_each_once_is_an_error(tmp_path, times, said):
    class Odd(Waiting):
        async def answer(self, questions, emit):
            for _ in range(times):
                emit(0, Judged(True, Provenance(self.name), 0.5))

    with opened(tmp_path) as journal, pytest.raises(RuntimeError, match=said):
        answer_items(Odd(), items(3, []), journal, row_of)


class Yes:
    """Says yes, and remembers what it was asked."""

    name, card, kinds = "yes", "", frozenset({Support})

    def __init__(self):
        self.asked: list[str] = []

    async def answer(self, questions, emit):
        for position, question in enumerate(questions):
            self.asked.append(question.id)
            emit(position, Judged(True, Provenance(self.name), 0.5, explanation="e" * 300))


def long_row(item, answer):
    return [item.id, answer.explanation]


@contextlib.contextmanager
def disk_of(bytes_):
    """Let files grow to so many bytes: of a line that is longer the system takes a part."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_what_a_full_disk_refused_is_never_written_and_nothing_is_asked_twice(tmp_path):
    answers = tmp_path / "out.jsonl.partial" / "answers.jsonl"
    judge = Yes()
    journal = opened(tmp_path)
    with (
        pytest.raises(PnyxError, match="cannot be written"),
        journal,
        disk_of(2000),
    ):
        answer_items(judge, items(20, []), journal, long_row)
    whole = answers.read_bytes()
    kept = whole.count(b"\n")
    assert whole.endswith(b"\n")
    assert 0 < kept == len(journal) < 20
    assert len(whole) < 2000
    # There is space again, and the same journal is still open somewhere: nothing more comes of it.
    again = Yes()
    with opened(tmp_path) as journal:
        assert (journal.reused, journal.damaged) == (kept, 0)
        answer_items(again, items(20, []), journal, long_row)
        assert [name for name, _ in journal.rows()] == [f"i{n}" for n in range(20)]
    assert again.asked == [f"i{n}" for n in range(kept, 20)]


def test_an_open_journal_goes_on_once_there_is_space(tmp_path):
    found = list(items(3, []))
    with opened(tmp_path) as journal:
        journal.add(0, found[0], ["a"])
        whole = (journal.folder / "answers.jsonl").read_bytes()
        with disk_of(len(whole) + 20):
            for _ in range(3):
                with pytest.raises(PnyxError, match="cannot be written"):
                    journal.add(1, found[1], ["refused" * 30])
                assert (journal.folder / "answers.jsonl").read_bytes() == whole
        journal.add(2, found[2], ["c"])
        assert list(map(journal.has, range(3), found)) == [True, False, True]
        lines = (journal.folder / "answers.jsonl").read_bytes().splitlines()
        assert [b"refused" in line for line in lines] == [False, False]
