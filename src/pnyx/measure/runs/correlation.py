"""RetrieverCorrelation ranked by how far they agree with annotated pairs (DIRAS, 4.1, RQ4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal, TypeAlias

import numpy as np

from pnyx.errors import InputError, shorten
from pnyx.judge.verdicts import Source, read_annotations
from pnyx.measure.answers.correlation import kendall_tau_b
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Measured, plain
from pnyx.measure.core.intervals import SIGNED, column_means
from pnyx.measure.core.significance import Compared, Test, differ, family
from pnyx.measure.core.weighted import numbers
from pnyx.measure.runs.rankings import Run, scores_of, some_topics, topic_order
from pnyx.measure.runs.retrieval import check_runs

TAU = "kendall_tau_b"

DocumentsOf: TypeAlias = Literal["run", "every-run", "annotations"]
"""The annotated documents on which a run is compared: those that it has; those that every run has;
all, where those that it lacks share the last place."""

Scores: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class MeasuredRetriever:
    """One run; a question's tau is None where a side puts no document before another."""

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
        documents = ("compared", "not_retrieved", "not_annotated")
        return {
            "run": self.name,
            "tags": list(self.tags),
            "questions": {"absent": list(self.absent), "unannotated": list(self.unannotated)},
            "documents": {name: getattr(self, name) for name in documents},
            "measures": {TAU: self.tau.row()},
            "per_group": {q: {TAU: m.row()} for q, m in self.per_question.items()},
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RetrieverCorrelation(Compared):
    """Runs measured against annotations, best agreement first.

    `annotated` pairs have a probability, `unscored` ones none. `comparisons` are of each run with
    each below it, or with the baseline.
    """

    runs: tuple[MeasuredRetriever, ...]
    documents_of: DocumentsOf
    questions: int
    annotated: int
    unscored: int

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
            "runs": plain(self.runs),
            "documents_of": self.documents_of,
            "annotations": {"questions": self.questions, **pairs},
            **self._methods_row("other", "questions"),
        }


def measure_correlation(
    runs: Mapping[str, Run],
    annotations: Source,
    *,
    documents_of: DocumentsOf = "run",
    baseline: str | None = None,
    test: Test = "t",
    bootstrap: Bootstrap = BOOTSTRAP,
) -> RetrieverCorrelation:
    """Rank retrievers by Kendall's tau-b between their scores and annotated probabilities.

    Tau is computed within each question; the mean over questions counts.

    Args:
        runs: name -> a run file, or what `pnyx.read_run` yields; scores count, ranks do not.
        annotations: of pairs of question and document: a file, what `pnyx.judge.read_annotations`
            yields or `pnyx.ask` returned.
        documents_of: on which annotated documents a run is compared.
        baseline: the run that the others are compared with; by default each is with each.
        test: of the differences over questions; two-sided, corrected by Holm-Bonferroni over all.
        bootstrap: over questions; its seed is also that of the randomisation test.

    Raises:
        InputError: an annotation names no question or document, or a pair occurs twice; a run
            shares no question with the annotations, or contradicts itself.
        MissingExtra: scipy is not installed, which the t-test needs.
        ValueError: no run, or no run of the baseline's name.
    """
    check_runs(runs, baseline)
    gold, unscored = _gold(annotations)
    read = {name: _read(name, entries, gold) for name, entries in runs.items()}
    chosen: dict[str, list[str]] = {question: list(docs) for question, docs in gold.items()}
    if documents_of == "every-run":
        every = [own for own, _ in read.values()]
        for question, docs in chosen.items():
            docs[:] = [d for d in docs if all(d in own.get(question, ()) for own in every)]
    taus = {name: _taus(gold, own, chosen, documents_of) for name, (own, _) in read.items()}
    measured = [
        _measured(name, tags, gold, own, taus[name], bootstrap)
        for name, (own, tags) in read.items()
    ]
    measured.sort(key=lambda run: -2.0 if run.tau.value is None else run.tau.value, reverse=True)
    order = [run.name for run in measured]
    pairs = list(combinations(order, 2))
    if baseline is not None:
        pairs = [(name, baseline) for name in order if name != baseline]
    values = {name: numbers([m.value for m in own.values()]) for name, own in taus.items()}
    tested = []
    for run, other in pairs:
        differences = values[run] - values[other]
        (one,) = differ(differences[np.isfinite(differences)][:, None], test, bootstrap)
        tested.append((run, other, TAU, one))
    return RetrieverCorrelation(
        runs=tuple(measured),
        documents_of=documents_of,
        questions=len(gold),
        annotated=sum(map(len, gold.values())),
        unscored=unscored,
        comparisons=family(tested),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


def _gold(annotations: Source) -> tuple[dict[str, dict[str, float]], int]:
    """Return the probabilities, questions in order, and how many annotations have none."""
    found: dict[str, dict[str, float | None]] = {}
    for one in read_annotations(annotations):
        if not (one.question_id and one.doc_id):
            lacking = "doc_id" if one.question_id else "question_id"
            raise InputError(f"annotation {shorten(one.id, 40)!r} has no {lacking}")
        documents = found.setdefault(one.question_id, {})
        if one.doc_id in documents:
            question, document = shorten(one.question_id, 40), shorten(one.doc_id, 40)
            raise InputError(f"question {question!r}, document {document!r} is annotated twice")
        documents[one.doc_id] = one.probability
    gold = {
        question: {doc: p for doc, p in found[question].items() if p is not None}
        for question in sorted(found, key=topic_order)
    }
    return gold, sum(map(len, found.values())) - sum(map(len, gold.values()))


def _read(
    name: str, entries: Run, gold: Scores
) -> tuple[dict[str, dict[str, float]], tuple[str, ...]]:
    """Return a run's scores and tags; InputError: it has no annotated question."""
    scored, tags = scores_of(entries)
    if not any(question in gold for question in scored):
        here, there = some_topics(scored), some_topics(gold)
        problem = f"no topic is annotated (topics are {here}; annotations are of {there})"
        raise InputError(problem, path=name)
    return {q: {doc: score for doc, (score, _) in docs.items()} for q, docs in scored.items()}, tags


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
        keys = [(doc in found, found.get(doc, last)) for doc in docs]
        places = {key: float(place) for place, key in enumerate(sorted(set(keys)))}
        mine = [places[key] for key in keys]
        tau = kendall_tau_b(mine, [wanted[doc] for doc in docs]) if found else None
        taus[question] = Measured(tau, len(docs) if found else 0, len(wanted))
    return taus


def _measured(
    name: str,
    tags: tuple[str, ...],
    gold: Scores,
    own: Scores,
    taus: Mapping[str, Measured],
    bootstrap: Bootstrap,
) -> MeasuredRetriever:
    (tau,) = column_means(numbers([m.value for m in taus.values()])[:, None], bootstrap, SIGNED)
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
