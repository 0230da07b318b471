"""`pnyx check`: can a judge be trusted, by a table of its verdicts and people's labels?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import click

from pnyx.app.measure_specs import BootstrapSpec
from pnyx.app.spec import Spec, file_opt, opt, out_opt
from pnyx.app.text_types import FileName, Words
from pnyx.cli.common.options import Outcome, refuse_same_file, refuse_two_outputs
from pnyx.cli.common.params import Raw, verb
from pnyx.errors import OptionError, escaped

if TYPE_CHECKING:
    from pnyx.audit.checks.check import Check

EXIT_WORSE = 1


class _ColumnsSpec(Spec, heading="Columns", rare="id cost"):
    """What the columns of the table hold."""

    judge: tuple[Words, ...] = opt(
        (), "Column of a judge's verdicts. Repeatable.", metavar="COL", shown="guessed"
    )
    human: tuple[Words, ...] = opt(
        (), "Column of a person's labels. Repeatable.", metavar="COL", shown="guessed"
    )
    group: Words | None = opt(
        None, "Column of what clusters the rows, such as their question.", metavar="COL"
    )
    id: Words | None = opt(None, "Column of ids.", metavar="COL")
    probability: tuple[Words, ...] = opt(
        (), "Column of probabilities of yes, for each judge. Repeatable.", metavar="COL"
    )
    yes: tuple[Words, ...] = opt(
        (), "Values that mean yes, such as 4,5. Repeatable.", metavar="VALUES"
    )
    no: tuple[Words, ...] = opt((), "Values that mean no. Repeatable.", metavar="VALUES")
    labels: FileName | None = file_opt(None, "People's labels in a file of their own, by id.")
    cost: tuple[Words, ...] = opt(
        (), "Column of US dollars an answer, for each judge. Repeatable.", metavar="COL"
    )


class _DecisionSpec(Spec, heading="Decision"):
    """What is good enough."""

    bar: tuple[Words, ...] = opt(
        (),
        "What the judge must reach, e.g. kappa=0.6; of ece, brier and mean_absolute_error the "
        "most. Repeatable.",
        metavar="MEASURE=VALUE",
    )
    against: FileName | None = file_opt(None, "Earlier check (--out) to compare with.")
    margin: float | None = opt(
        None,
        "Accuracy that a cheaper judge may lose, or by how much a figure may be worse than in "
        "--against.",
        within="(0, 1)",
        shown="0.02, with --against 0.1",
    )

    @property
    def bars(self) -> dict[str, float]:
        """Measure -> bar; OptionError: one is not MEASURE=VALUE, or a measure is given twice."""
        bars: dict[str, float] = {}
        for text in self.bar:
            name, _, number = text.partition("=")
            try:
                value = float(number)
            except ValueError:
                value = math.nan
            if not name.strip() or not math.isfinite(value):
                expected = "expected MEASURE=VALUE, such as kappa=0.6"
                raise OptionError(f"--bar {escaped(text, 60)}: {expected}")
            if name.strip() in bars:
                raise OptionError(f"--bar {escaped(text, 60)}: the measure is given twice")
            bars[name.strip()] = value
        return bars


class _OutputSpec(Spec, heading="Output"):
    """What is written."""

    html: FileName | None = out_opt(None, "Write all of it as one page, with the disagreements.")
    out: FileName | None = out_opt(None, "Write it as JSON, for --against.", "-o", "--out")


class CheckTableSpec(BootstrapSpec, _OutputSpec, _DecisionSpec, _ColumnsSpec):
    """All that is chosen."""


@verb("check", short_help="Can a judge be trusted? Its verdicts against people's labels.")
@click.argument("table", type=Raw())
def command(table: FileName, spec: CheckTableSpec, as_json: bool) -> int:
    """Check a judge against people's labels in one TABLE.

    TABLE is CSV, TSV, JSON, JSON Lines, Parquet or XLSX with a row for each answer, or a results
    folder of pnyx judge (with --labels). Rows without a label turn on the corrected rate. Of
    several people the majority counts, of ratings the mean. Several judges are compared on the same
    rows, and the cheapest that is good enough is named (--cost).

    Intervals are 95 %, by a bootstrap over the groups. A bar is reached if the whole interval is at
    or above it, missed if all of it is below. Without --bar, a kappa of at least 0.6 is called
    trustworthy (Landis and Koch 1977), of ratings an ordinal alpha of at least 0.667.

    Exit status with --bar, of all judges: 0 above, 1 below, 3 cannot tell yet (or something is
    unscored). Without --bar: 0, or 3 if something is unscored. With --against: 1 if a figure is
    worse by more than --margin.

    Further: pnyx audit agreement (people with people), pnyx audit stress (trials), pnyx audit card
    (one page on a judge), pnyx audit check (the same trials later), pnyx compare judges (costs from
    results folders), pnyx measure --rates (corrected rates of answers and labels files).

    \b
    Example:
      pnyx check results.csv --judge verdict --human label --group question
      pnyx check results.csv --judge verdict --human label --bar kappa=0.6 --bar tpr=0.8
      pnyx check results.csv --judge small --judge large --human label --html check.html
      pnyx check later.csv --judge verdict --human label --against check.json
    """
    refuse_two_outputs("--html", spec.html, as_json=as_json)
    refuse_two_outputs("--out", spec.out, as_json=as_json)
    for flag, file in (("--html", spec.html), ("--out", spec.out)):
        refuse_same_file(flag, file, TABLE=table, **{"--labels": spec.labels})
    if table == spec.labels == "-":
        raise OptionError("only one file can be standard input")
    from pnyx.audit.checks.check import check

    checked = check(
        table,
        judge=spec.judge,
        human=spec.human,
        group=spec.group,
        id=spec.id,
        probability=spec.probability,
        yes=spec.yes,
        no=spec.no,
        labels=spec.labels,
        bars=spec.bars,
        cost=spec.cost,
        against=spec.against,
        margin=spec.margin,
        bootstrap=spec.bootstrap,
    )
    return _report(checked, spec, as_json=as_json)


def _report(checked: Check, spec: CheckTableSpec, *, as_json: bool) -> int:
    """Write and print a check, and return the exit status."""
    from pnyx.files import write_json, write_text
    from pnyx.view.check import check_html, check_text

    row: dict[str, Any] = checked.row()
    if spec.html is not None:
        write_text(spec.html, check_html(checked))
    if spec.out is not None:
        write_json(spec.out, row)
    text = "" if "-" in (spec.html, spec.out) else check_text(checked, spec.html or "")
    status = Outcome(row, text, checked.unscored).show(as_json=as_json)
    if any(moved.verdict == "worse" for moved in checked.drift):
        return EXIT_WORSE
    return checked.decide().exit_status if spec.bar else status
