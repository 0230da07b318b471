"""The listwise teacher of DIRAS (section 3.2, Fig. 12 and 13), which ranks relevance items.

It gives an order and no probabilities, so the result is a TREC run and not labels.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import Question, RunEntry
from pnyx.formats.fields import number
from pnyx.formats.runs.trec import as_ranked, write_run
from pnyx.judging.answers import Answer, Judged, Provenance, Unscored
from pnyx.judging.base import Emit, Judge, of_kind
from pnyx.judging.questions import JudgeQuestion, Ranking
from pnyx.models.http.flow import run_all
from pnyx.relevance.labelled_pairs import group_of
from pnyx.search.plan import Listwise
from pnyx.search.ranking.rerank import Reranked, rerank_async

_CONCURRENCY = 32


@dataclass(frozen=True, slots=True)
class QuestionDocuments:
    """One question, its documents in their initial order, and their ids."""

    ranking: Ranking
    doc_ids: tuple[str, ...]


def listed_by_question(
    rows: Iterable[tuple[int, Mapping[str, Any]]], path: str, *, definition: bool = True
) -> list[QuestionDocuments]:
    """Return the documents of each question of relevance items: by `rank`, then in file order."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    seen: dict[tuple[str, str], int] = {}
    for line, row in rows:
        topic, doc_id = group_of(row), _doc_id(row)
        first = groups.setdefault(topic, [])
        first_line = seen.setdefault((topic, doc_id), line)
        try:
            if first_line != line:
                pair_ids = f"{shorten(topic, 40)} {shorten(doc_id, 40)}"
                raise InputError(f"{pair_ids} appears twice, first in line {first_line}")
            _check(row, first[0] if first else row)
        except InputError as error:
            raise InputError(error.problem, path=path, line=line) from error
        first.append(row)
    return [_listed(topic, group, definition) for topic, group in groups.items()]


def _check(row: Mapping[str, Any], first: Mapping[str, Any]) -> None:
    if row.get("rank") is not None:
        number(row["rank"], "rank")
    if row.get("stance"):
        raise InputError("stance: a listwise ranking is by relevance only")
    for name in ("question", "definition"):
        if (row.get(name) or "") != (first.get(name) or ""):
            raise InputError(f"{name}: differs from the first line of the same question")


def _doc_id(row: Mapping[str, Any]) -> str:
    named = row.get("doc_id")
    return str(row["id"] if named in (None, "") else named)


def _listed(topic: str, rows: Sequence[Mapping[str, Any]], definition: bool) -> QuestionDocuments:
    ordered = sorted(rows, key=lambda r: (r.get("rank") is None, r.get("rank") or 0))
    ranking = Ranking(
        id=topic,
        query=str(rows[0]["question"]),
        texts=tuple(str(row["document"]) for row in ordered),
        criterion=str(rows[0].get("definition") or "") if definition else "",
        group=topic,
    )
    return QuestionDocuments(ranking, tuple(map(_doc_id, ordered)))


class SlidingJudge:
    """Ranks any number of texts with a judge that ranks a window of them."""

    kinds: frozenset[type] = frozenset({Ranking})

    def __init__(self, judge: Judge, how: Listwise) -> None:
        self._judge, self._how = judge, how
        self.name, self.card = judge.name, judge.card
        self.counts: Counter[str] = Counter()

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question; it is unscored if every window failed, else failures are noted."""

        async def slide(item: tuple[int, Ranking]) -> None:
            position, ranking = item
            question = Question(ranking.id, ranking.query, definition=ranking.criterion)
            (reranked,) = await rerank_async([(question, ranking.texts)], self._judge, self._how)
            self.counts.update(
                {**reranked.counts, "windows": reranked.windows, "kept": reranked.unscored}
            )
            emit(position, self._answer(reranked))

        rankings = of_kind(Ranking, questions, self.name)
        await run_all(enumerate(rankings), slide, workers=_CONCURRENCY)

    def _answer(self, reranked: Reranked) -> Answer:
        details = {"window": self._how.window, "step": self._how.step}
        provenance = Provenance(self.name, method="listwise", details=details)
        notes = {
            "windows": reranked.windows,
            **({"kept": reranked.unscored} if reranked.unscored else {}),
        }
        if reranked.windows and reranked.unscored == reranked.windows:
            return Unscored(reranked.reasons[0], provenance, notes=notes)
        return Judged(list(reranked.order), provenance, notes=notes)


def write_ranking(
    stream: IO[str],
    listed: Sequence[QuestionDocuments],
    answers: Sequence[Answer],
    tag: str = "pnyx",
) -> None:
    """Write a TREC run named `tag`; a question without an answer keeps its initial order."""
    tag = "_".join(tag.split()) or "pnyx"
    entries = (
        RunEntry(
            question.ranking.id, question.doc_ids[position], rank, float(len(order) - rank + 1), tag
        )
        for question, answer in zip(listed, answers, strict=True)
        for order in [_order(question, answer)]
        for rank, position in enumerate(order, 1)
    )
    write_run(stream, as_ranked(entries))


def _order(question: QuestionDocuments, answer: Answer) -> Sequence[int]:
    if isinstance(answer, Judged) and isinstance(answer.value, list):
        return answer.value
    return range(len(question.doc_ids))
