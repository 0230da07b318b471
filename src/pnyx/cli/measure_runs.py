"""What the commands that measure runs share: their names, the baseline, notes, `--plot`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from pnyx.errors import InputError, shorten

__all__ = ["chance", "check_plot", "listed", "run_names", "with_baseline"]

_LISTED = 10
_SUFFIXES = {".gz", ".txt", ".run", ".trec", ".res", ".tsv"}


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


def chance(p: float | None) -> str:
    """Return a p-value with four digits, a dash where there is none."""
    if p is None:
        return "-"
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"
