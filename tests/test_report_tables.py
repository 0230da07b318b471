"""Weights of nuggets, definitions of measures, and figures of judged reports on pages."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from command import rows_of, write_rows
from pnyx.core.errors import OptionError
from pnyx.core.records import LeaderboardCell
from pnyx.formats import Leaderboard
from pnyx.formats.reports.judged_report import (
    JudgedAnswer,
    JudgedCitation,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
)
from pnyx.judging.options import JudgeSpec
from pnyx.reports.leaderboards.agreement import compare_leaderboards
from pnyx.reports.measure_command import MeasureReportSpec
from pnyx.reports.measures.registry import MAIN, SHOWN, measure_report
from pnyx.reports.open_reports import _needs_probabilities
from pnyx.reports.options import ReportJudgeSpec
from pnyx.reports.pages.judged_reader import _ReportMeasures
from pnyx.reports.pages.measure_definitions import with_reports
from pnyx.reports.runs import merge_reports
from pnyx.stats.base import Bootstrap


@pytest.mark.parametrize(
    ("texts", "weights"),
    [
        (("okay=0", " Vital =2.5"), {"okay": 0.0, "vital": 2.5}),
        (("a=b=1",), {"a=b": 1.0}),
        ((), {}),
        (("okay",), None),
        (("=1",), None),
        (("okay=-0.1",), None),
        (("okay=inf",), None),
        (("okay=nan",), None),
        (("okay=x",), None),
    ],
)
def test_a_weight_is_a_number_from_0(texts, weights):
    spec = MeasureReportSpec(weights=texts)
    if weights is not None:
        assert spec.weighted() == weights
        return
    with pytest.raises(OptionError, match="expected IMPORTANCE=X, with X at least 0"):
        spec.weighted()


def report(topic: str, *attested: bool | None, given: tuple[bool, ...] = ()) -> JudgedReport:
    yes = NodeAnswer(True, "j")
    sentences = [
        JudgedSentence(f"Fares {n}.", (JudgedCitation("d", yes, NodeAnswer(value, "j")),), {})
        for n, value in enumerate(attested)
    ]
    nuggets = [
        JudgedNugget(str(n), "N?", "vital" if n == 0 else "okay", answers=(JudgedAnswer("a", v),))
        for n, v in enumerate(given)
    ]
    return JudgedReport(topic, "r", tuple(sentences), tuple(nuggets))


def test_weights_change_the_weighted_measures_alone():
    judged = report("7", True, False, given=(True, False))
    plain = measure_report(judged, {"vital": 1.0, "okay": 1.0, "other": 1.0})
    heavy = measure_report(judged, {"vital": 3.0, "okay": 1.0, "other": 1.0})
    changed = {name for name in plain if plain[name] != heavy[name]}
    assert changed == {"nugget_recall_weighted", "f1_weighted"}
    assert heavy["nugget_recall_weighted"].value == 0.75
    assert heavy["f1_weighted"].value == pytest.approx(2 * 0.5 * 0.75 / 1.25)
    assert (plain["f1"].value, plain["f1"].scored, plain["f1"].asked) == (0.5, 4, 4)
    assert list(measure_report(judged, names=["f1", "words"])) == ["f1", "words"]


def test_which_measures_are_compared_and_shown():
    assert MAIN == (
        "sentence_precision",
        "citation_precision",
        "citation_relevance",
        "citation_recall",
        "nugget_recall",
        "nugget_recall_weighted",
        "f1",
        "f1_weighted",
    )
    assert (
        "f1",
        "sentence_precision",
        "sentence_precision_own",
        *(name for name in MAIN[1:] if name != "f1"),
    ) == SHOWN


def test_measures_of_reports_are_defined_for_tables_that_have_them():
    of_answers = {"f1": "F1 of answers.", "auroc": "Area."}
    found = with_reports(of_answers, {"f1", "auroc"})
    assert found["f1"] == "F1 of answers."
    assert found["nugget_recall"] == (
        "Share of nuggets answered: all answers of an AND, one of any other."
    )
    assert found["vital_score"].startswith("strict_vital_score with one half")
    found = with_reports(of_answers, {"f1", "nugget_recall"})
    assert found["f1"] == "Harmonic mean of sentence precision and nugget recall."
    assert found["auroc"] == "Area."


class Builder:
    """Keeps the values that a reader adds to a catalogue."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def value(self, row: tuple[Any, ...], no_interval: str = "") -> None:
        self.rows.append(row)


def test_figures_on_pages_are_those_of_topics_of_runs_and_pooled():
    builder: Any = Builder()
    measures = _ReportMeasures(builder, 1)
    measures.add(report("7", True, True, None, given=(True,)), 2, 3)
    measures.add(report("8", False, given=(False, False)), 2, 4)
    of_topics = {(row[2], row[3]): row[5:] for row in builder.rows}
    assert of_topics[3, "sentence_precision"][0] == 1.0
    assert of_topics[3, "sentence_precision"][-2:] == (2, 3)
    assert len(of_topics) == 2 * len(SHOWN)
    builder.rows.clear()
    measures.finish()
    of_run = {row[3]: row for row in builder.rows}
    assert of_run["sentence_precision"][:6] == (1, 2, None, "sentence_precision", 1, 0.5)
    micro = {name: row for name, row in of_run.items() if name not in SHOWN}
    found = {name.partition("_micro")[0]: (row[4], row[5], *row[8:]) for name, row in micro.items()}
    assert found["sentence_precision"] == (1.5, pytest.approx(2 / 3), 3, 4)
    assert found["nugget_recall"] == (
        SHOWN.index("nugget_recall") + 0.5,
        pytest.approx(1 / 3),
        3,
        3,
    )
    assert found["citation_recall"][1:] == (None, 0, 0)
    assert len(found) == 5


@pytest.mark.parametrize(
    ("options", "needed"),
    [
        ({}, False),
        ({"probability": "ask"}, False),
        ({"probability": "tok"}, True),
        ({"probability": "both"}, True),
        ({"combine": "mean"}, True),
        ({"combine": "majority"}, False),
        ({"threshold": 0.4}, True),
        ({"calibration": "c.json"}, True),
        ({"cascade": "c.json"}, True),
    ],
)
def test_when_each_answer_needs_a_probability(options, needed):
    fields = set(JudgeSpec.__dataclass_fields__)
    chosen = {name: value for name, value in options.items() if name in fields}
    assert chosen == options
    assert _needs_probabilities(ReportJudgeSpec(**options)) is needed


def test_the_reports_of_shares_are_merged_by_run_and_topic(tmp_path):
    for share, (run, topic) in (("1", ("b", "7")), ("2", ("a", "8"))):
        row = replace(report(topic, True), run_id=run).row()
        write_rows(tmp_path / share / "reports.jsonl", [row])
    shares, out = [tmp_path / "1", tmp_path / "2"], tmp_path / "out"
    out.mkdir()
    manifest: dict[str, Any] = {}
    merge_reports(shares, out, manifest)
    assert list(manifest) == ["reports"]
    assert (manifest["reports"]["runs"], manifest["reports"]["reports"]) == (2, 2)
    assert [(row["run_id"], row["topic_id"]) for row in rows_of(out / "reports.jsonl")] == [
        ("a", "8"),
        ("b", "7"),
    ]
    manifest = {"record": {"command": "judge report", "outputs": {}}}
    merge_reports(shares, out, manifest)
    digest = hashlib.sha256((out / "reports.jsonl").read_bytes()).hexdigest()
    outputs = {"out/reports.jsonl": digest}
    assert manifest["record"] == {"command": "judge report", "outputs": outputs}


def test_measures_of_different_names_are_compared_as_they_are_paired():
    def board(name: str, measure: str) -> Leaderboard:
        cells = (
            LeaderboardCell(run, topic, measure, value / 4)
            for value, run in enumerate("abc")
            for topic in "123456"
        )
        return Leaderboard(name, tuple(cells), ())

    pairs = [("x", "y")]
    result = compare_leaderboards(
        [board("one", "x")], board("two", "y"), pairs=pairs, bootstrap=Bootstrap(0)
    )
    (comparison,) = result.comparisons
    names = (comparison.leaderboard, comparison.reference)
    assert names == ("one", "two")
    assert (comparison.measure, comparison.reference_measure) == ("x", "y")
    assert comparison.points == [("a", 0.0, 0.0), ("b", 0.25, 0.25), ("c", 0.5, 0.5)]
    assert comparison.undefined == 0
    rows = result.rows()
    assert [row["figure"] for row in rows][-1] == "accuracy"
    assert (rows[-1]["value"], rows[-1]["runs"], len(rows)) == (1.0, 3, 7)
