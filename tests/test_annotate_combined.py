"""The default student: what its parts say, how they are brought to one scale, how it resumes."""

from __future__ import annotations

import copy
import dataclasses
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from bert_fixture import animal_pairs, write_bert
from pnyx.cli import main
from pnyx.core.errors import InputError, PnyxError
from pnyx.judging.answers import Judged
from pnyx.judging.base import ask
from pnyx.judging.stances import ask_relevance
from pnyx.judging.students.combined import PARTS, CombinedTrainer, closeness, load, open_parts
from pnyx.judging.students.late import LateTrainer
from pnyx.judging.students.scorers import CombinedScorer, Standard
from pnyx.judging.students.student import open_student
from pnyx.models.embed.encoder import load_encoder
from pnyx.relevance.distillation import Distillation, distil
from student_fixture import labelled_rows, write_rows

PLAN = Distillation("three", held_out=0.5)


def examples_asked(count=12):
    return [
        ask_relevance(p.id, p.question, p.document, definition=p.definition, group=p.group)
        for p in animal_pairs()[:count]
    ]


def part(*values):
    """A part that says these of the pairs `0`, `1` ..."""
    return lambda questions: [values[int(q.id)] for q in questions]


def numbered(count):
    return [ask_relevance(str(n), "Where?", f"There {n}.") for n in range(count)]


# --- the sum


def test_a_score_by_hand():
    """Log-odds 1 and 3 at 2 +- 1, -1 and 0 at -1 +- 0.5, cosines .3 and .5 at .4 +- .1."""
    scorer = CombinedScorer(
        [
            (part(1.0, 3.0), Standard(2.0, 1.0)),
            (part(-1.0, 0.0), Standard(-1.0, 0.5)),
            (part(0.3, 0.5), Standard(0.4, 0.1)),
        ]
    )
    # In deviations: -1, 0, -1 with the mean -2/3; and 1, 2, 1 with the mean 4/3.
    expected = [1 / (1 + math.exp(2 / 3)), 1 / (1 + math.exp(-4 / 3))]
    assert scorer.score(numbered(2)) == pytest.approx(expected, rel=1e-12)


def test_a_pair_of_which_one_part_says_nothing_has_no_score():
    standard = Standard(0.0, 1.0)
    scorer = CombinedScorer(
        [
            (part(0.0, "too long", 0.0, "too long"), standard),
            (part(0.0, 0.0, "no words", "no words"), standard),
        ]
    )
    assert scorer.score(numbered(4)) == [0.5, "too long", "no words", "too long"]


def test_closeness_is_the_cosine_of_the_mean_of_sentences_whoever_else_is_asked():
    asked = [
        *examples_asked(4),
        ask_relevance("a", "Where do foxes live?", "In woods. In towns, too, as they say. " * 60),
        ask_relevance("b", "Who?", "x"),
        ask_relevance("c", "Who?", "…"),
    ]
    encoder = load_encoder()
    found = closeness(encoder, asked)
    assert found.tolist() == [float(closeness(encoder, [q])[0]) for q in asked]
    # By hand: the mean of the sentences' vectors, each as often as it has characters.
    first, second = "It is dry.", "Rivers flood the whole valley."
    pair = ask_relevance("d", "Where?", f"{first} {second}", definition="Rivers.")
    one, other, sought = encoder.encode([first, second, pair.sought])
    mean = len(first) * one + len(second) * other
    expected = float(mean @ sought / np.linalg.norm(mean))
    assert closeness(encoder, [pair])[0] == pytest.approx(expected, abs=1e-6)


# --- settings


def row(**changed):
    parts = {
        name: {"settings": {}, "mean": 0.0, "deviation": 1.0}
        for name in ("late-interaction", "lexical", "closeness")
    }
    parts["lexical"].update(changed)
    return {"parts": parts}


def without(name):
    found = row()
    del found["parts"][name]
    return found


SETTINGS = {
    "none": ({}, "parts: found None, expected late-interaction, lexical, closeness"),
    "a list": ({"parts": ["lexical"]}, "parts: found ['lexical'], expected"),
    "one missing": (without("closeness"), "parts: found late-interaction, lexical, expected"),
    "one more": ({"parts": row()["parts"] | {"luck": {}}}, "closeness, luck, expected"),
    "no object": ({"parts": row()["parts"] | {"lexical": 3}}, "lexical: expected an object with"),
    "no settings": (row(settings=None), "lexical: expected an object with settings"),
    "no mean": (row(mean=None), "lexical: mean: found None, expected a finite number"),
    "text": (row(mean="0"), "lexical: mean: found 0, expected a finite number"),
    "true": (row(deviation=True), "lexical: deviation: found True, expected a finite number"),
    "NaN": (row(mean=math.nan), "lexical: mean: found nan, expected a finite number"),
    "infinite": (row(deviation=math.inf), "lexical: deviation: found inf, expected a finite"),
    "digits": (row(mean=10**400), "lexical: mean: found 1000"),
    "far away": (row(mean=-1e9), "lexical: mean: found -1e+09, expected -100 to 100"),
    "no spread": (row(deviation=0), "lexical: deviation: found 0, expected 1e-06 to 100"),
    "negative": (row(deviation=-1.5), "lexical: deviation: found -1.5, expected 1e-06 to 100"),
}


@pytest.mark.parametrize("case", SETTINGS)
def test_settings_that_are_none_are_refused(case, tmp_path):
    settings, said = SETTINGS[case]
    with pytest.raises(InputError) as refused:
        load(tmp_path, settings)
    assert said in str(refused.value)


# --- a training


@pytest.fixture(scope="module")
def needed():
    pytest.importorskip("torch", reason="the extra distil is not installed")
    pytest.importorskip("onnx", reason="the extra distil is not installed")


@pytest.fixture(scope="module")
def base(needed, tmp_path_factory):
    return write_bert(tmp_path_factory.mktemp("base"))


def trainer_of(base):
    return CombinedTrainer(LateTrainer(base=base, epochs=4, batch=10, learning_rate=1e-3))


@pytest.fixture(scope="module")
def made(base, tmp_path_factory):
    """A student, what came of its training, and what was reported."""
    said = []
    out = tmp_path_factory.mktemp("made") / "three"
    found = distil(animal_pairs(), trainer_of(base), PLAN, out, report=lambda *x: said.append(x))
    return out, found, said


@pytest.mark.train
def test_a_student_of_three_parts_is_trained_and_asked(made):
    out, found, said = made
    files = {path.name for path in out.iterdir()}
    assert files == {
        "card.md", "model.onnx", "student.json", "tokenizer.json", "weights.safetensors",
        "words.json",
    }  # fmt: skip
    assert not out.with_name("three.partial").exists()
    assert {word.partition(":")[0] for _, _, word in said} == {*PARTS[:2], "scale"}
    assert said[-1][0] == said[-1][1]
    assert found.figures["auroc"].value > 0.9
    training = found.student.about["training"]
    assert training["late-interaction"]["epochs"] == 4
    assert training["late-interaction"]["frozen"] == 1
    assert training["late-interaction"]["last_loss"] > 0
    assert training["lexical"]["words"] > 0
    assert training["closeness"]["encoder"] == "minilm-int8"
    assert "lexical (strengths" in (out / "card.md").read_text(encoding="utf-8")
    asked = examples_asked()
    answers = ask(open_student(out), asked)
    assert all(isinstance(answer, Judged) for answer in answers)
    alone = open_student(out)
    assert [ask(alone, [question])[0] for question in asked] == answers
    backwards = ask(open_student(out), asked[::-1])
    assert backwards[::-1] == answers


@pytest.mark.train
def test_means_and_deviations_are_those_of_the_held_out_pairs(made):
    """Over all documents of all questions; recomputed from what the parts say alone."""
    out, found, _ = made
    settings = found.student.settings["parts"]
    parts = open_parts(out, {name: settings[name]["settings"] for name in PARTS})
    groups = set(found.counts["held_out_questions"])
    held = [q for q in examples_asked(None) if q.group in groups]
    assert len(held) == found.counts["held_out"]
    z = []
    for name in PARTS:
        values = np.array(parts[name](held))
        assert settings[name]["mean"] == pytest.approx(values.mean(), abs=1e-12)
        assert settings[name]["deviation"] == pytest.approx(values.std(), abs=1e-12)
        z.append((values - values.mean()) / values.std())
    expected = 1 / (1 + np.exp(-np.mean(z, axis=0)))
    assert load(out, found.student.settings).score(held) == pytest.approx(expected, abs=1e-9)


@pytest.mark.train
def test_labels_of_held_out_questions_change_nothing_but_the_curve(made, base, tmp_path):
    _, found, _ = made
    held = set(found.counts["held_out_questions"])
    turned = [
        dataclasses.replace(p, value=not p.value, probability=1 - p.probability)
        if p.group in held
        else p
        for p in animal_pairs()
    ]
    again = distil(turned, trainer_of(base), PLAN, tmp_path / "three")
    assert again.student.settings == found.student.settings
    assert again.student.files == found.student.files
    assert again.student.curve != found.student.curve


@pytest.mark.train
@pytest.mark.parametrize("when", ["late-interaction: loss", "lexical: fitting", "scale: "])
def test_interrupted_it_ends_with_the_same_student(when, made, base, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "pnyx.judging.students.torch_trainer._SECONDS", 0.0
    )  # a checkpoint each step
    out, _, _ = made

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


@pytest.mark.train
@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("late-interaction", {"weights": [1.0]}, "late-interaction: settings: expected 7 weights"),
        ("lexical", {"features": 0}, "lexical: features: found version 0, expected"),
        ("closeness", {"features": 1}, "closeness: features: found version 1, expected"),
        ("closeness", {"encoder": "bert"}, "closeness: no packaged encoder is called bert"),
        ("closeness", {"encoder": None}, "closeness: no packaged encoder is called None"),
    ],
)
def test_a_part_that_cannot_be_loaded_is_named(made, name, changed, said):
    out, found, _ = made
    settings = copy.deepcopy(dict(found.student.settings))
    settings["parts"][name]["settings"] |= changed
    with pytest.raises(InputError) as refused:
        load(out, settings)
    assert said in str(refused.value)


@pytest.mark.train
def test_a_part_that_says_the_same_of_all_pairs_adds_nothing(base, tmp_path):
    """No word of question or definition stands in a passage, and all passages are of one length."""
    pairs = [
        dataclasses.replace(p, question=f"Why {p.group}?", definition="Gold.", document=text)
        for n, p in enumerate(animal_pairs(each=6))
        for text in [f"Copper mine{n} {'open' if p.value else 'shut'}."]
    ]
    found = distil(pairs, trainer_of(base), PLAN, tmp_path / "three")
    assert found.student.settings["parts"]["lexical"]["deviation"] == 1.0
    parts = [found.student.settings["parts"][name]["deviation"] for name in PARTS]
    assert len(set(parts)) == 3
    assert all(
        isinstance(a, Judged) for a in ask(open_student(tmp_path / "three"), examples_asked())
    )


@pytest.mark.train
def test_pairs_of_other_questions_are_needed(base, tmp_path):
    from pnyx.judging.students.trainer import quiet
    from pnyx.relevance.distillation import example_of

    work, out = tmp_path / "work", tmp_path / "out"
    work.mkdir()
    out.mkdir()
    examples = [example_of(pair) for pair in animal_pairs()]
    with pytest.raises(PnyxError, match="scores none of the pairs of other questions"):
        trainer_of(base).train(examples, work, out, quiet, [])


# --- the command


def test_without_torch_the_default_says_what_to_do(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.setitem(sys.modules, "onnx", None)
    write_rows(Path("labelled.jsonl"), labelled_rows())
    with pytest.raises(SystemExit) as stopped:
        main(["annotate", "distil", "labelled.jsonl", "--out", "student"])
    assert stopped.value.code
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "onnx is missing: pip install 'pnyx[distil]', or train --kind lexical" in error
    assert [path.name for path in tmp_path.iterdir()] == ["labelled.jsonl"]


@pytest.mark.train
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
