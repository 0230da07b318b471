"""Stream the items that a judge is asked about: from a file, a run or an index."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, shorten
from pnyx.core.folders import file_hash
from pnyx.core.records import Question, judged_text
from pnyx.judging.documents import Documents, find_document, open_documents
from pnyx.judging.perspectives import PASSAGE_WORDS, ask_perspectives
from pnyx.judging.questions import PairSource, Support
from pnyx.judging.stances import ask_relevance
from pnyx.judging.tasks import TASKS, question_of

if TYPE_CHECKING:
    from pnyx.formats.perspectives import Questions


def pairs_of_items(path: str | Path) -> PairSource:
    """Return the pairs of a relevance items file, in its order.

    A file (not standard input or a pipe) is read through once first, so that an error in its last
    line is reported before anything is judged.

    Raises:
        InputError: the file is malformed, or has no items.
    """
    from pnyx.formats import read_items

    def make() -> Iterator[Support]:
        return (question_of(row) for _, row in read_items(str(path), TASKS["relevance"].items))

    digest = file_hash(path)
    count = None if digest is None else sum(1 for _ in make())
    return PairSource(make, {"items": digest}, count)


def pairs_of_run(
    run: str, index: str | Path, topics: str, depth: int, *, by_document: bool = True
) -> PairSource:
    """Return a pair for each of the first `depth` documents of each topic in a TREC run.

    A pair's id is `TOPIC/DOCUMENT`; `question_id`, `doc_id` and `rank` are copied to the answer.

    Args:
        run: TREC run file, in trec_eval's order.
        index: index folder with the run's documents.
        topics: the questions, with their definitions if they have any.
        depth: number of documents per topic, at least 1.
        by_document: whether to order by document id, so that judges read each document once,
            instead of topic by topic and best first.

    Raises:
        InputError: a file is malformed, or names an unknown topic or document.
    """
    questions = questions_by_id(topics)
    opened = open_documents(index)
    digest = file_hash(run)
    wanted = [
        (doc_id, rank, topic)
        for topic, documents in _first(run, opened, depth, questions, f"is not in {topics}")
        for rank, doc_id in enumerate(documents, 1)
    ]
    if by_document:
        wanted.sort()

    def make() -> Iterator[Support]:
        last, text = "", ""
        for doc_id, rank, topic in wanted:
            if doc_id != last:
                last, text = doc_id, _text(opened, doc_id)
            yield _pair(questions[topic], doc_id, text, rank=rank)

    about = {"run": digest, "depth": depth, **_known(opened, questions.values())}
    return PairSource(make, about, len(wanted))


def pairs_of_corpus(
    index: Documents | str | Path, topics: str | Path | Iterable[Question]
) -> PairSource:
    """Return a pair of every document of an index and every question, document by document.

    Args:
        index: an index, or its folder.
        topics: the questions, with their definitions if they have any, or their file.

    Raises:
        InputError: two questions have the same id, or a file is malformed.
    """
    questions = questions_by_id(topics)
    opened = open_documents(index) if isinstance(index, str | Path) else index

    def make() -> Iterator[Support]:
        for document in opened.documents():
            text = judged_text(document)
            for question in questions.values():
                yield _pair(question, document.id, text)

    about = {"all": True, **_known(opened, questions.values())}
    return PairSource(make, about, len(opened) * len(questions))


def pairs_of_perspectives(
    runs: Sequence[str],
    index: str | Path,
    perspectives: str,
    depth: int,
    words: int = PASSAGE_WORDS,
) -> PairSource:
    """Pair each question's first `depth` documents in TREC runs with its perspectives."""
    from pnyx.formats.perspectives import by_question, read_perspectives

    views = by_question(read_perspectives(perspectives, gold=True))
    opened = open_documents(index)
    lacks = f"has no perspectives in {perspectives}"
    parts = (part for run in runs for part in _first(run, opened, depth, views, lacks))
    return pairs_of_views(opened, views, parts, words)


def pairs_of_views(
    index: Documents,
    views: Questions,
    parts: Iterable[tuple[str, Iterable[str]]],
    words: int = PASSAGE_WORDS,
) -> PairSource:
    """Pair documents of an index with the perspectives on their questions, each pair once."""
    pooled: dict[str, dict[str, None]] = {}
    for topic, documents in parts:
        pooled.setdefault(topic, {}).update(dict.fromkeys(documents))

    def make() -> Iterator[Support]:
        for topic, ids in pooled.items():
            question = str(views[topic][0].extra.get("question", ""))
            for doc_id in ids:
                text = _text(index, doc_id)
                yield from ask_perspectives(
                    doc_id, text, views[topic], question=question, words=words
                )

    digest, seen = hashlib.sha256(), set[bytes]()
    for pair in make():
        fields = json.dumps([pair.id, pair.text, pair.statement, pair.question]).encode()
        digest.update(fields + b"\n")
        name = hashlib.blake2b(pair.id.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        if name in seen:
            raise InputError(f"two pairs would have the id {shorten(pair.id)!r}")
        seen.add(name)
    return PairSource(make, {"pairs": digest.hexdigest()}, len(seen))


def _first(
    run: str, index: Documents, depth: int, topics: Mapping[str, Any], lacks: str
) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the topics of a run with their first documents, best first; unknown ones are errors."""
    from pnyx.formats import read_run
    from pnyx.formats.runs.rankings import rankings_of
    from pnyx.formats.runs.run_ids import document_ids

    names = document_ids(run)
    for topic, documents in rankings_of(read_run(run)).by_topic.items():
        if topic not in topics:
            raise InputError(f"topic {shorten(topic)!r} {shorten(lacks, 120)}", path=run)
        first = [names.get(doc_id, doc_id) for doc_id in documents[:depth]]
        for doc_id in first:
            if find_document(index, doc_id) is None:
                problem = f"document {shorten(doc_id)!r} is not in {shorten(str(index.path))}"
                raise InputError(problem, path=run)
        yield topic, first


def _text(index: Documents, doc_id: str) -> str:
    """Return the judged text of a document, including documents split into passages."""
    document = find_document(index, doc_id)
    if document is None:
        raise InputError(f"has no document {shorten(doc_id, 60)!r}", path=index.path)
    return judged_text(document)


def questions_by_id(topics: str | Path | Iterable[Question]) -> dict[str, Question]:
    """Return questions, or those of a file, by id; InputError if an id occurs twice."""
    path: str | None = None
    if isinstance(topics, str | Path):
        from pnyx.formats import read_questions

        path = str(topics)
        topics = read_questions(path)
    questions: dict[str, Question] = {}
    for question in topics:
        if question.id in questions:
            raise InputError(f"question {shorten(question.id, 40)!r} comes twice", path=path)
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


def _known(index: Documents, questions: Iterable[Question]) -> dict[str, Any]:
    """Return the fingerprints of an index and of questions; later features change neither."""
    topics = [(q.id, q.text, q.definition) for q in questions]
    return {"index": _digest(index.known_by), "topics": _digest(topics)}


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
