"""What measuring commands share: names of runs, the baseline, tests, draws and `--plot`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pnyx.cli.tables import interval
from pnyx.cli.values import NumberRange
from pnyx.errors import InputError, shorten

if TYPE_CHECKING:
    from pnyx.measure.comparisons import Compared

__all__ = [
    "BETTER",
    "WORSE",
    "MeasuresCommand",
    "chance",
    "check_plot",
    "difference_cells",
    "drawing_options",
    "draws_legend",
    "few_warning",
    "listed",
    "margin_cells",
    "margin_legend",
    "margin_option",
    "mark",
    "rearranged_note",
    "run_names",
    "shift_option",
    "spaced",
    "test_legend",
    "with_baseline",
]

BETTER, WORSE = "▲", "▼"

_MEASURE = re.compile(r"[^\W\d]\w*(\(.*\))?(@[\w.]+)?")
_FEW = 10
_LISTED = 10
_SUFFIXES = {".gz", ".txt", ".run", ".trec", ".res", ".tsv"}


class MeasuresCommand(click.Command):
    """A command whose --measure takes several values in a row."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat --measure before what follows one and is neither option nor file."""
        spread: list[str] = []
        naming = False
        for place, argument in enumerate(args):
            given = place > 0 and args[place - 1] == "--measure"
            naming = given or (naming and _reads_as_measure(argument))
            spread += ["--measure", argument] if naming and not given else [argument]
        return super().parse_args(ctx, spread)


def _reads_as_measure(argument: str) -> bool:
    return _MEASURE.fullmatch(argument) is not None and not Path(argument).exists()


def check_plot(plot: str | None) -> None:
    """Refuse a name that is not that of an SVG picture.

    Raises:
        click.UsageError: it ends in something else.
    """
    if plot is not None and not plot.endswith(".svg"):
        raise click.UsageError(f"--plot {shorten(plot)}: expected a name that ends in .svg")


def with_baseline(paths: list[str], baseline: str | None) -> tuple[list[str], str | None]:
    """Return the runs' files and which is the baseline, which may be a further one.

    Raises:
        InputError: a run is given twice, or the baseline is neither a run nor a file.
    """
    twice = next((p for p in paths if paths.count(p) > 1), None)
    if twice is not None:
        raise InputError("the run is given twice", path=twice)
    if baseline is None or baseline in paths:
        return paths, baseline
    named = dict(zip(run_names(paths), paths, strict=True))
    if baseline in named:
        return paths, named[baseline]
    if not Path(baseline).exists():
        known = shorten(", ".join(paths), 200)
        raise InputError(f"--baseline {shorten(baseline)}: is neither a file nor one of {known}")
    return [baseline, *paths], baseline


def run_names(paths: Sequence[str]) -> list[str]:
    """Return the files' names without folder and endings, if these tell them apart."""
    names = []
    for path in paths:
        name = Path(path)
        while name.suffix in _SUFFIXES and name.stem:
            name = name.with_suffix("")
        names.append(name.name)
    return names if len(set(names)) == len(names) and all(names) else list(paths)


def listed(topics: Sequence[str], what: str = "topic") -> str:
    """Return how many topics these are, and the first of them."""
    shown = ", ".join(shorten(topic, 30) for topic in topics[:_LISTED])
    more = f" and {len(topics) - _LISTED} more" if len(topics) > _LISTED else ""
    return f"{len(topics)} {what}{'s' if len(topics) > 1 else ''} ({shown}{more})"


def drawing_options(function: Any) -> Any:
    """Add --draws and --seed."""
    for option in (
        click.option(
            "--seed",
            type=click.IntRange(0),
            default=0,
            show_default=True,
            help="Of all that is drawn.",
        ),
        click.option(
            "--draws",
            type=click.IntRange(0, 1_000_000),
            default=1000,
            show_default=True,
            help="Draws of the bootstrap; 0 for no intervals.",
        ),
    ):
        function = option(function)
    return function


margin_option = click.option(
    "--margin",
    type=NumberRange(0, min_open=True),
    metavar="X",
    help="Also test that a run is not lower than the baseline by X or more (choose X beforehand).",
)


shift_option = click.option(
    "--shift",
    type=NumberRange(0),
    metavar="S",
    help="Where the pairs of --labelled come from another corpus or retriever: standard deviation "
    "of how far the judge's log-odds may be off on those measured (0.7: odds twice or half).",
)


def margin_cells(c: Compared | None) -> list[str]:
    """Return the one-sided p against the margin, the corrected one, and what is shown."""
    if c is None or c.against is None:
        return ["", "", ""]
    against = c.against
    return [chance(against.p_not_lower), chance(against.p_not_lower_holm), c.conclusion]


def margin_legend(comparisons: Sequence[Compared]) -> list[str]:
    """Say what is shown by the tests against a margin, if there are any."""
    from pnyx.measure.significance import ONE_SIDED

    margin = next((c.against.margin for c in comparisons if c.against), None)
    if margin is None:
        return []
    level = f"{ONE_SIDED:g}".removeprefix("0")
    return [
        f"not lower: than the baseline by {margin:g} or more, one-sided p (Holm) < {level}; "
        "equivalent: nor higher; inconclusive: shown neither"
    ]


def difference_cells(c: Compared) -> list[str]:
    """Return the difference, its interval, p, the corrected p and the effect size."""
    difference, effect = c.test.difference, c.test.effect
    return [
        "-" if difference is None else f"{difference:+.3f}",
        interval(c.low, c.high),
        chance(c.test.p),
        chance(c.p_holm),
        "-" if effect is None else f"{effect:+.2f}",
    ]


def mark(c: Compared | None) -> str:
    """Return what marks a significant difference; empty where there is none."""
    if c is None or not c.significant or c.test.difference is None:
        return ""
    return BETTER if c.test.difference > 0 else WORSE


def spaced(lines: Sequence[str], runs: int) -> list[str]:
    """Put an empty line between the measures of a table where each has several runs."""
    header, *rest = lines
    if runs == 1:
        return list(lines)
    blocks = [rest[n : n + runs] for n in range(0, len(rest), runs)]
    return [header, *(line for block in blocks for line in ("", *block))]


def rearranged_note(topics: int) -> str:
    """Say which order counts where a run's rank column has another one for some topics."""
    have = "1 topic has" if topics == 1 else f"{topics} topics have"
    return (
        f"{have} another order by rank than by score; the score counts, equal ones by document "
        "id, last first (trec_eval)"
    )


def chance(p: float | None) -> str:
    """Return a p-value with four digits, a dash where there is none."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def test_legend(test: str, comparisons: Sequence[Compared]) -> str:
    """Say what marks a significant difference."""
    tests = sum(c.p_holm is not None for c in comparisons)
    named = "t-test" if test == "t" else "randomisation test"
    return (
        f"p < .05 in a two-sided paired {named}, Holm-Bonferroni over {tests} "
        f"comparison{'' if tests == 1 else 's'}"
    )


def draws_legend(drawn: str, draws: int, seed: int) -> str:
    """Say where intervals come from, by what is drawn, as in `the topics`."""
    return f"95 % intervals: {draws} draws (seed {seed}) of {drawn} with replacement, percentiles"


def few_warning(draws: int, count: int, what: str) -> list[str]:
    """Return a line where intervals come from draws of too few topics, or questions."""
    few = f"{count} {what}{'s' if count > 1 else ''}"
    warning = f"warning: intervals drawn from {few} are too narrow, or none"
    return [warning] if draws and count < _FEW else []
