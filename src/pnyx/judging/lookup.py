"""Judges that answer from files: the answers of an earlier run, or human labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pnyx.core.errors import InputError, shorten
from pnyx.formats.label_words import ADJUDICATED, PARTLY
from pnyx.judging.answers import Answer, Missing, Provenance, Value, asked_of
from pnyx.judging.base import Emit
from pnyx.judging.labels import consensus, counted_labels
from pnyx.judging.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judging.verdicts import Source, Verdict, of_one_judge, read_verdicts, shown_value

_NO_ANSWER = "lookup: no answer"


class Lookup:
    """Answers with the answers of an earlier run, joined by id, task and dimension.

    An unknown id is unscored; an answer that was unscored stays so, for the same reason. Only the
    id is compared: if a text has changed under its id, it gets the old answer.

    Args:
        source: a results folder, its answers.jsonl, `-`, such rows, or the result of `pnyx.ask`.
        judge: the judge whose answers count, if the file has several.

    Raises:
        InputError: a line is not an answer or occurs twice, or there are several judges and `judge`
            names none of them.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(self, source: Source, *, judge: str | None = None) -> None:
        self._source = str(source) if isinstance(source, str | Path) else "rows"
        chosen = of_one_judge(read_verdicts(source), judge, source)
        self._rows = {(label.id, label.task, label.dimension): label for label in chosen}
        self.judge = next(iter(self._rows.values())).judge
        self._tasks = frozenset(task for _, task, _ in self._rows)
        self.name = f"lookup:{shorten(Path(self._source).name)}({shorten(self.judge)})"
        items = len({(identifier, task) for identifier, task, _ in self._rows})
        scored = sum(row.value is not None for row in self._rows.values())
        self.card = (
            f"answers of a former run: {scored} of {len(self._rows)} scored, of {items} items; "
            f"as good as {shorten(self.judge)}"
        )

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question; InputError, before any, for a task not in the earlier run."""
        for question in questions:
            if question.task not in self._tasks:
                tasks = ", ".join(shorten(task, 40) for task in sorted(self._tasks))
                raise InputError(
                    f"found answers of the task {tasks}, expected {shorten(question.task, 40)}",
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
            {"judge": self.judge},
            tuple(dict.fromkeys(key for row in there for key in asked_of(row.extra))),
        )
        # Answers on single dimensions are combined again.
        notes = {n: v for n, v in (first.get("notes") or {}).items() if n != "dimensions"}
        return question.compose(cells, provenance, notes=notes, **_fields(there))


def _cell(question: JudgeQuestion, row: Verdict | None) -> Any:
    if row is None:
        return Missing(_NO_ANSWER)
    if row.value is None:
        return Missing(row.unscored)
    value = question.value_of(row.value)
    if value is None:
        return Missing(f"lookup: {shown_value(row.value)} is not an answer to the question")
    return value


def _fields(rows: Sequence[Verdict]) -> dict[str, Any]:
    """Return the stored fields of `Judged`; all lines of a rating have the same ones."""
    scored = next((row for row in rows if row.value is not None), None)
    if scored is None:
        return {}
    stored = {name: scored.extra.get(name) for name in ("explanation", "evidence")}
    stored["probability"] = scored.probability
    return {name: value for name, value in stored.items() if value is not None}


class HumanLabels:
    """Answers with human labels; if annotators differ, the majority counts.

    A label of the annotator `adjudicated` is decisive: for its item, it alone counts.

    For a rating, a dimension without a label (or with a tie) is None in the list of values, with
    its reason in `notes["dimensions"]`.

    Args:
        path: labels JSONL: `id`, `value`; optional `annotator`, `dimension` (ratings), `gain`,
            `uncertain`, `group`. Several lines may label one id.

    Raises:
        InputError: a line is not a label, or one annotator labels an item twice.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(self, path: str | Path) -> None:
        annotators: set[str] = set()

        def value(label: Verdict) -> Value:
            annotators.add(label.annotator)
            return label.value  # type: ignore[no-any-return]

        self._votes = counted_labels(read_verdicts(str(path), "labels"), value)
        annotators -= {"", ADJUDICATED}
        self.name = f"labels:{'-' if str(path) == '-' else Path(path).name}"
        votes = sum(map(len, self._votes.values()))
        people = f" by {len(annotators)} annotators" if annotators else ""
        self.card = f"people's labels: {votes} labels of {len(self._votes)} items{people}"

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judging.base.Judge`."""
        for position, question in enumerate(questions):
            emit(position, self._answer(question))

    def _answer(self, question: JudgeQuestion) -> Answer:
        labels = [self._label(question, dimension) for dimension in question.cells]
        shares = {
            dimension or "value": label.share
            for dimension, label in zip(question.cells, labels, strict=True)
            if label.value is not None
        }
        details = {"agreeing": shares} if shares else {}
        provenance = Provenance(self.name, method="label", details=details)
        cells = [Missing(label.reason) if label.value is None else label.value for label in labels]
        notes = {"partial": True} if any(label.partial for label in labels) else {}
        return question.compose(cells, provenance, notes=notes)

    def _label(self, question: JudgeQuestion, dimension: str) -> _Label:
        votes = self._votes.get((question.id, dimension))
        if votes is None:
            return _Label(reason="no label")
        read = [question.value_of(vote) for vote in votes]
        if None in read:
            excerpt = shorten(repr(votes[read.index(None)]), 40)
            return _Label(reason=f"label: {excerpt} is not an answer to the question")
        label = consensus(read)
        if label is None:
            return _Label(reason="tie")
        share = read.count(label) / len(read)
        return _Label(label, share, partial=label is True and _partial(votes, read))


class _Label(NamedTuple):
    """The label of an item, and the number of votes; or the reason why there is none."""

    value: Any = None
    share: float = 0.0
    reason: str = ""
    partial: bool = False


def _partial(votes: Sequence[Value], read: Sequence[Any]) -> bool:
    """Return whether most yes votes say that it is only partly so."""
    votes_of_yes = [vote for vote, yes in zip(votes, read, strict=True) if yes is True]
    in_part = sum(isinstance(vote, str) and vote.strip().lower() == PARTLY for vote in votes_of_yes)
    return 2 * in_part > len(votes_of_yes)
