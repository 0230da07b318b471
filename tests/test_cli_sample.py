"""`pnyx label sample`: what people are asked of judged results."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command import caller, rows_of, write_rows
from test_cli_strict import COLLECTION, campaign  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("own_place")
call = caller()

ITEMS = [
    {"id": f"i{n}", "text": "Fares fell.", "statement": f"Fares fell by {n}.", "group": f"t{n % 5}"}
    for n in range(20)
]


@pytest.fixture
def two_judges(call):
    """They differ on i0, i3, i6 ..."""
    write_rows("items.jsonl", ITEMS)
    for name, says in (
        ("one", lambda n: n % 2 == 0),
        ("two", lambda n: (n % 2 == 0) ^ (n % 3 == 0)),
    ):
        labels = [{"id": f"i{n}", "value": says(n)} for n in range(20)]
        write_rows(f"{name}.jsonl", labels)
        call("judge", "support", "items.jsonl", "--judge", f"{name}.jsonl", "--out", name)


def test_questions_on_which_judges_differ_are_drawn_by_seed(two_judges, call):
    draws = {}
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        status, said, _ = call(
            "label", "sample", "one", "two", "--size", "4", "--seed", seed, "--out", folder
        )
        assert status == 0
        assert f"4 questions of 7 on which the judges differ: 4 support; see {folder}" in said
        draws[folder] = Path(folder, "support.jsonl").read_bytes()
    assert draws["a"] == draws["b"] != draws["c"]
    rows = rows_of("a/support.jsonl")
    assert all(row in ITEMS and int(row["id"][1:]) % 3 == 0 for row in rows)
    for name in ("one", "two"):
        answers = {row["id"]: row["value"] for row in rows_of(f"a/support-{name}.jsonl")}
        known = {row["id"]: row["value"] for row in rows_of(name)}
        assert answers == {row["id"]: known[row["id"]] for row in rows}
    about = json.loads(Path("a/sample.json").read_text())
    assert about.items() >= {"asked": 20, "differ": 7, "population": 7}.items()
    assert about["drawn"] == sorted(row["id"] for row in rows)


def test_what_a_judge_left_unscored_is_no_other_answer(two_judges, call):
    rows = rows_of("two")
    differed = next(row for row in rows if int(row["id"][1:]) % 3 == 0)
    differed |= {"value": None, "unscored": "timeout: 60 s"}
    write_rows("two/answers.jsonl", rows)
    assert (
        "4 questions of 6 on"
        in call("label", "sample", "one", "two", "--size", "4", "--out", "d")[1]
    )


def test_random_questions_and_whole_topics(two_judges, call):
    said = call("label", "sample", "one", "--size", "6", "--out", "a")[1]
    assert "6 questions of 20 that were asked" in said
    status, out, _ = call(
        "label", "sample", "one", "--of", "topics", "--size", "2", "--out", "b", "--json"
    )
    assert status == 0
    topics = json.loads(out)["drawn"]
    assert {row["id"] for row in rows_of("b/support.jsonl")} == {
        row["id"] for row in ITEMS if row["group"] in topics
    }


def test_topics_of_reports_have_all_that_people_must_answer(campaign, call):  # noqa: F811
    """Judged by labels of the sample alone, nothing is unscored."""
    judge = ("judge", "report", *campaign, *COLLECTION, "--strict")
    call(*judge, "--out", "R")
    assert call("label", "sample", "R", "--of", "topics", "--size", "9", "--out", "S")[0] == 0
    asked = [
        row
        for task in json.loads(Path("S/sample.json").read_text())["tasks"]
        for row in rows_of(f"S/{task}.jsonl")
    ]
    assert all(row["text"] and row["statement"] for row in asked)
    for value in (True, False):
        labels = [{"id": row["id"], "value": value} for row in asked]
        write_rows("labels.jsonl", labels)
        out = f"people-{value}"
        assert call(*judge, "--judge", "labels.jsonl", "--out", out)[0] == 0


def test_what_cannot_be_drawn_is_one_line(two_judges, call):
    write_rows("other.jsonl", ITEMS[:1])
    for arguments, said in (
        (("one", "--of", "differ"), "--of differ requires the results of two judges"),
        (("other.jsonl",), "expected results of pnyx judge or judge report"),
        (("one", "one"), "found nothing to draw: the judges never differ"),
    ):
        status, out, err = call("label", "sample", *arguments, "--out", "S")
        assert (status, out) == (2, "")
        assert said in err
    write_rows("items.jsonl", ITEMS[1:])
    assert "items.jsonl has changed" in call("label", "sample", "one", "--out", "S")[2]
    assert not Path("S").exists()


@pytest.mark.parametrize("columns", [{}, {"question": "frage", "answer": "antwort"}])
def test_sentences_of_rag_records_are_drawn_as_items(columns, call):
    """Of two sentences each: the items can be labelled, and the labels measured."""
    rows = [
        {columns.get("question", "question"): f"Fare {n}?", "contexts": [f"Fares fell by {n} %."],
         columns.get("answer", "answer"): f"Fares fell by {n} %. Rents rose."}
        for n in range(4)
    ]  # fmt: skip
    named = [word for pair in columns.items() for word in ("--column", "=".join(pair))]
    write_rows("rag.jsonl", rows)
    assert call("judge", "support", "rag.jsonl", *named, "--out", "r")[0] == 0
    assert call("label", "sample", "r", "--size", "3", "--out", "people")[0] == 0
    drawn = rows_of("people/support.jsonl")
    assert len(drawn) == 3
    assert {row["id"] for row in drawn} == {row["id"] for row in rows_of("people/support-r.jsonl")}
    for row in drawn:
        record, _, sentence = row["id"].partition("#")
        source = rows[int(record) - 1]
        assert (row["text"], row["group"]) == (source["contexts"][0], record)
        assert row["question"] == source[columns.get("question", "question")]
        assert row["statement"] == (source["contexts"][0], "Rents rose.")[int(sentence) - 1]
    assert call("files", "validate", "people/support.jsonl")[0] == 0


def test_an_answer_of_a_rag_record_is_drawn_with_its_documents(call):
    write_rows("rag.jsonl", [{"question": "Why?", "contexts": ["Fares fell."], "answer": "Fares."}])
    call("judge", "rag", "rag.jsonl", "--out", "r")
    assert call("label", "sample", "r", "--out", "people")[0] == 0
    assert rows_of("people/rag.jsonl") == [
        {"id": "1", "group": "1", "query": "Why?", "documents": ["Fares fell."],
         "argument": "Fares."}
    ]  # fmt: skip
    assert call("judge", "rag", "people/rag.jsonl", "--out", "again")[0] == 0
