"""The engine of runs: a window of items that slides, answers in the order of the items."""

from __future__ import annotations

import anyio
import pytest

from pnyx.errors import InputError
from pnyx.judge.answers import Judged, Provenance
from pnyx.judge.questions import Support
from pnyx.runs.engine import Journal, answer_items


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
    assert judge.blocks == list(range(8, 401, 8))


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
        assert journal.kept == 16


@pytest.mark.parametrize(("times", "said"), [(0, "left 3 questions"), (2, "question 0 twice")])
def test_a_judge_that_does_not_answer_each_once_is_an_error(tmp_path, times, said):
    class Odd(Waiting):
        async def answer(self, questions, emit):
            for _ in range(times):
                emit(0, Judged(True, Provenance(self.name), 0.5))

    with opened(tmp_path) as journal, pytest.raises(RuntimeError, match=said):
        answer_items(Odd(), items(3, []), journal, row_of)
