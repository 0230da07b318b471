"""`pnyx measure retrievers`: TREC runs against annotated pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import click

from pnyx.app.measure_specs import ComparingSpec
from pnyx.app.spec import Spec, opt
from pnyx.cli.measure_runs import (
    DIFFERENCE,
    difference_cells,
    draws_legend,
    few_warning,
    finish,
    listed,
    named_runs,
    test_legend,
)
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.cli.measure_runs import Part
    from pnyx.measure.retrievers import Retrievers

__all__ = ["RetrieversSpec", "retrievers"]

_HELP = """Rank retrievers: RUNs (TREC run files) by agreement with annotated pairs.

Kendall's tau-b between a run's scores and the annotated probabilities of relevance, within each
question; then the mean over questions, with a 95 % interval from drawing questions anew. Each run
is compared with each other (with --baseline, only with that one): difference, its interval and a
paired two-sided test, corrected by Holm-Bonferroni over all comparisons.

\b
--documents-of run          annotated documents that the run has
--documents-of every-run    those that every run has
--documents-of annotations  all; those missing from a run tied in last place

Unscored annotations and documents without one are left out and counted. docs/measures.md defines
all of this; the t-test needs pip install 'pnyx[retrieval]'.
Exit status 3: an annotation is unscored, or tau is not defined for some question.
"""

_EXAMPLE = """\b
Example:
  pnyx judge relevance --run pool.run --index my.index --topics topics.tsv \\
    --out results
  pnyx measure retrievers bm25.run dense.run --annotations results
"""


@dataclass(frozen=True, kw_only=True)
class _AnnotatedSpec(Spec):
    """Which annotations runs are compared with."""

    heading: ClassVar[str] = "Annotations"

    annotations: str = opt(
        ...,
        "JSONL or Parquet with question_id, doc_id, probability; or a results folder.",
        metavar="FILE",
        raw=True,
    )
    judge: str | None = opt(
        None, "Judge whose annotations are used, if the file has several.", metavar="NAME"
    )
    documents_of: Literal["run", "every-run", "annotations"] = opt(
        "run", "Documents on which a run is compared."
    )
    per_question: bool = opt(False, "Show each question's values, too.")


@dataclass(frozen=True, kw_only=True)
class RetrieversSpec(ComparingSpec, _AnnotatedSpec):
    """All that is chosen."""


@verb("retrievers", short_help="TREC runs, on annotated pairs.", help=_HELP, epilog=_EXAMPLE)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@takes("spec", RetrieversSpec)
@json_option
def retrievers(runs: tuple[str, ...], spec: RetrieversSpec, as_json: bool) -> int:
    """Rank retrievers; see `_HELP`."""
    names, baseline = named_runs(runs, spec.baseline, spec.annotations)
    from pnyx.judge.verdicts import read_annotations
    from pnyx.measure.retrievers import measure_retrievers

    found = measure_retrievers(
        names,
        read_annotations(spec.annotations, judge=spec.judge),
        documents_of=spec.documents_of,
        baseline=baseline,
        test=spec.test,
        bootstrap=spec.bootstrap,
    )
    return finish(
        found.row(),
        _notes(found),
        lambda: _report(found, spec),
        as_json,
        unscored=found.undefined or found.unscored,
    )


def _notes(found: Retrievers) -> list[str]:
    """Return what a reader of the numbers must know, a line each."""
    notes = []
    if found.unscored:
        total = found.unscored + found.annotated
        notes.append(f"{found.unscored} of {total} annotations are unscored and left out")
    for run in found.runs:
        name = shorten(run.name, 40)
        if run.absent:
            notes.append(f"{name}: {listed(run.absent, 'question')} absent, without a value")
        if run.unannotated:
            notes.append(f"{name}: {listed(run.unannotated, 'topic')} not annotated, left out")
        if run.not_annotated:
            notes.append(f"{name}: {run.not_annotated} documents not annotated, left out")
        if run.not_retrieved:
            do = "in the last place" if found.documents_of == "annotations" else "left out"
            notes.append(f"{name}: {run.not_retrieved} annotated documents not retrieved, {do}")
    if found.documents_of == "run" and len({run.not_retrieved for run in found.runs}) > 1:
        notes.append("warning: runs compared on different documents; see --documents-of")
    return notes + few_warning(found.bootstrap, found.questions, "question")


def _report(found: Retrievers, spec: RetrieversSpec) -> list[Part]:
    """Return the tables for people."""
    title = (
        f"retrievers: {len(found.runs)} on {found.annotated} annotated pairs, "
        f"{found.questions} questions of {shorten(spec.annotations, 200)}"
    )
    columns = (
        Column("run"),
        Column("Kendall's tau-b, 95 % interval", "figure"),
        Column("questions", "counts"),
        Column("documents", "counts"),
    )
    rows = [
        (shorten(run.name, 40), run.tau, run.tau, (run.compared, found.annotated))
        for run in found.runs
    ]
    parts: list[Part] = [Table(columns, rows, title=title)]
    parts += [_compared(found)] if found.comparisons else []
    parts += [_questions(found)] if spec.per_question else []
    return [*parts, draws_legend("the questions", found.bootstrap)]


def _compared(found: Retrievers) -> Table:
    rows = []
    for c in found.comparisons:
        *cells, corrected, effect = difference_cells(c)
        mark = " *" if c.significant else ""
        rows.append([shorten(c.run, 40), shorten(c.other, 40), *cells, corrected + mark, effect])
    tested = test_legend(found.test, found.comparisons)
    legend = f"*: {tested}; d: mean difference in standard deviations"
    return Table([Column("run"), Column("less"), *DIFFERENCE], rows, legend=[legend])


def _questions(found: Retrievers) -> Table:
    columns = [Column(shorten(run.name, 40), "number") for run in found.runs]
    rows = [
        (shorten(question, 40), *(run.per_question[question].value for run in found.runs))
        for question in found.runs[0].per_question
    ]
    return Table([Column("question"), *columns], rows)
