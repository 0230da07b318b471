"""`pnyx judge relevance` and `support --run`: the documents of rankings as items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.judge.questions import Support
    from pnyx.search.index import Index

__all__ = ["items_of_run", "perspective_items"]


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
    from pnyx.corpora import read_questions
    from pnyx.judge.tasks import ask_relevance
    from pnyx.search.index import Index

    questions = {q.id: q for q in read_questions(topics)}
    opened = Index.open(index)
    items: list[Support] = []
    ranks: dict[str, int] = {}
    for topic, doc_id in _first(run, opened, index, depth):
        if topic not in questions:
            raise InputError(f"topic {shorten(topic)!r} is not in {shorten(topics)}", path=run)
        question = questions[topic]
        ranks[topic] = ranks.get(topic, 0) + 1
        items.append(
            ask_relevance(
                f"{topic}/{doc_id}",
                question.text,
                opened.document(doc_id).text,
                definition=question.definition,
                group=topic,
                extra={"question_id": topic, "doc_id": doc_id, "rank": ranks[topic]},
            )
        )
    return items


def perspective_items(
    runs: Sequence[str], index: str, perspectives: str, depth: int, words: int
) -> list[Support]:
    """Pair the first `depth` documents of each question in TREC runs with its perspectives.

    Each pair is asked about once, however many runs hold the document.

    Args:
        runs: TREC run files.
        index: index folder that holds their documents.
        perspectives: file of perspectives; of BERDS's query expansion, those that count.
        depth: how many documents of each question and run, by score, at least 1.
        words: documents are cut into passages of so many words; 0 leaves them whole.

    Raises:
        InputError: a file is broken, a question of a run has no perspectives, a document is not in
            the index, or two pairs would have the same id.
    """
    from pnyx.corpora.perspectives import read_perspectives
    from pnyx.judge.perspectives import ask_perspectives
    from pnyx.measure.perspectives import by_question
    from pnyx.search.index import Index

    known = by_question(read_perspectives(perspectives, gold=True))
    opened = Index.open(index)
    pooled: dict[str, dict[str, None]] = {}
    for run in runs:
        for topic, doc_id in _first(run, opened, index, depth):
            if topic not in known:
                problem = f"topic {shorten(topic)!r} has no perspectives in {shorten(perspectives)}"
                raise InputError(problem, path=run)
            pooled.setdefault(topic, {})[doc_id] = None
    items: dict[str, Support] = {}
    for topic, documents in pooled.items():
        views = known[topic]
        question = str(views[0].extra.get("question", ""))
        for doc_id in documents:
            text = opened.document(doc_id).text
            for item in ask_perspectives(doc_id, text, views, question=question, words=words):
                if items.setdefault(item.id, item) is not item:
                    raise InputError(f"two pairs would have the id {shorten(item.id)!r}")
    return list(items.values())


def _first(run: str, opened: Index, index: str, depth: int) -> Iterator[tuple[str, str]]:
    """Yield the first documents of each topic of a run, best first.

    Raises:
        InputError: the run is broken or empty, or a document is not in the index.
    """
    from pnyx.corpora import read_run
    from pnyx.measure.rankings import rankings_of

    for topic, documents in rankings_of(read_run(run)).by_topic.items():
        for doc_id in documents[:depth]:
            if doc_id not in opened:
                problem = f"document {shorten(doc_id)!r} is not in {shorten(index)}"
                raise InputError(problem, path=run)
            yield topic, doc_id
