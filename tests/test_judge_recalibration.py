"""Curves fitted on labels, their file, and the judge whose answers they mend."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from chat_server import ChatServer
from pnyx.core.errors import InputError
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import ask
from pnyx.judging.calibration.curves import (
    FITS,
    TEMPERATURES,
    Isotonic,
    Platt,
    Temperature,
    best_f1_threshold,
    crossfit,
    fit,
    folds_of,
)
from pnyx.judging.calibration.recalibration import (
    Recalibrated,
    Recalibration,
    read_calibration,
    write_calibration,
)
from pnyx.judging.calibration.selective import ConfidenceRegions, Region
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.measures.registry import MEASURES
from pnyx.judging.questions import Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from tries import tries

GRID = np.linspace(0, 1, 201)
# Judges give at most six places; the coarse ones make ties.
probabilities = st.one_of(
    st.floats(0, 1).map(lambda p: round(p, 6)), st.integers(0, 10).map(lambda n: n / 10)
)
pairs = st.lists(st.tuples(probabilities, st.booleans()), min_size=1, max_size=60)


def columns(found):
    return [p for p, _ in found], [y for _, y in found]


@settings(deadline=None)
@given(pairs)
def test_isotonic_is_scikit_learns(found):
    p, y = columns(found)
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(p, y)
    np.testing.assert_allclose(fit("isotonic", p, y)(GRID), theirs.predict(GRID), atol=1e-9)


@settings(deadline=None)
@given(pairs)
def test_isotonic_fitted_on_its_own_output_changes_nothing(found):
    p, y = columns(found)
    once = fit("isotonic", p, y)(p)
    np.testing.assert_allclose(fit("isotonic", once.tolist(), y)(once), once, atol=1e-12)


@pytest.mark.parametrize("name", FITS)
@settings(deadline=None)
@given(found=pairs)
def test_a_curve_never_falls_and_is_a_probability(name, found):
    curve = fit(name, *columns(found))
    mapped = curve(GRID)
    assert np.isfinite(mapped).all()
    assert ((mapped >= 0) & (mapped <= 1)).all()
    assert (np.diff(mapped) >= 0).all()
    assert curve([]).shape == (0,)


@settings(max_examples=tries(50), deadline=None)
@given(st.lists(st.tuples(st.integers(2, 98).map(lambda n: n / 100), st.booleans()), min_size=2))
def test_temperature_keeps_the_auroc(found):
    p, y = columns(found)
    curve = fit("temperature", p, y)
    assert TEMPERATURES[0] <= curve.temperature <= TEMPERATURES[1]
    # Below a tenth, what differs is rounded to 1: the labels are parted without error anyway.
    if len(set(y)) == 2 and curve.temperature > 0.2:
        assert roc_auc_score(y, curve(p)) == roc_auc_score(y, p)
    assert curve([0.5])[0] == 0.5


def draw(n, seed, slope=1.0, intercept=0.0, groups=1):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    y = rng.random(n) < 1 / (1 + np.exp(-(slope * z + intercept)))
    return (1 / (1 + np.exp(-z))).tolist(), y.tolist(), [str(i % groups) for i in range(n)]


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
def test_platt_is_scikit_learns_on_the_smoothed_targets(slope):
    p, y, _ = draw(2_000, 1, slope, -0.7)
    z = (np.log(p) - np.log1p(-np.array(p)))[:, None]
    yes, no = sum(y), len(y) - sum(y)
    target = np.where(y, (yes + 1) / (yes + 2), 1 / (no + 2))
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.vstack([z, z]), [1] * len(y) + [0] * len(y), np.concatenate([target, 1 - target])
    )
    platt = fit("platt", p, y)
    assert platt.slope == pytest.approx(theirs.coef_[0, 0], rel=1e-5)
    assert platt.intercept == pytest.approx(theirs.intercept_[0], rel=1e-5)


@pytest.mark.parametrize("slope", [0.3, 1.0, 3.0])
def test_temperature_finds_what_the_labels_were_drawn_with(slope):
    p, y, _ = draw(5_000, 2, slope)
    assert fit("temperature", p, y).temperature == pytest.approx(1 / slope, rel=0.1)


def test_platt_smooths_its_targets_so_that_parted_labels_give_no_certainty():
    p = [0.1, 0.2, 0.3, 0.7, 0.8, 0.9]
    curve = fit("platt", p, [False] * 3 + [True] * 3)
    assert 0.1 < curve([0.1])[0] < 0.5 < curve([0.9])[0] < 0.9  # towards 1/5 and 4/5


@pytest.mark.parametrize("name", ["platt", "isotonic"])
def test_probabilities_that_fall_with_the_labels_give_a_level_curve(name):
    p, y, _ = draw(2000, 3, slope=-1)
    mapped = fit(name, p, y)([0.05, 0.95])
    assert mapped[1] - mapped[0] < 0.1
    assert mapped.mean() == pytest.approx(np.mean(y), abs=0.1)


@pytest.mark.parametrize(
    ("p", "y"), [([], []), ([0.5], []), ([1.5], [True]), ([-0.1], [True]), ([math.nan], [True])]
)
def test_what_cannot_be_fitted_is_refused(p, y):
    with pytest.raises(ValueError):
        fit("platt", p, y)


@settings(deadline=None)
@given(pairs)
def test_no_threshold_has_a_better_f1(found):
    p, y = columns(found)
    if not any(y):
        with pytest.raises(ValueError):
            best_f1_threshold(p, y)
        return
    f1 = MEASURES["f1"].value
    best = f1(y, [q >= best_f1_threshold(p, y) for q in p])
    assert best >= max(f1(y, [q >= t for q in p]) for t in p) - 1e-12


@given(st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=80))
def test_no_group_lies_in_two_folds(groups):
    folds = folds_of(groups)
    assert len(folds) == len(groups)
    assert set(folds) == set(range(len(set(folds))))
    if len(set(groups)) > 1:
        assert len(set(zip(groups, folds, strict=True))) == len(set(groups))
        assert len(set(folds)) == min(5, len(set(groups)))


def test_cross_fitting_never_sees_the_answer_that_it_maps():
    p, y, groups = draw(200, 4, groups=10)
    folds = folds_of(groups)
    before = crossfit("isotonic", p, y, folds, lambda *_: 0.5)
    turned = [not label if fold == 0 else label for label, fold in zip(y, folds, strict=True)]
    after = crossfit("isotonic", p, turned, folds, lambda *_: 0.5)
    same = [a == b for a, b in zip(before, after, strict=True)]
    assert all(s for s, fold in zip(same, folds, strict=True) if fold == 0)
    assert not all(same)
    alone = crossfit("platt", [0.1, 0.9], [False, True], [0, 1], lambda *_: 0.5)
    assert alone == [None, None]


# --- the file

CURVES = [Isotonic((0.1, 0.6), (0.0, 0.75)), Platt(1.5, -0.25), Temperature(2.5)]
SURE = ConfidenceRegions(0.1, 0.05, 0.9, Region(60, 1, 0.08, 1.5), Region(80, 2, 0.09), 300)


def calibration(curve=CURVES[0], **fields):
    return Recalibration(
        **{"judge": "j@1", "task": "support", "source": "token", "curve": curve, "threshold": 0.5}
        | fields
    )


@pytest.mark.parametrize("curve", CURVES)
@pytest.mark.parametrize(
    "sure", [None, SURE, ConfidenceRegions(0.1, None, None, Region(), Region(), 30)]
)
def test_a_calibration_is_read_as_it_was_written(curve, sure, tmp_path):
    made = calibration(curve, sure=sure, about={"counts": {"fitted": 3}})
    write_calibration(tmp_path / "c.json", made)
    assert read_calibration(tmp_path / "c.json") == made
    assert read_calibration(tmp_path / "c.json").digest == made.digest
    assert [p.name for p in tmp_path.iterdir()] == ["c.json"]


def test_the_hash_follows_what_decides_an_answer():
    digests = {
        calibration(**fields).digest
        for fields in ({}, {"threshold": 0.4}, {"task": "relevance"}, {"curve": CURVES[1]})
    }
    assert len(digests) == 4
    assert calibration(sure=SURE, about={"date": "today"}).digest == calibration().digest


HOSTILE = [
    ({"format": "pnyx-index"}, "format: found pnyx-index"),
    ({"format_version": 2}, "format_version: found 2"),
    ({"method": "spline"}, "method: found spline"),
    ({"method": None}, "method: found None"),
    ({"parameters": []}, "parameters: found"),
    ({"parameters": {"x": [0.1, 0.1], "y": [0, 1]}}, "not strictly increasing"),
    ({"parameters": {"x": [0.1, 0.2], "y": [1, 0]}}, "decreases"),
    ({"parameters": {"x": [], "y": []}}, "found 0 x"),
    ({"parameters": {"x": [0.1], "y": [0, 1]}}, "found 1 x and 2 y"),
    ({"parameters": {"x": [0.1], "y": [2]}}, "found 2, expected 0 to 1"),
    ({"parameters": {"x": [True], "y": [0]}}, "finite number"),
    ({"method": "platt", "parameters": {"slope": -1, "intercept": 0}}, "slope of -1"),
    ({"method": "platt", "parameters": {"slope": 1}}, "parameters.intercept"),
    ({"method": "temperature", "parameters": {"temperature": 0}}, "found 0, expected 0.01"),
    ({"threshold": 1.5}, "threshold: found 1.5"),
    ({"judge": " "}, "judge or task is empty"),
    ({"prompts": [1]}, "prompts"),
    ({"sure": []}, "sure: found"),
    ({"sure": {"error": 0}}, "sure.low"),
    ({"sure": {"error": 0.1, "low": 0.9, "high": 0.2}}, "sure.no"),
    ({"about": 3}, "about"),
]


@pytest.mark.parametrize(("change", "problem"), HOSTILE)
def test_a_hostile_calibration_is_refused_in_one_line(change, problem, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(calibration().row() | change))
    with pytest.raises(InputError, match=problem) as caught:
        read_calibration(path)
    assert str(caught.value).startswith(f"{path}")


@pytest.mark.parametrize(
    ("field", "value"),
    [("kept", 0), ("kept", -1), ("errors", 99), ("bound", 1.5), ("bound", None), ("kept", 1e3)],
)
def test_sides_that_contradict_themselves_are_refused(field, value, tmp_path):
    row = calibration(sure=SURE).row()
    row["sure"]["no"][field] = value
    (tmp_path / "c.json").write_text(json.dumps(row))
    with pytest.raises(InputError, match="sure"):
        read_calibration(tmp_path / "c.json")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"threshold": NaN}', "\0", "[" * 100_000, "é\n"])
def test_what_is_no_json_object_is_refused(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(InputError):
        read_calibration(tmp_path / "c.json")


@settings(max_examples=tries(200), deadline=None)
@given(data=st.data())
def test_a_mutated_file_is_refused_or_still_a_calibration(data, tmp_path_factory):
    text = json.dumps(calibration(sure=SURE).row())
    place = data.draw(st.integers(0, len(text) - 1))
    text = text[:place] + data.draw(st.sampled_from('0159-."{}[],:eaN')) + text[place + 1 :]
    path = tmp_path_factory.getbasetemp() / "mutated.json"
    path.write_text(text)
    try:
        curve = read_calibration(path).curve
    except InputError:
        return
    mapped = curve(GRID)
    assert ((mapped >= 0) & (mapped <= 1)).all()
    assert (np.diff(mapped) >= 0).all()


# --- the judge

TEXT = "Nuclear power is safe compared with coal. Solar is cheaper, though."
QUESTIONS = [
    Support(str(n), TEXT, statement)
    for n, statement in enumerate(["Solar is cheaper.", "Coal kills.", "Bananas are yellow.", ""])
]


@pytest.fixture(scope="module")
def encoder():
    return EncoderJudge()


def test_its_answers_are_mended_and_say_how(encoder):
    curve = Isotonic((0.0, 1.0), (0.0, 0.3))
    made = calibration(curve, judge=encoder.name, source="calibrated", threshold=0.25)
    judge = Recalibrated(encoder, made)
    before, after = ask(encoder, QUESTIONS), ask(judge, QUESTIONS)
    assert judge.name == f"{encoder.name}+isotonic@{made.digest[:8]}"
    for old, new in zip(before[:3], after[:3], strict=True):
        assert new.probability == pytest.approx(0.3 * old.probability)
        assert new.value is (new.probability >= 0.25)
        assert new.notes["uncalibrated"] == old.probability
        assert new.provenance.method == "calibrated+isotonic"
        assert new.provenance.judge == judge.name
        assert new.provenance.prompt_hash == old.provenance.prompt_hash
        assert new.evidence == old.evidence
        assert ("recalibrated" in new.explanation) == (new.value != old.value)
    assert {old.value for old in before[:3]} == {True, False}
    assert isinstance(after[3], Unscored)
    assert after[3].reason == before[3].reason
    assert after[3].provenance.judge == judge.name


def test_an_answer_without_a_probability_is_unscored(tmp_path):
    (tmp_path / "l.jsonl").write_text('{"id": "0", "value": true}\n')
    people = HumanLabels(tmp_path / "l.jsonl")
    judge = Recalibrated(people, calibration(judge=people.name, source=""))
    first, second = ask(judge, QUESTIONS[:2])
    assert first.reason == "uncalibrated: no probability to calibrate"
    assert second.reason.startswith("no label")


def test_a_probability_of_another_kind_is_unscored(encoder):
    judge = Recalibrated(encoder, calibration(judge=encoder.name, source="token"))
    (answer,) = ask(judge, QUESTIONS[:1])
    assert answer.reason.startswith("uncalibrated: found a probability by 'calibrated'")


def test_an_answer_to_another_prompt_is_unscored(tmp_path):
    """Over real HTTP, with the hash that the answers carry."""
    with ChatServer() as server, Store(tmp_path / "store.sqlite") as store:
        judge = LlmJudge(StoredModel(ChatEndpoint(server.url, "test"), store, 4))
        (plain,) = ask(judge, QUESTIONS[:1])
        used = {"name": "support", "hash": plain.provenance.details["prompt_file"]}
        fields = {"judge": judge.name, "source": plain.provenance.method}
        for prompts, kind in (((used,), Judged), (({**used, "hash": "0" * 64},), Unscored)):
            (answer,) = ask(
                Recalibrated(judge, calibration(**fields, prompts=prompts)), QUESTIONS[:1]
            )
            assert isinstance(answer, kind)
    assert answer.reason.startswith("uncalibrated: asked with")


def test_another_judge_or_task_is_refused(encoder):
    with pytest.raises(InputError, match="made for the judge 'j@1'"):
        Recalibrated(encoder, calibration())
    judge = Recalibrated(encoder, calibration(judge=encoder.name, task="relevance"))
    seen = []
    with pytest.raises(InputError, match="made for the task 'relevance'"):
        ask(judge, QUESTIONS, lambda *found: seen.append(found))
    assert seen == []


def test_a_judged_answer_keeps_its_own_notes(encoder):
    judge = Recalibrated(encoder, calibration(judge=encoder.name, source=""))
    old = Judged(True, Provenance("x", method="token"), 0.6, notes={"batch": 3})
    new = judge._recalibrated(old)
    assert new.notes == {"batch": 3, "uncalibrated": 0.6}
    assert new.provenance.method == "token+isotonic"
