"""`pnyx annotate distil` and `--judge STUDENT` through the command line: bad input above all."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chat_server import ChatServer
from command import called, rows_of, write_rows
from pnyx.judging.options import JudgeSpec
from pnyx.judging.students.lexical import WEIGHTS, LexicalTrainer
from student_fixture import distilled, labelled_rows, refused

KIND = ("--kind", "lexical")


pytestmark = pytest.mark.usefixtures("own_place")


def distil(capsys, *arguments: Any) -> tuple[int, str, str]:
    return called(capsys, "annotate", "distil", *arguments, *KIND)


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    """A student's folder; tests that change it copy it."""
    return distilled(tmp_path_factory.mktemp("trained") / "student", "lexical")


@pytest.fixture
def student(trained, tmp_path) -> Path:
    return Path(shutil.copytree(trained, tmp_path / "student"))


# --- what cannot be learned from


def test_a_label_file_with_unknown_values_names_file_line_and_what_was_expected(capsys):
    bad = labelled_rows()
    bad[6]["value"] = "perhaps"
    path = write_rows("labelled.jsonl", bad)
    assert refused(distil(capsys, path, "--out", "student")) == (
        "pnyx: labelled.jsonl:7: value: found perhaps, expected true, false, null, yes, no or "
        "partially\n"
    )
    assert sorted(p.name for p in Path().iterdir()) == ["labelled.jsonl"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda r: [x for x in r if x["question_id"] == r[0]["question_id"]],
         "1 question has labels, expected at least 2: one is held out"),
        (lambda r: [x | {"value": True} for x in r],
         "all 64 labelled pairs are relevant, expected relevant and irrelevant ones"),
        (lambda r: [x | {"value": None} for x in r],
         "none of 64 pairs has a verdict: nothing to learn from"),
        (lambda r: [x for x in r if not x["value"]] + [x for x in r if x["value"]][:1],
         "no questions can be held out so that both parts hold relevant and irrelevant"),
        (lambda r: [*r, r[3] | {"id": "again"}], None),
        (lambda r: [*r, r[3]], "labelled.jsonl:65: "),
        (lambda r: [], "labelled.jsonl: "),
    ],
    ids=["one question", "all relevant", "no verdict", "one relevant", "twice", "same id", "empty"],
)  # fmt: skip
def test_labels_that_teach_nothing_are_refused_before_anything_is_written(capsys, change, said):
    path = write_rows("labelled.jsonl", change(labelled_rows()))
    result = distil(capsys, path, "--out", "student")
    error = result[2].splitlines()[-1]
    assert (result[0], result[1]) == (2, "")
    assert (said or "has a label in labelled.jsonl") in error
    assert sorted(p.name for p in Path().iterdir()) == ["labelled.jsonl"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--base", "b"), "--base requires --kind combined, late-interaction or lora"),
        (("--learning-rate", "0.1"), "--learning-rate requires --kind combined,"),
        (("--reason",), "--reason requires --kind lora"),
        (("--4bit",), "--4bit requires --kind lora"),
    ],
)
def test_settings_of_another_kind_are_refused(capsys, options, said):
    path = write_rows("labelled.jsonl", labelled_rows())
    assert said in refused(distil(capsys, path, "--out", "student", *options))
    assert not Path("student").exists()


def test_a_definition_that_is_missing_for_one_question_is_said_and_does_no_harm(capsys):
    """Its pairs are judged by the question's words alone, in training as in use."""
    items = labelled_rows()
    first = items[0]["question_id"]
    for row in items:
        if row["question_id"] == first:
            del row["definition"]
    path = write_rows("labelled.jsonl", items)
    status, _, error = distil(capsys, path, "--out", "student")
    assert status == 0
    assert error.count("1 of 4 questions have no definition (pnyx annotate define)") == 1
    counts = json.loads(Path("student/student.json").read_text())["about"]["counts"]
    assert (counts["asked"], counts["unscored"], counts["questions"]) == (64, 0, 4)
    items = [{k: v for k, v in row.items() if k != "value"} for row in items]
    ask = ("judge", "relevance", write_rows("items.jsonl", items), "--judge", "student")
    judged = called(capsys, *ask, "--out", "results")
    assert judged[0] == 0
    assert all(row["unscored"] is None for row in rows_of("results/answers.jsonl"))


def test_a_teacher_that_talks_nonsense_half_the_time_teaches_with_the_other_half(capsys):
    items = [{k: v for k, v in row.items() if k not in ("value", "judge")}
             for row in labelled_rows()]  # fmt: skip
    marks = ["[[prose]]", "", "[[wrong_schema]]", ""]
    for n, row in enumerate(items):
        row["document"] += f" {marks[n % 4]}"
    path = write_rows("pairs.jsonl", items)
    with ChatServer() as server:
        told = called(capsys, "annotate", "label", path, "--judge", server.spec, "--out", "labels")
        assert (told[0], "32 of 64 scored by test; 32 unscored: 32 schema" in told[1]) == (3, True)
    labelled = rows_of("labels/labelled.jsonl")
    assert [row["value"] is None for row in labelled] == [n % 2 == 0 for n in range(64)]
    status, out, error = distil(capsys, "labels", "--out", "student", "--json")
    assert status == 0
    warned = [line for line in error.splitlines() if "verdict" in line]
    assert warned == ["pnyx: warning: 32 of 64 pairs have no verdict; training on the rest"]
    found = json.loads(out)
    assert (found["asked"], found["unscored"], found["reasons"]) == (64, 32, {"schema": 32})
    assert found["trained_on"] + found["held_out"] == 32
    card = Path("student/card.md").read_text(encoding="utf-8")
    assert "64 pairs of 4 questions, 32 of them without a verdict and left out" in card


# --- where the student goes


def test_a_folder_that_exists_is_not_touched_without_force(capsys, student):
    before = {path: path.read_bytes() for path in student.iterdir()}
    path = write_rows("labelled.jsonl", labelled_rows()[:-1])
    assert "student: exists already" in refused(distil(capsys, path, "--out", "student"))
    assert {path: path.read_bytes() for path in student.iterdir()} == before
    assert not Path("student.partial").exists()
    assert distil(capsys, path, "--out", "student", "--force")[0] == 0
    assert (student / "student.json").read_bytes() != before[student / "student.json"]
    Path("thesis").mkdir()
    Path("thesis/chapter.tex").write_text("ten years")
    said = refused(distil(capsys, path, "--out", "thesis", "--force"))
    assert "thesis: exists and is not a student" in said
    assert Path("thesis/chapter.tex").read_text() == "ten years"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--out", "my student"), "a student cannot be called 'my student'"),
        (("--out", "s", "--name", "a/b"), "a student cannot be called 'a/b'"),
        (("--out", "-", "--name", "s"), "found '-', expected the name of a folder"),
        (("--out", "labelled.jsonl/s"), "labelled.jsonl/s"),
        (("--out", "/proc/none/s"), "/proc/none"),
    ],
)
def test_a_student_that_cannot_be_written_is_not_trained(capsys, options, said, monkeypatch):
    monkeypatch.setattr(LexicalTrainer, "train", None)
    path = write_rows("labelled.jsonl", labelled_rows())
    assert said in refused(distil(capsys, path, *options))
    assert sorted(p.name for p in Path().iterdir()) == ["labelled.jsonl"]


def test_checkpoints_of_another_training_are_refused_and_kept(capsys):
    path = write_rows("labelled.jsonl", labelled_rows())
    partial = Path("student.partial")
    partial.mkdir()
    (partial / "plan.json").write_text("{}")
    (partial / "step-10.safetensors").write_bytes(b"hours of work")
    said = refused(distil(capsys, path, "--out", "student"))
    assert "student.partial: belongs to a training on other pairs or with other settings" in said
    assert (partial / "step-10.safetensors").read_bytes() == b"hours of work"
    assert not Path("student").exists()
    # Where there is nothing to lose, nothing is in the way.
    (partial / "step-10.safetensors").unlink()
    assert distil(capsys, path, "--out", "student")[0] == 0
    assert not partial.exists()


def test_the_same_labels_give_the_same_student(capsys, trained):
    path = write_rows("labelled.jsonl", labelled_rows())
    assert distil(capsys, path, "--out", "again", "--name", "student")[0] == 0
    for name in ("student.json", "card.md", "weights.safetensors"):
        assert Path("again", name).read_bytes() == (trained / name).read_bytes()


# --- a student that is not what it was


def _manifest(change):
    def damage(folder: Path) -> None:
        path = folder / "student.json"
        row = json.loads(path.read_text())
        change(row)
        path.write_text(json.dumps(row))

    return damage


def _flip(folder: Path) -> None:
    data = bytearray((folder / "weights.safetensors").read_bytes())
    data[-5] ^= 1
    (folder / "weights.safetensors").write_bytes(bytes(data))


def _other_weights(folder: Path) -> None:
    """Weights of another shape, with the right hash."""
    from safetensors.numpy import load_file, save_file

    path = folder / WEIGHTS
    save_file({**load_file(path), "weights": np.ones(7)}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    _manifest(lambda row: row["files"].update({path.name: digest}))(folder)


DAMAGE = {
    "a flipped bit": (_flip, "weights.safetensors: is damaged"),
    "no weights": (lambda f: (f / "weights.safetensors").unlink(), "weights.safetensors: is miss"),
    "no manifest": (lambda f: (f / "student.json").unlink(), "and no student.json"),
    "no JSON": (lambda f: (f / "student.json").write_text("{"), "student.json"),
    "deep JSON": (lambda f: (f / "student.json").write_text("[" * 100_000), "student.json"),
    "newer": (_manifest(lambda r: r.update(format_version=2)), "found pnyx-student 2, this Pnyx"),
    "a path": (_manifest(lambda r: r["files"].update({"../x": "0" * 64})), "name or files: exp"),
    "a hidden file": (_manifest(lambda r: r["files"].update({".x": "0" * 64})), "name or files"),
    "no files": (_manifest(lambda r: r.update(files={})), "weights.safetensors: is not in stud"),
    "one file more": (lambda f: (f / "more.onnx").write_bytes(b"?"), "more.onnx: is not in stud"),
    "threshold": (_manifest(lambda r: r["calibration"].update(threshold=2)), "threshold: found 2"),
    "no threshold": (
        _manifest(lambda r: r["calibration"].pop("threshold")),
        "threshold: found None, expected a finite number",
    ),
    "curve": (_manifest(lambda r: r["calibration"].update(method="guess")), "guess"),
    "task": (_manifest(lambda r: r.update(task="stance")), "task: found stance, expected 'rel"),
    "kind": (_manifest(lambda r: r.update(kind="os")), "kind: found 'os', expected one of"),
    "unseen": (_manifest(lambda r: r["settings"].update(unseen="x")), "settings.unseen: found x"),
    "features": (_manifest(lambda r: r["settings"].update(features=0)), "features: found version"),
    "name": (_manifest(lambda r: r.update(name="a\nb")), "name or files"),
    "card": (_manifest(lambda r: r.update(card=None)), "card"),
    "weights": (_other_weights, "found shapes (7,)"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_student_answers_nothing(capsys, student, damage):
    change, said = DAMAGE[damage]
    change(student)
    items = write_rows("items.jsonl", labelled_rows()[:2])
    result = called(capsys, "judge", "relevance", items, "--judge", student, "--out", "results")
    error = refused(result)
    assert said in error
    assert "student" in error
    assert not Path("results").exists()


# --- a student beside other options

LLM = ("--judge", "http://127.0.0.1:1/v1#nobody")


def test_a_student_answers_what_it_was_trained_for(capsys, student):
    support = write_rows("support.jsonl", [{"id": "1", "text": "A.", "statement": "B."}])
    result = called(capsys, "judge", "support", support, "--judge", student, "--out", "results")
    assert "--judge: a student answers relevance, not support" in refused(result)
    assert not Path("results").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (LLM, "answers alone; only language models vote"),
        (("--judge", "packaged"), "answers alone; only language models vote"),
        (("--judge", "former"), "found 'former', which is not a file or folder, expected a"),
        (("--set", "cascade=c.json", "--set", "cheap=local"),
         "cheap: found 'local', expected a student's folder; a language model is for --judge"),
        (("--set", "cascade=c.json", "--set", "cheap=student", *LLM),
         "answers alone; only language models vote"),
        (("--set", "cascade=c.json", "--set", "cheap=student"),
         "cheap and --judge are the sam"),
        (("--set", "cascade=c.json", "--set", "cheap=empty"), "empty: holds no student.json"),
        (("--set", "cascade=c.json"),
         "--set cascade requires a language model, or cheap=SPEC"),
        (("--set", "cheap=student"), "--set cheap requires --set cascade"),
        (("--set", "samples=3"), "--set samples requires a language model"),
        (("--budget", "1"), "--budget requires a language model"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("verb", ["judge relevance", "annotate label"])
def test_options_that_would_change_nothing_beside_a_student(capsys, student, verb, options, said):
    items = write_rows("items.jsonl", labelled_rows()[:2])
    Path("empty").mkdir()
    result = called(capsys, *verb.split(), items, "--judge", student, "--out", "out", *options)
    assert said in " ".join(refused(result).split())
    assert not Path("out").exists()


def test_a_language_model_of_the_environment_is_not_asked_beside_a_student(
    capsys, student, monkeypatch
):
    """Nor does its name stand in a manifest."""
    monkeypatch.setenv("PNYX_LLM", LLM[1])
    items = write_rows("items.jsonl", labelled_rows()[:4])
    for verb, *out in (
        ("judge relevance", "--out", "r"),
        ("annotate label", "--out", "l"),
        ("annotate label", "--annotations-out", "a.jsonl"),
    ):
        assert called(capsys, *verb.split(), items, "--judge", student, *out)[0] == 0
    for path in ("r/answers.jsonl", "l/labelled.jsonl", "a.jsonl"):
        assert {row["judge"].partition("@")[0] for row in rows_of(path)} == {"student:student"}
    assert "nobody" not in Path("r/manifest.json").read_text()


def test_a_card_of_a_student_is_checked_with_the_same_student(capsys, student, monkeypatch):
    rows = labelled_rows(4, 4)
    items = write_rows(
        "items.jsonl", [{k: r[k] for k in r if k not in ("value", "judge")} for r in rows]
    )
    people = write_rows("people.jsonl", [{"id": r["id"], "value": r["value"]} for r in rows])
    asking = ("audit", "run", items, "--task", "relevance", "--labels", people, "--out", "A")
    result = called(capsys, *asking, "--judge", student)
    assert result[0] in (0, 3), result
    then = json.loads(Path("A/card.json").read_text())
    assert then["judge"].startswith("student:student@")
    Path("A/card.json").rename("judge.json")
    check = ("audit", "card", "--against", "judge.json", "--again", "B")
    assert "no language model answered for this card" in refused(called(capsys, *check, *LLM))
    assert not Path("B").exists()
    monkeypatch.setenv("PNYX_LLM", LLM[1])
    status, out, error = called(capsys, *check, "--json")
    assert status in (0, 3), error
    assert json.loads(out)["worse"] == []
    assert json.loads(Path("B/card.json").read_text())["judge"] == then["judge"]


def test_who_answers_in_place_of_a_model(student, monkeypatch):
    labels = write_rows("labels.jsonl", [{"id": "1", "value": True}])
    answers = write_rows("answers.jsonl", [{"id": "1", "value": True, "judge": "j"}])
    monkeypatch.setenv("PNYX_LLM", "local")
    for name, kind in ((labels, "labels"), (answers, "results"), (str(student), "student")):
        spec = JudgeSpec(judge=(name,))
        assert (spec.answered_by, spec.models) == (kind, ())
    for judge, models in (((), ("local",)), (("openai:x",), ("openai:x",)), (("packaged",), ())):
        spec = JudgeSpec(judge=judge, cascade="c.json", cheap=str(student))
        assert (spec.answered_by, spec.models) == ("", models)


@pytest.mark.all
def test_in_a_cascade_the_student_is_asked_first(capsys, student):
    """The model gets only what the student is not sure of; the whole is one judge."""
    labelled = labelled_rows(8, 6)
    items = write_rows(
        "items.jsonl", [{k: v for k, v in r.items() if k != "value"} for r in labelled]
    )
    people = write_rows("people.jsonl", [{"id": r["id"], "value": r["value"]} for r in labelled])
    ask = ("judge", "relevance", items)
    assert called(capsys, *ask, "--judge", student, "--out", "alone")[0] == 0
    fitted = called(
        capsys, "judge", "calibrate", "alone", "--labels", people, "--error", "0.1", "--out", "c"
    )
    assert fitted[0] == 0, fitted
    with ChatServer() as server:
        cascade = ("--set", "cascade=c", "--set", f"cheap={student}", "--judge", server.spec)
        cascade = (*cascade, "--out", "both")
        assert called(capsys, *ask, *cascade)[0] == 0
        asked = len(server.asked())
    stages = [row["notes"]["stage"] for row in rows_of("both/answers.jsonl")]
    assert stages.count("strong") == asked
    assert 0 < asked < len(labelled)
    cheap = {row["judge"].partition("@")[0] for row in rows_of("both/answers.jsonl")
             if row["notes"]["stage"] == "cheap"}  # fmt: skip
    assert len(cheap) == 1
    assert "student:student" in cheap.pop()
