"""`pnyx judge calibrate`, through the door that users use."""

import json

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from command import rows_of, run, write_rows
from pnyx.formats.bundled_example import load_example
from pnyx.judging.base import ask
from pnyx.judging.calibration.recalibration import Recalibrated, read_calibration
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.panel import cascade_from
from pnyx.judging.questions import Support
from pnyx.judging.students.judge import PackagedJudge


def answer(n, probability, **fields):
    row = {
        "id": str(n),
        "task": "support",
        "value": None if probability is None else probability >= 0.5,
        "probability": probability,
        "unscored": "timeout" if probability is None else None,
        "judge": "j@1",
        "method": "token",
        "group": f"topic {n % 6}",
    }
    return row | fields


@pytest.fixture
def files(tmp_path):
    """A judge that is three times too sure of itself, on 600 answers."""
    rng = np.random.default_rng(8)
    z = rng.normal(0, 1.5, 600)
    labels = rng.random(600) < 1 / (1 + np.exp(-z))
    said = 1 / (1 + np.exp(-3 * z))
    answers = [answer(n, round(float(p), 6)) for n, p in enumerate(said)]
    answers[7] = answer(7, None)
    write_rows(tmp_path / "answers.jsonl", answers)
    write_rows(
        tmp_path / "labels.jsonl", [{"id": str(n), "value": bool(y)} for n, y in enumerate(labels)]
    )
    return tmp_path


def calibrate(folder, *more, answers="answers.jsonl"):
    out = folder / "c.json"
    return run(
        "judge",
        "calibrate",
        folder / answers,
        "--labels",
        folder / "labels.jsonl",
        "--out",
        out,
        *more,
    )


def test_twenty_labelled_answers_are_enough(files):
    write_rows(files / "answers.jsonl", rows_of(files / "answers.jsonl")[:21])  # one is unscored
    assert calibrate(files) == 0


@pytest.mark.parametrize("method", ["isotonic", "platt", "temperature"])
def test_a_judge_too_sure_of_itself_is_mended(files, capsys, method):
    assert calibrate(files, "--method", method, "--json") == 0
    out, err = capsys.readouterr()
    row = json.loads(out)
    assert row == json.loads((files / "c.json").read_text())
    assert "1 labelled answers are unscored" in err
    counts, figures = row["about"]["counts"], row["about"]["figures"]
    assert counts["fitted"] == 599
    assert (counts["unscored"], counts["groups"], counts["folds"]) == (1, 6, 5)
    for name in ("ece", "brier", "log_loss"):
        assert figures["after"][name]["value"] < 0.9 * figures["before"][name]["value"]
        assert figures["after"][name]["scored"] == 599
    assert figures["after"]["ece"]["value"] < 0.06
    assert abs(figures["after"]["auroc"]["value"] - figures["before"]["auroc"]["value"]) < 0.02
    if method == "temperature":
        assert row["parameters"]["temperature"] == pytest.approx(3, rel=0.2)
    found = read_calibration(files / "c.json")
    assert (found.judge, found.task, found.source, found.method) == (
        "j@1",
        "support",
        "token",
        method,
    )


def test_figures_before_are_scikit_learns(files, capsys):
    calibrate(files, "--json")
    figures = json.loads(capsys.readouterr().out)["about"]["figures"]["before"]
    labels = {r["id"]: r["value"] for r in rows_of(files / "labels.jsonl")}
    rows = rows_of(files / "answers.jsonl")
    y = [labels[r["id"]] for r in rows if r["probability"] is not None]
    p = np.array([r["probability"] for r in rows if r["probability"] is not None])
    assert figures["auroc"]["value"] == pytest.approx(roc_auc_score(y, p))
    assert figures["brier"]["value"] == pytest.approx(brier_score_loss(y, p))
    assert figures["log_loss"]["value"] == pytest.approx(log_loss(y, np.clip(p, 1e-6, 1 - 1e-6)))


def test_the_same_command_gives_the_same_calibration(files, capsys):
    calibrate(files, "--yes-threshold", "f1", "--error", "0.2")
    first = json.loads((files / "c.json").read_text())
    calibrate(files, "--yes-threshold", "f1", "--error", "0.2")
    second = json.loads((files / "c.json").read_text())
    first["about"].pop("date"), second["about"].pop("date")
    assert first == second
    assert first["threshold"] != 0.5
    out = capsys.readouterr().out
    assert "cascade at error 0.2: keeps" in out
    assert "cross-fitted in 5 folds" in out
    sure = read_calibration(files / "c.json").sure
    assert 0.2 < sure.share < 1
    assert sure.no.bound <= 0.2


def test_where_nothing_is_sure_it_says_so(files, capsys):
    assert calibrate(files, "--error", "0.001") == 0
    assert "nothing is kept" in capsys.readouterr().err
    assert read_calibration(files / "c.json").sure.share == 0


def test_a_level_curve_is_pointed_out(files, capsys):
    rows = rows_of(files / "answers.jsonl")
    for row in rows:
        if row["value"] is not None:
            row |= {"probability": 1 - row["probability"], "value": not row["value"]}
    write_rows(files / "answers.jsonl", rows)
    calibrate(files, "--method", "platt")
    assert "the curve is flat" in capsys.readouterr().err
    assert read_calibration(files / "c.json").curve.slope == 0


def _rewrite(change):
    def apply(folder):
        rows = rows_of(folder / "answers.jsonl")
        write_rows(folder / "answers.jsonl", change(rows))

    return apply


@pytest.mark.parametrize(
    ("spoil", "problem"),
    [
        (_rewrite(lambda rows: rows[:20]), "found 19 labelled answers with a probability"),
        (_rewrite(lambda rows: [r | {"probability": None} for r in rows]), "found 0 labelled"),
        (_rewrite(lambda rows: [rows[0] | {"judge": "k"}, *rows[1:]]), "answers of several judges"),
        (_rewrite(lambda rows: [rows[0] | {"task": "stance"}, *rows[1:]]), "expected one task"),
        (_rewrite(lambda rows: [rows[0] | {"method": "stated"}, *rows[1:]]), "2 methods"),
        (_rewrite(lambda rows: [r | {"method": 3} for r in rows]), "method: found 3"),
        (_rewrite(lambda rows: [r | {"task": "quality"} for r in rows]), "task"),
        (_rewrite(lambda rows: [r | {"id": "x" + r["id"]} for r in rows]), "no answer has a label"),
        (_rewrite(lambda rows: []), "answers.jsonl"),
        (lambda folder: (folder / "answers.jsonl").write_text("{"), "answers.jsonl:1: "),
        (lambda folder: (folder / "answers.jsonl").unlink(), "expected a file"),
        (
            lambda folder: write_rows(
                folder / "labels.jsonl", [{"id": str(n), "value": True} for n in range(600)]
            ),
            "599 of them labelled yes",
        ),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_line(files, capsys, spoil, problem):
    spoil(files)
    assert calibrate(files) == 2
    err = capsys.readouterr().err
    assert problem in err
    assert err.count("\n") == 1
    assert not (files / "c.json").exists()


def test_standard_input_is_refused_for_its_hash(files, capsys):
    assert run("judge", "calibrate", "-", "--labels", files / "labels.jsonl", "--out", "-") == 2
    assert "expected a file" in capsys.readouterr().err


def test_one_topic_that_holds_every_yes_leaves_figures_incomplete(files, capsys):
    rows = [answer(n, 0.9 if n % 2 else 0.2, group="a" if n % 2 else "b") for n in range(60)]
    write_rows(files / "answers.jsonl", rows)
    write_rows(files / "labels.jsonl", [{"id": str(n), "value": n % 2 == 1} for n in range(60)])
    assert calibrate(files, "--json") == 3
    figures = json.loads(capsys.readouterr().out)["about"]["figures"]
    assert figures["after"]["ece"] == {
        "value": None, "low": None, "high": None, "scored": 0, "asked": 60
    }  # fmt: skip


@pytest.mark.all
def test_the_main_path_judge_calibrate_and_judge_again(tmp_path, capsys):
    """The bundled example, a results folder, its manifest's prompts, a cascade to people."""
    rows = list(_example())
    write_rows(
        tmp_path / "items.jsonl", [{k: v for k, v in r.items() if k != "value"} for r in rows]
    )
    write_rows(tmp_path / "labels.jsonl", [{"id": r["id"], "value": r["value"]} for r in rows])
    results = tmp_path / "results"
    assert run("judge", "support", tmp_path / "items.jsonl", "--out", results) == 0
    assert calibrate(tmp_path, "--method", "platt", "--error", "0.3", answers="results") in (0, 3)
    found = read_calibration(tmp_path / "c.json")
    packaged = PackagedJudge("support")
    assert found.judge == packaged.name
    questions = [Support(r["id"], r["text"], r["statement"]) for r in rows[:24]]
    mended = ask(Recalibrated(packaged, found), questions)
    said = [row["probability"] for row in rows_of(results / "answers.jsonl")]
    assert [a.notes["uncalibrated"] for a in mended] == said[:24]
    people = HumanLabels(tmp_path / "labels.jsonl")
    staged = ask(cascade_from(tmp_path / "c.json", packaged, people), questions)
    assert found.sure.high is None
    kept = [p <= found.sure.low for p in said[:24]]
    assert [a.notes["stage"] == "cheap" for a in staged] == kept
    assert 0 < sum(kept) < 24


def _example():
    """Yield labelled support items of the bundled example: passages with perspectives."""
    example = load_example()
    texts = {argument.id: argument.text for argument in example.arguments}
    topics = [question.id for question in example.questions[:2]]
    for label in example.labels[::2]:
        if label.question_id in topics:
            for claim in example.perspectives:
                if claim.question_id == label.question_id:
                    yield {
                        "id": f"{label.doc_id} {claim.id}",
                        "text": texts[label.doc_id],
                        "statement": claim.text,
                        "group": label.question_id,
                        "value": claim.id in label.perspectives,
                    }
