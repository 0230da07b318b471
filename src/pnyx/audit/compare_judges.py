"""`pnyx compare judges`: which of several judges to take."""

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
    """What judges are held against, and what is good enough."""

    labels: str = file_opt(..., "People's labels (JSONL).", metavar="LABELS")
    margin: float = opt(
        0.02, "Accuracy that may be lost: choose it before looking.", within="(0, 1)"
    )
    baseline: str | None = opt(
        None, "Judge not to fall behind.", metavar="NAME", default_text="the most accurate"
    )
    by: Literal["dollars", "seconds"] = opt("dollars", "What is to be cheap.")
    prices: str | None = file_opt(None, "Prices of models (TOML); they override the packaged ones.")
    card: tuple[str, ...] = file_opt(
        (), "Card of a judge (pnyx audit card, .json), for its trials. Repeatable."
    )
    html: str | None = out_opt(None, "Write all of it as one HTML file.")


@verb("judges", short_help="Which of several judges to take.")
@click.argument("answers", nargs=-1, required=True, metavar="ANSWERS...")
def judges(answers: tuple[str, ...], spec: ChoosingSpec, as_json: bool) -> Outcome:
    """Compare the judges of several results folders on the items that all were asked about.

    Of each: accuracy, F1, AUROC, calibration error and Brier score with 95 % intervals, dollars for
    1,000 answers, seconds an answer, and the trials of its --card. Nothing is asked again: costs
    are what the folders' manifests say, at the prices of --prices.

    Each judge is tested against the most accurate (--baseline): is it less accurate by --margin or
    more? Those that are shown not to be (p of Tango's score test, corrected by Holm-Bonferroni,
    < .025) are good enough, and the cheapest of them is named. So is a cascade of two, if cheaper:
    a cheap judge that answers where it is sure, and a dear one for the rest. Its thresholds are
    chosen on one half of the labels (drawn by --seed, whole groups), all its figures are of the
    other. docs/measures.md defines each. Exit status 3: some answers are unscored.

    \b
    Example:
      pnyx judge support items.jsonl --out packaged
      pnyx judge support items.jsonl --llm openai:gpt-4o-mini --out mini
      pnyx compare judges packaged mini --labels people.jsonl --margin 0.05 \\
        --html judges.html
    """
    refuse_two_outputs("--html", spec.html, as_json=as_json)
    if len(answers) < 2:
        raise OptionError("give the results of two judges or more")
    if len(set(answers)) < len(answers):
        raise OptionError("the results of a judge are given twice")
    named = dict(zip(run_names(answers), answers, strict=True))
    if spec.baseline is not None and spec.baseline not in named:
        found = escaped(", ".join(named), 200)
        raise OptionError(f"--baseline {escaped(spec.baseline, 60)}: expected one of {found}")
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
    accuracy = [one.measures["accuracy"] for one in result.judges]
    unscored = any(m.scored < m.asked for m in accuracy)
    if spec.html is not None:
        write_text(spec.html, judges_html(result))
    few = few_warning(result.bootstrap, result.clusters, "cluster")
    notes = [*judge_notes(result), *few]
    parts = [] if spec.html == "-" else judge_parts(result)
    return Outcome(result.row(), parts, unscored, notes)
