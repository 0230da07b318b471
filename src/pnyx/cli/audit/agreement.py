"""`pnyx audit agreement`: a judge with people, beside people with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from pnyx.app.measure_specs import BootstrapSpec, JudgedSpec
from pnyx.app.spec import file_opt
from pnyx.cli.common.params import verb
from pnyx.cli.measure.runs import draws_legend, few_warning, finish
from pnyx.errors import OptionError
from pnyx.view.trials import rater_table, rater_title

if TYPE_CHECKING:
    from pnyx.cli.measure.runs import Part
    from pnyx.measure.answers.raters import RaterAgreement

__all__ = ["agreement"]


class RatersSpec(BootstrapSpec, JudgedSpec, heading="Labels"):
    """Whose answers are compared, and with which labels."""

    labels: tuple[str, ...] = file_opt(
        (), "People's labels (JSONL). Repeatable: files are also compared with each other."
    )


@verb("agreement", short_help="A judge with people, beside people with each other.")
@click.argument("answers")
def agreement(answers: str, spec: RatersSpec, as_json: bool) -> int:
    """Compare a judge's ANSWERS (answers.jsonl, or its results folder) with people's labels.

    Krippendorff's alpha (nominal, ordinal, interval), exact agreement, Cohen's kappa, Spearman's
    and Kendall's correlation, for each dimension and as their mean, with 95 % intervals from a
    bootstrap over groups (topics) or items. Several files of labels are also compared with each
    other, and so are the raters (annotator) within a file. Joined on id and dimension; of several
    raters the mean counts, of yes and no the majority. docs/measures.md defines each. Exit status
    3: some of the labelled questions are unscored.

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

    found = measure_raters(answers, spec.labels, judge=spec.judge, bootstrap=spec.bootstrap)
    notes = few_warning(found.bootstrap, found.clusters, found.clustered_by)
    if found.unscored:
        notes.insert(0, f"{found.unscored} of the labelled questions are unscored and left out")
    return finish(found.row(), notes, lambda: _report(found), as_json, unscored=found.unscored)


def _report(found: RaterAgreement) -> list[Part]:
    parts: list[Part] = []
    for one in found.row()["compared"]:
        parts += [[rater_title(one)], rater_table(one)]
    drawn = f"{found.clusters} {found.clustered_by}s"
    return [*parts, draws_legend(drawn, found.bootstrap)]
