"""The rules of a campaign for perspectives (--strict)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.cli.measure.strict import enough
from pnyx.core.errors import InputError, escaped

if TYPE_CHECKING:
    from pnyx.perspectives.measures.results import PerspectiveCoverage


COVERAGE_RULES = (
    "by the campaign's rules, a question missing from a run counts as an empty ranking",
    "by the campaign's rules, a pair of document and perspective that nobody judged, or whose ids "
    "are unknown, is a no",
    "what a judge left unscored stays undecided and never counts as a no: bounds give its range",
)


def check_pairs(result: PerspectiveCoverage, least: float) -> dict[str, float]:
    """Return run -> share of its pairs of document and perspective that have a verdict.

    InputError: a run has a lower share than `least`, in [0, 1].
    """
    counts = {run.name: run.pairs for run in result.runs}
    if empty := [name for name, n in counts.items() if not n["asked"]]:
        raise InputError(f"no leaderboard: {escaped(empty[0])} has no pair to judge")
    shares = {name: n["scored"] / n["asked"] for name, n in counts.items()}
    return enough(shares, "its pairs", least)
