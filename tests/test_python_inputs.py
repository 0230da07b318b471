"""Natural input in Python: frames, dicts, lists and the values that people write in them."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pytest

import pnyx
from pnyx.judging.answers import Judged
from pnyx.judging.questions import Support
from pnyx.judging.students.rules import RuleJudge

TEXTS = ["Zoos are bad.", "Zoos are good."]

pandas = pytest.importorskip("pandas", reason="pandas is not installed")


def ids(documents: Any, **options: Any) -> list[str]:
    return [document.id for document in pnyx.read_evidence(documents, **options)]


def texts(**more: Any) -> Any:
    index = more.pop("index", None)
    return pandas.DataFrame({"text": TEXTS, **more}, index=index)


@pytest.mark.parametrize(
    ("frame", "expected"),
    [
        (texts(), ["1", "2"]),  # row numbers that pandas assigned
        (texts(index=pandas.RangeIndex(5, 7)), ["1", "2"]),
        (texts(index=[5, 9]), ["1", "2"]),  # such as those left after filtering
        (texts(index=pandas.Index(["x", "y"], name="id")), ["x", "y"]),
        (texts(index=["x", "y"]), ["x", "y"]),
        (texts(index=pandas.Index([7, 9], name="id")), ["7", "9"]),
        (texts(index=pandas.Index([7, 9], name="key")), ["7", "9"]),
        (texts(index=pandas.Index(["x", "y"], name="docno")), ["x", "y"]),
        (texts(index=["x", "y"], id=["a", "b"]), ["a", "b"]),  # a column of ids comes first
        (texts(index=["x", "x"]), ["1", "2"]),  # cannot be ids
        (texts(index=pandas.MultiIndex.from_tuples([("t", 1), ("t", 2)], names=["topic", "id"])),
         ["1", "2"]),
        (texts(id=[1.0, 2.0]), ["1", "2"]),
        (texts(id=[1.0, None]), ["1", "2"]),  # the second has none, and is the second row
        (texts(id=pandas.array([3, 4], dtype="Int64")), ["3", "4"]),
    ],
)  # fmt: skip
def test_ids_of_a_frame_are_kept(frame: Any, expected: list[str]) -> None:
    assert ids(frame) == expected


def test_a_named_index_that_cannot_be_ids_is_a_column() -> None:
    documents = list(pnyx.read_evidence(texts(index=pandas.Index(["t", "t"], name="section"))))
    sections = [(document.id, document.extra["section"]) for document in documents]
    assert sections == [("1", "t"), ("2", "t")]
    renamed = texts(index=pandas.Index(["x", "y"], name="key"))
    assert ids(renamed, columns={"id": "key"}) == ["x", "y"]


def test_ids_that_are_no_whole_numbers_are_refused_in_one_line() -> None:
    with pytest.raises(pnyx.InputError, match=r"^documents: row 1: id: found 1.5, expected text$"):
        ids(texts(id=[1.5, 2.0]))


def test_hits_of_a_frame_have_its_ids() -> None:
    frame = texts(
        index=pandas.Index(["x", "y"], name="id"), date=pandas.to_datetime(["2020-01-01"] * 2)
    )
    hits = pnyx.open(frame, features=()).search("zoos")
    assert sorted(hit.id for hit in hits) == ["x", "y"]


def test_dates_and_arrays_in_a_frame_become_text_and_lists() -> None:
    stamps = [pandas.Timestamp("2020-01-01"), pandas.Timestamp("2020-01-02 10:30")]
    frame = texts(
        when=stamps,
        day=[datetime.date(2020, 1, 1), None],
        utc=[pandas.Timestamp("2020-01-01", tz="UTC"), pandas.NaT],
        parts=[np.array([1, 2]), [np.float64(0.5)]],
        stamp=[np.datetime64("2020-01-01", "ns")] * 2,
    )
    first, second = (document.extra for document in pnyx.read_evidence(frame))
    assert (first["when"], second["when"]) == ("2020-01-01", "2020-01-02T10:30:00")
    assert (first["day"], "day" in second) == ("2020-01-01", False)
    assert (first["utc"], "utc" in second) == ("2020-01-01T00:00:00+00:00", False)
    assert (first["parts"], second["parts"]) == ([1, 2], [0.5])
    assert first["stamp"] == "2020-01-01"
    assert len(pnyx.open(frame, features=())) == 2  # it can be stored


def test_a_polars_frame_has_the_ids_and_dates_of_its_columns() -> None:
    polars = pytest.importorskip("polars", reason="polars is not installed")
    day = datetime.date(2020, 1, 1)
    frame = polars.DataFrame({"id": [1.0, 2.0], "text": TEXTS, "day": [day, None]})
    assert ids(frame) == ["1", "2"]
    assert next(iter(pnyx.read_evidence(frame))).extra["day"] == "2020-01-01"


@pytest.mark.parametrize(
    "run",
    [
        {"q1": {"d1": 1.0, "d2": 0.5}, "q2": {}},  # nothing was retrieved for q2
        {"q1": {"d1": np.float32(1), "d2": np.float32(0.5)}},
        {"q1": {"d1": np.int64(2), "d2": 1}},
    ],
    ids=["an empty topic", "float32", "int64"],
)
def test_a_run_is_topics_with_scores(run: Any) -> None:
    result = pnyx.measure_retrieval(run, {"q1": {"d2": 1}, "q2": {"d1": 1}}, ["RR"])
    # The relevant document is second of q1 and missing of q2: (1/2 + 0) / 2.
    assert [(r.name, r.measures["RR"].value) for r in result.runs] == [("run", 0.25)]
    named = pnyx.measure_retrieval({"bm25": run}, {"q1": {"d2": 1}, "q2": {"d1": 1}}, ["RR"])
    assert [(r.name, r.measures["RR"].value) for r in named.runs] == [("bm25", 0.25)]


def test_items_without_an_id_are_numbered_from_one() -> None:
    items = [
        {"text": "Fares fell.", "statement": "It is unknown."},
        {"id": "x", "text": "Fares fell.", "statement": "It is known."},
        {"text": "Fares fell.", "statement": "Nobody knows it."},
    ]
    answers = pnyx.ask(RuleJudge(), items, task="negative")
    assert [answer.question.id for answer in answers if answer.question] == ["1", "x", "3"]
    wrong: Any
    for wrong in ({"text": "Fares fell."}, 7):
        with pytest.raises(pnyx.InputError, match=r"items?.*\b2\b"):
            pnyx.ask(RuleJudge(), [items[0], wrong], task="negative")
    question = Support("1", "Fares fell.", "It is unknown.", task="negative")
    with pytest.raises(pnyx.InputError, match=r"row 2|:2: "):
        pnyx.ask(RuleJudge(), iter([question, wrong]))


def test_a_single_item_has_a_single_answer() -> None:
    item = {"text": "Fares fell.", "statement": "It is unknown."}
    (answer,) = pnyx.ask(RuleJudge(), [item], task="negative")
    assert isinstance(answer, Judged)
    assert answer.value is True
    assert pnyx.ask(RuleJudge(), item, task="negative") == answer
    assert pnyx.ask(RuleJudge(), [], task="negative") == []
