"""`pnyx measure perspectives`, from a ranking over verdicts to numbers, through users' doors."""

from __future__ import annotations

import json
import typing
from pathlib import Path
from typing import Any

import pytest

from command import refuser, rows_of, runner, write_rows
from pnyx.core.records import Document, Perspective, RunEntry
from pnyx.formats import write_run
from pnyx.formats.perspectives import write_perspectives
from pnyx.judging.verdicts import UnscoredPairs
from pnyx.perspectives.measure_command import PerspectivesSpec
from pnyx.perspectives.measures.coverage import PERSPECTIVE_DEPTHS
from pnyx.perspectives.measures.results import PerspectiveTopics
from pnyx.perspectives.measures.verdicts import Unjudged
from pnyx.search.build import build_index
from pnyx.stats.base import Bootstrap
from pnyx.stats.significance import Test

CONTRACT = {"value", "low", "high", "scored", "asked", "open", "bounds"}
WORDS = ("one", "two", "three")


refused = refuser("measure", "perspectives")


def run(verb: str, *arguments: object) -> int:
    return runner(*verb.split())(*arguments)


@pytest.fixture
def world(tmp_path: Path, own_place: None, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twelve questions with two opposite perspectives, two runs and all verdicts.

    Of question n, d0 supports a, d1 supports b (if n is even), d2 nothing. `good` ranks d0, d1, d2,
    `bad` d2, d0, d1.
    """
    monkeypatch.setenv("COLUMNS", "200")
    perspectives, pairs = [], []
    rankings: dict[str, list[RunEntry]] = {"good": [], "bad": []}
    for n in range(12):
        question = f"q{n:02}"
        for letter, stance in (("a", "pro"), ("b", "con")):
            extra = {"question": f"Is {n} fine?"}
            perspectives.append(Perspective(letter, question, f"View {letter}.", stance, extra))
            for doc in range(3):
                yes = (letter, doc) == ("a", 0) or ((letter, doc) == ("b", 1) and n % 2 == 0)
                pairs.append((question, f"{question}-d{doc}", letter, yes))
        for name, order in (("good", (0, 1, 2)), ("bad", (2, 0, 1))):
            for rank, doc in enumerate(order, 1):
                rankings[name].append(RunEntry(question, f"{question}-d{doc}", rank, 10.0 - rank))
    with (tmp_path / "views.jsonl").open("w") as stream:
        write_perspectives(stream, perspectives)
    for name, entries in rankings.items():
        with (tmp_path / f"{name}.run").open("w") as stream:
            write_run(stream, entries)
    labels = [
        {"id": f"{q}/{d}/{p}", "value": yes, "question_id": q, "doc_id": d, "perspective_id": p}
        for q, d, p, yes in pairs
    ]
    write_rows(tmp_path / "labels.jsonl", labels)
    return tmp_path


USUAL = ("--perspectives", "views.jsonl", "--verdicts", "labels.jsonl")


def measured(capsys: Any, *arguments: object, code: int = 0) -> dict[str, Any]:
    assert run("measure perspectives", *arguments, "--json") == code
    row: dict[str, Any] = json.loads(capsys.readouterr().out)
    return row


def test_the_defaults_are_those_of_python():
    spec = PerspectivesSpec(views="v", verdicts="w")
    hints = typing.get_type_hints(PerspectivesSpec)
    assert spec.bootstrap == Bootstrap()
    assert spec.depths == PERSPECTIVE_DEPTHS
    for field, known in (
        ("test", Test),
        ("topics_of", PerspectiveTopics),
        ("unjudged", Unjudged),
        ("unscored", UnscoredPairs),
    ):
        assert hints[field] == known


def test_from_a_ranking_to_numbers(world, capsys):
    """Index, judge the first documents of two runs, measure: each pair is asked about once."""
    texts = {0: "one two", 1: "three", 2: "four"}
    documents = [Document(f"q{n:02}-d{d}", text) for n in range(12) for d, text in texts.items()]
    build_index(documents, world / "idx")
    judge = ("--perspectives", "views.jsonl", "--index", "idx", "--depth", 2, "--out", "judged")
    runs = ("--run", "good.run", "--run", "bad.run")
    assert run("judge support", *runs, *judge, "--judge", "labels.jsonl") == 0
    rows = rows_of("judged/answers.jsonl")
    assert len(rows) == 12 * 3 * 2  # d0 is among the first two of both
    keys = ("id", "question_id", "doc_id", "perspective_id", "text_id", "group")
    assert tuple(rows[0][key] for key in keys) == (
        "q00/q00-d0/a", "q00", "q00-d0", "a", "q00-d0", "q00",
    )  # fmt: skip
    capsys.readouterr()

    row = measured(capsys, "good.run", "bad.run", "--perspectives", "views.jsonl", "--verdicts",
                   "judged", "--cutoff", 2, "--baseline", "bad.run")  # fmt: skip
    good, bad = (one["measures"] for one in row["runs"])
    assert (good["MRecall@2"]["value"], bad["MRecall@2"]["value"]) == (0.5, 0.0)
    # good: d0 and, of every other question, d1; bad: d0 alone
    assert (good["Precision@2"]["value"], bad["Precision@2"]["value"]) == (0.75, 0.5)
    assert (good["ProOnly@2"]["value"], bad["ProOnly@2"]["value"]) == (0.5, 1.0)
    assert all(set(m) == CONTRACT for m in good.values())
    by_name = {c["measure"]: c for c in row["comparisons"]}
    assert set(by_name) == {"MRecall@2", "Precision@2"}
    assert by_name["MRecall@2"]["difference"] == 0.5
    assert by_name["MRecall@2"]["p"] == pytest.approx(2 / 2**6)  # six differences, all the same
    assert row["test"]["correction"] == "Holm-Bonferroni"
    assert set(row["runs"][0]["per_group"]["q00"]["MRecall@2"]) == CONTRACT


def test_labelled_pairs_correct_nothing_where_no_question_is_judged_whole(world, capsys):
    rows = rows_of("labels.jsonl")
    judged = [
        {**row, "task": "support", "unscored": None, "judge": "m", "label": row["value"]}
        | {"probability": 0.9 if row["value"] else 0.2}
        for row in rows
    ]
    for name, kept in (("all", judged), ("some", [r for r in judged if "-d0/a" not in r["id"]])):
        write_rows(f"{name}.jsonl", kept)
    arguments = ("good.run", "--perspectives", "views.jsonl", "--verdicts", "some.jsonl")
    more = ("--labelled", "all.jsonl", "--cutoff", 2, "--draws", 20)
    row = measured(capsys, *arguments, *more, code=3)
    for corrected in row["runs"][0]["corrected"].values():
        assert (corrected["value"], corrected["scored"], corrected["asked"]) == (None, 0, 12)


def test_unscored_pairs_are_said_and_make_the_exit_status_3(world, capsys):
    lines = Path("labels.jsonl").read_text().splitlines()
    kept = [line for line in lines if '"q00/q00-d1/b"' not in line]
    Path("labels.jsonl").write_text("\n".join(kept) + "\n")
    row = measured(capsys, "good.run", *USUAL, "--cutoff", 2, code=3)
    recall = row["measures"]["MRecall@2"]
    assert (recall["scored"], recall["asked"], recall["open"]) == (11, 12, 1)
    assert recall["value"] == pytest.approx(5 / 11)
    assert (recall["bounds"]["least"], recall["bounds"]["most"]) == (5 / 12, 6 / 12)
    assert row["runs"][0]["pairs"] == {
        "asked": 48, "scored": 47, "unscored": 1, "reasons": {"no verdict": 1},
    }  # fmt: skip
    topic = row["per_group"]["q00"]["MRecall@2"]
    assert (topic["value"], topic["open"], topic["bounds"]) == (None, 1, {"least": 0, "most": 1})
    assert run("measure perspectives", "good.run", *USUAL, "--cutoff", 2, "--per-topic") == 3
    printed = capsys.readouterr()
    assert "good: 1 of 48 pairs are unscored: 1 no verdict" in printed.err
    assert "11 of 12" in printed.out
    assert "[0.417, 0.500]" in printed.out
    (line,) = (line for line in printed.out.splitlines() if line.startswith("q00"))
    assert "[0.000, 1.000]" in line


def test_the_table_names_what_is_compared(world, capsys):
    command = (
        "good.run",
        "bad.run",
        *USUAL,
        "--cutoff",
        2,
        "--cutoff",
        3,
        "--baseline",
        "bad",
        "--pool-depth",
        3,
    )
    assert run("measure perspectives", *command) == 0
    out = capsys.readouterr().out
    assert "2 runs on 24 perspectives on 12 questions of views.jsonl" in out
    assert "verdicts: labels:labels.jsonl" in out
    for name in (
        "MRecall@2",
        "MRecall@3",
        "Precision@3",
        "BothSides@2",
        "CoverDepth@3",
        "ProLead@3",
    ):
        assert name in out
    assert "the first 3 of all runs together" in out
    assert "two-sided paired randomisation test, Holm-Bonferroni over 4 comparisons" in out
    assert "▲" in out


def test_the_qrels_give_pnyx_measure_retrieval_and_ir_measures_the_same_values(world, capsys):
    pytest.importorskip("ir_measures")
    names = ["MRecall@2", "alpha_nDCG@3", "ERR_IA@3", "StRecall@3"]
    named = [argument for name in names for argument in ("--measure", name)]
    options = ("--qrels-out", "out.qrels", "--leaderboard", "board.txt", *named)
    ours = measured(capsys, "good.run", *USUAL, *options)["measures"]
    lines = map(str.split, Path("board.txt").read_text().splitlines())
    means = {name: float(value) for _, topic, name, value in lines if topic == "all"}
    assert means == {name: pytest.approx(ours[name]["value"], abs=1e-9) for name in names}
    assert Path("out.qrels").read_text().splitlines()[:2] == ["q00 a q00-d0 1", "q00 b q00-d0 0"]
    assert run("measure retrieval", "good.run", "--qrels", "out.qrels", *named,
               "--json") == 0  # fmt: skip
    theirs = json.loads(capsys.readouterr().out)["measures"]
    for name in names:
        assert ours[name]["value"] == pytest.approx(theirs[name]["value"])
    # and back: the qrels are verdicts
    views = ("--perspectives", "views.jsonl")
    again = measured(capsys, "good.run", *views, "--verdicts", "out.qrels", *named)
    assert {name: m["value"] for name, m in again["measures"].items()} == {
        name: m["value"] for name, m in ours.items()
    }


def test_qrels_are_refused_while_pairs_are_unscored(world, capsys):
    lines = Path("labels.jsonl").read_text().splitlines()
    Path("labels.jsonl").write_text(
        "".join(line + "\n" for line in lines if '"q00/' not in line or '/a"' in line)
    )
    arguments = ("good.run", *USUAL, "--qrels-out", "out.qrels")
    assert "q00, q00-d0, b is unscored (no verdict)" in refused(capsys, *arguments)
    assert not Path("out.qrels").exists()
    assert run("measure perspectives", *arguments, "--unscored", "skip") == 3
    printed = capsys.readouterr()
    assert "1 perspectives have no scored pair and therefore no line in the qrels" in printed.err
    assert "q00/b" in printed.err
    assert "q00 b" not in Path("out.qrels").read_text()
    assert run("measure perspectives", *arguments, "--unscored", "zero") == 3
    assert "q00 b q00-d0 0" in Path("out.qrels").read_text()


def test_qrels_that_list_only_what_supports(world, capsys):
    Path("q.qrels").write_text("q00 a q00-d0 1\nq00 b q00-d1 1\n")
    verdicts = ("--perspectives", "views.jsonl", "--verdicts", "q.qrels", "--cutoff", 2)
    row = measured(capsys, "good.run", *verdicts, code=3)
    assert row["measures"]["MRecall@2"]["value"] == 1  # of q00, the only one that is settled
    row = measured(capsys, "good.run", *verdicts, "--unjudged", "no")
    assert row["measures"]["MRecall@2"]["value"] == 1 / 12


def people(questions, label):
    """Write answers with labels: (question, document, perspective) of some questions."""
    answers = [
        {"id": f"{q}/{doc}/{letter}", "task": "support", "value": yes, "judge": "j",
         "unscored": None, "probability": 0.8 if yes else 0.2, "question_id": q,
         "doc_id": doc, "perspective_id": letter, "label": label(n, yes)}
        for n, (q, documents) in enumerate(questions.items())
        for place, doc in enumerate(documents)
        for letter in "ab"
        for yes in [(place + n) % 3 == 0]
    ]  # fmt: skip
    write_rows("people.jsonl", answers)


@pytest.fixture
def answered(world):
    rows = rows_of("labels.jsonl")
    verdicts = [
        {**one, "task": "support", "unscored": None, "judge": "j", "probability": None}
        for one in rows
    ]
    write_rows("answers.jsonl", verdicts)
    return ("good.run", "--perspectives", "views.jsonl", "--verdicts", "answers.jsonl",
            "--cutoff", 2, "--labelled", "people.jsonl")  # fmt: skip


def first_two(count):
    """Return the first documents of some measured questions."""
    found = {}
    for line in Path("good.run").read_text().splitlines():
        question, _, doc, *_ = line.split()
        found.setdefault(question, []).append(doc)
    return {question: documents[:2] for question, documents in list(found.items())[:count]}


def test_labels_of_measured_questions_power_the_judges_verdicts(answered, capsys):
    people(first_two(9), lambda n, yes: n % 2 == 0)
    row = measured(capsys, *answered)
    assert row["correction"] == {
        "judge": "j", "pairs": 36, "unscored": 0, "yes": 20, "questions": 9,
        "fewest_questions": 8, "few_questions": 30,
    }  # fmt: skip
    for name in ("MRecall@2", "Precision@2"):
        one = row["runs"][0]["corrected"][name]
        assert (one["scored"], one["asked"], one["labelled"]) == (12, 12, 9)
        assert 0 <= one["low"] <= one["value"] <= one["high"] <= 1
    assert run("measure perspectives", *answered) == 0
    printed = capsys.readouterr()
    assert "from their labels of 9 or more, which must be picked at random" in printed.out
    assert "labels of 9 measured questions: the estimate depends on single" in printed.err
    others = ("good.run", *USUAL, "--labelled", "people.jsonl")
    assert "expected the same judge" in refused(capsys, *others)


@pytest.mark.parametrize(("questions", "count"), [("measured", 7), ("other", 0)])
def test_labels_of_fewer_questions_or_of_others_correct_nothing(answered, capsys, questions, count):
    documents = first_two(7)
    people(
        documents if questions == "measured" else {f"l{n}": ["x0", "x1"] for n in range(40)},
        lambda n, yes: yes,
    )
    row = measured(capsys, *answered)
    assert all(one["value"] is None for one in row["runs"][0]["corrected"].values())
    assert run("measure perspectives", *answered) == 0
    said = f"not corrected: labels of {count} measured questions, expected at least 8"
    assert said in capsys.readouterr().err


def test_leaning(world, capsys):
    leaning = ("--leaning", "good.run", "good.run", "bad.run")
    row = measured(capsys, "good.run", *USUAL, "--cutoff", 2, *leaning)
    (one,) = row["leaning"]
    assert (one["run"], one["k"]) == ("good", 2)
    # good finds a 12 times and b 6 times: (12 - 6) / 12; bad finds a alone
    assert one["asked_as"]["question"]["value"] == 0.5
    assert one["asked_as"]["con"]["value"] == 1.0
    assert one["shifts"]["con-question"]["value"] == 0.5
    assert run("measure perspectives", "good.run", *USUAL, "--cutoff", 2, *leaning) == 0
    assert "supporting perspective" in capsys.readouterr().out


def test_berds_files_and_sides_by_order(world, capsys):
    lines = [
        {"org_id": f"q{n:02}", "org_q": f"Is {n} fine?", "id": f"{n}{i}", "text": "Expansion.",
         "perspectives": ["It is.", "It is not."]}
        for n in range(12) for i in range(2)
    ]  # fmt: skip
    write_rows("berds.jsonl", lines)
    text = Path("labels.jsonl").read_text()
    text = text.replace('"perspective_id": "a"', '"perspective_id": "1"')
    Path("numbered.jsonl").write_text(
        text.replace('"perspective_id": "b"', '"perspective_id": "2"')
    )
    command = (
        "good.run",
        "--perspectives",
        "berds.jsonl",
        "--verdicts",
        "numbered.jsonl",
        "--cutoff",
        2,
    )
    row = measured(capsys, *command)
    assert (row["questions"], row["perspectives"]) == (12, 24)
    assert row["measures"]["MRecall@2"]["value"] == 0.5
    assert "ProOnly@2" not in row["measures"]
    assert measured(capsys, *command, "--sides", "order")["measures"]["ProOnly@2"]["value"] == 0.5


def test_bad_input_is_one_line(world, capsys):
    Path("twice.run").write_text("q00 Q0 d 1 2 t\nq00 Q0 d 2 1 t\n")
    assert "twice.run:2: duplicate topic and document" in refused(capsys, "twice.run", *USUAL)
    Path("other.run").write_text("q77 Q0 d 1 2 t\n")
    assert "other: no topic has perspectives" in refused(capsys, "other.run", *USUAL)
    Path("docs.run").write_text("q00 Q0 d 1 2 t\n")
    assert "no verdict is on a pair of the runs" in refused(capsys, "docs.run", *USUAL)
    for options, problem in (
        (("--measure", "MRecall@0"), "expected MRecall@ and a depth"),
        (("--measure", "Nothing@5"), "is not a measure"),
        (("--baseline", "none.run"), "is neither a file nor one of"),
        (("--gold", "labels.jsonl"), "--gold requires --labelled"),
        (("--qrels-out", "views.jsonl"), "names the same file as"),
        (("--qrels-out", "-", "--json"), "both write to standard output"),
    ):
        assert problem in refused(capsys, "good.run", *USUAL, *options)
    capsys.readouterr()
    assert "cannot be read" in refused(capsys, "good.run", "--perspectives", "none.jsonl",
                                       "--verdicts", "labels.jsonl")  # fmt: skip
