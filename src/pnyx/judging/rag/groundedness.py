"""The format that judges an argument by verdicts on its parts, sentence by sentence.

Any judge of relevance and support can answer it, including the packaged one. It decides which
documents help and which sentences follow from their citations, but not answer relevance or
preference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from pnyx.judging.answers import Answer, Judged, Missing, Unscored
from pnyx.judging.formats import JudgingFormat, Part
from pnyx.judging.questions import Rating, Support
from pnyx.judging.stances import ask_relevance
from pnyx.judging.votes import provenance_of

SUPPORT_DIMENSIONS = ("context_relevance", "groundedness")
"""Dimensions that follow from verdicts of relevance and support."""


def _supported_dimensions(question: Rating) -> Rating:
    """Keep the dimensions that follow from verdicts of support, unless none would be left."""
    dimensions = tuple(name for name in question.dimensions if name in SUPPORT_DIMENSIONS)
    return replace(question, scale=(0, 1), dimensions=dimensions or question.dimensions)


def _of_support(question: Rating) -> list[Part]:
    """Ask whether each document helps, and whether each sentence follows from its citations."""
    parts = []
    if "context_relevance" in question.dimensions:
        parts += [Part(relevance, "relevance") for relevance in _relevances(question)]
    if "groundedness" in question.dimensions:
        parts += [Part(support) for _, _, some in _supports(question) for support in some]
    return parts


def _relevances(question: Rating) -> list[Support]:
    return [
        ask_relevance(f"{question.id}/document {n}", question.question, text, group=question.group)
        for n, text in enumerate(question.documents, 1)
    ]


def _supports(question: Rating) -> list[tuple[str, list[int], list[Support]]]:
    """Return each sentence, the documents it cites (or all), and the questions about it."""
    supports = []
    count = len(question.documents)
    from pnyx.formats.text.citations import cited_sentences

    for number, (sentence, cited) in enumerate(cited_sentences(question.text), 1):
        numbers = [n for n in cited if 1 <= n <= count] or list(range(1, count + 1))
        questions = [
            Support(
                id=f"{question.id}/{number}/{n}",
                text=question.documents[n - 1],
                statement=sentence,
                question=question.question,
                group=question.group,
                from_answer=True,
            )
            for n in numbers
        ]
        supports.append((sentence, numbers, questions))
    return supports


def _joined_support(question: Rating, answers: Sequence[Answer], judge: str) -> Answer:
    """Return the expected share of helpful documents, and of supported sentences.

    It is the mean probability: without a threshold it follows added noise more closely
    (docs/explain/decisions/rag-formats.md). The share of positive verdicts is recorded as a note.
    """
    by_id = {answer.question.id: answer for answer in answers if answer.question is not None}
    verdicts: dict[str, list[Answer]] = {}
    notes: dict[str, Any] = {}
    if "context_relevance" in question.dimensions:
        by_order = [by_id[relevance.id] for relevance in _relevances(question)]
        verdicts["context_relevance"] = by_order
        notes["documents"] = {"context_relevance": list(map(_chance, by_order))}
    if "groundedness" in question.dimensions:
        sentences = []
        for text, documents, questions in _supports(question):
            if not questions:
                continue
            by_order = [by_id[support.id] for support in questions]
            verdicts.setdefault("groundedness", []).append(_any(by_order))
            sentences.append(_sentence_row(text, documents, by_order))
        notes["sentences"] = {"groundedness": sentences}
    notes["counted"] = {
        name: [sum(isinstance(answer, Judged) for answer in verdict), len(verdict)]
        for name, verdict in verdicts.items()
    }
    notes["yes"] = {
        name: share
        for name, verdict in verdicts.items()
        if not isinstance(share := _mean(verdict, _is_yes), Missing)
    }
    cells = [
        _mean(verdicts.get(name, ()), _expected)
        if name in SUPPORT_DIMENSIONS
        else Missing(f"format: support tells no {name}")
        for name in question.dimensions
    ]
    provenance = provenance_of(judge, "support", answers)
    composed: Answer = question.compose(cells, provenance, notes=notes)
    return composed


def _sentence_row(text: str, documents: Sequence[int], answers: Sequence[Answer]) -> dict[str, Any]:
    """Return the note on a sentence: whether it is supported, and the probability by document."""
    verdict = _any(answers)
    chances = zip(map(str, documents), map(_chance, answers), strict=True)
    supported = verdict.value if isinstance(verdict, Judged) else None
    return {"text": text, "supported": supported, "documents": dict(chances)}


def _chance(answer: Answer) -> float | None:
    return answer.probability if isinstance(answer, Judged) else None


def _any(answers: Sequence[Answer]) -> Answer:
    """Return the most likely yes of several verdicts, else a missing one, else a no."""
    judged = [answer for answer in answers if isinstance(answer, Judged)]
    likeliest = max(judged, key=lambda a: (a.value is True, _expected(a)), default=None)
    if likeliest is not None and likeliest.value is True:
        return likeliest
    return next((a for a in answers if isinstance(a, Unscored)), likeliest or answers[0])


def _expected(answer: Judged) -> float:
    return _is_yes(answer) if answer.probability is None else answer.probability


def _is_yes(answer: Judged) -> float:
    return float(answer.value is True)


def _mean(answers: Sequence[Answer], number: Callable[[Judged], float]) -> Any:
    """Return the mean over the scored verdicts, or why there is none."""
    scored = [number(answer) for answer in answers if isinstance(answer, Judged)]
    if scored:
        return fmean(scored)
    reasons = (answer.reason for answer in answers if isinstance(answer, Unscored))
    return Missing(next(reasons, "blank: there is nothing to judge"))


SUPPORT_FORMAT = JudgingFormat(
    "support",
    "each document: does it help? each sentence and citation: does it follow?",
    ("support", "relevance"),
    shape=_supported_dimensions,
    parts=_of_support,
    join=_joined_support,
    packaged=True,
)
