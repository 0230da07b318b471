"""Retrievers ranked by how far they agree with annotated pairs (DIRAS, 4.1, RQ4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from pnyx.errors import InputError, shorten
from pnyx.judge.verdicts import Source, read_annotations
from pnyx.measure.base import BOOTSTRAP, Bootstrap, Measured, Result
from pnyx.measure.bootstrap import column_means
from pnyx.measure.comparisons import Comparison, differ, family, method_rows
from pnyx.measure.correlation import kendall_tau_b
from pnyx.measure.rankings import Run, scores_of, topic_order
from pnyx.measure.significance import Test
from pnyx.measure.weighted import Floats, numbers

__all__ = [
    "DOCUMENTS_OF",
    "TAU",
    "DocumentsOf",
    "MeasuredRetriever",
    "Retrievers",
    "measure_retrievers",
]

TAU = "kendall_tau_b"
"""The measure's name in `--json`."""

DocumentsOf: TypeAlias = Literal["run", "every-run", "annotations"]
"""On which annotated documents a run is compared: those that it has; those that every run has; all,
where those that it lacks share the last place."""

DOCUMENTS_OF: tuple[DocumentsOf, ...] = get_args(DocumentsOf)

Scores: TypeAlias = Mapping[str, Mapping[str, float]]
"""Question -> document -> score."""


@dataclass(frozen=True, slots=True)
class MeasuredRetriever:
    """One run.

    Attributes:
        name: as it was given.
        tags: in its file, as a rule one.
        tau: the mean over the questions, with its interval; it counts questions.
        per_question: question -> Kendall's tau-b; it counts documents: compared, of those that are
            annotated. None where the run or the annotations put no document before another.
        not_retrieved: annotated documents that the run lacks.
        not_annotated: documents of the run, on annotated questions, without an annotation.
        absent: annotated questions that the run does not have.
        unannotated: questions of the run without annotations; they are left out.
    """

    name: str
    tags: tuple[str, ...]
    tau: Measured
    per_question: Mapping[str, Measured]
    not_retrieved: int
    not_annotated: int
    absent: tuple[str, ...]
    unannotated: tuple[str, ...]

    @property
    def compared(self) -> int:
        """How many annotated documents its taus rest on, over all questions."""
        return sum(m.scored for m in self.per_question.values())

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/measures.md)."""
        return {
            "run": self.name,
            "tags": list(self.tags),
            "questions": {"absent": list(self.absent), "unannotated": list(self.unannotated)},
            "documents": {
                "compared": self.compared,
                "not_retrieved": self.not_retrieved,
                "not_annotated": self.not_annotated,
            },
            "measures": {TAU: self.tau.row()},
            "per_group": {q: {TAU: m.row()} for q, m in self.per_question.items()},
        }


@dataclass(frozen=True, slots=True, repr=False)
class Retrievers(Result):
    """Runs measured against annotations.

    Attributes:
        runs: the one that agrees most first; of equal ones, in the order given.
        documents_of: on which documents they are compared.
        questions: how many are annotated.
        annotated: pairs with a probability.
        unscored: pairs without one; they are left out.
        comparisons: of each run with each below it, or with the baseline.
        baseline: its name; None without one.
        test: of the comparisons.
        bootstrap: how intervals, and signs of the randomisation test, were drawn.
    """

    runs: tuple[MeasuredRetriever, ...]
    documents_of: DocumentsOf
    questions: int
    annotated: int
    unscored: int
    comparisons: tuple[Comparison, ...]
    baseline: str | None
    test: Test
    bootstrap: Bootstrap

    @property
    def undefined(self) -> int:
        """How many values of single questions are not defined."""
        return sum(run.tau.asked - run.tau.scored for run in self.runs)

    def rows(self) -> list[dict[str, Any]]:
        """Return Kendall's tau-b of each run."""
        return [{"run": run.name, "measure": TAU, **run.tau.row()} for run in self.runs]

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/measures.md)."""
        pairs = {"scored": self.annotated, "unscored": self.unscored}
        return {
            "task": "correlation",
            "runs": [run.row() for run in self.runs],
            "documents_of": self.documents_of,
            "annotations": {"questions": self.questions, **pairs},
            "baseline": self.baseline,
            "comparisons": [c.row("other", "questions") for c in self.comparisons],
            **method_rows("questions", self.comparisons, self.test, self.bootstrap),
        }


def measure_retrievers(
    runs: Mapping[str, Run],
    annotations: Source,
    *,
    documents_of: DocumentsOf = "run",
    baseline: str | None = None,
    test: Test = "t",
    bootstrap: Bootstrap = BOOTSTRAP,
) -> Retrievers:
    """Rank retrievers by Kendall's tau-b between their scores and annotated probabilities.

    Tau is computed within each question; what counts is the mean over questions.

    Args:
        runs: name -> a run file, or what `pnyx.read_run` yields; scores count, ranks do not.
        annotations: of pairs of question and document: a file, what `pnyx.read_annotations` yields
            or `pnyx.ask` returned.
        documents_of: on which annotated documents a run is compared.
        baseline: the run that the others are compared with; by default each is with each.
        test: of the differences over questions; two-sided, corrected by Holm-Bonferroni over all
            comparisons.
        bootstrap: over questions; its seed is also that of the randomisation test.

    Raises:
        InputError: an annotation names no question or document, or a pair occurs twice; a run
            shares no question with the annotations, or contradicts itself.
        MissingExtra: scipy is not installed, which the t-test needs.
        ValueError: no run, or no run of the baseline's name.
    """
    if not runs or (baseline is not None and baseline not in runs):
        raise ValueError(f"found the runs {', '.join(runs)}, expected one, and the baseline")
    gold, unscored = _gold(annotations)
    scores: dict[str, Scores] = {}
    tags: dict[str, tuple[str, ...]] = {}
    for name, entries in runs.items():
        scores[name], tags[name] = _read(name, entries, gold)
    chosen = _chosen(gold, scores, documents_of)
    taus = {name: _taus(gold, own, chosen, documents_of) for name, own in scores.items()}
    measured = [
        _measured(name, tags[name], gold, scores[name], taus[name], bootstrap) for name in runs
    ]
    measured.sort(key=lambda run: -2.0 if run.tau.value is None else run.tau.value, reverse=True)
    order = [run.name for run in measured]
    pairs = list(combinations(order, 2))
    if baseline is not None:
        pairs = [(name, baseline) for name in order if name != baseline]
    values = {name: numbers([m.value for m in own.values()]) for name, own in taus.items()}
    return Retrievers(
        runs=tuple(measured),
        documents_of=documents_of,
        questions=len(gold),
        annotated=sum(map(len, gold.values())),
        unscored=unscored,
        comparisons=_compared(pairs, values, test, bootstrap),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


def _gold(annotations: Source) -> tuple[dict[str, dict[str, float]], int]:
    """Return the probabilities, questions in order, and how many annotations have none.

    Raises:
        InputError: an annotation names no question or document, or a pair occurs twice.
    """
    found: dict[str, dict[str, float | None]] = {}
    for one in read_annotations(annotations):
        if not (one.question_id and one.doc_id):
            lacking = "doc_id" if one.question_id else "question_id"
            raise InputError(f"annotation {shorten(one.id, 40)!r} has no {lacking}")
        documents = found.setdefault(one.question_id, {})
        if one.doc_id in documents:
            pair = (
                f"question {shorten(one.question_id, 40)!r}, document {shorten(one.doc_id, 40)!r}"
            )
            raise InputError(f"{pair} is annotated twice")
        documents[one.doc_id] = one.probability
    gold = {
        question: {doc: p for doc, p in found[question].items() if p is not None}
        for question in sorted(found, key=topic_order)
    }
    return gold, sum(map(len, found.values())) - sum(map(len, gold.values()))


def _read(
    name: str, entries: Run, gold: Scores
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return a run's scores and tags.

    Raises:
        InputError: it has no annotated question, or contradicts itself.
    """
    scored, tags = scores_of(entries)
    if not any(question in gold for question in scored):
        here, there = (
            ", ".join(repr(shorten(q, 30)) for q in list(side)[:3]) or "none"
            for side in (scored, gold)
        )
        problem = f"no topic is annotated (topics are {here}; annotations are of {there})"
        raise InputError(problem, path=name)
    return {q: {doc: score for doc, (score, _) in docs.items()} for q, docs in scored.items()}, tags


def _chosen(
    gold: Scores, scores: Mapping[str, Scores], documents_of: DocumentsOf
) -> dict[str, list[str]]:
    """Return the annotated documents of each question on which runs can be compared."""
    if documents_of != "every-run":
        return {question: list(docs) for question, docs in gold.items()}
    return {
        question: [d for d in docs if all(d in own.get(question, ()) for own in scores.values())]
        for question, docs in gold.items()
    }


def _taus(
    gold: Scores, own: Scores, chosen: Mapping[str, Sequence[str]], documents_of: DocumentsOf
) -> dict[str, Measured]:
    """Return a run's tau on each annotated question, resting on the documents compared."""
    taus = {}
    for question, docs in chosen.items():
        found, wanted = own.get(question, {}), gold[question]
        if documents_of != "annotations":
            docs = [doc for doc in docs if doc in found]
        last = min(found.values(), default=0.0)
        # Below all that it has, whatever the scale: absent first, then the score.
        mine = _ranks([(doc in found, found.get(doc, last)) for doc in docs])
        tau = kendall_tau_b(mine, [wanted[doc] for doc in docs]) if found else None
        taus[question] = Measured(tau, len(docs) if found else 0, len(wanted))
    return taus


def _ranks(keys: Sequence[tuple[bool, float]]) -> list[float]:
    """Return numbers in the order of the keys, equal where these are."""
    places = {key: float(place) for place, key in enumerate(sorted(set(keys)))}
    return [places[key] for key in keys]


def _measured(
    name: str,
    tags: tuple[str, ...],
    gold: Scores,
    own: Scores,
    taus: Mapping[str, Measured],
    bootstrap: Bootstrap,
) -> MeasuredRetriever:
    (tau,) = column_means(numbers([m.value for m in taus.values()])[:, None], bootstrap)
    return MeasuredRetriever(
        name,
        tags,
        tau,
        taus,
        not_retrieved=sum(doc not in own.get(q, ()) for q, docs in gold.items() for doc in docs),
        not_annotated=sum(d not in gold[q] for q, docs in own.items() if q in gold for d in docs),
        absent=tuple(q for q in gold if q not in own),
        unannotated=tuple(q for q in own if q not in gold),
    )


def _compared(
    pairs: Sequence[tuple[str, str]],
    values: Mapping[str, Floats],
    test: Test,
    bootstrap: Bootstrap,
) -> tuple[Comparison, ...]:
    """Test the differences of pairs of runs over questions, as one family."""
    found = []
    for run, other in pairs:
        differences = values[run] - values[other]
        defined = differences[np.isfinite(differences)]
        (tested,) = differ(defined[:, None], test, bootstrap)
        found.append((run, other, TAU, tested))
    return family(found)
