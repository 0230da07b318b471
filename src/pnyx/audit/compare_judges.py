"""`pnyx compare judges`: choose one of several judges."""

from __future__ import annotations

from typing import Literal

import click

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome, refuse_two_outputs
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError, escaped
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.formats.runs.sources import run_names
from pnyx.judging.measures.options import BootstrapSpec


class ChoosingSpec(BootstrapSpec, heading="Choice"):
    """What to compare judges by, and what is good enough."""

    labels: str = file_opt(..., "People's labels (JSONL).", metavar="LABELS")
    margin: float = opt(
        0.02, "Accuracy that may be lost: choose it before looking.", within="(0, 1)"
    )
    baseline: str | None = opt(
        None, "Judge to compare the others with.", metavar="NAME", default_text="the most accurate"
    )
    by: Literal["dollars", "seconds"] = opt("dollars", "Cost to minimize.")
    prices: str | None = file_opt(None, "Prices of models (TOML); they override the packaged ones.")
    card: tuple[str, ...] = file_opt(
        (), "Card of a judge (pnyx audit card, .json), for its trials. Repeatable."
    )
    html: str | None = out_opt(None, "Write everything as one HTML file.")


@verb("judges", short_help="Choose one of several judges.")
@click.argument("answers", nargs=-1, required=True, metavar="ANSWERS...")
def judges(answers: tuple[str, ...], spec: ChoosingSpec, as_json: bool) -> Outcome:
    """Compare the judges of several results folders on the items that all of them were asked.

    For each judge: accuracy, F1, AUROC, calibration error and Brier score with 95 % intervals,
    dollars per 1,000 answers, seconds per answer, and the trials of its --card. No model is asked:
    costs are those in the folders' manifests, at the prices of --prices.

    Each judge is tested against the most accurate (--baseline): is it less accurate by --margin or
    more? Judges for which this is ruled out (p of Tango's score test, corrected by Holm-Bonferroni,
    < 0.025) are good enough, and the cheapest of them is named. So is a cascade of two, if cheaper:
    a cheap judge that answers when confident, and an expensive one for the rest. Its thresholds are
    chosen on one half of the labels (drawn by --seed, whole groups); all its figures are from the
    other half. docs/reference/measures.md defines each. Exit status 3: some answers are unscored.

    \b
    Example:
      pnyx judge support items.jsonl --out packaged
      pnyx judge support items.jsonl --judge openai:gpt-4o-mini --out mini
      pnyx compare judges packaged mini --labels people.jsonl --margin 0.05 \\
        --html judges.html
    """
    refuse_two_outputs("--html", spec.html, as_json=as_json)
    if len(answers) < 2:
        raise OptionError("give the results of two judges or more")
    if len(set(answers)) < len(answers):
        raise OptionError("the same results are given twice")
    named = dict(zip(run_names(answers), answers, strict=True))
    if spec.baseline is not None and spec.baseline not in named:
        names = escaped(", ".join(named), 200)
        raise OptionError(f"--baseline {escaped(spec.baseline, 60)}: expected one of {names}")
    from pnyx.audit.card_file import read_card
    from pnyx.audit.display.judges import judge_notes, judge_parts, judges_html
    from pnyx.audit.judge_choice import choose_judge
    from pnyx.core.files import write_text
    from pnyx.models.chat.prices import read_prices

    result = choose_judge(
        named,
        spec.labels,
        margin=spec.margin,
        by=spec.by,
        baseline=spec.baseline,
        prices=None if spec.prices is None else read_prices(spec.prices),
        cards=[read_card(path) for path in spec.card],
        bootstrap=spec.bootstrap,
    )
    accuracy = [judge.measures["accuracy"] for judge in result.judges]
    unscored = any(m.scored < m.asked for m in accuracy)
    if spec.html is not None:
        write_text(spec.html, judges_html(result))
    few = few_warning(result.bootstrap, result.clusters, "cluster")
    notes = [*judge_notes(result), *few]
    parts = [] if spec.html == "-" else judge_parts(result)
    return Outcome(result.row(), parts, unscored, notes)
