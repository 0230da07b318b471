"""`pnyx measure retrievers`: TREC runs against annotated pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.measure_runs import (
    difference_cells,
    drawing_options,
    draws_legend,
    few_warning,
    finish,
    listed,
    run_names,
    test_legend,
    with_baseline,
)
from pnyx.cli.options import json_option
from pnyx.cli.tables import interval, number, table
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.retrievers import Retrievers

__all__ = ["retrievers"]

_HELP = """Rank retrievers: RUNs (TREC run files) by agreement with annotated pairs.

Kendall's tau-b between a run's scores and the annotated probabilities of relevance, within each
question; then the mean over questions, with a 95 % interval from drawing questions anew. Each run
is compared with each other (with --baseline, only with that one): difference, its interval and a
paired two-sided test, corrected by Holm-Bonferroni over all comparisons.

\b
--documents-of run          the annotated documents that the run has
--documents-of every-run    those that every run has
--documents-of annotations  all; those that a run lacks share its last place

Unscored annotations and documents without one are left out and counted. docs/measures.md defines
all of this; the t-test needs pip install 'pnyx[retrieval]'.
Exit status 3: an annotation is unscored, or tau is not defined for some question.
"""

_EXAMPLE = """\b
Example:
  pnyx judge relevance --run pool.run --index my.index --topics topics.tsv --out results
  pnyx measure retrievers bm25.run dense.run --annotations results
"""


@click.command(
    name="retrievers",
    short_help="TREC runs, on annotated pairs.",
    help=_HELP,
    epilog=_EXAMPLE,
)
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--annotations",
    required=True,
    metavar="FILE",
    help="JSONL or Parquet with question_id, doc_id, probability; or a results folder.",
)
@click.option("--judge", metavar="NAME", help="Whose annotations, where FILE holds several's.")
@click.option("--baseline", metavar="RUN", help="Run that the others are compared with.")
@click.option(
    "--documents-of",
    type=click.Choice(["run", "every-run", "annotations"]),
    default="run",
    show_default=True,
    help="Documents on which a run is compared.",
)
@click.option(
    "--test",
    type=click.Choice(["t", "randomisation"]),
    default="t",
    show_default=True,
    help="Paired test of two runs.",
)
@click.option("--per-question", is_flag=True, help="Show each question's values, too.")
@drawing_options
@json_option
def retrievers(
    runs: tuple[str, ...],
    annotations: str,
    judge: str | None,
    baseline: str | None,
    documents_of: Any,
    test: Any,
    per_question: bool,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Rank retrievers; see `_HELP`."""
    paths, chosen = with_baseline(list(runs), baseline)
    if [*paths, annotations].count("-") > 1:
        raise click.UsageError("only one of RUN and --annotations can be standard input")
    from pnyx.judge.verdicts import read_annotations
    from pnyx.measure.base import Bootstrap
    from pnyx.measure.retrievers import measure_retrievers

    names = dict(zip(paths, run_names(paths), strict=True))
    found = measure_retrievers(
        {name: path for path, name in names.items()},
        read_annotations(annotations, judge=judge),
        documents_of=documents_of,
        baseline=None if chosen is None else names[chosen],
        test=test,
        bootstrap=Bootstrap(draws, seed),
    )
    return finish(
        found.row(),
        _notes(found),
        lambda: _report(found, annotations, per_question),
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


def _report(found: Retrievers, annotations: str, per_question: bool) -> list[str]:
    """Return the tables for people."""
    lines = [
        f"retrievers: {len(found.runs)} on {found.annotated} annotated pairs, "
        f"{found.questions} questions of {shorten(annotations, 200)}",
        "",
    ]
    rows = [["run", "Kendall's tau-b", "95 % interval", "questions", "documents"]]
    for run in found.runs:
        tau = run.tau
        of = f"{tau.scored} of {tau.asked}"
        documents = f"{run.compared} of {found.annotated}"
        bounds = interval(tau.low, tau.high)
        rows.append([shorten(run.name, 40), number(tau.value), bounds, of, documents])
    lines += table(rows)
    if found.comparisons:
        lines += ["", *table(_compared(found), left=2), "", _legend(found)]
    if per_question:
        names = [shorten(run.name, 40) for run in found.runs]
        rows = [["question", *names]]
        for question in found.runs[0].per_question:
            values = [number(run.per_question[question].value) for run in found.runs]
            rows.append([shorten(question, 40), *values])
        lines += ["", *table(rows)]
    legend = draws_legend("the questions", found.bootstrap)
    return [*lines, "", *legend] if legend else lines


def _compared(found: Retrievers) -> list[list[str]]:
    rows = [["run", "less", "difference", "95 % interval", "p", "p (Holm)", "d"]]
    for c in found.comparisons:
        *cells, corrected, effect = difference_cells(c)
        mark = " *" if c.significant else ""
        rows.append([shorten(c.run, 40), shorten(c.other, 40), *cells, corrected + mark, effect])
    return rows


def _legend(found: Retrievers) -> str:
    tested = test_legend(found.test, found.comparisons)
    return f"*: {tested}; d: mean difference in standard deviations"
