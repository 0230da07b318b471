"""`pnyx measure report` through the door that users take."""

from __future__ import annotations

import json
import typing
from dataclasses import replace

import pytest

from argue_report import BANK, PlannedJudge, response
from command import called, refuser, runner
from pnyx.core.spec import opts_of
from pnyx.formats import read_leaderboard, read_qrels
from pnyx.reports.measure_command import MeasureReportSpec
from pnyx.reports.measures.registry import MAIN, REPORT_MEASURES
from pnyx.reports.measures.report_measures import Missing
from pnyx.reports.tree.walk import judge_reports

(REPORT,) = judge_reports([response()], [BANK], PlannedJudge())
SCORED = replace(REPORT, sentences=(*REPORT.sentences[:6], *REPORT.sentences[7:]))
"""Without the sentence whose document has no text."""


run, refused = runner("measure", "report"), refuser("measure", "report")


def folder(path, *reports):
    path.mkdir()
    lines = (json.dumps(one.row()) + "\n" for one in reports)
    (path / "reports.jsonl").write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture
def judged(tmp_path):
    """Two runs on three topics; the second lacks topic 9, and everything is scored."""
    first = [replace(SCORED, topic_id=t) for t in ("7", "8", "9")]
    half = SCORED.sentences[:3]
    second = [replace(one, run_id="run-b", sentences=half) for one in first[:2]]
    return folder(tmp_path / "R", *first, *second)


def test_results_of_reports_need_no_word(judged, capsys):
    named = called(capsys, "measure", "report", judged, "--measure", "f1", "--json")
    assert called(capsys, "measure", judged, "--measure", "f1", "--json") == named
    assert json.loads(named[1])["runs"][0]["measures"].keys() >= {"f1"}


def test_the_json_of_one_report(tmp_path, capsys):
    assert run(folder(tmp_path / "R", REPORT), "--json") == 3  # sentence 7 is open
    printed = capsys.readouterr()
    row = json.loads(printed.out)
    assert set(row["measures"]) == set(REPORT_MEASURES)
    one = row["per_group"]["7"]
    assert one["sentence_precision"] == {
        "value": pytest.approx(4 / 6), "low": None, "high": None, "scored": 6, "asked": 7
    }  # fmt: skip
    assert one["citation_recall"]["value"] == 0.75
    assert one["nugget_recall"]["value"] == pytest.approx(2 / 3)
    assert one["f1"]["value"] == pytest.approx(2 / 3)
    assert one["f1_weighted"]["value"] == pytest.approx(4 / 7)
    assert row["measures"]["f1"]["asked"] == 1
    assert row["runs"][0]["items"]["nugget_recall"] == {
        "of": "nuggets", "pooled": pytest.approx(2 / 3), "scored": 3, "asked": 3
    }  # fmt: skip
    assert "1 of 7 sentences, 1 of 7 citations" in printed.err.replace("11", "7")


def test_the_table_and_what_is_said_of_missing_topics(judged, capsys):
    assert run(judged, "--per-topic", "--measure", "f1", "--measure", "words") == 0
    printed = capsys.readouterr()
    assert "2 runs on 3 topics" in printed.out
    assert "2 of 3" in printed.out
    assert "sentence_precision" not in printed.out
    assert "run-b: no report on 1 topic (9), left out" in printed.err
    assert "--missing zero" in printed.err
    assert run(judged, "--missing", "zero", "--json", "--draws", "0") == 0
    printed = capsys.readouterr()
    assert "counted as 0" in printed.err
    b = json.loads(printed.out)["runs"][1]
    assert b["topics"] == {"asked": 3, "missing": ["9"]}
    # Sentences 1, 2 and 3: two of three are attested.
    assert b["measures"]["sentence_precision"]["value"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert b["measures"]["sentence_precision"]["scored"] == 3


def test_runs_are_compared_also_of_several_folders(judged, tmp_path, capsys):
    assert run(judged, "--baseline", "run-a", "--json") == 0
    row = json.loads(capsys.readouterr().out)
    assert {c["measure"] for c in row["comparisons"]} == set(MAIN)
    again = folder(tmp_path / "S", *(replace(SCORED, topic_id=t) for t in "789"))
    assert run(judged, again, "--baseline", again, "--measure", "f1") == 0
    printed = capsys.readouterr()
    assert "3 runs on 3 topics" in printed.out
    assert "higher, lower than S/run-a" in printed.out
    assert "R/run-a" in printed.out


@pytest.mark.parametrize(
    "layout", ["ir_measures", "tot", "rag4reports", "ranking", "leaderboard-jsonl"]
)
def test_a_leaderboard_in_each_format(layout, judged, tmp_path, capsys):
    out = tmp_path / "board"
    assert run(judged, "--leaderboard", out, "--to", layout) == 0
    board = read_leaderboard(out, layout)
    assert board.values["f1_weighted", "run-a", "7"] == pytest.approx(4 / 7)
    assert ("f1", "run-b", "9") not in board.values
    assert {c.measure for c in board.stated} == set(MAIN)
    capsys.readouterr()
    assert run(judged, "--leaderboard", "-", "--to", layout, "--missing", "zero") == 0
    assert capsys.readouterr().out.count("f1_weighted") == 2 * 3 + 2


def test_trec_eval_holds_one_run(judged, tmp_path, capsys):
    out = tmp_path / "board"
    assert "one run" in refused_after(capsys, judged, "--leaderboard", out, "--to", "trec_eval")
    assert not out.exists()
    one = folder(tmp_path / "one", SCORED)
    assert run(one, "--leaderboard", out, "--to", "trec_eval") == 0
    assert read_leaderboard(out, "trec_eval").values["f1", "run-a", "7"] == pytest.approx(2 / 3)


def refused_after(capsys, *arguments):
    assert run(*arguments) == 2
    return capsys.readouterr().err


def test_what_is_unscored_is_written_only_as_asked(tmp_path, capsys):
    given = folder(tmp_path / "R", REPORT, replace(SCORED, topic_id="8"))
    out = tmp_path / "board"
    asked = (given, "--leaderboard", out, "--measure", "reward")
    said = refused(capsys, *asked)
    assert "run-a, topic 7: reward is unscored" in said
    assert "--unscored skip or zero" in said
    assert not out.exists()
    assert run(*asked, "--unscored", "skip") == 3
    assert "1 of 2 values are unscored, left out" in capsys.readouterr().err
    assert read_leaderboard(out, "ir_measures").values == {("reward", "run-a", "8"): 8}
    assert run(*asked, "--unscored", "zero") == 3
    board = read_leaderboard(out, "ir_measures")
    assert board.values == {("reward", "run-a", "7"): 0, ("reward", "run-a", "8"): 8}
    assert [c.value for c in board.stated] == [4]


def test_nuggetizers_metrics(judged, tmp_path, capsys):
    assert run(judged, "--nuggetizer", "-") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(r["run_id"], r["qid"]) for r in rows] == [
        ("run-a", "7"), ("run-a", "8"), ("run-a", "9"), ("run-a", "all"),
        ("run-b", "7"), ("run-b", "8"), ("run-b", "all"),
    ]  # fmt: skip
    assert rows[0] == {
        "qid": "7", "run_id": "run-a", "strict_vital_score": 0, "vital_score": 0.5,
        "strict_all_score": pytest.approx(2 / 3), "all_score": pytest.approx(2.5 / 3),
    }  # fmt: skip


def test_diversity_qrels(tmp_path, capsys):
    given = folder(tmp_path / "R", REPORT)
    out = tmp_path / "qrels.txt"
    assert "d7 is unscored" in refused(capsys, given, "--diversity-qrels", out)
    assert run(given, "--diversity-qrels", out, "--unscored", "skip") == 3
    read = {(q.topic_id, q.subtopic, q.doc_id): q.grade for q in read_qrels(str(out))}
    assert read["7", "n2", "d3"] == 1
    assert read["7", "n2", "d6"] == 0


def test_a_mean_over_few_topics_is_warned_of(tmp_path, capsys):
    silent = PlannedJudge()
    silent.unscored = Everything()
    (open_,) = judge_reports([response()], [BANK], silent)
    given = [replace(open_, topic_id=t) for t in "12"]
    assert run(folder(tmp_path / "R", SCORED, *given)) == 3
    assert "warning: run-a: sentence_precision, " in capsys.readouterr().err


def test_diversity_qrels_of_a_bank(tmp_path, capsys):
    from pnyx.formats import nugget_bank_row

    bank = tmp_path / "bank.jsonl"
    bank.write_text(json.dumps(nugget_bank_row(BANK, "nuggetbank-v3")) + "\n")
    out = tmp_path / "qrels.txt"
    arguments = ("--diversity-qrels", out, "--nuggets", bank)
    assert run(folder(tmp_path / "R", SCORED), *arguments) == 0
    grades = {(q.doc_id, q.grade) for q in read_qrels(str(out))}
    assert grades == {("d1", 1), ("d2", 1), ("d3", 1), ("d9", 1), ("d6", 0)}


def test_topics_and_weights(judged, tmp_path, capsys):
    topics = tmp_path / "topics.tsv"
    topics.write_text("8\tWhat came of it?\n10\tAnd then?\n")
    arguments = (judged, "--topics", topics, "--weight", "vital=4", "--json", "--draws", "0")
    assert run(*arguments) == 0
    row = json.loads(capsys.readouterr().out)
    assert list(row["runs"][0]["per_group"]) == ["8", "10"]
    assert row["runs"][0]["topics"]["missing"] == ["10"]
    # n1 weighs 4 and is not answered, n2 and n3 weigh 1 and are.
    assert row["runs"][0]["measures"]["nugget_recall_weighted"]["value"] == pytest.approx(2 / 6)
    assert row["weights"] == {"vital": 4, "okay": 1, "other": 1}


def test_importance_without_a_weight_is_named(tmp_path, capsys):
    nuggets = tuple(replace(n, importance="failed") for n in SCORED.nuggets)
    assert run(folder(tmp_path / "R", replace(SCORED, nuggets=nuggets))) == 0
    assert "importance failed weigh 1" in capsys.readouterr().err


def test_bad_choices_are_refused(judged, tmp_path, capsys):
    for arguments, said in (
        (("--measure", "f2"), "expected one of sentence_precision"),
        (("--baseline", "run-c"), "expected one of the runs run-a, run-b"),
        (("--baseline", judged), "expected one of the runs"),
        (("--weight", "vital"), "expected IMPORTANCE=X"),
        (("--weight", "vital=-1"), "expected IMPORTANCE=X"),
        (("--unscored", "zero"), "requires a file to write"),
        (("--to", "tot"), "--leaderboard"),
        (("--nuggets", "x"), "--diversity-qrels"),
        (("--leaderboard", "-", "--json"), "standard output"),
        (("--leaderboard", "-", "--nuggetizer", "-"), "both write to standard output"),
        (("--leaderboard", judged / "reports.jsonl"), "would be overwritten"),
        ((judged,), "named twice"),
    ):
        assert said in refused(capsys, judged, *arguments)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_text('{"topic_id": "7"}\n')
    assert f"{damaged}:1: no run_id" in refused(capsys, damaged)


def test_nothing_scored_is_no_number(tmp_path, capsys):
    silent = PlannedJudge()
    silent.unscored = Everything()
    (report,) = judge_reports([response()], [BANK], silent)
    assert run(folder(tmp_path / "R", report), "--json", "--draws", "0") == 3
    found = json.loads(capsys.readouterr().out)["measures"]
    assert found["sentence_precision"]["value"] is None
    assert found["f1"]["value"] is None
    assert found["nugget_recall"]["value"] is None
    assert found["nugget_recall"]["asked"] == 1
    assert found["citation_recall"]["value"] == 0.75  # by lookup


class Everything(set):
    def __contains__(self, one):
        return True


def test_defaults_are_those_of_python():
    defaults = {field.name: field.default for field, _ in opts_of(MeasureReportSpec)}
    assert defaults["missing"] == typing.get_args(Missing)[0]
