"""`pnyx audit agreement`: a judge with people, beside people with each other."""

from __future__ import annotations

from typing import Any

import click

from pnyx.app.measure_specs import BootstrapSpec, JudgedSpec
from pnyx.app.spec import file_opt
from pnyx.cli.common.options import Outcome
from pnyx.cli.common.params import verb
from pnyx.cli.measure.runs import few_warning
from pnyx.errors import OptionError
from pnyx.view.tables import draws_legend
from pnyx.view.trials import rater_parts

_OF_YES_AND_NO = ("f1", "average_precision", "auroc")


class RatersSpec(BootstrapSpec, JudgedSpec, heading="Labels"):
    """Whose answers are compared, and with which labels."""

    labels: tuple[str, ...] = file_opt(
        (), "People's labels (JSONL). Repeatable: files are also compared with each other."
    )


@verb("agreement", short_help="A judge with people, beside people with each other.")
@click.argument("answers")
def agreement(answers: str, spec: RatersSpec) -> Outcome:
    """Compare a judge's ANSWERS (answers.jsonl, or its results folder) with people's labels.

    Krippendorff's alpha (nominal, ordinal, interval), accuracy, Cohen's kappa, Spearman's
    and Kendall's correlation, for each dimension and as their mean, with 95 % intervals from a
    bootstrap over groups (topics) or items. Several files of labels are also compared with each
    other, and so are the raters (annotator) within a file. Joined on id and dimension; of several
    raters the mean counts, of yes and no the majority. Answers of yes and no also get F1, average
    precision and AUROC, as of pnyx measure. docs/measures.md defines each. Exit status 3: some of
    the labelled questions are unscored.

    \b
    Example:
      pnyx audit agreement results --labels people.jsonl
      pnyx audit agreement results --labels experts.jsonl --labels crowd.jsonl
    """
    if not spec.labels:
        raise OptionError("Missing option '--labels'.")
    if [answers, *spec.labels].count("-") > 1:
        raise OptionError("only one file can be standard input")
    if len(set(spec.labels)) < len(spec.labels):
        raise OptionError("--labels names a file twice")
    from pnyx.measure.answers.raters import measure_raters

    result = measure_raters(answers, spec.labels, judge=spec.judge, bootstrap=spec.bootstrap)
    notes = few_warning(result.bootstrap, result.clusters, result.clustered_by)
    if result.unscored:
        notes.insert(0, f"{result.unscored} of the labelled questions are unscored and left out")
    row = result.row()
    for pair, labels in zip(
        row["compared"], spec.labels, strict=False
    ):  # the judge with each first
        if "-" not in (answers, labels) and (measured := _as_measured(answers, labels, spec)):
            pair["answers"] = measured
    legend = draws_legend(f"{result.clusters} {result.clustered_by}s", result.bootstrap)
    return Outcome(row, [*rater_parts(row), legend], result.unscored, notes)


def _as_measured(answers: str, labels: str, spec: RatersSpec) -> dict[str, Any]:
    """Return what `pnyx measure` says of yes and no, where it can; see `_OF_YES_AND_NO`."""
    from pnyx.judge.questions import Support
    from pnyx.judge.tasks import TASKS
    from pnyx.judge.verdicts import read_verdicts
    from pnyx.measure.answers.agreement import measure_agreement

    first = next(iter(read_verdicts(answers)))
    task = TASKS.get(first.task)
    if first.task != "perspectives" and (task is None or task.kind is not Support):
        return {}
    measured = measure_agreement(answers, labels, judge=spec.judge, bootstrap=spec.bootstrap)
    measures = {name: measured.measures.get(name) for name in _OF_YES_AND_NO}
    return {n: m.row() for n, m in measures.items() if m is not None and m.value is not None}
