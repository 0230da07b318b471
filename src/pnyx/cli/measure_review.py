"""`pnyx measure review`: what people say of the disagreements that `pnyx annotate review` drew."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import click

from pnyx.app.spec import Spec, opt
from pnyx.cli.params import json_option, takes, verb
from pnyx.errors import shorten
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.measure.base import Measured
    from pnyx.measure.reviewed import Reviewed

__all__ = ["review"]


@dataclass(frozen=True, kw_only=True)
class CheckedSpec(Spec):
    """How answers to disagreements are summed up."""

    heading: ClassVar[str] = "Measure"

    threshold: float = opt(
        0.95, "Confidence that separates the two parts of the table.", low=0, high=1
    )
    seed: int = opt(0, "Random seed of the intervals.", low=0)


@verb("review", short_help="Who is right where a judge and labels disagree.")
@click.argument("file", metavar="REVIEW", type=click.Path())
@takes("own", CheckedSpec)
@json_option
def review(file: str, own: CheckedSpec, as_json: bool) -> int:
    """Say how often the judge is right where it disagrees with the labels, by people's answers.

    REVIEW is what pnyx annotate review wrote, filled in. Shares by the judge's confidence and by
    what the labels say, as in DIRAS's Tables 5 and 8, with Wilson's 95 % intervals; unclear and
    unanswered pairs count for neither side and are reported. Below is an estimate for all
    disagreements, weighted by stratum size.

    \b
    Example:
      pnyx measure review review.csv --json
    """
    from pnyx.annotate.reviewing import read_review
    from pnyx.measure.reviewed import measure_review

    checked = read_review(file)
    found = measure_review(checked, threshold=own.threshold, seed=own.seed)
    if as_json:
        click.echo(json.dumps(found.row(), allow_nan=False))
    else:
        click.echo(_report(found, checked[0].judge))
    return 0


_COLUMNS = (
    Column("confidence"),
    Column("labels"),
    Column("judge is right", "figure"),
    Column("clear of asked", "counts"),
    Column("unclear", "count"),
    Column("open", "count"),
)


def _report(found: Reviewed, judge: str) -> str:
    at = f"{found.threshold:g}"
    share = "" if found.share_above is None else f" ({found.share_above:.2%} above {at})"
    named = {f"at most {at}": found.table["at_most"], f"above {at}": found.table["above"]}
    named |= {f"({low:g}, {high:g}]": cells for (low, high), cells in found.bins.items()}
    named["any"] = found.table["any"]
    rows: list[tuple[Any, ...]] = []
    for name, cells in named.items():
        for i, (of, cell) in enumerate(cells.items()):
            m = cell.accuracy
            counts = f"{m.scored} of {m.asked}", cell.unclear, m.asked - cell.answered
            rows.append((name if i == 0 else "", of, m, *counts))
    estimate = found.estimate
    table = Table(
        _COLUMNS,
        rows,
        title=f"disagreements of {shorten(judge) or 'the judge'} with labels{share}",
    )
    left = f"nothing is said of {estimate.left_out} in strata without an answer"
    below = Table(
        (Column("answer"), Column("disagreements", "number")),
        [
            ("the judge is right", _whole(estimate.judge)),
            ("the labels are right", _whole(estimate.labels)),
            ("unclear", _whole(estimate.unclear)),
        ],
        notes=(left,) if estimate.left_out else (),
        title=f"estimate for all {estimate.disagreements} disagreements, weighted by stratum size",
    )
    return f"{table.text()}\n\n{below.text()}"


def _whole(m: Measured) -> str:
    """Return a number of disagreements with its interval."""
    shown = "-" if m.value is None else f"{m.value:.0f}"
    bounds = "" if m.low is None or m.high is None else f" [{m.low:.0f}, {m.high:.0f}]"
    return shown + bounds
