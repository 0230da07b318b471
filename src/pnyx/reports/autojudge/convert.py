"""Conversion of autojudge-base's objects to Pnyx's records and back, by rows of JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import InputError
from pnyx.core.records import Qrel, Question, Response
from pnyx.formats.questions import parse_question
from pnyx.formats.reports.responses import parse_response

if TYPE_CHECKING:
    from autojudge_base import Leaderboard, NuggetBanks, Qrels, Report, Request

    from pnyx.core.nuggets import NuggetBank
    from pnyx.core.records import LeaderboardCell
    from pnyx.reports.measures.report_measures import Reports


def response_of(report: Report) -> Response:
    """Return a report as a record; InputError names the file that the runner read."""
    row = report.model_dump(mode="json", exclude_none=True)
    row.pop("answer", None)  # a copy of the same sentences
    row.pop("is_ragtime", None)
    try:
        return parse_response(_with_ids(row), "ragtime")
    except InputError as error:
        raise InputError(error.problem, path=report.path) from error


def _with_ids(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with each document listed once and citations by id instead of index."""
    references = row.get("references") or []
    if len(set(references)) == len(references):
        return row
    for sentence in row["responses"]:
        cited = sentence.get("citations")
        if isinstance(cited, list) and cited and all(type(number) is int for number in cited):
            if not all(0 <= number < len(references) for number in cited):
                return row  # the reader reports what is wrong
            sentence["citations"] = list(dict.fromkeys(references[number] for number in cited))
    return {**row, "references": list(dict.fromkeys(references))}


def question_of(request: Request) -> Question:
    """Return a topic as a record: title, problem statement and background."""
    return parse_question(request.model_dump(mode="json", exclude_none=True))


def nugget_banks_of(banks: Iterable[NuggetBank], kind: type[NuggetBanks]) -> NuggetBanks:
    """Return banks in autojudge-base's format; NuggetBank v3 can hold all fields."""
    from pnyx.formats import nugget_bank_row

    model = kind.get_bank_model()
    rows = [nugget_bank_row(bank, "nuggetbank-v3") for bank in banks]
    return kind.from_banks_list([model.model_validate(row) for row in rows])


def banks_of(banks: Any) -> list[NuggetBank]:
    """Return the banks in any of autojudge-base's containers, by topic."""
    from pnyx.formats import parse_nugget_bank

    rows = (bank.model_dump(mode="json", exclude_none=True) for bank in banks.banks.values())
    return sorted((parse_nugget_bank(row) for row in rows), key=lambda bank: bank.topic_id)


def qrels_of(qrels: Qrels | None) -> dict[str, dict[str, int]]:
    """Return topic -> document -> grade."""
    grades: dict[str, dict[str, int]] = {}
    for row in qrels.rows if qrels is not None else ():
        grades.setdefault(row.topic_id, {})[row.doc_id] = row.grade
    return grades


def leaderboard_of(
    measured: Reports, described: Mapping[str, str], cells: Sequence[LeaderboardCell]
) -> Leaderboard:
    """Return a leaderboard of the measures `described`; undefined values have no cell.

    The rows `all` are means over the topics that have a value.
    """
    from autojudge_base import Leaderboard, LeaderboardEntry, LeaderboardSpec, MeasureSpec

    from pnyx.formats import averaged
    from pnyx.formats.reports.leaderboard_layouts import ALL

    spec = LeaderboardSpec(
        tuple(MeasureSpec(name, float, text) for name, text in described.items())
    )
    values_by_report: dict[tuple[str, str], dict[str, float]] = {
        (run.name, topic): {} for run in measured.runs for topic in (*run.per_topic, ALL)
    }
    for cell in averaged(cells):
        if cell.value is not None:
            values_by_report[cell.run_id, cell.topic_id][cell.measure] = cell.value
    entries = [
        LeaderboardEntry(run, spec.all_topic_id if topic == ALL else topic, values)
        for (run, topic), values in values_by_report.items()
    ]
    return Leaderboard(spec.names, spec, tuple(entries), spec.all_topic_id)


def qrels_for(qrels: Iterable[Qrel], kind: type[Qrels]) -> Qrels:
    """Return qrels in autojudge-base's format."""
    from autojudge_base import QrelRow

    return kind([QrelRow(qrel.topic_id, qrel.doc_id, qrel.grade) for qrel in qrels])
