"""A former run's answers as a judge: what was judged once is looked up, not asked again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, shorten
from pnyx.judge.answers import Answer, Missing, Provenance
from pnyx.judge.base import Emit
from pnyx.judge.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judge.verdicts import Source, Verdict, of_one_judge, read_verdicts, shown_value

__all__ = ["Lookup"]

_NO_ANSWER = "lookup: no answer"


class Lookup:
    """Answers with the answers of a former run, joined by id, task and dimension.

    An unknown id is unscored, and so is what was unscored then, for the same reason. Only the id is
    compared: a text that was changed under its id gets the old answer.

    Args:
        source: a results folder, its answers.jsonl, `-`, such rows, or what `pnyx.ask` returned.
        judge: whose answers count, where the file holds those of several.

    Raises:
        InputError: a line is not an answer, comes twice, or several judges are there and none,
            or one that is not there, is named.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(self, source: Source, *, judge: str | None = None) -> None:
        self._source = str(source) if isinstance(source, str | Path) else "rows"
        chosen = of_one_judge(read_verdicts(source), judge, source)
        self._rows = {(one.id, one.task, one.dimension): one for one in chosen}
        self._judge = next(iter(self._rows.values())).judge
        self._tasks = frozenset(task for _, task, _ in self._rows)

    @property
    def name(self) -> str:
        """`lookup:FILE(JUDGE)`."""
        return f"lookup:{shorten(Path(self._source).name)}({shorten(self._judge)})"

    @property
    def card(self) -> str:
        """How many answers there are, of how many items."""
        items = len({(identifier, task) for identifier, task, _ in self._rows})
        scored = sum(row.value is not None for row in self._rows.values())
        return (
            f"answers of a former run: {scored} of {len(self._rows)} scored, of {items} items; "
            f"as good as {shorten(self._judge)}"
        )

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question; InputError, before any, for a task that the former run lacks."""
        for question in questions:
            if question.task not in self._tasks:
                known = ", ".join(shorten(task, 40) for task in sorted(self._tasks))
                raise InputError(
                    f"found answers of the task {known}, expected {shorten(question.task, 40)}",
                    path=self._source,
                )
        for position, question in enumerate(questions):
            emit(position, self._answer(question))

    def _answer(self, question: JudgeQuestion) -> Answer:
        key = question.id, question.task
        rows = [self._rows.get((*key, name)) for name in question.cells]
        cells = [_cell(question, row) for row in rows]
        there = [row for row in rows if row is not None]
        first = there[0].extra if there else {}
        provenance = Provenance(
            self.name,
            first.get("prompt_hash") or "",
            first.get("method") or "lookup",
            {"judge": self._judge},
        )
        # Those on single dimensions are made anew.
        notes = {n: v for n, v in (first.get("notes") or {}).items() if n != "dimensions"}
        return question.compose(cells, provenance, notes=notes, **_fields(there))


def _cell(question: JudgeQuestion, row: Verdict | None) -> Any:
    if row is None:
        return Missing(_NO_ANSWER)
    if row.value is None:
        return Missing(row.unscored)
    value = question.value_of(row.value)
    if value is None:
        return Missing(f"lookup: {shown_value(row.value)} is no answer to the question")
    return value


def _fields(rows: Sequence[Verdict]) -> dict[str, Any]:
    """Return the stored fields of `Judged`; of a rating all its lines say the same."""
    scored = next((row for row in rows if row.value is not None), None)
    if scored is None:
        return {}
    stored = {name: scored.extra.get(name) for name in ("explanation", "evidence")}
    stored["probability"] = scored.probability
    return {name: value for name, value in stored.items() if value is not None}
