"""The relevant documents of topics: from a run, from qrels, or from a run restricted by qrels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pnyx.core.errors import InputError, shorten
from pnyx.formats import read_run
from pnyx.formats.runs.rankings import judgements_of, rankings_of
from pnyx.formats.runs.run_ids import document_ids
from pnyx.judging.runs.pairs import questions_by_id
from pnyx.reports.nuggets.model_banks import NuggetSource
from pnyx.search.open_engine import open_index


def sources_of(
    index: str | Path,
    topics: str,
    *,
    run: str | None = None,
    qrels: str | None = None,
    level: int = 1,
    depth: int = 50,
) -> list[NuggetSource]:
    """Return each topic with its relevant documents, in the order of the topics.

    Args:
        index: holds the documents.
        topics: a file of topics.
        run: TREC run, in trec_eval's order; its documents come in this order.
        qrels: grades; a document is relevant from `level` on. Without a run, the best graded come
            first, ties in the order of their ids.
        level: see `qrels`.
        depth: documents of a topic, at least 1.

    Raises:
        InputError: a file is damaged, names a document that is not in the index, or no topic has
            any document.
    """
    questions, opened = questions_by_id(topics), open_index(index)
    grades = None if qrels is None else judgements_of(qrels).best_grades
    ranked = None if run is None else rankings_of(read_run(run)).by_topic
    judged_ids = {} if run is None else document_ids(run)
    sources = []
    for name, question in questions.items():
        chosen = _documents(name, ranked, grades, level)[:depth]
        ids = [judged_ids.get(doc_id, doc_id) for doc_id in chosen]
        for doc_id in ids:
            if doc_id not in opened:
                problem = f"document {shorten(doc_id, 40)!r} of topic {shorten(name, 40)!r}"
                raise InputError(f"{problem} is not in {index}", path=run or qrels)
        sources.append(NuggetSource(question, tuple(opened.fetch(ids)) if ids else ()))
    if not any(source.documents for source in sources):
        raise InputError("names no relevant document for any topic", path=qrels or run)
    return sources


def _documents(
    topic: str,
    ranked: Mapping[str, Sequence[str]] | None,
    grades: dict[str, dict[str, int]] | None,
    level: int,
) -> list[str]:
    graded = None if grades is None else grades.get(topic, {})
    if ranked is None:
        order = sorted((graded or {}).items(), key=lambda pair: (-pair[1], pair[0]))
        return [doc_id for doc_id, grade in order if grade >= level]
    of_run = ranked.get(topic, ())
    if graded is None:
        return list(of_run)
    return [doc_id for doc_id in of_run if graded.get(doc_id, level - 1) >= level]
