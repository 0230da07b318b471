"""Agreement of search and a judge with the labels of the bundled example."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from pnyx.core.records import SIDES, Argument, Document, Evidence, Question, Side, judged_text
from pnyx.formats.bundled_example import Example, ExampleLabel
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.base import Judge, ask
from pnyx.judging.measures.binary import against_labels
from pnyx.judging.questions import Support
from pnyx.judging.stances import ask_relevance, ask_stance
from pnyx.search.engine import Engine
from pnyx.search.measures.table import RunTable
from pnyx.search.sides import stance_side
from pnyx.stats.base import Measured
from pnyx.stats.intervals import share_of

Cited: TypeAlias = Mapping[tuple[str, Side], Sequence[str]]
"""Question id and side -> the documents cited for it."""

_SHOWN = ("accuracy", "f1", "auroc")
_DEPTH = 10


def search_agreement(runs: Mapping[str, Sequence[str]], example: Example) -> dict[str, Measured]:
    """Return the mean measures of rankings (question id -> ids) against the example's labels."""
    cells: dict[str, dict[str, Measured]] = {}
    for question in example.questions:
        first = runs.get(question.id, ())[:_DEPTH]
        labels_by_document = {x.doc_id: x for x in example.labels if x.question_id == question.id}
        labels = [labels_by_document[doc] for doc in first if doc in labels_by_document]
        wanted = {p.id for p in example.perspectives if p.question_id == question.id}
        covered = {p for x in labels for p in x.perspectives} & wanted
        cells[question.id] = {
            "P@10": Measured(sum(x.relevance > 0 for x in labels) / _DEPTH, 1, 1),
            "perspectives@10": Measured(len(covered) / len(wanted), 1, 1),
        }
    return RunTable({"": cells}).means("", ("P@10", "perspectives@10"))


def judge_agreement(
    judge: Judge, runs: Mapping[str, Sequence[str]], example: Example
) -> dict[str, Measured]:
    """Measure a judge against the example's labels, which it does not see.

    `relevance.*` is over the documents found, mostly easy; `lookalikes.*` over passages written for
    each question, half of them irrelevant ones that share its words.
    """
    measures: dict[str, Measured] = {}
    documents_by_question: dict[str, list[str]] = {}
    for label in example.labels:
        documents_by_question.setdefault(label.question_id, []).append(label.doc_id)
    for task, pairs in (
        ("relevance", list(_relevance_pairs(runs, example))),
        ("lookalikes", list(_relevance_pairs(documents_by_question, example))),
        ("support", list(_support_pairs(example))),
    ):
        answers = ask(judge, [question for question, _ in pairs])
        agreement = against_labels(answers, [label for _, label in pairs])
        measures |= {f"{task}.{name}": agreement[name] for name in _SHOWN}
    measures["stance.accuracy"] = _stance_accuracy(judge, example)
    return measures


def argued_agreement(cited: Cited, example: Example) -> dict[str, Measured]:
    """Measure the cited documents against the example's labels, by form of the question."""
    labels = {(x.question_id, x.doc_id): x for x in example.labels}
    ways = {question.id: question.how for question in example.wordings}
    measures: dict[str, Measured] = {}
    strong: list[bool] = []
    for how in dict.fromkeys(ways.values()):
        cited_this_way = [(q, side, docs) for (q, side), docs in cited.items() if ways[q] == how]
        sided_labels = [
            (side, labels.get((q, doc))) for q, side, docs in cited_this_way for doc in docs
        ]
        on = [
            (side, label)
            for side, label in sided_labels
            if label is not None and label.relevance > 0
        ]
        sided = [(side, label.stance) for side, label in on if label.stance in SIDES]
        right = sum(a == b for a, b in sided)
        measures[f"{how}.on_question"] = share_of(len(on), len(sided_labels), len(sided_labels))
        measures[f"{how}.right_side"] = share_of(right, len(sided), len(sided))
        strong += [label.quality == 3 for _, label in on]
    return measures | {"cited.strong": share_of(sum(strong), len(strong), len(strong))}


class Unlabelled:
    """An engine whose documents have no labels, like a user's own documents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def __len__(self) -> int:
        return len(self._engine)

    def fetch(self, ids: Sequence[str]) -> list[Evidence]:
        """Return documents with the same text, without topic and stance."""
        documents = self._engine.fetch(ids)
        return [Document(d.id, judged_text(d), "", d.url, d.source) for d in documents]


def _labelled(example: Example) -> Iterator[tuple[Question, Argument, ExampleLabel]]:
    questions = {q.id: q for q in example.questions}
    arguments = {a.id: a for a in example.arguments}
    for label in example.labels:
        yield questions[label.question_id], arguments[label.doc_id], label


def _relevance_pairs(
    runs: Mapping[str, Sequence[str]], example: Example
) -> Iterator[tuple[Support, bool]]:
    arguments = {a.id: a for a in example.arguments}
    relevant = {(x.question_id, x.doc_id) for x in example.labels if x.relevance > 0}
    for question in example.questions:
        for doc_id in runs.get(question.id, ()):
            question_ = ask_relevance(
                f"relevance/{doc_id}",
                question.text,
                judged_text(arguments[doc_id]),
                definition=question.definition,
                group=question.id,
            )
            yield question_, (question.id, doc_id) in relevant


def _support_pairs(example: Example) -> Iterator[tuple[Support, bool]]:
    for question, argument, label in _labelled(example):
        for perspective in example.perspectives:
            if perspective.question_id == question.id:
                support = Support(
                    id=f"support/{argument.id}/{perspective.id}",
                    text=judged_text(argument),
                    statement=perspective.text,
                    question=question.text,
                    group=question.id,
                )
                yield support, perspective.id in label.perspectives


def _stance_accuracy(judge: Judge, example: Example) -> Measured:
    sided = [(q, a, x) for q, a, x in _labelled(example) if x.stance in SIDES]
    questions = [
        ask_stance(f"stance/{side}/{a.id}", q.text, judged_text(a), side, group=q.id)
        for q, a, _ in sided
        for side in SIDES
    ]
    answers = ask(judge, questions)
    right = scored = 0
    for position, (_, _, label) in enumerate(sided):
        pair: list[Answer] = answers[2 * position : 2 * position + 2]
        if all(isinstance(a, Judged) for a in pair):
            scored += 1
            right += stance_side({"pro": pair[0], "con": pair[1]}) == {label.stance}
    return share_of(right, scored, len(sided))
