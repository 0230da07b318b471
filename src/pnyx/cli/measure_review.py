"""`pnyx measure review`: what people say of the disagreements that `pnyx annotate review` drew."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from pnyx.cli.options import json_option
from pnyx.cli.tables import interval, number, table
from pnyx.cli.values import NumberRange
from pnyx.errors import shorten

if TYPE_CHECKING:
    from pnyx.measure.reviewed import Cell, Reviewed

__all__ = ["review"]


@click.command(name="review", short_help="What people say of disagreements with labels.")
@click.argument("file", metavar="REVIEW", type=click.Path())
@click.option(
    "--threshold",
    type=NumberRange(0, 1),
    default=0.95,
    show_default=True,
    help="Confidences above it against those at most it.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of intervals.")
@json_option
def review(file: str, threshold: float, seed: int, as_json: bool) -> int:
    """Say how often the judge is right where it disagrees with the labels, by people's answers.

    REVIEW is what pnyx annotate review wrote, filled in. Shares by the judge's confidence and by
    what the labels say, as in DIRAS's Tables 5 and 8, with Wilson's 95 % intervals; pairs that are
    unclear or have no answer count for neither side and are counted. Below, an estimate of how all
    disagreements would be answered, by the sizes of the strata.

    \b
    Example:
      pnyx measure review review.csv --json
    """
    from pnyx.annotate.reviewing import read_review
    from pnyx.measure.reviewed import measure_review

    checked = read_review(file)
    found = measure_review(checked, threshold=threshold, seed=seed)
    if as_json:
        click.echo(json.dumps(found.row(), allow_nan=False))
        return 0
    click.echo("\n".join(_report(found, checked[0].judge)))
    return 0


def _report(found: Reviewed, judge: str) -> list[str]:
    at = f"{found.threshold:g}"
    share = "" if found.share_above is None else f" ({found.share_above:.2%} above {at})"
    rows: list[Sequence[str]] = [("confidence", "labels", "judge is right", "95 % interval",
                                  "clear of asked", "unclear", "open")]  # fmt: skip
    named = {f"at most {at}": found.table["at_most"], f"above {at}": found.table["above"]}
    named |= {f"({low:g}, {high:g}]": cells for (low, high), cells in found.bins.items()}
    named["any"] = found.table["any"]
    for name, cells in named.items():
        rows += [
            _row(name if i == 0 else "", of, cell) for i, (of, cell) in enumerate(cells.items())
        ]
    estimate = found.estimate
    lines = [
        f"disagreements of {shorten(judge) or 'the judge'} with labels{share}",
        "",
        *table(rows, left=2),
        "",
        f"estimate for all {estimate.disagreements} disagreements, by the sizes of the strata:",
    ]
    for what, m in (
        ("the judge is right", estimate.judge),
        ("the labels are right", estimate.labels),
        ("unclear", estimate.unclear),
    ):
        shown = "-" if m.value is None else f"{m.value:.0f}"
        if m.low is not None and m.high is not None:
            shown += f" [{m.low:.0f}, {m.high:.0f}]"
        lines.append(f"  {what}: {shown}")
    if estimate.left_out:
        lines.append(f"  nothing is said of {estimate.left_out} in strata without an answer")
    return lines


def _row(name: str, of: str, cell: Cell) -> Sequence[str]:
    m = cell.accuracy
    counts = f"{m.scored} of {m.asked}", str(cell.unclear), str(m.asked - cell.answered)
    return (name, of, number(m.value), interval(m.low, m.high), *counts)
