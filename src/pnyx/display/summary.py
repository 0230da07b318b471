"""A summary of answers in words: the same sentences in a terminal and on a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.core.errors import escaped
from pnyx.display.figures import decimals, percent, percent_ends
from pnyx.display.tables import Column, OwnWords, Table, draws_legend
from pnyx.judging.judge_names import short_name
from pnyx.judging.measures.summary import RULE, RunSummary

if TYPE_CHECKING:
    from pnyx.display.tables import Part
    from pnyx.judging.measures.summary import AnswerSummary, YesShare
    from pnyx.stats.base import Measured

_MOST_RUNS = 10
"""Most runs with sentences; a table has the others."""


def share_sentence(share: YesShare, *, names_interval: bool = False) -> str:
    """Return `19 of 80 answers are supported (24 %, 15 to 35 %)`, with the unscored ones."""
    m = share.share
    unscored = m.asked - m.scored
    if m.value is None:
        return f"none of {m.asked:,} {_units(share, m.asked)} is scored"
    verb = "is" if 1 in (share.yes, m.scored) else "are"
    units = f"scored {_units(share, m.scored)}" if unscored else _units(share, m.scored)
    sentence = f"{share.yes:,} of {m.scored:,} {units} {verb} {share.word}"
    interval = f", {'95 % interval ' * names_interval}{ends}" if (ends := percent_ends(m)) else ""
    sentence += f" ({percent(m.value)}{interval})"
    return f"{sentence}; {unscored:,} of {m.asked:,} are unscored" if unscored else sentence


def mean_sentence(name: str, m: Measured) -> str:
    """Return `groundedness 0.71 (0.63 to 0.79)`, with its number of ratings."""
    if m.value is None:
        return f"{name}: none of {m.asked:,} is scored"
    counts = "" if m.scored == m.asked else f", {m.scored:,} of {m.asked:,} scored"
    return f"{name} {decimals(m)}{counts}"


def summary_lines(summary: AnswerSummary) -> list[str]:
    """Return the summary in words: the headline, further counts, each run."""
    shares = summary.whole.shares
    lines = [share_sentence(share, names_interval=n == 0) + "." for n, share in enumerate(shares)]
    if summary.is_by_answer:
        lines[0] += f" {RULE}"
    if shares and (reason := shares[0].share.no_interval):
        lines.append(f"No interval: {reason}.")
    if summary.whole.means and not shares:
        means = summary.whole.means
        drawn = " (95 % interval)" * any(m.low is not None for m in means.values())
        listed = "; ".join(mean_sentence(name, m) for name, m in means.items())
        lines.append(f"Means{drawn}: {listed}.")
    named = list(summary.runs.items())[:_MOST_RUNS]
    lines += [f"{escaped(name or 'no run', 60)}: {_of_run(run)}." for name, run in named]
    if len(summary.runs) > _MOST_RUNS:
        lines.append(f"{len(summary.runs) - _MOST_RUNS:,} more runs: --json")
    return lines


def warning_lines(summary: AnswerSummary) -> list[str]:
    """Return a warning if nearly none or nearly all answers are yes."""
    share = summary.warned
    if share is None:
        return []
    m = share.share
    return [
        f"{share.yes:,} of {m.scored:,} are yes: the threshold may not fit your data; check it on "
        f"your own labels: pnyx check"
    ]


def summary_parts(summary: AnswerSummary) -> list[Part]:
    """Return the sentences, and a table of means if there are any, for a terminal."""
    judge = escaped(short_name(summary.judge))
    lines = [f"{summary.task}: {judge}", *summary_lines(summary)]
    parts: list[Part] = [[OwnWords(line) for line in lines]]
    if summary.whole.means and summary.whole.shares:
        columns = (Column("mean of"), Column("value, 95 % interval", "figure"))
        rows = [(name, m, m) for name, m in summary.whole.means.items()]
        parts.append(Table((*columns, Column("answers", "counts")), rows))
    return [*parts, draws_legend(f"{summary.clusters:,} groups", summary.bootstrap)]


def _of_run(run: RunSummary) -> str:
    if run.shares:
        return share_sentence(run.shares[0])
    return "; ".join(mean_sentence(name, m) for name, m in run.means.items())


def _units(share: YesShare, count: int) -> str:
    return share.unit if count == 1 else f"{share.unit}s"
