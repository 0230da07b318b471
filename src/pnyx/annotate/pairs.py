"""The pairs of question and document that a judge labels, one after the other.

They come from an items file, from the top of a TREC run, or from all questions with all documents
of an index. None of these is held in memory as a whole, so there may be millions. Pairs that share
a document come one after the other wherever the order is free: judges then read it once.
"""

from __future__ import annotations

import hashlib
import heapq
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.corpora import read_items, read_questions, read_run
from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.judge.tasks import TASKS, ask_relevance, question_of
from pnyx.records import Evidence, Question
from pnyx.search.index import Index
from pnyx.search.stored import searched_text

__all__ = [
    "PairSource",
    "file_hash",
    "pairs_of_corpus",
    "pairs_of_items",
    "pairs_of_run",
]

_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class PairSource:
    """Pairs that can be gone through, and again from the start.

    Attributes:
        make: returns an iterator over the pairs, always the same ones in the same order.
        about: what they are made of, with hashes, so that a later run knows them again.
        count: how many there are; None where that is not known before the end.
    """

    make: Callable[[], Iterator[Support]]
    about: Mapping[str, Any]
    count: int | None = None

    def __iter__(self) -> Iterator[Support]:
        return self.make()


def file_hash(path: str | Path) -> str | None:
    """Return SHA-256 of a file, or of all files of a folder by name; None of what is neither.

    Raises:
        InputError: it cannot be read.
    """
    found = Path(path)
    if str(path) != "-" and found.is_dir():
        names = sorted(p for p in found.rglob("*") if p.is_file())
        parts = [(str(p.relative_to(found)), file_hash(p)) for p in names]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
    if str(path) == "-" or not found.is_file():
        return None
    digest = hashlib.sha256()
    try:
        with found.open("rb") as stream:
            while part := stream.read(_READ):
                digest.update(part)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from error
    return digest.hexdigest()


def pairs_of_items(path: str | Path) -> PairSource:
    """Return the pairs of a relevance items file, in its order.

    A file is read through once first, so that a fault in its last line shows before anything is
    judged; standard input and pipes cannot be.

    Raises:
        InputError: the file has a fault, or holds no items.
    """

    def make() -> Iterator[Support]:
        for _, row in read_items(str(path), TASKS["relevance"].items):
            yield question_of(row)

    digest = file_hash(path)
    count = None if digest is None else sum(1 for _ in make())
    return PairSource(make, {"items": digest}, count)


def pairs_of_run(run: str, index: str | Path, topics: str, depth: int) -> PairSource:
    """Return a pair for each of the first `depth` documents of each topic in a TREC run.

    A pair's id is `TOPIC/DOCUMENT`; its rank goes along. They are in the order of the documents'
    ids.

    Args:
        run: TREC run file.
        index: index folder that holds the run's documents.
        topics: the questions, with their definitions if they have any.
        depth: how many documents of each topic, by score, equal scores by id, last first
            (trec_eval); at least 1.

    Raises:
        InputError: a file is broken, or names a topic or document that is not there.
    """
    questions = _by_id(topics)
    opened = Index.open(index)
    ranked: dict[str, list[tuple[float, str]]] = {}
    digest = file_hash(run)
    for entry in read_run(run):
        if entry.topic_id not in questions:
            shown = shorten(entry.topic_id)
            raise InputError(f"topic {shown!r} is not in {shorten(topics)}", path=run)
        heap = ranked.setdefault(entry.topic_id, [])
        push = heapq.heappush if len(heap) < depth else heapq.heappushpop
        push(heap, (entry.score, entry.doc_id))
    wanted = sorted(
        (doc_id, rank, topic)
        for topic, heap in ranked.items()
        for rank, (_, doc_id) in enumerate(sorted(heap, reverse=True), 1)
    )
    for doc_id, _, _ in wanted:
        if doc_id not in opened:
            shown = shorten(doc_id)
            raise InputError(f"document {shown!r} is not in {shorten(str(index))}", path=run)

    def make() -> Iterator[Support]:
        document: Evidence | None = None
        for doc_id, rank, topic in wanted:
            if document is None or document.id != doc_id:
                document = opened.document(doc_id)
                text = searched_text(document)
            yield _pair(questions[topic], doc_id, text, rank=rank)

    about = {"run": digest, "depth": depth, **_known(opened, questions.values())}
    return PairSource(make, about, len(wanted))


def pairs_of_corpus(index: str | Path, topics: str) -> PairSource:
    """Return a pair of every document of an index and every question, document by document.

    Raises:
        InputError: a question's id comes twice, or a file is broken.
    """
    questions = _by_id(topics)
    opened = Index.open(index)

    def make() -> Iterator[Support]:
        for document in opened.documents():
            text = searched_text(document)
            for question in questions.values():
                yield _pair(question, document.id, text)

    about = {"all": True, **_known(opened, questions.values())}
    return PairSource(make, about, len(opened) * len(questions))


def _by_id(topics: str) -> dict[str, Question]:
    questions: dict[str, Question] = {}
    for question in read_questions(topics):
        if question.id in questions:
            raise InputError(f"question {shorten(question.id, 40)!r} comes twice", path=topics)
        questions[question.id] = question
    return questions


def _pair(question: Question, doc_id: str, text: str, **more: Any) -> Support:
    return ask_relevance(
        f"{question.id}/{doc_id}",
        question.text,
        text,
        definition=question.definition,
        group=question.id,
        extra={"question_id": question.id, "doc_id": doc_id, **more},
    )


def _known(index: Index, questions: Sequence[Question] | Any) -> dict[str, Any]:
    """Return what an index and questions can be known again by; later features change neither."""
    asked = [(q.id, q.text, q.definition) for q in questions]
    return {
        "index": _digest([s["checksums"] for s in index.manifest["segments"]]),
        "topics": _digest(asked),
    }


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
