"""Judged pairs as items for a relevance judge, with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.core.records import SIDES, Evidence, Qrel, Question, Side, judged_text

StanceChoice: TypeAlias = Literal["none", "pro", "con", "both"]
Negatives: TypeAlias = Literal["all", "other-side", "irrelevant"]


def relevance_items(
    qrels: Iterable[Qrel],
    questions: Mapping[str, Question],
    documents: Mapping[str, Evidence],
    stance: StanceChoice = "none",
    negatives: Negatives = "all",
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return an item for each judged pair (its label in `value`), and the documents without text.

    Args:
        qrels: diversity qrels whose subtopics are `pro` and `con`, or any others.
        questions: by their ids, as the documents.
        documents: some may be missing.
        stance: `none` asks of each document once whether it helps with the question, as any
            subtopic says; `pro` and `con` whether it helps to argue that side; `both` either.
        negatives: the negatives of a side's documents: those relevant only to the `other-side`,
            those without a side (`irrelevant`), or `all`.

    Raises:
        InputError: the question of a pair is missing.
    """
    labels = _labels(qrels, stance, negatives)
    items, missing = [], []
    for (topic, side, name), value in labels.items():
        if topic not in questions:
            raise InputError(f"topic {shorten(topic)!r} is not among the questions")
        if name not in documents:
            missing.append(name)
            continue
        question, document = questions[topic], documents[name]
        item: dict[str, Any] = {"id": "/".join(filter(None, (question.id, side, document.id)))}
        item["question"] = question.text
        if question.definition:
            item["definition"] = question.definition
        if side is not None:
            item["stance"] = side
        item |= {"document": judged_text(document), "question_id": question.id}
        items.append(item | {"doc_id": document.id, "group": question.id, "value": value})
    return items, list(dict.fromkeys(missing))


def _labels(
    qrels: Iterable[Qrel], stance: StanceChoice, negatives: Negatives
) -> dict[tuple[str, Side | None, str], bool]:
    """Return the labels of pairs by topic, side and document."""
    labels: dict[tuple[str, Side | None, str], bool] = {}
    sides: tuple[Side | None, ...] = (None,)
    if stance != "none":
        sides = SIDES if stance == "both" else (stance,)
    wanted = negatives if stance != "none" else "all"
    for q in qrels:
        for side in sides:
            key = (q.topic_id, side, q.doc_id)
            other = side is not None and q.subtopic in SIDES and q.subtopic != side
            if other and q.grade <= 0:
                continue
            if not other and q.grade > 0:
                labels[key] = True
            elif wanted in ("all", "other-side" if other else "irrelevant"):
                labels.setdefault(key, False)
    return labels
