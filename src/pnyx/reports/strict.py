"""The campaign rules for judged reports (--strict), and the record of a leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pnyx._version import __version__
from pnyx.cli.measure.tables import listed
from pnyx.cli.record import record_of_command
from pnyx.core.errors import InputError, escaped
from pnyx.core.files import read_json, write_json
from pnyx.judging.answers import MANIFEST

if TYPE_CHECKING:
    from pnyx.reports.measures.report_measures import MeasuredReports, Reports


def campaign_rules(*, whole: bool = False) -> tuple[str, ...]:
    """Return the rules of --strict in words; without those of sentences if reports are `whole`."""
    from pnyx.reports.tree.own_text import OWN_TEXT_RULE
    from pnyx.reports.tree.plan import MAX_SENTENCE
    from pnyx.reports.tree.repetition import REPETITION_RULE

    of_sentences = (
        "texts are the collection's, and a citation of an id that it does not hold, or of an "
        "empty document, counts as a no",
        "a measure of sentences or citations is 0 for a report that has none to measure, such as "
        "one without citations",
        f"a sentence of more than {MAX_SENTENCE:,} characters is not judged and counts as a no",
        "of sentences that repeat each other, a yes counts once and every no counts; "
        + REPETITION_RULE,
    )
    rules = (
        "a topic without a report counts as 0, as does an empty report",
        *(() if whole else of_sentences),
        "a question that only the report's own text left unscored counts as a no: the judge "
        f"answers it for {OWN_TEXT_RULE} in its place",
    )
    return (
        *(f"by the campaign's rules, {rule}" for rule in rules),
        "what a judge left unscored for any other reason, such as a failure of the server, is left "
        "out and never 0: coverage says how much was scored",
    )


_DECIDED = ("pnyx", "judge", "prompts", "settings", "plan", "models", "items_sha256",
            "answers_sha256", "no_text", "left_out", "record")  # fmt: skip
"""Fields of a manifest that affect how reports are judged."""


def judged_strictly(folders: Sequence[str]) -> dict[str, Any]:
    """Return R -> how it was judged; InputError if it was not judged with --strict."""
    decisions = {}
    for folder in folders:
        manifest = read_json(Path(folder) / MANIFEST) or {}
        if not manifest.get("record", {}).get("options", {}).get("strict"):
            raise InputError(
                "--strict: expected results of pnyx judge report --strict, or of nuggets assign "
                "--strict",
                path=folder,
            )
        if "plan" in manifest and "strict" not in manifest["plan"]:
            raise InputError(
                "--strict: was judged with the rules of an earlier version; run the same pnyx "
                "judge report again (stored replies are reused)",
                path=folder,
            )
        decisions[folder] = {name: manifest[name] for name in _DECIDED if name in manifest}
    return decisions


def rules_of(judged: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the rules that these reports were judged by."""
    commands = {how["record"]["command"] for how in judged.values()}
    return campaign_rules(whole=commands == {"nuggets assign"})


def left_out_notes(judged: Mapping[str, Any]) -> list[str]:
    """Return a line for each submission that was left out before judging."""
    from pnyx.formats.reports.submissions import LeftOut

    left_out = [LeftOut(**row) for how in judged.values() for row in how.get("left_out", ())]
    return [f"warning: left out, and not ranked: {submission}" for submission in left_out]


def zero_notes(run: MeasuredReports, measures: Sequence[str], empty: Sequence[str]) -> list[str]:
    """Return lines on values of a run that are 0 because its report has nothing to measure."""
    from pnyx.stats.base import Measured

    topics: dict[str, list[str]] = {}
    for topic, values in run.per_topic.items():
        names = [name for name in measures if values[name] == Measured(0.0, 0, 0)]
        if names and topic not in (*run.missing, *empty):
            topics.setdefault(", ".join(names), []).append(topic)
    name = escaped(run.name)
    return [f"{name}: 0 by the rules, on {listed(of)}: {names}" for names, of in topics.items()]


def check_coverage(result: Reports, measures: Sequence[str], least: float) -> None:
    """Refuse a leaderboard with a cell based on less than a share of its items, in [0, 1]."""
    from pnyx.reports.measures.exports import rests_on

    low: list[tuple[float, str]] = []
    runs: dict[str, None] = {}
    for run in result.runs:
        for topic, values in run.per_topic.items():
            for name in measures:
                share = rests_on(values, name)
                if share < least or values[name].value is None:
                    where = f"{escaped(run.name)}, topic {escaped(topic, 40)}: {name}"
                    low.append((share, where))
                    runs[run.name] = None
    if low:
        share, where = min(low)
        more = f", and {len(low) - 1} more cells" if len(low) > 1 else ""
        others = f" (of {len(runs)} of {len(result.runs)} runs)" if len(low) > 1 else ""
        why = "is not defined" if share >= least else f"is based on {share:.0%} of its items"
        raise InputError(
            f"no leaderboard: {where} {why}{more}{others}; --min-scored requires {least:.0%} of "
            "each cell. Judge unscored items again, or leave these runs out of the judging"
        )


def write_record(board: str, result: Reports, judged: Mapping[str, Any], least: float) -> None:
    """Write a record of everything that decided a leaderboard, with the coverage of each cell."""
    path = Path(board)
    record = record_of_command({f"leaderboard/{path.name}": path})
    row = {
        "format": "pnyx-leaderboard",
        "format_version": 1,
        "pnyx": __version__,
        "rules": rules_of(judged),
        "min_scored": least,
        "record": record,
        "judged": judged,
        **result.row(),
    }
    write_json(Path(f"{board}.{MANIFEST}"), row)
