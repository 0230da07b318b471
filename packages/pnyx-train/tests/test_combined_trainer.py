"""Combined students: how their parts are brought to one scale, how a training resumes."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from bert_fixture import animal_pairs, write_bert
from pnyx.cli import main
from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.combined import PARTS, load, open_parts
from pnyx.judging.students.student import open_student
from pnyx.relevance.distillation import Distillation, distil
from pnyx_train import CombinedTrainer, LateTrainer
from student_fixture import labelled_rows, write_rows

pytestmark = pytest.mark.train

PLAN = Distillation("three", held_out=0.5)


def examples_asked(count=12):
    return [
        ask_relevance(p.id, p.question, p.document, definition=p.definition, group=p.group)
        for p in animal_pairs()[:count]
    ]


@pytest.fixture(scope="module")
def needed():
    pytest.importorskip("torch", reason="the libraries of pnyx-train are not installed")
    pytest.importorskip("onnx", reason="the libraries of pnyx-train are not installed")


@pytest.fixture(scope="module")
def base(needed, tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("base"))


def trainer_of(base):
    return CombinedTrainer(LateTrainer(base=base, epochs=4, batch=10, learning_rate=1e-3))


@pytest.fixture(scope="module")
def trained(base, tmp_path_factory):
    """A student, what came of its training, and what was reported."""
    progress = []
    out = tmp_path_factory.mktemp("trained") / "three"
    result = distil(
        animal_pairs(), trainer_of(base), PLAN, out, report=lambda *x: progress.append(x)
    )
    return out, result, progress


def test_a_student_of_three_parts_is_trained_and_asked(trained):
    out, result, progress = trained
    files = {path.name for path in out.iterdir()}
    assert files == {
        "card.md", "model.onnx", "student.json", "tokenizer.json", "weights.safetensors",
        "words.json",
    }  # fmt: skip
    assert not out.with_name("three.partial").exists()
    assert {word.partition(":")[0] for _, _, word in progress} == {*PARTS[:2], "scale"}
    assert progress[-1][0] == progress[-1][1]
    assert result.figures["auroc"].value > 0.9
    training = result.student.about["training"]
    assert training["late-interaction"]["epochs"] == 4
    assert training["late-interaction"]["frozen"] == 1
    assert training["late-interaction"]["last_loss"] > 0
    assert training["lexical"]["words"] > 0
    assert training["closeness"]["encoder"] == "minilm-int8"
    assert "lexical (strengths" in (out / "card.md").read_text(encoding="utf-8")
    questions = examples_asked()
    answers = ask(open_student(out), questions)
    assert all(isinstance(answer, Judged) for answer in answers)
    alone = open_student(out)
    assert [ask(alone, [question])[0] for question in questions] == answers
    backwards = ask(open_student(out), questions[::-1])
    assert backwards[::-1] == answers


def test_means_and_deviations_are_those_of_the_held_out_pairs(trained):
    """Over all documents of all questions; recomputed from what the parts say alone."""
    out, result, _ = trained
    settings = result.student.settings["parts"]
    parts = open_parts(out, {name: settings[name]["settings"] for name in PARTS})
    groups = set(result.counts["held_out_questions"])
    held_out = [q for q in examples_asked(None) if q.group in groups]
    assert len(held_out) == result.counts["held_out"]
    z = []
    for name in PARTS:
        values = np.array(parts[name](held_out))
        assert settings[name]["mean"] == pytest.approx(values.mean(), abs=1e-12)
        assert settings[name]["deviation"] == pytest.approx(values.std(), abs=1e-12)
        z.append((values - values.mean()) / values.std())
    expected = 1 / (1 + np.exp(-np.mean(z, axis=0)))
    assert load(out, result.student.settings).score(held_out) == pytest.approx(expected, abs=1e-9)


def test_labels_of_held_out_questions_change_nothing_but_the_curve(trained, base, tmp_path):
    _, result, _ = trained
    held_out = set(result.counts["held_out_questions"])
    turned = [
        dataclasses.replace(p, value=not p.value, probability=1 - p.probability)
        if p.group in held_out
        else p
        for p in animal_pairs()
    ]
    again = distil(turned, trainer_of(base), PLAN, tmp_path / "three")
    assert again.student.settings == result.student.settings
    assert again.student.files == result.student.files
    assert again.student.curve != result.student.curve


@pytest.mark.parametrize("when", ["late-interaction: loss", "lexical: fitting", "scale: "])
def test_interrupted_it_ends_with_the_same_student(when, trained, base, tmp_path, monkeypatch):
    monkeypatch.setattr("pnyx_train.torch_trainer._SECONDS", 0.0)  # a checkpoint each step
    out, _, _ = trained

    def stop(step, of, word):
        if word.startswith(when) and step == (3 if "loss" in when else 0 if "sc" in when else 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        distil(animal_pairs(), trainer_of(base), PLAN, tmp_path / "three", report=stop)
    assert not (tmp_path / "three").exists()
    partial = tmp_path / "three.partial"
    assert {path.name for path in partial.iterdir()} >= {"plan.json", "late-interaction"}
    other = dataclasses.replace(trainer_of(base), late=LateTrainer(base=base, epochs=5))
    with pytest.raises(InputError, match="belongs to a training on other pairs or with other"):
        distil(animal_pairs(), other, PLAN, tmp_path / "three")
    steps = []
    distil(
        animal_pairs(), trainer_of(base), PLAN, tmp_path / "three",
        report=lambda step, _, word: steps.append(step) if "loss" in word else None,
    )  # fmt: skip
    assert steps[:1] == ([3] if "loss" in when else [])
    for path in out.iterdir():
        assert (tmp_path / "three" / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize(
    ("name", "changed", "message"),
    [
        ("late-interaction", {"weights": [1.0]}, "late-interaction: settings: expected 7 weights"),
        ("lexical", {"features": 0}, "lexical: features: found version 0, expected"),
        ("closeness", {"features": 1}, "closeness: features: found version 1, expected"),
        ("closeness", {"encoder": "bert"}, "closeness: no packaged encoder is called bert"),
        ("closeness", {"encoder": None}, "closeness: no packaged encoder is called None"),
    ],
)
def test_a_part_that_cannot_be_loaded_is_named(trained, name, changed, message):
    out, result, _ = trained
    settings = copy.deepcopy(dict(result.student.settings))
    settings["parts"][name]["settings"] |= changed
    with pytest.raises(InputError) as refused:
        load(out, settings)
    assert message in str(refused.value)


def test_a_part_that_says_the_same_of_all_pairs_adds_nothing(base, tmp_path):
    """No word of question or definition occurs in a passage, and all passages are of one length."""
    pairs = [
        dataclasses.replace(p, question=f"Why {p.group}?", definition="Gold.", document=text)
        for n, p in enumerate(animal_pairs(each=6))
        for text in [f"Copper mine{n} {'open' if p.value else 'shut'}."]
    ]
    result = distil(pairs, trainer_of(base), PLAN, tmp_path / "three")
    assert result.student.settings["parts"]["lexical"]["deviation"] == 1.0
    parts = [result.student.settings["parts"][name]["deviation"] for name in PARTS]
    assert len(set(parts)) == 3
    assert all(
        isinstance(a, Judged) for a in ask(open_student(tmp_path / "three"), examples_asked())
    )


def test_pairs_of_other_questions_are_needed(base, tmp_path):
    from pnyx.judging.students.trainer import quiet
    from pnyx.relevance.distillation import example_of

    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    out.mkdir()
    examples = [example_of(pair) for pair in animal_pairs()]
    with pytest.raises(PnyxError, match="scores none of the pairs of other questions"):
        trainer_of(base).train(examples, work, out, quiet, [])


def test_the_default_kind_passes_its_options_to_the_network(capsys, base, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(Path("labelled.jsonl"), labelled_rows())
    options = ["--base", base, "--epochs", "1", "--batch", "64", "--learning-rate", "1e-4"]
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "distil", "labelled.jsonl", "--out", "s", "--seed", "5", *options])
    assert not stopped.value.code
    assert capsys.readouterr().out.startswith("combined: trained on ")
    manifest = json.loads(Path("s/student.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "combined"
    plan = manifest["about"]["training"]["late-interaction"]
    assert (plan["base"], plan["epochs"], plan["batch"]) == (base, 1, 64)
    assert (plan["learning_rate"], plan["seed"]) == (1e-4, 5)
