"""The judge that a command asks by default, and answers that are counted as they arrive."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pnyx.core import progress
from pnyx.core.errors import escaped
from pnyx.judging.answers import Answer, Unscored
from pnyx.judging.base import Emit, Judge
from pnyx.judging.questions import JudgeQuestion

if TYPE_CHECKING:
    from pnyx.judging.store.completions import StoredModel


def default_judge(model: StoredModel | None, *tasks: str) -> Judge:
    """Return the language model as a judge, or without one the packaged judge of these tasks."""
    if model is None:
        from pnyx.judging.students.judge import OF_A_CASE, PackagedJudge

        return PackagedJudge(*(tasks or OF_A_CASE))
    from pnyx.judging.llm.judge import LlmJudge

    return LlmJudge(model)


class _Counts:
    """The number of answers, and of questions."""

    done = total = unscored = 0


class Watched:
    """Wraps a judge; `tell` gets the counts before the first and after each answer."""

    def __init__(self, judge: Judge, tell: Callable[[int, int, int], None]) -> None:
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self.model: StoredModel | None = getattr(judge, "model", None)
        self._judge, self._tell = judge, tell
        self._counts = _Counts()

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """See `pnyx.judging.base.Judge`."""
        counts = self._counts
        counts.total += len(questions)
        self._tell(counts.done, counts.total, counts.unscored)

        def counted(position: int, answer: Answer) -> None:
            emit(position, answer)
            counts.done += 1
            counts.unscored += isinstance(answer, Unscored)
            self._tell(counts.done, counts.total, counts.unscored)

        await self._judge.answer(questions, counted)

    def alongside(self, judge: Judge) -> Watched:
        """Return another judge whose answers are added to the same counts."""
        other = Watched(judge, self._tell)
        other._counts = self._counts
        return other


@contextlib.contextmanager
def watched(
    judge: Judge,
    models: Sequence[StoredModel] = (),
    expected: Callable[[], int | None] = lambda: None,
    reporting: Callable[[str], contextlib.AbstractContextManager[progress.Show]] | None = None,
) -> Iterator[Watched]:
    """Yield the judge with progress: answers (of those `expected`), unscored ones, and cost.

    `reporting` shows it: as a command does, or `progress.showing`, as a call in Python does.
    """
    with (reporting or progress.reporting)("judging") as show:

        def tell(done: int, total: int, unscored: int) -> None:
            note = f"{unscored} unscored" if unscored else ""
            word = "  ".join(filter(None, [note, spent_so_far(models)]))
            free = bool(models) and replied() == before
            show(done, expected() or -total, word, free=free)

        def replied() -> int:
            return sum(model.counts.asked + model.counts.failed for model in models)

        before = replied()

        yield Watched(judge, tell)


def spent_so_far(models: Sequence[StoredModel]) -> str:
    """Return tokens and, if the price is known, dollars in a few words; empty for none."""
    tokens = sum(model.counts.tokens.get("total_tokens", 0) for model in models)
    parts = [_rounded(tokens) + " tokens"] if tokens else []
    costs = [model.endpoint.ledger.cost for model in models if model.endpoint.ledger is not None]
    if costs and None not in costs:
        parts.append(f"${sum(cost or 0 for cost in costs):.4f}")
    return ", ".join(parts)


def spending_line(model: StoredModel) -> str:
    """Return a model's calls in this run and their cost, by the server's own counts."""
    counts = model.counts
    calls = counts.asked + counts.failed + counts.asked_again
    tokens = {name: counts.tokens.get(f"{name}_tokens", 0) for name in ("prompt", "completion")}
    parts = [f"{calls:,} {'call' if calls == 1 else 'calls'} of {escaped(model.name, 60)}"]
    parts += [f"{count:,} {name} tokens" for name, count in tokens.items()]
    ledger = model.endpoint.ledger
    if ledger is not None and ledger.cost is not None:
        parts.append(f"${ledger.cost:.4f}")
        if (most := ledger.cost_at_most or 0.0) > ledger.cost:
            parts.append(f"at most ${most:.4f} with replies that came without a count")
    if counts.failed:
        parts.append(f"{counts.failed:,} of the calls failed")
    if stored := counts.from_store + counts.shared:
        parts.append(f"{stored:,} {'reply' if stored == 1 else 'replies'} from the store")
    return ", ".join(parts)


def _rounded(count: int) -> str:
    if count < 10_000:
        return str(count)
    return f"{count / 1000:.0f}k" if count < 10_000_000 else f"{count / 1e6:.1f}M"
