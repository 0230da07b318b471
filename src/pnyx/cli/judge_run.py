"""`pnyx judge relevance --run`: the documents of a ranking as items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.questions import Support

__all__ = ["items_of_run"]


def items_of_run(run: str, index: str, topics: str, depth: int) -> list[Support]:
    """Make a relevance item of each of the first `depth` documents of each topic in a TREC run.

    An item's id is `TOPIC/DOCUMENT`; `question_id`, `doc_id` and `rank` go along to its answer.

    Args:
        run: TREC run file.
        index: index folder that holds the run's documents.
        topics: the questions, with their definitions if they have any.
        depth: how many documents of each topic, by score, at least 1.

    Raises:
        InputError: a file is broken, or names a topic or document that is not there.
    """
    from pnyx.corpora import read_questions, read_run
    from pnyx.judge.tasks.relevance import ask_relevance
    from pnyx.search.index import Index

    questions = {q.id: q for q in read_questions(topics)}
    opened = Index.open(index)
    ranked: dict[str, list[tuple[float, str]]] = {}
    for entry in read_run(run):
        ranked.setdefault(entry.topic_id, []).append((entry.score, entry.doc_id))
    items = []
    for topic, documents in ranked.items():
        if topic not in questions:
            raise InputError(f"topic {shorten(topic)!r} is not in {shorten(topics)}", path=run)
        question = questions[topic]
        # Score decides the order and ties fall by document id, descending: as trec_eval does it.
        for rank, (_, doc_id) in enumerate(sorted(documents, reverse=True)[:depth], 1):
            if doc_id not in opened:
                raise InputError(
                    f"document {shorten(doc_id)!r} is not in {shorten(index)}", path=run
                )
            items.append(
                ask_relevance(
                    f"{topic}/{doc_id}",
                    question.text,
                    opened.document(doc_id).text,
                    definition=question.definition,
                    group=topic,
                    extra={"question_id": topic, "doc_id": doc_id, "rank": rank},
                )
            )
    if not items:
        raise InputError("holds no documents", path=run)
    return items
