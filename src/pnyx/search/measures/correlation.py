"""Retrievers ranked by their agreement with annotated pairs (DIRAS, 4.1, RQ4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, shorten
from pnyx.formats.questions import topic_order
from pnyx.formats.runs.rankings import scores_of, some_topics
from pnyx.formats.runs.sources import Run, Runs, named_runs
from pnyx.judging.verdicts import Source, read_annotations
from pnyx.search.measures.retrieval import check_runs
from pnyx.search.measures.table import ComparedRuns, RunTable, each_pair
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap, Measured, plain, row_of
from pnyx.stats.correlation import kendall_tau_b
from pnyx.stats.intervals import SIGNED
from pnyx.stats.significance import Test

TAU = "kendall_tau_b"

DocumentsOf: TypeAlias = Literal["run", "every-run", "annotations"]
"""The annotated documents on which a run is compared: those in the run; those in every run; or all,
where those missing from the run share the last place."""

Scores: TypeAlias = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class MeasuredRetriever:
    """One run; a question's tau is None if either ranking ties all documents."""

    name: str
    tags: tuple[str, ...]
    measures: Mapping[str, Measured]
    per_topic: Mapping[str, Mapping[str, Measured]]
    not_retrieved: int
    not_annotated: int
    absent: tuple[str, ...]
    unannotated: tuple[str, ...]

    @property
    def tau(self) -> Measured:
        """The mean over questions."""
        return self.measures[TAU]

    @property
    def compared(self) -> int:
        """Number of annotated documents compared, over all questions."""
        return sum(values[TAU].scored for values in self.per_topic.values())

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` for this run (docs/reference/measures.md)."""
        return {
            "run": self.name,
            "tags": list(self.tags),
            "questions": row_of(self, "absent unannotated"),
            "documents": row_of(self, "compared not_retrieved not_annotated"),
            "measures": plain(self.measures),
            "per_group": plain(self.per_topic),
        }


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class RetrieverCorrelation(ComparedRuns):
    """Runs measured against annotations, best agreement first.

    `annotated` pairs have a probability, `unscored` ones none. `comparisons` are of each run with
    each below it, or with the baseline.
    """

    runs: tuple[MeasuredRetriever, ...]
    documents_of: DocumentsOf
    questions: int
    annotated: int
    unscored: int

    def row(self) -> dict[str, Any]:
        """Return the object of `--json` (docs/reference/measures.md)."""
        pairs = {"scored": self.annotated, "unscored": self.unscored}
        return {
            "task": "correlation",
            "runs": plain(self.runs),
            "documents_of": self.documents_of,
            "annotations": {"questions": self.questions, **pairs},
            **self._methods_row("other", "questions"),
        }


def measure_correlation(
    runs: Runs,
    annotations: Source,
    *,
    documents_of: DocumentsOf = "run",
    baseline: str | None = None,
    test: Test = TEST,
    bootstrap: Bootstrap = BOOTSTRAP,
) -> RetrieverCorrelation:
    """Rank retrievers by Kendall's tau-b between their scores and annotated probabilities.

    Tau is computed within each question; the mean over questions counts.

    Args:
        runs: as for `measure_retrieval`; scores count, ranks do not.
        annotations: of pairs of question and document: a file, what `pnyx.judging.read_annotations`
            yields or `pnyx.ask` returned.
        documents_of: on which annotated documents a run is compared.
        baseline: the run that the others are compared with; by default each is with each.
        test: of the differences over questions; two-sided, corrected by Holm-Bonferroni over all.
        bootstrap: over questions; its seed is also that of the randomisation test.

    Raises:
        InputError: an annotation names no question or document, or a pair occurs twice; a run
            shares no question with the annotations, or is inconsistent.
        ValueError: no run, or no run of the baseline's name.
    """
    runs = named_runs(runs)
    check_runs(runs, baseline)
    gold, unscored = _gold(annotations)
    read = {name: _read(name, entries, gold) for name, entries in runs.items()}
    chosen = _chosen(gold, [scores for scores, _ in read.values()], documents_of)
    table = RunTable(
        {name: _taus(gold, scores, chosen, documents_of) for name, (scores, _) in read.items()}
    )
    measured = [
        _measured(
            name,
            tags,
            gold,
            scores,
            table.means(name, [TAU], bootstrap, [SIGNED]),
            table.cells[name],
        )
        for name, (scores, tags) in read.items()
    ]
    measured.sort(key=lambda run: -2.0 if run.tau.value is None else run.tau.value, reverse=True)
    pairs = each_pair([run.name for run in measured], baseline, TAU)
    return RetrieverCorrelation(
        runs=tuple(measured),
        documents_of=documents_of,
        questions=len(gold),
        annotated=sum(map(len, gold.values())),
        unscored=unscored,
        comparisons=table.compare(pairs, test, bootstrap),
        baseline=baseline,
        test=test,
        bootstrap=bootstrap,
    )


def _chosen(
    gold: Scores, runs: Sequence[Scores], documents_of: DocumentsOf
) -> dict[str, list[str]]:
    """Return each question's annotated documents that are compared."""
    everywhere = documents_of == "every-run"
    return {
        question: [
            doc for doc in docs
            if not everywhere or all(doc in run.get(question, ()) for run in runs)
        ]
        for question, docs in gold.items()
    }  # fmt: skip


def _gold(annotations: Source) -> tuple[dict[str, dict[str, float]], int]:
    """Return the probabilities, questions in order, and how many annotations have none."""
    scores: dict[str, dict[str, float | None]] = {}
    for annotation in read_annotations(annotations):
        if not (annotation.question_id and annotation.doc_id):
            missing = "doc_id" if annotation.question_id else "question_id"
            raise InputError(f"annotation {shorten(annotation.id, 40)!r} has no {missing}")
        documents = scores.setdefault(annotation.question_id, {})
        if annotation.doc_id in documents:
            question, document = shorten(annotation.question_id, 40), shorten(annotation.doc_id, 40)
            raise InputError(f"question {question!r}, document {document!r} is annotated twice")
        documents[annotation.doc_id] = annotation.probability
    gold = {
        question: {doc: p for doc, p in scores[question].items() if p is not None}
        for question in sorted(scores, key=topic_order)
    }
    return gold, sum(map(len, scores.values())) - sum(map(len, gold.values()))


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
    gold: Scores, scores: Scores, chosen: Mapping[str, Sequence[str]], documents_of: DocumentsOf
) -> dict[str, dict[str, Measured]]:
    """Return a run's tau on each annotated question, over the documents compared."""
    taus = {}
    for question, docs in chosen.items():
        run, wanted = scores.get(question, {}), gold[question]
        if documents_of != "annotations":
            docs = [doc for doc in docs if doc in run]
        last = min(run.values(), default=0.0)
        # Missing documents sort below all retrieved ones, whatever the scale of the scores.
        keys = [(doc in run, run.get(doc, last)) for doc in docs]
        places = {key: float(rank) for rank, key in enumerate(sorted(set(keys)))}
        mine = [places[key] for key in keys]
        tau = kendall_tau_b(mine, [wanted[doc] for doc in docs]) if run else None
        taus[question] = {TAU: Measured(tau, len(docs) if run else 0, len(wanted))}
    return taus


def _measured(
    name: str,
    tags: tuple[str, ...],
    gold: Scores,
    scores: Scores,
    means: Mapping[str, Measured],
    taus: Mapping[str, Mapping[str, Measured]],
) -> MeasuredRetriever:
    return MeasuredRetriever(
        name,
        tags,
        means,
        taus,
        not_retrieved=sum(doc not in scores.get(q, ()) for q, docs in gold.items() for doc in docs),
        not_annotated=sum(
            d not in gold[q] for q, docs in scores.items() if q in gold for d in docs
        ),
        absent=tuple(q for q in gold if q not in scores),
        unannotated=tuple(q for q in scores if q not in gold),
    )
