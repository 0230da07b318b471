"""`--cascade` of students through the command line: a cheap one first, for the clear cases."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from chat_server import ChatServer
from command import called, rows_of, write_rows
from pnyx.judging.calibration.curves import Platt
from pnyx.judging.calibration.recalibration import Recalibration, write_calibration
from pnyx.judging.calibration.selective import ConfidenceRegions, Region
from pnyx.judging.questions import Support
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.student import Student, StudentJudge, open_student
from student_fixture import distilled, labelled_rows, refused

pytestmark = pytest.mark.usefixtures("own_place")


@pytest.fixture(scope="module")
def student(tmp_path_factory) -> Path:
    """The folder of the stronger student."""
    return distilled(tmp_path_factory.mktemp("student") / "strong", "lexical")


@pytest.fixture(scope="module")
def words(tmp_path_factory) -> Path:
    """The folder of a student that looks at words alone."""
    return distilled(tmp_path_factory.mktemp("words") / "lexical", "lexical", 8)


@pytest.fixture
def sure(words) -> Path:
    """Thresholds that the cheap student's answers of the middle do not reach."""
    return thresholds(open_student(words).name, Path("sure.json"))


def thresholds(judge: str, path: Path) -> Path:
    sides = Region(40, 0, 0.08), Region(40, 0, 0.08)
    sure = ConfidenceRegions(0.1, 0.2, 0.35, *sides, 100)
    write_calibration(
        path, Recalibration(judge, "relevance", "student", Platt(1.0, 0.0), 0.3, sure)
    )
    return path


def unlabelled() -> list[dict[str, Any]]:
    return [{k: v for k, v in r.items() if k not in ("value", "judge")} for r in labelled_rows(8)]


def judges_of(path: str) -> dict[str, set[str]]:
    """Return the names of the judges of each stage, without their hashes."""
    found: dict[str, set[str]] = {"cheap": set(), "strong": set()}
    for row in rows_of(path):
        found[row["notes"]["stage"]].add(row["judge"].partition("@")[0])
    return found


def test_a_cheap_student_is_asked_before_another(capsys, student, words, sure, monkeypatch):
    """A model of the environment has no part in it."""
    monkeypatch.setenv("PNYX_LLM", "http://127.0.0.1:1/v1#nobody")
    items = write_rows("items.jsonl", unlabelled())
    ask = ("--set", f"cheap={words}", "--set", f"cascade={sure}", "--judge", student)
    status, _, error = called(capsys, "judge", "relevance", items, *ask, "--out", "both")
    assert status == 0, error
    assert judges_of("both/answers.jsonl") == {
        "cheap": {"student:lexical"}, "strong": {"student:strong"},
    }  # fmt: skip
    assert called(capsys, "judge", "relevance", items, "--judge", student, "--out", "one")[0] == 0
    alone = {row["id"]: row["probability"] for row in rows_of("one/answers.jsonl")}
    for row in rows_of("both/answers.jsonl"):
        if row["notes"]["stage"] == "strong":
            assert row["probability"] == alone[row["id"]]
    assert "nobody" not in Path("both/manifest.json").read_text()
    plan = called(capsys, "judge", "relevance", items, *ask, "--plan")
    assert (plan[0], "no language model is asked" in plan[1]) == (0, True)


def test_labels_of_a_cascade_of_students_are_those_of_its_answers(capsys, student, words, sure):
    items = write_rows("items.jsonl", unlabelled())
    ask = ("--set", f"cheap={words}", "--set", f"cascade={sure}", "--judge", student)
    assert called(capsys, "judge", "relevance", items, *ask, "--out", "both")[0] == 0
    assert called(capsys, "annotate", "label", items, *ask, "--out", "labels")[0] == 0
    assert (
        called(capsys, "annotate", "label", items, *ask, "--annotations-out", "applied.jsonl")[0]
        == 0
    )
    expected = [(r["id"], r["value"], r["probability"]) for r in rows_of("both/answers.jsonl")]
    for path in ("labels/labelled.jsonl", "applied.jsonl"):
        assert [(r["id"], r["value"], r["probability"]) for r in rows_of(path)] == expected
    files = json.loads(Path("applied.jsonl.manifest.json").read_text())
    assert {"cheap", "cascade", "student"} <= set(json.dumps(files).replace('"', " ").split())
    # The same command judges nothing; with other thresholds it is another judge.
    again = called(capsys, "annotate", "label", items, *ask, "--annotations-out", "applied.jsonl")
    assert (again[0], "all from an earlier run" in again[1]) == (0, True)
    calibration = json.loads(sure.read_text())
    calibration["sure"]["high"] = 0.4
    sure.write_text(json.dumps(calibration))
    other = called(capsys, "annotate", "label", items, *ask, "--annotations-out", "applied.jsonl")
    assert other[0] == 2


def test_a_cheap_student_is_asked_before_the_packaged_judge_and_before_a_model(capsys, words, sure):
    items = write_rows("items.jsonl", unlabelled())
    ask = ("judge", "relevance", items, "--set", f"cheap={words}", "--set", f"cascade={sure}")
    assert called(capsys, *ask, "--out", "packaged")[0] == 0
    stages = judges_of("packaged/answers.jsonl")
    assert stages["cheap"] == {"student:lexical"}
    assert stages["strong"]
    with ChatServer() as server:
        assert called(capsys, *ask, "--judge", server.spec, "--out", "model")[0] == 0
        asked = len(server.asked())
    assert judges_of("model/answers.jsonl") == {"cheap": {"student:lexical"}, "strong": {"test"}}
    assert asked == sum(r["notes"]["stage"] == "strong" for r in rows_of("model/answers.jsonl"))
    manifest = json.loads(Path("model/manifest.json").read_text())
    assert manifest["settings"]["cheap"] == str(words)


@pytest.mark.parametrize("made", ["another judge", "no thresholds"])
def test_thresholds_of_another_judge_and_none_at_all_are_refused(
    capsys, student, words, sure, made
):
    if made == "another judge":
        thresholds("student:other@01234567", sure)
    else:
        row = json.loads(sure.read_text())
        sure.write_text(json.dumps(row | {"sure": None}))
    items = write_rows("items.jsonl", unlabelled())
    ask = (
        "--set",
        f"cheap={words}",
        "--set",
        f"cascade={sure}",
        "--judge",
        student,
        "--out",
        "out",
    )
    said = refused(called(capsys, "judge", "relevance", items, *ask))
    assert ("was made for the judge" in said) == (made == "another judge")
    assert ("holds no thresholds" in said) == (made == "no thresholds")
    assert not Path("out").exists()


def test_a_cheap_student_answers_relevance_alone(capsys, words):
    support = write_rows("support.jsonl", [{"id": "1", "text": "A.", "statement": "B."}])
    ask = ("--set", f"cheap={words}", "--set", "cascade=c.json", "--out", "out")
    said = refused(called(capsys, "judge", "support", support, *ask))
    assert "--set cheap: a student answers relevance, not support" in said


def test_a_students_scorer_is_called_by_one_thread_at_a_time():
    """A cascade asks its strong judge again while an answer is under way."""

    class Alone:
        def __init__(self) -> None:
            self.inside = threading.Lock()

        def score(self, questions: Sequence[Support]) -> list[float | str]:
            assert self.inside.acquire(blocking=False)
            time.sleep(0.02)
            self.inside.release()
            return [0.5] * len(questions)

    judge = StudentJudge(Student("one", "lexical", {}, Platt(1.0, 0.0), 0.5, "A card."), Alone())
    answered: list[int] = []

    async def several() -> None:
        async with anyio.create_task_group() as tasks:
            for _ in range(4):
                asked = [ask_relevance("1", "Where?", "Here.")]
                tasks.start_soon(judge.answer, asked, lambda place, _: answered.append(place))

    anyio.run(several)
    assert answered == [0] * 4
