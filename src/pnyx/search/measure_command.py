"""`pnyx measure retrieval`: TREC runs against qrels, or against annotated pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

import click

from pnyx.cli.measure.strict import enough, said_strictly
from pnyx.cli.measure.tables import (
    PlotSpec,
    compared_legend,
    differences_table,
    few_warning,
    listed,
    mark,
    named_runs,
    run_notes,
    runs_table,
    topics_table,
    untested_note,
)
from pnyx.cli.options import Outcome
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, count_of, escaped
from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.display.tables import Column, Table, draws_legend
from pnyx.formats.text_types import FileName, Words
from pnyx.judging.measures.options import ComparingSpec
from pnyx.search.measure_leaderboard import LeaderboardSpec

if TYPE_CHECKING:
    from pnyx.display.plots import PlotPanel
    from pnyx.display.tables import Part
    from pnyx.search.measures.correlation import RetrieverCorrelation
    from pnyx.search.measures.retrieval import Retrieval


class _RankingSpec(PlotSpec, heading="Measures"):
    """What is measured, and on which topics."""

    qrels: FileName | None = file_opt(None, metavar="QRELS")
    measures: tuple[Words, ...] = opt(
        (),
        "",
        "--measure",
        metavar="MEASURE",
        default_text="nDCG@10 P@10 AP R@100; with diversity qrels also alpha_nDCG@10 ERR_IA@10 "
        "StRecall@10",
    )
    topics_of: Literal["qrels", "run", "both"] = opt("qrels")
    per_topic: bool = opt(False)
    plot: FileName | None = out_opt(None, metavar="FILE.svg")


class _AnnotatedSpec(Spec, heading="Annotations", rare="by documents_of"):
    """Annotations that runs are compared with, in place of qrels."""

    annotations: FileName | None = file_opt(
        None,
        "Compare with these pairs instead: JSONL or Parquet with question_id, doc_id, probability; "
        "or a results folder.",
    )
    documents_of: Literal["run", "every-run", "annotations"] = opt(
        "run", "Documents on which a run is compared.", needs="annotations"
    )
    by: Words | None = opt(None, metavar="NAME", needs="annotations")


_OF_QRELS = (
    *("measures", "topics_of", "plot", "leaderboard", "format", "unscored", "margin", "strict"),
)
"""Fields without effect on annotations."""


class RetrievalSpec(ComparingSpec, LeaderboardSpec, _AnnotatedSpec, _RankingSpec):
    """All that is chosen."""

    margin: float | None = opt(
        None, metavar="X", within="(0, inf)", needs="baseline", heading=ComparingSpec.heading
    )
    strict: bool = opt(False, heading=_RankingSpec.heading)
    min_judged: float = opt(0.8, within="[0, 1]", needs="strict", heading=_RankingSpec.heading)

    def check(self) -> None:
        """Reject options that have no effect or exclude each other."""
        self.check_needs()
        if (self.qrels is None) == (self.annotations is None):
            raise OptionError("expected --qrels or --annotations")
        for name in _OF_QRELS if self.annotations is not None else ():
            if self.given(name):
                raise OptionError(f"{self.flag(name)} requires --qrels")
        if self.strict and self.topics_of != "qrels":
            raise OptionError(f"--strict and --topics-of {self.topics_of} exclude each other")


@verb(
    "retrieval",
    restricts=True,
    records=True,
    short_help="TREC runs on qrels, or on annotated pairs.",
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
def retrieval(runs: tuple[FileName, ...], spec: RetrievalSpec, as_json: bool) -> Outcome:
    """Measure RUNs (TREC run files) on QRELS (TREC, diversity or BEIR) or annotated pairs.

    Any measure of ir-measures, by its notation, with a 95 % bootstrap interval over topics. With
    --baseline, each other run is compared with it.

    \b
    Example:
      $ pnyx demo --files-only --out ex
      $ pnyx search ex/arguments.jsonl --topics ex/questions.md -k 20 --out a.run
      $ pnyx measure retrieval a.run --qrels ex/qrels.txt
      ...
      measure  run   mean, 95 % interval  topics
      nDCG@10  a    0.590 [0.500, 0.674]       8

    \b
    More: pnyx measure retrieval --help-all, docs/reference/measures.md.
    \f
    A comparison shows the difference, its interval, a paired two-sided test corrected by Holm-
    Bonferroni over all runs and measures, and the effect size. Only --margin, fixed beforehand, can
    show that a run is not worse: a difference that is not significant is inconclusive. Documents
    are ordered by score, ties by descending document id, as in trec_eval.

    \b
    --topics-of qrels  all topics of the qrels; a missing one counts as an
                       empty ranking, 0 as a rule (trec_eval -c)
    --topics-of run    of these, the topics that the run has (trec_eval)
    --topics-of both   of these, the topics that every run has

    With --strict: all topics of the qrels, unjudged is irrelevant, no figures below --min-judged
    (of the first 10 documents), and in --json a record of all settings.

    With --annotations, runs are ranked by Kendall's tau-b between their scores and the annotated
    probabilities of relevance, within each question; then the mean over questions. Each run is
    compared with each other. Unscored annotations and documents without one are left out and
    counted.

    \b
    --documents-of run          annotated documents that the run has
    --documents-of every-run    those that every run has
    --documents-of annotations  all; those missing from a run tied in last place

    docs/reference/measures.md defines all of this. --qrels needs pip install 'pnyx[retrieval]'.
    Exit status 3: a measure is not defined for some topic, or an annotation is unscored.

    \b
      pnyx measure retrieval bm25.run my.run --qrels qrels.txt --baseline bm25.run
      pnyx measure retrieval my.run --qrels qrels.txt --measure 'AP(rel=2)'
      pnyx measure retrieval bm25.run dense.run --annotations results
    """
    spec.check_plot()
    spec.check()
    names, baseline = named_runs(runs, spec.baseline, spec.qrels, spec.annotations)
    if spec.qrels is None:
        return _correlation(names, baseline, spec)
    read = {f"RUN {n}": path for n, path in enumerate(names.values(), 1)}
    spec.check_files({**read, "--qrels": spec.qrels}, as_json=as_json)
    judged = check_judged(names, spec.qrels, spec.min_judged) if spec.strict else {}
    from pnyx.display.plots import interval_plot
    from pnyx.search.measures.retrieval import measure_retrieval

    result = measure_retrieval(
        names,
        spec.qrels,
        spec.measures,
        topics_of=spec.topics_of,
        baseline=baseline,
        test=spec.test,
        margin=spec.margin,
        bootstrap=spec.bootstrap,
    )
    spec.write_runs(result)
    spec.draw(lambda: interval_plot(_panels(result), _legend(result)))
    row, notes = result.row(), _notes(result)
    if spec.strict:
        more, strict_notes = said_strictly(RANKING_RULES, "the first 10 documents", judged)
        row, notes = row | more, strict_notes + notes
    tables = (lambda: _report(result, spec)) if spec.prints else ""
    return Outcome(row, tables, result.undefined, notes)


def _notes(result: Retrieval) -> list[str]:
    """Return notes for readers of the figures, one line each."""
    notes = []
    for run in result.runs:
        absent = f"{listed(run.absent)} absent, counted as empty rankings (trec_eval -c)"
        skipped = (
            (run.absent, absent),
            (run.unjudged, f"{listed(run.unjudged)} without qrels, not measured"),
        )
        notes += run_notes(run.name, skipped, len(run.rearranged))
        if not run.judged_documents:
            foreign = "warning: none of its documents is in the qrels; are the ids the same?"
            notes.append(f"{escaped(run.name, 40)}: {foreign}")
    if result.without_relevant:
        topics = listed(result.without_relevant)
        have = "have" if len(result.without_relevant) > 1 else "has"
        notes.append(f"{topics} of the qrels {have} no relevant document, but still count")
    if result.undefined:
        notes.append(f"{result.undefined} values of single topics are undefined and left out")
    fewest = min(len(run.per_topic) for run in result.runs)
    notes += untested_note(result.comparisons, "topics")
    return notes + few_warning(result.bootstrap, fewest, "topic")


def _report(result: Retrieval, spec: RetrievalSpec) -> list[Part]:
    """Return the tables for people."""
    sizes = sorted({len(run.per_topic) for run in result.runs})
    topics = " to ".join(map(str, sizes if len(sizes) < 3 else (sizes[0], sizes[-1])))
    runs = count_of(len(result.runs), "run")
    noun = "topic" if sizes == [1] else "topics"
    title = f"retrieval: {runs} on {topics} {noun} of {escaped(str(spec.qrels))}"
    means = runs_table(result, "topics", lambda run, name: run.measures[name], title=title)
    effect = ["d: mean difference in standard deviations of the topics' differences"]
    legend = [*effect * bool(result.comparisons), *_legend(result)]
    per_topic = [topics_table(run, "topic") for run in result.runs] if spec.per_topic else []
    return [means, *per_topic, legend]


def _legend(result: Retrieval) -> list[str]:
    return [*compared_legend(result), *draws_legend("the topics", result.bootstrap)]


def _panels(result: Retrieval) -> list[PlotPanel]:
    from pnyx.display.plots import PlotPanel, Point

    compared = {(c.run, c.measure): c for c in result.comparisons}
    panels = []
    for name in result.runs[0].measures:
        points = []
        reference = None
        for run in result.runs:
            m = run.measures[name]
            marked = mark(compared.get((run.name, name)))
            points.append(Point(run.name, m.value, m.low, m.high, marked))
            if run.name == result.baseline:
                reference = m.value
        panels.append(PlotPanel(name, points, reference))
    return panels


# Correlation with annotations ---------------------------------------------------------------------


def _correlation(names: dict[str, str], baseline: str | None, spec: RetrievalSpec) -> Outcome:
    """Measure how runs agree with annotated pairs."""
    from pnyx.judging.verdicts import read_annotations
    from pnyx.search.measures.correlation import measure_correlation

    result = measure_correlation(
        names,
        read_annotations(str(spec.annotations), judge=spec.by),
        documents_of=spec.documents_of,
        baseline=baseline,
        test=spec.test,
        bootstrap=spec.bootstrap,
    )
    return Outcome(
        result.row(),
        lambda: _correlations(result, spec),
        result.undefined or result.unscored,
        _correlation_notes(result),
    )


def _correlation_notes(result: RetrieverCorrelation) -> list[str]:
    """Return notes for readers of the figures, one line each."""
    notes = []
    if result.unscored:
        total = result.unscored + result.annotated
        notes.append(f"{result.unscored} of {total} annotations are unscored and left out")
    for run in result.runs:
        name = escaped(run.name, 40)
        if run.absent:
            notes.append(f"{name}: {listed(run.absent, 'question')} absent, without a value")
        if run.unannotated:
            notes.append(f"{name}: {listed(run.unannotated, 'topic')} not annotated, left out")
        if run.not_annotated:
            notes.append(f"{name}: {run.not_annotated} documents not annotated, left out")
        if run.not_retrieved:
            do = "in the last place" if result.documents_of == "annotations" else "left out"
            notes.append(f"{name}: {run.not_retrieved} annotated documents not retrieved, {do}")
    if result.documents_of == "run" and len({run.not_retrieved for run in result.runs}) > 1:
        notes.append("warning: runs compared on different documents; see --documents-of")
    return notes + few_warning(result.bootstrap, result.questions, "question")


def _correlations(result: RetrieverCorrelation, spec: RetrievalSpec) -> list[Part]:
    """Return the tables for people."""
    title = (
        f"correlation: {len(result.runs)} runs on {result.annotated} annotated pairs, "
        f"{result.questions} questions of {escaped(str(spec.annotations), 200)}"
    )
    columns = (
        Column("run"),
        Column("Kendall's tau-b, 95 % interval", "figure"),
        Column("questions", "counts"),
        Column("documents", "counts"),
    )
    rows = [
        (escaped(run.name, 40), run.tau, run.tau, (run.compared, result.annotated))
        for run in result.runs
    ]
    parts: list[Part] = [Table(columns, rows, title=title)]
    if result.comparisons:
        parts.append(differences_table(result.comparisons, result.test, "run", "less"))
    parts += [_questions(result)] if spec.per_topic else []
    return [*parts, draws_legend("the questions", result.bootstrap)]


def _questions(result: RetrieverCorrelation) -> Table:
    from pnyx.search.measures.correlation import TAU

    columns = [Column(escaped(run.name, 40), "number") for run in result.runs]
    rows = [
        (escaped(question, 40), *(run.per_topic[question][TAU].value for run in result.runs))
        for question in result.runs[0].per_topic
    ]
    return Table([Column("question"), *columns], rows)


RANKING_RULES = (
    "by the campaign's rules, a topic missing from a run counts as an empty ranking",
    "by the campaign's rules, an unjudged or unknown document is irrelevant",
)


def check_judged(runs: Mapping[str, str], qrels: str, least: float) -> dict[str, float]:
    """Return run -> judged share of its first 10 documents, over the topics that it has.

    InputError: a run has less than the share `least`, in [0, 1].
    """
    from pnyx.search.measures.retrieval import measure_retrieval
    from pnyx.stats.base import Bootstrap

    judged = measure_retrieval(runs, qrels, ("Judged@10",), bootstrap=Bootstrap(draws=0))
    shares: dict[str, float] = {}
    for run in judged.runs:
        values = (v["Judged@10"].value for t, v in run.per_topic.items() if t not in run.absent)
        measured = [value for value in values if value is not None]
        shares[run.name] = sum(measured) / len(measured)  # never 0: a run without topics is refused
    return enough(shares, "its first 10 documents", least)
