"""Shared by the commands that measure: names of runs, baseline, tests, samples and `--plot`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError, OptionError, count_of, escaped
from pnyx.core.spec import Spec, out_opt
from pnyx.display.tables import Column, Marked, OwnWords, Table, chance
from pnyx.formats.runs.sources import run_names
from pnyx.formats.text_types import FileName

if TYPE_CHECKING:
    from pnyx.stats.base import Bootstrap, Measured
    from pnyx.stats.significance import Comparison

_BETTER, _WORSE = "▲", "▼"

_FEW = 10
_LISTED = 10


class PlotSpec(Spec):
    """What is drawn."""

    plot: FileName | None = out_opt(None, metavar="FILE.svg")

    def check_plot(self) -> None:
        """Raise OptionError if the file name does not end in .svg."""
        if self.plot is not None and not self.plot.endswith(".svg"):
            raise OptionError(f"--plot {escaped(self.plot)}: expected a name that ends in .svg")

    def draw(self, picture: Callable[[], str]) -> None:
        """Write the picture, if one is asked for."""
        from pnyx.core.files import write_text

        if self.plot is not None:
            write_text(self.plot, picture())


def named_runs(
    runs: Sequence[str], baseline: str | None, *others: str | None
) -> tuple[dict[str, str], str | None]:
    """Return the files of the runs by name, and the baseline's name; it may be an extra run."""
    twice = next((p for p in runs if p != "-" and runs.count(p) > 1), None)
    if twice is not None:
        raise InputError("the run is given twice", path=twice)
    names = dict(zip(run_names(runs), runs, strict=True))
    if baseline is not None and baseline not in names and baseline not in runs:
        if not Path(baseline).exists():
            expected = escaped(", ".join(runs), 200)
            raise InputError(
                f"--baseline {escaped(baseline)}: is neither a file nor one of {expected}"
            )
        runs = [baseline, *runs]
        names = dict(zip(run_names(runs), runs, strict=True))
    if [*runs, *others].count("-") > 1:
        raise OptionError("only one file can be standard input")
    if baseline in runs:
        baseline = next(name for name, path in names.items() if path == baseline)
    return names, baseline


def listed(topics: Sequence[str], what: str = "topic") -> str:
    """Return the number of topics, and the first of them."""
    examples = ", ".join(escaped(topic, 30) for topic in topics[:_LISTED])
    more = f" and {len(topics) - _LISTED} more" if len(topics) > _LISTED else ""
    return f"{count_of(len(topics), what)} ({examples}{more})"


def runs_table(
    result: Any,
    what: str,
    measured: Callable[[Any, str], Measured],
    *further: tuple[Sequence[Column], Callable[[Any, str], Sequence[Any]]],
    title: str = "",
    name_runs: bool = True,
) -> Table:
    """Return a table of measures by run, with the differences to the baseline, if there is one."""
    compared = {(c.run, c.measure): c for c in result.comparisons}
    tested = {c.measure for c in result.comparisons}
    parts = [*further]

    def difference(run: Any, name: str) -> Sequence[Any]:
        if (run.name, name) in compared:
            return difference_cells(compared[run.name, name])
        return ["baseline" if run.name == result.baseline and name in tested else "", *[""] * 4]

    def margins(run: Any, name: str) -> Sequence[Any]:
        c = compared.get((run.name, name))
        if c is None or c.against is None:
            return [""] * 3
        return [chance(c.against.p_not_lower), chance(c.against.p_not_lower_holm), c.conclusion]

    if result.baseline is not None:
        parts.append((DIFFERENCE, difference))
    if any(c.against for c in result.comparisons):
        names = ("p not lower", "(Holm)", "shown")
        parts.append(([Column(name, "number") for name in names], margins))
    rows: list[Sequence[Any]] = []
    for name in result.runs[0].measures:
        rows += [()] if rows and len(result.runs) > 1 else []
        for row, run in enumerate(result.runs):
            m = measured(run, name)
            marked = Marked(m, mark(compared.get((run.name, name)))) if compared else m
            of_run = [escaped(run.name)] * name_runs
            cells = ["" if row else name, *of_run, marked, m]
            rows.append([*cells, *(cell for _, of in parts for cell in of(run, name))])
    columns = [Column("measure", "measure"), *[Column("run", "name")] * name_runs]
    columns += [Column("mean, 95 % interval", "figure")]
    columns += [Column(what, "counts"), *(column for some, _ in parts for column in some)]
    return Table(columns, rows, title=OwnWords(title))


def topics_table(run: Any, what: str, cell: Callable[[Any], Any] = attrgetter("value")) -> Table:
    """Return a row for each topic of a run, its values formatted by `cell`."""
    columns = [Column(what, "name"), *(Column(name, "number") for name in run.measures)]
    rows = [
        (escaped(topic, 40), *(cell(values.get(name)) for name in run.measures))
        for topic, values in run.per_topic.items()
    ]
    return Table(columns, rows, title=OwnWords(escaped(run.name)))


def differences_table(
    compared: Sequence[Comparison], test: str, *names: str, title: str = ""
) -> Table:
    """Return a row for each difference; its first fields name it (run, less ...)."""
    rows = []
    for c in compared:
        *cells, corrected, effect = difference_cells(c)
        named = [escaped(getattr(c, "other" if n == "less" else n), 40) for n in names]
        rows.append([*named, *cells, corrected + " *" * c.significant, effect])
    legend = f"*: {test_legend(test, compared)}; d: mean difference in standard deviations"
    fields = (Column(name, "measure" if name == "measure" else "name") for name in names)
    columns = [*fields, *DIFFERENCE]
    return Table(columns, rows, title=OwnWords(title), legend=[OwnWords(legend)])


def compared_legend(result: Any) -> list[str]:
    """Explain the marks of differences to the baseline, and the tests against a margin."""
    if result.baseline is None:
        return []
    from pnyx.stats.significance import ONE_SIDED

    marks = f"{_BETTER} {_WORSE} significantly higher, lower than {escaped(result.baseline, 40)}: "
    lines = [marks + test_legend(result.test, result.comparisons)]
    margin = next((c.against.margin for c in result.comparisons if c.against), None)
    if margin is not None:
        level = f"{ONE_SIDED:g}"
        lines.append(
            f"not lower: not below the baseline by {margin:g} or more, one-sided p (Holm) < "
            f"{level}; "
            "equivalent: not above it either; inconclusive: neither was shown"
        )
    return list(map(OwnWords, lines))


def untested_note(comparisons: Sequence[Comparison], topics: str) -> list[str]:
    """Return a note on the number of comparisons without p."""
    count = sum(c.p_holm is None for c in comparisons)
    return [f"{count} comparisons have too few {topics} or no variance for the test"] * bool(count)


def run_notes(name: str, notes: Sequence[tuple[object, str]], rearranged: int) -> list[str]:
    """Return the notes on a run that apply, and one on its order."""
    lines = [note for true, note in notes if true]
    if rearranged:
        have = "1 topic has" if rearranged == 1 else f"{rearranged} topics have"
        lines.append(
            f"{have} a different order by rank than by score; the score counts, ties by document "
            f"id in descending order (trec_eval)"
        )
    return [f"{escaped(name, 40)}: {line}" for line in lines]


DIFFERENCE = (
    Column("difference", "number"),
    Column("95 % interval", "interval"),
    *(Column(name, "number") for name in ("p", "p (Holm)", "d")),
)


def difference_cells(c: Comparison) -> list[Any]:
    """Return the cells of `DIFFERENCE`: p also corrected, d the effect size."""
    difference, effect = c.test.difference, c.test.effect
    return [
        "-" if difference is None else f"{difference:+.3f}",
        (c.low, c.high, c.no_interval),
        chance(c.test.p),
        chance(c.p_holm),
        "-" if effect is None else f"{effect:+.2f}",
    ]


def mark(c: Comparison | None) -> str:
    """Return what marks a significant difference; empty where there is none."""
    if c is None or not c.significant or c.test.difference is None:
        return ""
    return _BETTER if c.test.difference > 0 else _WORSE


def test_legend(test: str, comparisons: Sequence[Comparison]) -> str:
    """Explain the mark of a significant difference."""
    tests = count_of(sum(c.p_holm is not None for c in comparisons), "comparison")
    named = "t-test" if test == "t" else "randomisation test"
    return f"p < 0.05 in a two-sided paired {named}, Holm-Bonferroni over {tests}"


def few_warning(bootstrap: Bootstrap, count: int, what: str) -> list[str]:
    """Return a warning if intervals come from too few topics or questions."""
    few = f"{count_of(count, what)} {'is' if count == 1 else 'are'} few"
    warning = f"warning: {few}: the intervals are too narrow"
    return [warning] if bootstrap.draws and count < _FEW else []
