"""Submissions by the rules of a campaign: nobody stops the leaderboard of all, or takes a name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import caller, rows_of, write_rows
from pnyx.core.errors import InputError
from pnyx.formats.reports.submissions import MAX_RUN_ID, read_submissions
from tries import quick_cases

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

FARES = "Halden halved its bus fares in May."
UNKNOWN = "It is not known whether this is so."
INPUTS = ("--nuggets", "bank.jsonl", "--documents", "docs.jsonl", "--strict", "--text")


def report(
    run: str, *sentences: tuple[str, str], team: str = "t", topic: str = "1"
) -> dict[str, Any]:
    said = [{"text": text, "citations": [cited] * bool(cited)} for text, cited in sentences]
    head = {"team_id": team, "run_id": run, "topic_id": topic}
    return {"metadata": head, "references": [], "responses": said}


def write(file: str, *rows: dict[str, Any]) -> str:
    return write_rows(file, rows)


@pytest.fixture(autouse=True)
def campaign(own_place) -> None:
    """A collection of one document, a bank, and an honest run."""
    write_rows("docs.jsonl", [{"id": "d1", "text": f"{FARES[:-1]}, the council said."}])
    answers = [{"answer": "Halden halved its bus fares.", "references": ["d1"]}]
    nugget = {
        "question": "What?",
        "aggregator_type": "OR",
        "importance": "vital",
        "answers": answers,
    }
    head = {"team_id": "t", "run_id": "bank", "topic_id": "1"}
    write_rows("bank.jsonl", [{"metadata": head, "nugget_bank": [nugget]}])
    write("honest.jsonl", report("honest", (FARES, "d1")))


def board(call: Any, *runs: str, status: int = 0, measure: int = 0) -> dict[tuple[str, str], float]:
    """Judge runs, write a leaderboard, and return its means by run and measure."""
    code, _, said = call("judge", "report", *runs, *INPUTS, "--out", "R")
    assert code == status, said
    code, _, said = call("measure", "report", "R", "--strict", "--leaderboard", "L.txt")
    assert code == measure, said
    rows = (line.split() for line in Path("L.txt").read_text().splitlines())
    return {(run, name): float(value) for run, topic, name, value in rows if topic == "all"}


HONEST = {"sentence_precision": 1.0, "citation_precision": 1.0, "nugget_recall": 1.0, "f1": 1.0}


@pytest.mark.parametrize(
    ("sentences", "zero", "said"),
    [
        ([(UNKNOWN, "")] * 3, ["sentence_precision", "citation_precision", "f1"],
         "0 by the rules, on 1 topic (1): sentence_precision, citation_precision, citation_rel"),
        ([(FARES, "")], ["sentence_precision", "citation_precision", "citation_relevance", "f1"],
         "0 by the rules, on 1 topic (1): citation_precision, citation_relevance"),
        ([("Is it so?", "")], ["sentence_precision", "citation_precision"], "0 by the rules"),
        ([], ["sentence_precision", "citation_precision", "f1"], "is empty, counted as 0"),
        ([("?!", "")], ["sentence_precision", "citation_precision", "f1"], "is empty"),
    ],
    ids=["negative", "uncited", "question", "nothing", "no words"],
)  # fmt: skip
def test_a_report_with_nothing_to_measure_is_0_and_stops_nobody(call, sentences, zero, said):
    write("odd.jsonl", report("odd", *sentences))
    found = board(call, "honest.jsonl", "odd.jsonl")
    assert {name: found["honest", name] for name in HONEST} == HONEST
    assert {name: found["odd", name] for name in zero} == dict.fromkeys(zero, 0.0)
    line = call("measure", "report", "R", "--strict")[2]
    assert said in line
    assert "is 0 for a report that has none to measure" in line
    (_, odd) = json.loads(call("measure", "report", "R", "--json")[1])["runs"]
    if sentences != [] and sentences != [("?!", "")]:
        assert odd["measures"]["citation_precision"]["value"] is None  # a rule of --strict only


def test_other_measures_of_what_a_report_may_lack_are_0_as_well(call):
    write("odd.jsonl", report("odd"))
    call("judge", "report", "honest.jsonl", "odd.jsonl", *INPUTS, "--out", "R")
    names = ("negatives_confirmed", "reward_per_step", "sentence_precision_own", "net_reward")
    measures = [word for name in names for word in ("--measure", name)]
    assert call("measure", "report", "R", "--strict", *measures, "--leaderboard", "L")[0] == 0
    rows = [line.split() for line in Path("L").read_text().splitlines()]
    assert {name: value for run, topic, name, value in rows if run == "odd" and topic == "1"} == (
        dict.fromkeys(names, "0.0")
    )


def test_what_the_bank_leaves_undefined_is_no_0(call):
    bank = json.loads(Path("bank.jsonl").read_text())
    bank["nugget_bank"][0]["answers"] = []
    write_rows("bank.jsonl", [bank])
    call("judge", "report", "honest.jsonl", *INPUTS, "--out", "R")
    measure = ("measure", "report", "R", "--strict", "--leaderboard", "L", "--measure")
    for name in ("nugget_recall", "citation_recall", "f1"):
        code, _, said = call(*measure, name)
        assert (code, said.count("\n")) == (2, 1)
        assert f"no leaderboard: honest, topic 1: {name} is not defined" in said


# Left out -----------------------------------------------------------------------------------------


def as_bytes(*rows: dict[str, Any]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


GOOD = report("evil", (FARES, "d1"))
HEAD = {"run_id": "x", "topic_id": "1"}
LONG = "r" * (MAX_RUN_ID + 1)


def named(run: str) -> bytes:
    return as_bytes(report(run, (FARES, "d1")))


BROKEN = {
    "broken JSON": (as_bytes(GOOD) + b'{"metadata"', "line 2: not valid JSON"),
    "no run": (b"\n\n", "holds no responses"),
    "NUL byte": (as_bytes(GOOD) + b"\0\n", "line 2: found a NUL byte"),
    "other encoding": (b'{"metadata": "\xff"}\n', "line 1: found byte 0xff"),
    "cut gzip": (gzip.compress(as_bytes(GOOD))[:-9], "cannot be read"),
    "wrong fields": (b'{"metadata": {}, "responses": []}\n', "line 1: no topic_id"),
    "no list": (as_bytes({"metadata": HEAD, "responses": 3}), "line 1: responses: found 3"),
    "blank": (named("evil run"), "run 'evil run': run_id: found white space"),
    "tab": (named("evil\trun"), r"run 'evil\trun': run_id: found white space"),
    "invisible": (named("honest\u200b"), r"run 'honest\u200b': run_id: found invisible"),
    "turned round": (named("\u202etsenoh"), r"run '\u202etsenoh': run_id: found invisible"),
    "all topics": (named("all"), "run 'all': run_id: leaderboards give this name another meaning"),
    "JSON": (named('{"a":1}'), """run '{"a":1}': run_id: leaderboards give this name another"""),
    "too long": (named(LONG), f"run '{LONG}': run_id: found 101 characters, expected at most 100"),
    "two reports": (as_bytes(GOOD, GOOD), "run 'evil': found 2 reports on topic '1', expected one"),
    "both sides": (
        as_bytes(*({**GOOD, "stance": side} for side in ("pro", "con"))),
        "run 'evil': found 2 reports on topic '1', expected one",
    ),
}


FEW_BROKEN = {"broken JSON", "NUL byte", "cut gzip", "blank", "all topics", "two reports"}


@pytest.mark.parametrize("name", quick_cases(BROKEN, FEW_BROKEN))
def test_a_run_that_cannot_be_ranked_is_left_out_before_anything_is_asked(call, name):
    content, expected = BROKEN[name]
    Path("evil.jsonl").write_bytes(content)
    with ChatServer() as server:
        arguments = (
            "judge",
            "report",
            "evil.jsonl",
            "honest.jsonl",
            *INPUTS,
            "--judge",
            server.spec,
        )
        code, _, said = call(*arguments, "--plan")
        assert code == 0
        assert not server.asked()
    assert f"warning: left out, and not ranked: evil.jsonl: {expected}" in said
    found = board(call, "evil.jsonl", "honest.jsonl", status=3)
    assert {run for run, _ in found} == {"honest"}
    assert found["honest", "f1"] == 1.0
    said = call("measure", "report", "R", "--strict")[2]
    assert f"left out, and not ranked: evil.jsonl: {expected}" in said
    record = json.loads(Path("L.txt.manifest.json").read_text())
    (left,) = record["judged"]["R"]["left_out"]
    assert left["path"] == "evil.jsonl"
    assert call("files", "repeat", "R")[0] == call("files", "repeat", "L.txt.manifest.json")[0] == 0


def test_a_broken_run_among_those_of_a_folder_is_left_out_and_named(call):
    for name, content in (("a.jsonl", b"{"), ("b.jsonl", as_bytes(report("b", (FARES, "d1"))))):
        Path("runs").mkdir(exist_ok=True)
        (Path("runs") / name).write_bytes(content)
    found = board(call, "runs", status=3)
    assert {run for run, _ in found} == {"b"}
    assert "runs/a.jsonl" in call("measure", "report", "R", "--strict")[2]


def test_without_strict_and_for_a_wrong_name_of_a_file_nothing_is_judged(call):
    Path("evil.jsonl").write_bytes(b"{")
    code, out, said = call(
        "judge", "report", "evil.jsonl", "honest.jsonl", *INPUTS[:4], "--out", "R"
    )
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "evil.jsonl:1: not valid JSON" in said
    code, out, said = call("judge", "report", "honest.jsonl", "typo.jsonl", *INPUTS, "--out", "R")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "typo.jsonl" in said
    code, out, said = call("judge", "report", "evil.jsonl", *INPUTS, "--out", "R")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "no run can be judged: evil.jsonl: line 1" in said
    assert not Path("R").exists()


@pytest.mark.all
def test_reports_held_against_nuggets_leave_broken_runs_out_as_well(call):
    Path("evil.jsonl").write_bytes(b"{")
    arguments = ("nuggets", "assign", "evil.jsonl", "honest.jsonl", "--nuggets", "bank.jsonl")
    code, _, said = call(*arguments, "--strict", "--out", "R")
    assert code == 3
    assert "left out, and not ranked: evil.jsonl: line 1" in said
    code, _, said = call("measure", "report", "R", "--strict", "--measure", "nugget_recall")
    assert code == 0
    assert "left out, and not ranked: evil.jsonl" in said
    assert call("nuggets", "assign", *arguments[2:], "--out", "S")[0] == 2


def test_an_id_that_no_collection_holds_does_not_stop_the_qrels(call):
    write("evil.jsonl", report("evil", (FARES, "d1"), (FARES, "no such id")))
    call("judge", "report", "evil.jsonl", "honest.jsonl", *INPUTS, "--out", "R")
    assert call("measure", "report", "R", "--strict", "--diversity-qrels", "Q")[0] == 0
    assert [line.split()[2:] for line in Path("Q").read_text().splitlines()] == [["d1", "1"]]


# Names --------------------------------------------------------------------------------------------


def test_two_teams_with_one_run_id_are_told_apart(call):
    write("a.jsonl", report("run1", (FARES, "d1"), team="alpha"))
    write("b.jsonl", report("run1", ("Moss wrote laws.", "d1"), team="beta team"))
    write("c.jsonl", report("run1", (FARES, "d1"), team="", topic="2"))
    code, _, said = call("judge", "report", "a.jsonl", "b.jsonl", "c.jsonl", *INPUTS, "--out", "S")
    assert code == 0
    names = "'alpha/run1', 'beta%20team/run1', '/run1'"
    assert f"3 teams have a run 'run1'; they are called {names}" in said
    found = board(call, "a.jsonl", "b.jsonl")
    assert {run for run, _ in found} == {"alpha/run1", "beta%20team/run1"}
    assert found["alpha/run1", "f1"] == 1.0
    assert found["beta%20team/run1", "f1"] == 0.0
    assert {row["run_id"] for row in rows_of("R/answers.jsonl") if "run_id" in row} <= {
        "alpha/run1", "beta%20team/run1"
    }  # fmt: skip


def test_two_teams_in_one_file_are_told_apart_and_reports_are_not_added_to_another_run(call):
    rows = [report("r", (FARES, "d1"), team=team) for team in ("a", "b")]
    write("both.jsonl", *rows)
    for strict in (True, False):
        found = read_submissions(["both.jsonl"], strict=strict)
        assert [response.run_id for response in found.responses] == ["a/r", "b/r"]


def test_names_of_teams_and_runs_cannot_be_made_to_meet():
    write("a.jsonl", *(report("r", (FARES, "d1"), team=team) for team in ("x", "y")))
    write("b.jsonl", report("x/r", (FARES, "d1"), team="z"), report("y/r", (FARES, "d1"), team="x"))
    write(
        "c.jsonl", report("r", (FARES, "d1"), team="x/y"), report("r", (FARES, "d1"), team="x%2Fy")
    )
    write("d.jsonl", *(report("r", (FARES, "d1"), team=team) for team in ("é+1", "a\u200bb")))
    files = ["a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"]
    names = [r.run_id for r in read_submissions(files).responses]
    assert names[:6] == ["x/r", "y/r", "z/x/r", "x/y/r", "x%2Fy/r", "x%252Fy/r"]
    assert names[6:] == ["é+1/r", "a%E2%80%8Bb/r"]


def test_a_run_cannot_take_the_name_that_another_gets_from_its_folder(call):
    write("evil.jsonl", report("R/honest", ("Moss wrote laws.", "d1")))
    write("other.jsonl", report("honest", (FARES, "d1")))
    call("judge", "report", "evil.jsonl", "honest.jsonl", *INPUTS, "--out", "R")
    call("judge", "report", "other.jsonl", *INPUTS, "--out", "S")
    code, out, said = call("measure", "report", "R", "S", "--strict", "--leaderboard", "L")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "two runs would be called 'R/honest'" in said


def test_one_run_in_two_files_is_named_and_refused_where_they_report_on_the_same_topic(call):
    write("a.jsonl", report("r", (FARES, "d1")))
    write("b.jsonl", report("r", ("Moss wrote laws.", "d1")))
    code, out, said = call("judge", "report", "a.jsonl", "b.jsonl", *INPUTS, "--out", "R")
    assert (code, out, said.count("\n")) == (2, "", 1)
    assert "run 'r' of team 't' has reports on topic '1' in a.jsonl and b.jsonl" in said
    assert "leave one of these files out" in said
    write("b.jsonl", report("r", ("Moss wrote laws.", "d1"), topic="2"))
    found = read_submissions(["a.jsonl", "b.jsonl"])
    assert [response.topic_id for response in found.responses] == ["1", "2"]
    assert found.warnings == ["run 'r' is in several files: a.jsonl, b.jsonl"]


@pytest.mark.parametrize(
    "other", ["Run1", "runl", "rυn1", "гun1", "run_1", "ｒｕｎ１", "rún1"],
    ids=["case", "letter", "Greek", "Cyrillic", "underscore", "wide", "accent"],
)  # fmt: skip
def test_look_alike_names_are_warned_of_with_their_code_points(call, other):
    first = "run-1" if other == "run_1" else "pun1" if other == "гun1" else "run1"
    other = "рun1" if other == "гun1" else other
    write("a.jsonl", report(first, (FARES, "d1"), team="a"))
    write("b.jsonl", report(other, (FARES, "d1"), team="b"))
    code, _, said = call("judge", "report", "a.jsonl", "b.jsonl", *INPUTS, "--out", "R")
    assert code == 0
    assert f"warning: the names of these runs look alike: {first!a}, {other!a}" in said


def test_distinct_names_are_not_warned_of():
    names = ("run1", "run2", "bm25", "bm25-long", "v1.1", "v11")
    write("a.jsonl", *(report(name, (FARES, "d1")) for name in names))
    assert read_submissions(["a.jsonl"], strict=True).warnings == []


@pytest.mark.parametrize("length", [MAX_RUN_ID, MAX_RUN_ID + 1])
def test_the_longest_name_is_shown_in_full(call, length):
    name = "r" * length
    write("long.jsonl", report(name, (FARES, "")))
    arguments = ("judge", "report", "honest.jsonl", "long.jsonl", *INPUTS[:-1], "--out", "R")
    assert call(*arguments)[0] == (0 if length == MAX_RUN_ID else 3)
    _, out, said = call("measure", "report", "R", "--strict")
    assert f"{name}: 0 by the rules" in said or f"run '{name}': run_id: found 101" in said
    assert "characters>" not in out + said


def test_names_that_no_leaderboard_can_hold_are_shown_in_full_without_strict(call):
    write("evil.jsonl", report("evil run", (FARES, "d1")))
    call("judge", "report", "evil.jsonl", *INPUTS[:4], "--no-text", "--out", "R")
    code, _, said = call("measure", "report", "R", "--no-text", "--leaderboard", "L")
    assert code == 2
    assert "run 'evil run' is empty or holds white space" in said


def test_the_results_of_an_earlier_version_are_judged_again(call):
    call("judge", "report", "honest.jsonl", *INPUTS, "--out", "R")
    manifest = json.loads(Path("R/manifest.json").read_text())
    del manifest["plan"]["strict"]
    Path("R/manifest.json").write_text(json.dumps(manifest))
    code, _, said = call("measure", "report", "R", "--strict")
    assert (code, said.count("\n")) == (2, 1)
    assert "was judged with the rules of an earlier version" in said


def test_no_file_is_an_error_of_the_organiser(tmp_path):
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="is a folder without files"):
        read_submissions([str(tmp_path / "none")], strict=True)


def test_a_repetition_gains_nothing_and_is_named_without_strict(call):
    bad = [(f"Moss wrote {what} in winter.", "d1") for what in ("homework", "laws", "songs")]
    write("honest.jsonl", report("honest", (FARES, "d1"), *bad))
    write("again.jsonl", report("again", *[(FARES, "d1")] * 50, *bad))
    found = board(call, "honest.jsonl", "again.jsonl")
    expected = {"sentence_precision": 0.25, "citation_precision": 0.25, "f1": 0.4}
    for run in ("honest", "again"):
        assert {name: found[run, name] for name in expected} == expected
    said = call("measure", "report", "R", "--strict")[2]
    assert "again: 49 repeated sentences: attested ones count once" in said
    said = call("measure", "report", "R")[2]
    assert "again: 49 repeated sentences; sentence_precision without repetitions: 0.250" in said
    assert "honest: " not in said
    again, _ = json.loads(call("measure", "report", "R", "--json")[1])["runs"]
    assert again["repeated"] == {"sentences": 49, "precision_once": 0.25}
    assert again["measures"]["sentence_precision"]["value"] == pytest.approx(50 / 53)
