"""`--strict` of judge report and measure report: the rules of a campaign."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command import caller, rows_of, write_rows

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

HALVED, ROSE = "Halden halved its bus fares in May.", "Ridership rose by a third by autumn."
TRAMS, CLAIM = "Trams returned to Halden in 2019.", "Moss built a bridge over the sound."


def report(run: str, topic: str, *sentences: tuple[str, list[str]], **embedded: str) -> dict:
    return {
        "metadata": {"team_id": "t", "run_id": run, "topic_id": topic},
        "responses": [{"text": text, "citations": cited} for text, cited in sentences],
        "references": sorted({doc for _, cited in sentences for doc in cited}),
        "documents": {doc: {"id": doc, "text": text} for doc, text in embedded.items()},
    }


def bank(topic: str, *answers: tuple[str, str]) -> dict:
    nuggets = [
        {"question": f"What is said of {doc}?", "aggregator_type": "OR",
         "answers": [{"answer": answer, "references": [doc]}]}
        for answer, doc in answers
    ]  # fmt: skip
    return {"metadata": {"team_id": "t", "run_id": "b", "topic_id": topic}, "nugget_bank": nuggets}


@pytest.fixture
def campaign() -> list[str]:
    """Run a has an empty report; b none on topic 2, a made-up id, and a text that d1 lacks."""
    a = [report("a", "1", (HALVED, ["d1"]), (ROSE, ["d2"])), report("a", "2")]
    b = [report("b", "1", (CLAIM, ["d1"]), (TRAMS, ["made-up"]), d1=CLAIM)]
    b.append(report("b", "b's own", (HALVED, ["d1"])))  # which is no topic of the campaign
    write_rows("a.jsonl", a)
    write_rows("b.jsonl", b)
    write_rows("banks.jsonl", [bank("1", (HALVED, "d1"), (ROSE, "d2")), bank("2", (TRAMS, "d3"))])
    documents = {"d1": HALVED, "d2": ROSE, "d3": TRAMS}
    write_rows("documents.jsonl", [{"id": k, "text": v} for k, v in documents.items()])
    return ["a.jsonl", "b.jsonl", "--nuggets", "banks.jsonl"]


COLLECTION = ("--documents", "documents.jsonl")


def cells_of(board: str) -> dict[tuple[str, str, str], float]:
    rows = (line.split() for line in Path(board).read_text().splitlines())
    return {(run, topic, measure): float(value) for run, topic, measure, value in rows}


def test_a_campaign_from_reports_to_a_leaderboard_with_its_record(campaign, call):
    status, _, said = call("judge", "report", *campaign, *COLLECTION, "--strict", "--out", "R")
    assert status == 0
    assert "1 topic not in banks.jsonl: left out" in said
    status, out, said = call("measure", "report", "R", "--strict", "--leaderboard", "board.txt")
    assert status == 0
    assert "a topic without a report counts as 0, as does an empty report" in said
    assert "never 0" in said
    assert "sentence_precision" in out  # names stay where texts are hidden
    cells = cells_of("board.txt")
    assert cells["a", "1", "sentence_precision"] == 1.0
    assert cells["a", "1", "nugget_recall"] == 1.0
    assert cells["a", "2", "f1"] == 0.0  # empty
    assert cells["b", "2", "f1"] == 0.0  # missing
    assert cells["a", "all", "sentence_precision"] == 0.5
    # d1 says nothing of the bridge but in b's own text of it, and nobody knows of made-up.
    assert cells["b", "1", "citation_precision"] == 0.0
    assert cells["b", "1", "citation_relevance"] == 0.5

    record = json.loads(Path("board.txt.manifest.json").read_text())
    assert len(record["rules"]) == 7
    assert record["min_scored"] == 0.8
    assert record["judged"]["R"]["record"]["inputs"].keys() == {*campaign[:2], *campaign[3:],
                                                                "documents.jsonl"}  # fmt: skip
    assert {"judge", "plan", "pnyx"} <= record["judged"]["R"].keys()
    (first, second) = record["runs"]
    assert (
        first["per_group"]["1"]["sentence_precision"].items() >= {"scored": 2, "asked": 2}.items()
    )
    assert second["topics"] == {"asked": 2, "missing": ["2"]}
    assert record["interval"].items() >= {"draws": 1000, "seed": 0}.items()
    assert call("files", "repeat", "board.txt.manifest.json")[0] == 0
    assert call("files", "repeat", "R")[0] == 0


def test_no_text_is_written_unless_it_may_be(campaign, call):
    arguments = ("judge", "report", *campaign, *COLLECTION, "--strict")
    _, out, said = call(*arguments, "--out", "R", "--json")
    written = "".join(path.read_text() for path in Path("R").iterdir())
    assert "Halden" not in out + said + written
    assert "Ridership" not in written
    assert call(*arguments, "--text", "--out", "shown")[0] == 0
    assert HALVED in Path("shown/reports.jsonl").read_text()
    boards = []
    for folder in ("R", "shown"):
        call("measure", "report", folder, "--strict", "--leaderboard", f"{folder}.txt")
        boards.append(cells_of(f"{folder}.txt"))
    assert boards[0] == boards[1]
    assert call("files", "repeat", "shown")[:2] == (0, "shown: the same bytes (2 files)\n")


def test_a_leaderboard_below_the_coverage_is_refused_and_what_is_unscored_is_no_zero(
    campaign, call
):
    labels = {row["id"]: row["value"] for row in known(call, campaign)}
    attests = sorted(name for name in labels if "a/1/1/attests" in name)
    assert attests
    for name in attests:
        labels.pop(name)  # one of two sentences has no verdict
    write_rows("labels.jsonl", [{"id": name, "value": value} for name, value in labels.items()])
    arguments = ("judge", "report", *campaign, *COLLECTION, "--judge", "labels.jsonl", "--strict")
    assert call(*arguments, "--out", "R")[0] == 3
    measure = ("measure", "report", "R", "--strict", "--leaderboard", "board.txt")
    status, out, said = call(*measure)
    assert (status, out) == (2, "")
    assert "no leaderboard: a, topic 1: " in said
    assert "is based on 50% of its items" in said
    assert not Path("board.txt").exists()
    assert call(*measure, "--min-scored", "0.5")[0] == 3
    assert cells_of("board.txt")["a", "1", "sentence_precision"] == 1.0


def known(call, campaign) -> list[dict]:
    """Return what the packaged judge answers, as labels."""
    call("judge", "report", *campaign, *COLLECTION, "--out", "known")
    return rows_of("known")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("judge", "report", "a.jsonl", "--nuggets", "banks.jsonl"), "requires the collection"),
        (
            ("judge", "report", "a.jsonl", "--nuggets", "banks.jsonl", *COLLECTION,
             "--unknown-documents", "unscored"),
            "--strict and --unknown-documents unscored exclude each other",
        ),
        (("measure", "report", "known"), "known: --strict: expected results of pnyx judge report"),
        (("measure", "report", "known", "--leaderboard", "x", "--unscored", "zero"),
         "--strict and --unscored exclude each other"),
    ],
)  # fmt: skip
def test_what_a_campaign_does_not_allow_is_one_line(campaign, call, arguments, said):
    known(call, campaign)
    status, out, err = call(
        *arguments, "--strict", *(("--out", "R") if "judge" in arguments else ())
    )
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_a_campaigns_options_are_saved_and_hold(campaign, call):
    arguments = ("judge", "report", *campaign, *COLLECTION, "--strict", "--out", "R")
    for more, hidden in (((), True), (("--text",), False)):
        assert call(*arguments, *more, "--save-config", "own.toml")[0] == 0
        assert call("judge", "report", *campaign[:2], "--config", "own.toml", "--plan")[0] == 0
        assert call("judge", "report", *campaign[:2], "--config", "own.toml")[0] == 0
        assert (HALVED in Path("R/reports.jsonl").read_text()) is not hidden
        shutil.rmtree("R")


@pytest.fixture
def views() -> list[str]:
    """Two questions with two perspectives; r lacks q2, and nobody judged q1/d2/b."""
    views = [{"id": p, "question_id": q, "question": "Fares?", "text": f"View {p}.", "stance": s}
             for q in ("q1", "q2") for p, s in (("a", "pro"), ("b", "con"))]  # fmt: skip
    write_rows("views.jsonl", views)
    said = {"q1/d1/a": True, "q1/d1/b": False, "q1/d2/a": False, "q1/d3/a": False,
            "q1/d3/b": True, "q2/d1/a": True, "q2/d1/b": None}  # fmt: skip
    rows = []
    for name, value in said.items():
        q, d, p = name.split("/")
        pair = {"question_id": q, "doc_id": d, "perspective_id": p}
        why = "timeout" if value is None else None
        rows.append({"id": name, "task": "support", "value": value, "unscored": why, **pair})
    write_rows("answers.jsonl", [row | {"judge": "j"} for row in rows])
    Path("r.run").write_text("q1 Q0 d1 1 2 r\nq1 Q0 d2 2 1 r\n")
    Path("s.run").write_text("q1 Q0 d1 1 2 s\nq1 Q0 d3 2 1 s\nq2 Q0 d1 1 1 s\n")
    return ["--perspectives", "views.jsonl", "--verdicts", "answers.jsonl", "--cutoff", "2"]


def test_runs_on_perspectives_by_the_rules_of_a_campaign(views, call):
    """By hand, r: q1 supports a by one of two documents, q2 nothing; s: q2 is open on b."""
    arguments = ("measure", "perspectives", "r.run", "s.run", *views, "--strict")
    status, out, said = call(*arguments)
    assert (status, out) == (2, "")
    assert "r: 75% of its pairs are judged; --min-judged asks for 80%" in said
    status, out, said = call(*arguments, "--min-judged", "0.75", "--json")
    assert status == 3
    assert "a question missing from a run counts as an empty ranking" in said
    found = json.loads(out)
    r, s = found["runs"]
    values = {name: m["value"] for name, m in r["measures"].items()}
    assert (values["MRecall@2"], values["Precision@2"]) == (0.0, 0.25)
    mrecall = s["measures"]["MRecall@2"]
    assert (mrecall["value"], mrecall["scored"], mrecall["asked"]) == (1.0, 1, 2)  # never a no
    assert (mrecall["bounds"]["least"], mrecall["bounds"]["most"]) == (0.5, 1.0)
    assert s["measures"]["Precision@2"]["value"] == 0.75
    assert found["judged"] == {"r": 0.75, "s": pytest.approx(5 / 6)}
    assert found["coverage"]["r"] == {
        "q1": {"scored": 3, "asked": 4}, "q2": {"scored": 0, "asked": 0}
    }  # fmt: skip
    assert found["record"]["inputs"].keys() == {"r.run", "s.run", "views.jsonl", "answers.jsonl"}
    assert len(found["rules"]) == 3
    excluded = [("--unjudged", "no"), ("--topics-of", "run"), ("--topics-of", "both")]
    for options in excluded:
        assert "--strict excludes" in call(*arguments, *options)[2]
    leaning = ("--min-judged", "0.75", "--leaning", "r.run", "r.run", "r.run", "--json")
    (lean,) = json.loads(call(*arguments, *leaning)[1])["leaning"]
    assert lean["asked_as"]["question"]["value"] is None  # no rule is of it, q1/d2/b may support


def test_reports_held_against_nuggets_by_the_rules_of_a_campaign(campaign, call):
    """By hand, a: both claims of topic 1, nothing on 2; b: one of two, no report on 2."""
    banks = [{"query": "T", "qid": "1", "nuggets": [{"text": HALVED}, {"text": ROSE}]},
             {"query": "U", "qid": "2", "nuggets": [{"text": TRAMS}]}]  # fmt: skip
    write_rows("banks.jsonl", banks)
    nothing = ("\u200b\u2060 .", [])  # no words: empty, or who sends it keeps the board from all
    write_rows("a.jsonl", [report("a", "1", (HALVED, []), (ROSE, [])), report("a", "2", nothing)])
    write_rows("b.jsonl", [report("b", "1", (ROSE, []))])
    reports = ("a.jsonl", "b.jsonl", "--nuggets", "banks.jsonl")
    assert call("nuggets", "assign", *reports, "--out", "known")[0] == 0
    ids = [row["id"] for row in rows_of("known/answers.jsonl")]
    values = zip(ids, (True, True, False, True), strict=True)  # the empty report is not asked about
    write_rows("labels.jsonl", [{"id": name, "value": value} for name, value in values])
    reports = (*reports, "--judge", "labels.jsonl")
    assert call("nuggets", "assign", *reports, "--strict", "--out", "R")[0] == 0
    assert "Halden" not in Path("R/reports.jsonl").read_text()
    measure = ("measure", "report", "R", "--strict", "--measure", "strict_all_score")
    status, _, said = call(*measure, "--leaderboard", "board.txt")
    assert status == 0
    assert "citation" not in said
    name = "strict_all_score"
    expected = {("a", "1"): 1.0, ("a", "2"): 0.0, ("b", "1"): 0.5, ("b", "2"): 0.0}
    cells = cells_of("board.txt")
    assert {key: cells[*key, name] for key in expected} == expected
    assert (cells["a", "all", name], cells["b", "all", name]) == (0.5, 0.25)
    assert (
        call("files", "repeat", "R")[0]
        == call("files", "repeat", "board.txt.manifest.json")[0]
        == 0
    )
    assert "is not defined" in call("measure", "report", "R", "--strict", "--leaderboard", "x")[2]
    (_, b) = json.loads(call("measure", "report", "R", "--json")[1])["runs"]
    known = {name for name, measured in b["measures"].items() if measured["value"] is not None}
    assert {"nugget_recall", "answer_recall"} <= known  # nobody judged a sentence: not 0 of them
    assert not known & {"sentences", "citations", "reward", "f1", "sentence_precision"}
    assert b["items"]["sentence_precision"]["pooled"] is None
