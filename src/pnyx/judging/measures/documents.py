"""Scores of single documents by judges of arguments, as verdicts of relevance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from pnyx.core.errors import InputError, shorten
from pnyx.formats.base import located
from pnyx.judging.measures.ground_truth import LabelledVerdicts, Truth
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.verdicts import Source, Verdict, file_of, of_one_judge, read_verdicts

_HALF = 0.5
"""Score on a scale of 0 to 1 from which a document counts as relevant."""


def join_documents(answers: Source, truth: Truth, *, judge: str | None = None) -> LabelledVerdicts:
    """Join the documents in answers of `pnyx judge rag` with human labels.

    A document's score (`notes.documents`), normalised to [0, 1], is its probability of being
    relevant, and a yes from 0.5; one without a score is unscored. Its id is ITEM/DOCUMENT.

    Args:
        answers: a file or a results folder of the task rag, in a format that scores documents.
        truth: see `truth_of_qrels`; the topic is the item's `question_id`, else its group.
        judge: the judge whose answers count, if there are several.

    Raises:
        InputError: no answer scores documents, or none of these is labelled.
    """
    path = file_of(answers) if isinstance(answers, str | Path) else "rows"
    pairs: list[Pair] = []
    unlabelled, scored = 0, False
    for line in of_one_judge(read_verdicts(answers, "answers"), judge, answers):
        if (line.task, line.dimension) != ("rag", "context_relevance"):
            continue
        try:
            documents = list(_documents(line))
            labels = [truth(document) for document in documents]
        except InputError as error:
            raise located(error, path, line.line) from error
        except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
            problem = "notes, scale or doc_ids: expected those of an answer of pnyx judge rag"
            raise located(InputError(problem), path, line.line) from error
        scored |= any(document.value is not None for document in documents)
        labelled = [(d, yes) for d, yes in zip(documents, labels, strict=True) if yes is not None]
        pairs += [Pair(document, Gold(yes=yes)) for document, yes in labelled]
        unlabelled += len(documents) - len(labelled)
    if not scored:
        raise InputError(
            "holds no scores of single documents, which pnyx judge rag gives with --judge-format "
            "listwise-rag-fine or support",
            path=path,
        )
    if not pairs:
        raise InputError("none of the documents is labelled for its topic", path=path)
    return LabelledVerdicts("relevance", pairs[0].verdict.judge, tuple(pairs), unlabelled)


def _documents(line: Verdict) -> Iterator[Verdict]:
    """Yield a verdict on each document of an answer on context relevance."""
    notes, ids = line.extra.get("notes") or {}, line.extra.get("doc_ids")
    if not ids:
        problem = f"answer {shorten(line.id, 40)!r} does not name its documents (doc_ids)"
        raise InputError(f'{problem}: give them ids in the items: "documents": [{{"id", "text"}}]')
    scores = notes.get("documents") or [None] * len(ids)
    low, high = line.extra["scale"]
    why = line.unscored or "missing: no score of the document"
    for doc_id, score in zip(ids, scores, strict=True):
        share = None if score is None else (score - low) / (high - low)
        if share is not None and not 0 <= share <= 1:
            raise ValueError
        yield replace(
            line,
            id=f"{line.id}/{doc_id}",
            doc_id=str(doc_id),
            value=None if share is None else share >= _HALF,
            probability=share,
            unscored=why if share is None else "",
            task="relevance",
            dimension="",
            extra={},
        )
