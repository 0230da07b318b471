"""Judged pairs as items for a relevance judge, with their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypeAlias

from pnyx.errors import InputError, shorten
from pnyx.records import SIDES, Evidence, Qrel, Question, Side, judged_text

__all__ = ["StanceChoice", "relevance_items"]

StanceChoice: TypeAlias = Literal["none", "pro", "con", "both"]


def relevance_items(
    qrels: Iterable[Qrel],
    questions: Mapping[str, Question],
    documents: Mapping[str, Evidence],
    stance: StanceChoice = "none",
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return a relevance item for each judged pair, its label in `value`, and what has no text.

    Args:
        qrels: diversity qrels whose subtopics are `pro` and `con`, or any others.
        questions: id -> question.
        documents: id -> document.
        stance: `none` asks of each document once whether it helps with the question; it does where
            any subtopic says so. `pro` and `con` ask whether it helps to argue that side, of the
            side's documents and those without a side; `both` asks for the one and for the other.

    Raises:
        InputError: a pair is of a question that is not there.
    """
    labels: dict[tuple[str, Side | None, str], bool] = {}
    asked: tuple[Side | None, ...] = (None,)
    if stance != "none":
        asked = SIDES if stance == "both" else (stance,)
    for q in qrels:
        for side in asked:
            if side is None or q.subtopic == side or q.subtopic not in SIDES:
                key = (q.topic_id, side, q.doc_id)
                labels[key] = labels.get(key, False) or q.grade > 0
    items, missing = [], []
    for (topic, side, document), value in labels.items():
        if topic not in questions:
            raise InputError(f"topic {shorten(topic)!r} is not among the questions")
        if document not in documents:
            missing.append(document)
            continue
        items.append(_item(questions[topic], side, documents[document], value))
    return items, list(dict.fromkeys(missing))


def _item(question: Question, side: Side | None, document: Evidence, value: bool) -> dict[str, Any]:
    name = (question.id, side, document.id) if side else (question.id, document.id)
    item: dict[str, Any] = {"id": "/".join(filter(None, name)), "question": question.text}
    if question.definition:
        item["definition"] = question.definition
    if side is not None:
        item["stance"] = side
    return item | {
        "document": judged_text(document),
        "question_id": question.id,
        "doc_id": document.id,
        "group": question.id,
        "value": value,
    }
