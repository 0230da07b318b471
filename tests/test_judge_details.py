"""What judges are asked and told in detail: grounded points, thresholds, classes, responses."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from command import called, rows_of, run, write_rows
from pnyx.judging.calibration.selective import ConfidenceRegions, Region, choose_thresholds
from pnyx.judging.llm.prompts import load_prompt, prompt_names

ARGUMENT = {
    "id": "1",
    "query": "Should buses be free?",
    "stance": "pro",
    "argument": "Ridership rose [1].",
    "documents": ["Ridership rose by a third."],
    "dimensions": ["groundedness"],
}


def _grades(*grades: int) -> Callable[[str], str]:
    """Return what names as many points as there are grades, and grades them so."""
    numbers = [str(number) for number in range(1, len(grades) + 1)]

    def answer(prompt: str) -> str:
        if "Name exactly" in prompt:
            return json.dumps({n: f"Point number {n}." for n in numbers})
        entry = {"reason": "r", **dict(zip(numbers, grades, strict=True))}
        return json.dumps({"groundedness": entry})

    return answer


def _grounded(tmp_path: Path, *grades: int) -> tuple[int, dict[str, Any], int]:
    items = write_rows(tmp_path / "items.jsonl", [ARGUMENT])
    arguments = (
        "judge",
        "rag",
        items,
        "--judge-format",
        "query-rubric",
        "--set",
        f"nuggets={len(grades)}",
    )
    with ChatServer(reply=_grades(*grades)) as server:
        store = ("--store", tmp_path / "store.sqlite", "--out", tmp_path / "out")
        status = run(*arguments, "--judge", server.spec, *store)
        count = len(server.asked())
    (row,) = rows_of(tmp_path / "out")
    return status, row, count


def test_groundedness_counts_only_the_points_that_the_argument_makes(tmp_path: Path) -> None:
    status, row, _ = _grounded(tmp_path, 5, 0, 3, 0)
    assert (status, row["value"], row["normalised"]) == (0, 4, 0.75)
    assert list(row["notes"]["rubric"].values()) == [5, 0, 3, 0]


def test_an_argument_that_makes_none_of_the_points_is_unscored_without_a_repair(
    tmp_path: Path,
) -> None:
    status, row, calls = _grounded(tmp_path, 0, 0)
    assert (status, row["value"], calls) == (3, None, 2)
    assert row["unscored"] == "format: the argument makes none of the points"


def test_other_dimensions_know_no_grade_of_zero(tmp_path: Path) -> None:
    items = write_rows(tmp_path / "items.jsonl", [ARGUMENT | {"dimensions": ["answer_relevance"]}])
    reply = json.dumps({"answer_relevance": {"reason": "", "1": 0}})
    points = json.dumps({"1": "A point of some words."})
    with ChatServer(reply=lambda p: points if "Name exactly" in p else reply) as server:
        arguments = ("judge", "rag", items, "--judge-format", "query-rubric", "--set", "nuggets=1")
        store = ("--store", tmp_path / "store.sqlite", "--out", tmp_path / "out")
        assert run(*arguments, "--judge", server.spec, *store) == 3
    assert rows_of(tmp_path / "out")[0]["unscored"].startswith("schema:")


@pytest.mark.parametrize("name", ["rag-triad", "rag-triad-nuggets"])
def test_where_there_is_one_argument_nothing_is_said_of_two(name: str) -> None:
    own = {"dimensions": ["x: y"]} if name == "rag-triad" else {"count": "3"}
    given = {"topic": "T?", "stance": "", "documents": ["D."], **own}
    for first, second in (("", ""), ("A.", ""), ("A.", "B.")):
        messages = load_prompt(name).render(**given, first=first, second=second)
        text = "\n".join(message.content for message in messages)
        assert ("second" in text, "two arguments" in text) == (bool(second), bool(second))
        assert "\n\n\n" not in text


def test_quality_is_judged_of_what_argue_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def line(side: str, *texts: str) -> dict[str, Any]:
        return {
            "metadata": {
                "team_id": "pnyx",
                "run_id": f"pnyx-{side}",
                "topic_id": "zoos",
                "topic": "Should zoos be phased out?",
                "stance": side,
                "writer": "m (argue@2)",
            },
            "references": ["d1"] if texts else [],
            "answer": [{"text": text, "citations": ["d1"]} for text in texts],
        }

    path = write_rows(
        tmp_path / "argued.jsonl", [line("pro", "Zoos cage.", "Animals suffer."), line("con")]
    )
    with ChatServer() as server:
        store = ("--store", tmp_path / "store.sqlite", "--out", tmp_path / "out")
        assert run("judge", "quality", path, "--judge", server.spec, *store) == 0
        (asked,) = server.asked()
    shown = asked["messages"][1]["content"]
    assert "\nZoos cage. Animals suffer.\n" in shown
    assert "Should zoos be phased out?" in shown
    rows = rows_of(tmp_path / "out")
    assert {(row["id"], row["run_id"], row["by"]) for row in rows} == {
        ("pnyx-pro/zoos", "pnyx-pro", "m")
    }
    assert run("judge", "quality", path, "--out", tmp_path / "packaged") == 0
    empty = write_rows(tmp_path / "empty.jsonl", [line("con")])
    status, _, err = called(capsys, "judge", "quality", empty, "--out", tmp_path / "none")
    assert (status, err.count("\n")) == (2, 1)
    assert "no response has sentences" in err


def test_the_errors_of_a_cascade_are_stated_for_each_class() -> None:
    # 100 answers, 10 of them yes: a judge that says no to nearly all is rarely wrong overall.
    labels = [n < 10 for n in range(100)]
    regions = choose_thresholds([0.1] * 97 + [0.9] * 3, labels, 0.2)
    assert regions.labelled_yes == 10
    assert regions.no.errors == 10
    assert regions.missed == 1.0
    assert "10 of 10 labelled yes (100 %) kept as no" in str(regions)
    assert "0 of 90 labelled no (0 %) kept as yes" in str(regions)


@pytest.mark.parametrize(("of_yes", "fits"), [(0, False), (1, True), (99, True), (100, False)])
def test_numbers_of_a_class_that_contradict_its_errors_are_refused(of_yes: int, fits: bool) -> None:
    region = Region(50, 1, 0.09)
    given = (0.1, 0.2, 0.8, region, region, 100, of_yes)
    if fits:
        assert ConfidenceRegions(*given).labelled_yes == of_yes
        return
    with pytest.raises(ValueError, match="labelled yes"):
        ConfidenceRegions(*given)


def test_calibrate_warns_of_a_class_that_a_cascade_would_lose(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [
        {
            "id": str(n), "task": "support", "value": n >= 95,
            "probability": 0.9 if n >= 95 else 0.1,
            "judge": "j", "method": "stated", "group": "g", "unscored": None,
        }
        for n in range(100)
    ]  # fmt: skip
    labels = [{"id": str(n), "value": n % 10 == 0 or n >= 95} for n in range(100)]
    given = write_rows(tmp_path / "answers.jsonl", answers)
    people = write_rows(tmp_path / "labels.jsonl", labels)
    command = ("judge", "calibrate", given, "--labels", people, "--out", tmp_path / "c.json")
    _, out, err = called(capsys, *command, "--error", "0.2")
    assert "10 of 15 labelled yes (67 %) kept as no" in err
    assert "choose a smaller value" in err
    assert "labelled yes" in out
    _, _, err = called(capsys, *command, "--error", "0.7")
    assert "choose a smaller value" not in err


def test_partial_help_counts_in_every_prompt_of_relevance() -> None:
    names = [name for name in prompt_names() if name.startswith("relevance")]
    assert len(names) == 6
    for name in names:
        assert "Partial help counts" in load_prompt(name).system


@pytest.mark.parametrize(("threshold", "value"), [("0.3", True), ("0.31", False), (None, False)])
def test_the_threshold_of_a_yes_can_be_set(
    tmp_path: Path, threshold: str | None, value: bool
) -> None:
    item = {"id": "1", "question": "Should buses be free?", "document": "Fares cost little."}
    items = write_rows(tmp_path / "items.jsonl", [item])
    reply = {"reason": "", "evidence": "", "answer": "no", "confidence": 0.7}
    more = () if threshold is None else ("--set", f"threshold={threshold}")
    with ChatServer(reply=json.dumps(reply)) as server:
        store = ("--store", tmp_path / "store.sqlite", "--out", tmp_path / "out")
        assert run("judge", "relevance", items, "--judge", server.spec, *store, *more) == 0
    (row,) = rows_of(tmp_path / "out")
    assert row["value"] is value
    assert row.get("threshold") == (None if threshold is None else float(threshold))
    assert row["judge"] == ("test" if threshold is None else f"test, yes from {threshold}")


@pytest.mark.parametrize(
    ("task", "more", "said"),
    [
        ("relevance", ("--set", "threshold=0"), "--set threshold"),
        ("relevance", ("--set", "threshold=0.5", "--set", "cascade=c.json"), "exclude each other"),
        ("quality", ("--set", "threshold=0.5"), "gives no yes or no"),
    ],
)
def test_thresholds_that_cannot_be_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    task: str,
    more: tuple[str, ...],
    said: str,
) -> None:
    row = {"id": "1", "question": "Should buses be free?", "document": "Fares.", "text": "Text."}
    items = write_rows(tmp_path / "items.jsonl", [row])
    status, _, err = called(capsys, "judge", task, items, *more, "--out", tmp_path / "out")
    assert status == 2
    assert said in err.splitlines()[-1]
