"""`pnyx compare`: compare leaderboards with each other and with people's labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from pnyx.cli.options import Outcome, refuse_same_file
from pnyx.cli.params import verb
from pnyx.core.errors import InputError, OptionError, shorten
from pnyx.core.rooms import RoomCommands
from pnyx.core.spec import file_opt, opt, out_opt
from pnyx.judging.measures.options import BootstrapSpec
from pnyx.reports.compare_tables import notes_on, report_on
from pnyx.stats.base import TEST

if TYPE_CHECKING:
    from pnyx.formats import Leaderboard
    from pnyx.reports.leaderboards.agreement import LeaderboardsCompared
    from pnyx.reports.leaderboards.correction import CorrectedLeaderboard
    from pnyx.stats.significance import Comparison

_PICTURES = (".svg", ".html")


class CompareSpec(
    BootstrapSpec, heading="Comparison", rare="measures_a measures_b format baseline test"
):
    """What to compare, and how."""

    measures: tuple[str, ...] = opt((), "", "--measure", metavar="M", default_text="all in common")
    measure_a: tuple[str, ...] = opt(
        (), "Measure of the leaderboards, with --measure-b.", metavar="M"
    )
    measure_b: tuple[str, ...] = opt(
        (), "Measure of the reference that --measure-a is compared with.", metavar="M"
    )
    people: str | None = file_opt(
        None,
        "People's labels for some topics: the reference, used to correct the leaderboards.",
        metavar="LEADERBOARD",
    )
    format: tuple[str, ...] = opt((), metavar="NAME", default_text="recognised")
    differences: bool = opt(False, "Test the differences between the runs of each leaderboard.")
    baseline: str | None = opt(
        None,
        metavar="NAME",
        default_text="every pair of runs",
        needs=("--differences or --people", lambda spec: spec.differences or spec.people),
    )
    test: Literal["t", "randomisation"] = opt(TEST, needs="differences")
    plot: str | None = out_opt(None, metavar="FILE.svg|FILE.html")

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Measures of the leaderboards and of the reference; OptionError if one has no partner."""
        if len(self.measure_a) != len(self.measure_b):
            raise OptionError("--measure-a and --measure-b must be given equally often")
        return list(zip(self.measure_a, self.measure_b, strict=True))

    def check(self) -> None:
        """Reject options that exclude each other."""
        self.check_needs()
        if self.plot is not None and not self.plot.endswith(_PICTURES):
            raise OptionError(f"--plot {shorten(self.plot)}: expected a name in .svg or .html")


@verb(
    "compare",
    words=RoomCommands("compare"),
    gone={"judges": "use pnyx check RESULTS RESULTS --labels LABELS"},
)
@click.argument("leaderboards", nargs=-1, required=True, metavar="LEADERBOARD...")
def command(leaderboards: tuple[str, ...], spec: CompareSpec) -> Outcome:
    """Compare LEADERBOARDs with the last of them, or with --people: do they rank runs alike?

    Rank correlations of the runs, and the share of pairs of runs on which both leaderboards
    conclude the same, with 95 % intervals.

    \b
    Example:
      $ printf '%s\\tq1\\tF1\\t%s\\n' a 0.9 b 0.5 c 0.4 d 0.2 > judge.txt
      $ printf '%s\\tq1\\tF1\\t%s\\n' a 0.8 b 0.4 c 0.6 d 0.1 > people.txt
      $ pnyx compare judge.txt people.txt --format ir_measures
      ...
      figure           value  other topics       other runs  both
      Kendall's tau-b  0.667             -  [-1.000, 1.000]     -

    \b
    More: pnyx compare --help-all, docs/reference/measures.md.
    \f
    Kendall's tau-b, tau_AP and tau_GAP, in which errors at the top count more, Spearman, Pearson,
    from means over the topics that both have, with intervals for other topics, for other runs, and
    for both. Accuracy: both leaderboards conclude the same on a pair of runs (better, worse, no
    difference: Wilcoxon's test over topics, p < 0.05), as in the meta-evaluation of Auto-ARGUE.

    With --people, labels of a random sample of the topics correct each leaderboard
    (prediction-powered inference): they estimate the mean of people's labels over all topics. For
    measures from 0 to 1, the 95 % interval is valid however wrong the judge is; for the difference
    of two systems it is Student's.

    A leaderboard is a file of trec_eval, ir_measures or a track (docs/reference/formats.md), or a
    folder of such files. --format may be repeated, one for each in turn. docs/reference/measures.md
    defines all of this. Exit status 3: a figure is undefined, or a cell is missing.

    \b
      pnyx compare a.txt b.txt --measure-a F1 --measure-b recall --plot ab.svg
      pnyx compare judge.txt --people labels.txt --differences
    """
    spec.check()
    pairs = spec.pairs
    paths = [*leaderboards, *filter(None, (spec.people,))]
    _check_paths(paths, spec)
    boards = _read(paths, spec.format)
    from pnyx.reports.leaderboards.agreement import compare_leaderboards

    result = compare_leaderboards(
        boards[:-1], boards[-1], spec.measures, pairs=pairs, bootstrap=spec.bootstrap
    )
    corrected = _corrected(result, boards, spec) if spec.people is not None else []
    differences = _differences(result, boards, spec) if spec.differences else {}
    if spec.plot is not None:
        _draw(result, spec.plot)
    return Outcome(
        _row(result, corrected, differences, spec),
        lambda: report_on(result, corrected, differences, spec.test),
        any(comparison.undefined for comparison in result.comparisons)
        or any(run.unscored or run.absent for run in corrected),
        notes_on(result, boards, corrected),
    )


def _row(
    result: LeaderboardsCompared,
    corrected: Sequence[CorrectedLeaderboard],
    differences: Mapping[str, Sequence[Comparison]],
    spec: CompareSpec,
) -> dict[str, Any]:
    """Return the object of `--json`."""
    row = result.row()
    if spec.people is not None:
        row["corrected"] = [run.row() for run in corrected]
    if spec.differences:
        row["differences"] = {
            name: [c.row("other") | {"measure": c.measure} for c in of]
            for name, of in differences.items()
        }
    return row


def _differences(
    result: LeaderboardsCompared, boards: Sequence[Leaderboard], spec: CompareSpec
) -> dict[str, Sequence[Comparison]]:
    """Return leaderboard -> the tests of its differences."""
    from pnyx.reports.leaderboards.correction import system_differences

    return {
        board.name: system_differences(
            board,
            _used(result, board, last=board is boards[-1]),
            baseline=spec.baseline,
            test=spec.test,
            bootstrap=spec.bootstrap,
        )
        for board in boards
    }


def _check_paths(paths: Sequence[str], spec: CompareSpec) -> None:
    if len(paths) < 2:
        raise OptionError("give two leaderboards or more, or one and --people")
    if paths.count("-") > 1:
        raise OptionError("only one file can be standard input")
    if len(spec.format) > 1 and len(spec.format) != len(paths):
        raise OptionError(
            f"--format appears {len(spec.format)} times, expected once or {len(paths)} times"
        )
    refuse_same_file("--plot", spec.plot, **{f"file {n}": p for n, p in enumerate(paths, 1)})


def _read(paths: Sequence[str], formats: Sequence[str]) -> list[Leaderboard]:
    """Read all files; columns that cannot be identified are read as in the other files."""
    from pnyx.formats import read_leaderboard

    format_names = list(formats) * (len(paths) if len(formats) == 1 else 1)
    named: list[str | None] = [*format_names] if format_names else [None] * len(paths)
    boards: dict[int, Leaderboard] = {}
    refused: dict[int, InputError] = {}
    for number, (path, name) in enumerate(zip(paths, named, strict=True)):
        try:
            boards[number] = read_leaderboard(path, name)
        except InputError as error:
            if name is not None or not error.problem.endswith("name the format"):
                raise
            refused[number] = error
    for number, unclear in refused.items():
        like = next(iter(boards.values()), None)
        if like is None:
            raise unclear
        try:
            boards[number] = read_leaderboard(paths[number], like=like)
        except InputError:
            raise unclear from None
    names = [Path(path).name for path in paths]
    distinct = all(names) and len(set(names)) == len(names)
    labels = names if distinct else paths
    return [replace(boards[number], name=name) for number, name in enumerate(labels)]


def _corrected(
    result: LeaderboardsCompared, boards: Sequence[Leaderboard], spec: CompareSpec
) -> list[CorrectedLeaderboard]:
    from pnyx.reports.leaderboards.correction import correct_leaderboard

    named = {board.name: board for board in boards[:-1]}
    return [
        correct_leaderboard(
            named[comparison.leaderboard],
            boards[-1],
            comparison.measure,
            comparison.reference_measure,
            baseline=spec.baseline,
            bootstrap=spec.bootstrap,
        )
        for comparison in result.comparisons
    ]


def _used(result: LeaderboardsCompared, board: Leaderboard, *, last: bool) -> list[str]:
    """Return the measures used to compare a leaderboard."""
    if last:
        return list(dict.fromkeys(c.reference_measure for c in result.comparisons))
    comparisons = (c for c in result.comparisons if c.leaderboard == board.name)
    return list(dict.fromkeys(comparison.measure for comparison in comparisons))


def _draw(result: LeaderboardsCompared, out: str) -> None:
    from pnyx.core.files import write_text
    from pnyx.display.scatter import scatter_html, scatter_plot
    from pnyx.reports.compare_tables import panels_of

    notes = ["Each point is a run: its means over the topics that both leaderboards have. Dashed: "
             "equal values in both. τ: Kendall's tau-b."]  # fmt: skip
    picture = scatter_plot(panels_of(result), notes)
    write_text(out, scatter_html(picture, "leaderboards") if out.endswith(".html") else picture)
