"""Exports of judged reports for other tools: leaderboard cells, nuggetizer's metrics, qrels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from pnyx.core.errors import InputError, shorten
from pnyx.core.nuggets import NuggetBank
from pnyx.core.records import LeaderboardCell, Qrel
from pnyx.formats.reports.judged_report import JudgedReport
from pnyx.reports.measures.registry import MAIN, report_measures
from pnyx.reports.measures.report_measures import Reports
from pnyx.reports.tree.plan import MIN_SCORED
from pnyx.stats.base import Measured

NUGGETIZER: Final = ("strict_vital_score", "strict_all_score", "vital_score", "all_score")
"""The fields of a line of nuggetizer's metrics, besides `qid`."""


def leaderboard_cells(
    result: Reports, measures: Sequence[str] = MAIN, min_scored: float = MIN_SCORED
) -> Iterator[LeaderboardCell]:
    """Yield a cell for each run, topic and measure; if a report is missing, only those that are 0.

    A value based on less than `min_scored` of its items, in [0, 1], is left out.
    """
    for run in result.runs:
        for topic, values in run.per_topic.items():
            if topic in run.missing and result.missing == "skip":
                continue
            for name in measures:
                enough = rests_on(values, name) >= min_scored
                value = values[name].value if enough else None
                yield LeaderboardCell(run.name, topic, name, value)


def rests_on(values: Mapping[str, Measured], name: str) -> float:
    """Return the share of its items that a report's value is based on, 1 if it has no items.

    For a measure made of others, it is the lowest of theirs.
    """
    parts = (values[part] for part in report_measures()[name].parts or (name,))
    return min(part.scored / part.asked if part.asked else 1.0 for part in parts)


def nuggetizer_rows(cells: Iterable[LeaderboardCell]) -> Iterator[dict[str, Any]]:
    """Yield nuggetizer's metrics from cells by `NUGGETIZER`, a line per topic, then one for `all`.

    `run_id` is an additional field. Scores without a cell have no field in the line.
    """
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for cell in cells:
        line = runs.setdefault(cell.run_id, {}).setdefault(cell.topic_id, {})
        if cell.value is not None:
            line[cell.measure] = cell.value
    for run, topics in runs.items():
        for topic, values in topics.items():
            yield {"qid": topic, "run_id": run, **values}
        means = {name: [v[name] for v in topics.values() if name in v] for name in NUGGETIZER}
        yield {
            "qid": "all",
            "run_id": run,
            **{name: math.fsum(v) / len(v) for name, v in means.items() if v},
        }


# Diversity qrels ----------------------------------------------------------------------------------


def nugget_qrels(
    reports: Iterable[JudgedReport],
    banks: Iterable[NuggetBank] | None = None,
    unscored: str = "error",
) -> list[Qrel]:
    """Return diversity qrels with nuggets as subtopics: which document attests which nugget.

    Without banks, grade 1 means a relevant document that attests a sentence which gives an answer
    of the nugget; with banks, a document that the bank names for an answer. Grade 0 means a cited
    document of the collection that is not relevant, for each nugget of the topic.

    Args:
        reports: judged reports, from any runs.
        banks: of their topics.
        unscored: how undecided pairs are treated: `error`, `skip` (no line) or `zero`.

    Raises:
        InputError: a pair is undecided, and `unscored` is `error`.
    """
    pairs: dict[tuple[str, str, str], bool | None] = {}
    nuggets: dict[str, list[str]] = {}
    for bank in banks or ():
        nuggets[bank.topic_id] = [nugget.id for nugget in bank.nuggets if nugget.expected]
        for doc_id, answers in bank.attesting.items():
            pairs.update({(bank.topic_id, nugget, doc_id): True for nugget, _ in answers})
    for report in reports:
        answered = [nugget.id for nugget in report.nuggets if nugget.answers]
        for nugget, doc_id, value in _judged_pairs(
            report, nuggets.setdefault(report.topic_id, answered), judged=banks is None
        ):
            key = (report.topic_id, nugget, doc_id)
            earlier = pairs.get(key)
            pairs[key] = (
                value if earlier is None else earlier if value is None else earlier or value
            )
    return list(_graded(pairs, _subtopics(nuggets), unscored))


def _judged_pairs(
    report: JudgedReport, nuggets: Sequence[str], *, judged: bool
) -> Iterator[tuple[str, str, bool | None]]:
    """Yield (nugget, document, whether it attests the nugget), None if undecided."""
    for sentence in report.sentences:
        answered = {nugget for nugget, _ in sentence.answers}
        maybe = {nugget for nugget, _ in sentence.unscored_answers}
        for citation in sentence.citations:
            if citation.unknown:  # not in the collection, whatever its id looks like
                continue
            for nugget in nuggets:
                if not citation.relevant.value:
                    yield nugget, citation.doc_id, citation.relevant.value
                elif judged and citation.attests.value is not False and nugget in answered | maybe:
                    attests = citation.attests.value if nugget in answered else None
                    yield nugget, citation.doc_id, attests


def _subtopics(nuggets: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], str]:
    """Return (topic, nugget) -> its id, or its number if the id does not fit into a column."""
    return {
        (topic, i): i if all(d and not any(map(str.isspace, d)) for d in ids) else str(number)
        for topic, ids in nuggets.items()
        for number, i in enumerate(ids, 1)
    }


def _graded(
    pairs: Mapping[tuple[str, str, str], bool | None],
    subtopics: Mapping[tuple[str, str], str],
    unscored: str,
) -> Iterator[Qrel]:
    for (topic, nugget, doc_id), value in pairs.items():
        if value is None and unscored == "error":
            where = shorten(f"topic {topic}, nugget {nugget}, document {doc_id}")
            raise InputError(f"{where} is unscored: choose whether to skip it or to write 0")
        if value is not None or unscored == "zero":
            yield Qrel(topic, doc_id, int(bool(value)), subtopics[topic, nugget])
