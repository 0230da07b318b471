"""A former run's answers as a judge: what was judged once is looked up, not asked again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pnyx.corpora import read_items
from pnyx.corpora.base import parse_rows, strict, unique
from pnyx.corpora.items import ITEM_FORMATS
from pnyx.errors import InputError, shorten
from pnyx.judge.answers import Answer, Missing, Provenance
from pnyx.judge.base import Emit
from pnyx.judge.questions import JudgeQuestion, Preference, Ranking, Rating, Support
from pnyx.judge.results import ANSWERS

__all__ = ["Lookup"]

_NO_ANSWER = "lookup: no answer"


class Lookup:
    """Answers with the answers of a former run, joined by id, task and dimension.

    An id that is not there is unscored, and so is what was unscored then, for the same reason.
    Only the id is compared: of a text that was changed under its id the old answer is given.

    Args:
        source: a results folder, its answers.jsonl, `-`, or such rows.
        judge: whose answers count, where the file holds those of several.

    Raises:
        InputError: a line is not an answer, comes twice, or several judges are there and none,
            or one that is not there, is named.
    """

    kinds: frozenset[type] = frozenset({Support, Rating, Preference, Ranking})

    def __init__(
        self, source: str | Path | Iterable[Mapping[str, Any]], *, judge: str | None = None
    ) -> None:
        self._source, rows = _opened(source)
        self._rows: dict[tuple[str, str, str], dict[str, Any]] = {}
        judges: set[str] = set()
        for _, row in rows:
            judges.add(row["judge"])
            if judge in (None, row["judge"]):
                self._rows[row["id"], row["task"], row.get("dimension") or ""] = row
        self._judge = _only(judges, judge, self._source)
        self._tasks = frozenset(task for _, task, _ in self._rows)

    @property
    def name(self) -> str:
        """`lookup:FILE(JUDGE)`."""
        return f"lookup:{shorten(Path(self._source).name)}({shorten(self._judge)})"

    @property
    def card(self) -> str:
        """How many answers there are, of how many items."""
        items = len({(identifier, task) for identifier, task, _ in self._rows})
        scored = sum(row["value"] is not None for row in self._rows.values())
        return (
            f"answers of a former run: {scored} of {len(self._rows)} scored, of {items} items; "
            f"as good as {shorten(self._judge)}"
        )

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`; see `pnyx.judge.base.Judge`.

        Raises:
            InputError: a question is of a task that the former run was not about; nothing was
                emitted.
        """
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
        return question.compose(
            cells, self._provenance(there), notes=_notes(there), **_fields(there)
        )

    def _provenance(self, rows: Sequence[Mapping[str, Any]]) -> Provenance:
        first: Mapping[str, Any] = rows[0] if rows else {}
        return Provenance(
            self.name,
            first.get("prompt_hash") or "",
            first.get("method") or "lookup",
            {"judge": self._judge},
        )


def _cell(question: JudgeQuestion, row: Mapping[str, Any] | None) -> Any:
    if row is None:
        return Missing(_NO_ANSWER)
    if row["value"] is None:
        return Missing(row["unscored"])
    value = question.value_of(row["value"])
    if value is None:
        found = shorten(repr(row["value"]), 40)
        return Missing(f"lookup: {found} is no answer to the question")
    return value


def _fields(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stored fields of `Judged`; of a rating all its lines say the same."""
    scored: Mapping[str, Any] = next((row for row in rows if row["value"] is not None), {})
    stored = {name: scored.get(name) for name in ("probability", "explanation", "evidence")}
    return {name: value for name, value in stored.items() if value is not None}


def _notes(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the stored notes but those on single dimensions, which are made anew."""
    notes: Mapping[str, Any] = (rows[0].get("notes") if rows else None) or {}
    return {name: note for name, note in notes.items() if name != "dimensions"}


def _opened(
    source: str | Path | Iterable[Mapping[str, Any]],
) -> tuple[str, Iterator[tuple[int, dict[str, Any]]]]:
    """Return what the source is called, and its rows, checked."""
    if isinstance(source, str | Path):
        folder = Path(source)
        if str(source) != "-" and folder.is_dir():
            if not (folder / ANSWERS).is_file():
                raise InputError(f"found no {ANSWERS} in the folder", path=source)
            return str(source), read_items(str(folder / ANSWERS), "answers")
        return str(source), read_items(str(source), "answers")
    rows = ((number, dict(row)) for number, row in enumerate(source, start=1))
    form = ITEM_FORMATS["answers"]
    parsed = parse_rows(rows, form.parse, "rows", "row")
    return "rows", strict(
        unique(parsed, form.identity, "rows", " and ".join(form.key), "row"), "rows", "answers"
    )


def _only(judges: set[str], judge: str | None, source: str) -> str:
    """Return the one judge whose answers count."""
    found = ", ".join(shorten(name, 40) for name in sorted(judges)[:8])
    if judge is None and len(judges) > 1:
        raise InputError(f"found answers of {found}, expected one judge, or its name", path=source)
    if judge is not None and judge not in judges:
        raise InputError(
            f"found answers of {found}, expected some of {shorten(judge, 40)}", path=source
        )
    return next(iter(judges)) if judge is None else judge
