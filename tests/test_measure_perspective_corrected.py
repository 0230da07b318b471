"""MRecall and Precision with the judge's errors taken into account."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.errors import InputError
from pnyx.judge.verdicts import Verdict
from pnyx.measure.core.base import Bootstrap
from pnyx.measure.core.ground_truth import Gold, Joined, Pair, join_labels
from pnyx.measure.perspectives.corrected import FEWEST, Correction, place_of, powered
from pnyx.measure.perspectives.effects import Covering, effects_of
from pnyx.measure.perspectives.effects import given as given_effect
from pnyx.measure.perspectives.table import Table, mrecall, precision


def table(topic: str, probability: np.ndarray, yes: np.ndarray | None = None) -> Table:
    """Return a topic whose pairs are all scored; yes from a probability of one half on."""
    n, m = probability.shape
    documents, perspectives = tuple(f"d{i}" for i in range(n)), tuple(map(str, range(m)))
    said = probability > 0.5 if yes is None else yes
    none = np.zeros((n, m), dtype=bool)
    return Table(topic, documents, perspectives, (None,) * m, said, none, (), probability)


def same(chances: np.ndarray) -> np.ndarray:
    """A curve that changes nothing: probabilities are chances."""
    return np.asarray(chances)


def test_the_chance_to_cover_by_hand():
    half = table("q", np.array([[0.5, 0.0], [0.5, 1.0]]))
    covering = Covering([half], 2, lambda t: t.probability)
    apart, together = covering.chances(same)
    # a is no on both documents: .5 x .5 where errors fall apart, .5 where they fall together
    assert apart == pytest.approx([0.75, 1.0])
    assert together == pytest.approx([0.5, 1.0])
    assert covering.recalls(apart) == pytest.approx([0.75])
    assert covering.recalls(together) == pytest.approx([0.5])


def test_the_chance_to_cover_enough_of_more_perspectives_than_k():
    # Three perspectives at depth 2, each covered with a chance of one half: two or three of them
    # are in 3 + 1 of 8 cases.
    crowded = table("q", np.array([[0.5, 0.5, 0.5], [0.0, 0.0, 0.0]]))
    plain = table("p", np.array([[0.5, 0.5]]))
    empty = table("r", np.empty((0, 2)))
    covering = Covering([crowded, empty, plain], 2, lambda t: t.probability)
    apart, _ = covering.chances(same)
    assert covering.recalls(apart) == pytest.approx([4 / 8, 0, 1 / 4])


def pair(
    question: str, doc: str, view: str, truth: bool, value: bool, probability: float | None = None
) -> Pair:
    said = Verdict("", question, doc, value, probability, judge="j", perspective_id=view)
    return Pair(said, Gold(truth))


def labelled(count: int, right: float, seed: int = 0) -> Joined:
    """Return pairs of `count` questions, two perspectives and four documents each."""
    rng = np.random.default_rng(seed)
    pairs = []
    for question in range(count):
        for doc in range(4):
            for perspective in range(2):
                value = bool(rng.random() < 0.4)
                truth = value if rng.random() < right else not value
                where = f"q{question}", f"d{doc}", str(perspective)
                pairs.append(pair(*where, truth, value))
    return Joined("support", "j", tuple(pairs))


def some_tables(count: int = 30, seed: int = 1) -> list[Table]:
    rng = np.random.default_rng(seed)
    return [table(str(n), np.where(rng.random((4, 2)) < 0.3, 0.9, 0.1)) for n in range(count)]


def test_a_judge_without_errors_is_hardly_corrected():
    tables = some_tables()
    correction = Correction(labelled(100, 1.0), tables)
    assert correction.signal == "verdict"  # the labelled pairs have no probabilities
    for corrected, measure in ((correction.mrecall, mrecall), (correction.precision, precision)):
        judged = np.mean([measure(t, 4).value for t in tables])
        found = corrected(tables, 4)
        assert found.value == pytest.approx(judged, abs=0.02)
        assert found.low <= found.value <= found.high
        assert (found.scored, found.asked) == (30, 30)
        assert (found.method, found.labelled) == ("calibrated", 100)


def test_a_judge_that_guesses_says_nothing_beyond_the_labels():
    """Whatever it answers, a document's chance is the share of labelled documents with a yes."""
    pairs = labelled(200, 0.5)
    share = np.mean(
        [any(a.gold.yes for a in pairs.pairs[n : n + 2]) for n in range(0, len(pairs.pairs), 2)]
    )
    found = Correction(pairs, some_tables(), bootstrap=Bootstrap(0)).precision(some_tables(), 4)
    assert found.value == pytest.approx(share, abs=0.05)
    assert (found.low, found.high) == (None, None)


def test_what_questions_and_perspectives_share_is_found_again():
    """Standard deviations in log-odds, of 400 questions with two perspectives of ten documents."""
    for question, perspective in ((0.0, 0.0), (1.0, 0.0), (0.0, 1.5)):
        rng = np.random.default_rng(5)
        shape = 400, 2, 10
        seen = rng.normal(-1, 1, shape)
        unseen = rng.normal(0, question, (400, 1, 1)) + rng.normal(0, perspective, (400, 2, 1))
        truth = (rng.random(shape) < 1 / (1 + np.exp(-(seen + unseen)))).astype(float)
        # Chances by what is seen alone: over the unseen, by its exact average.
        points = rng.normal(size=(1000, 1)) * (question**2 + perspective**2) ** 0.5
        chances = (1 / (1 + np.exp(-(seen.ravel() + points)))).mean(axis=0)
        numbers = np.arange(8000)
        found = effects_of(chances, truth.ravel(), numbers // 20, numbers // 10)
        assert found.question == pytest.approx(question, abs=0.25)
        assert found.perspective == pytest.approx(perspective, abs=0.25)


@given(chance=st.floats(0.001, 0.999), spread=st.floats(0, 5))
def test_an_effect_leaves_chances_what_they_are_on_average(chance, spread):
    shared = given_effect(np.array([chance]), spread)
    assert sum(w for w, _ in shared) == pytest.approx(1)
    assert sum(w * p[0] for w, p in shared) == pytest.approx(chance, abs=0.003)


def test_errors_that_fall_together_are_seen_in_the_labelled_pairs():
    def correction(together: bool) -> Correction:
        rng = np.random.default_rng(3)
        pairs = []
        for question in range(300):
            misread = rng.random() < 0.5
            for doc in range(4):
                truth = misread if together else bool(rng.random() < 0.5)
                pairs.append(pair(f"q{question}", f"d{doc}", "0", truth, False, 0.3))
        return Correction(Joined("support", "j", tuple(pairs)), [], bootstrap=Bootstrap(0))

    # Half of the perspectives misread on all documents, or half of all pairs misread.
    assert correction(True).effects.perspective > 5
    assert correction(False).effects.perspective < 0.3


def test_without_two_documents_of_a_perspective_only_a_range_is_given():
    pairs = tuple(
        pair(f"q{n}", "d", "0", n % 5 == 0, n % 2 == 0, 0.9 if n % 2 == 0 else 0.2)
        for n in range(60)
    )
    tables = some_tables()
    correction = Correction(Joined("support", "j", pairs), tables, bootstrap=Bootstrap(100))
    found = correction.mrecall(tables, 4)
    assert correction.effects is None
    assert found.value is None
    assert found.low < found.together < found.apart < found.high


def opened(t: Table, document: int) -> Table:
    """Return a topic with one pair unscored."""
    at = np.zeros_like(t.yes)
    at[document, 0] = True
    probability = np.where(at, np.nan, t.probability)
    return Table(
        t.topic, t.documents, t.perspectives, t.sides, t.yes & ~at, at, ("timeout",), probability
    )


def test_topics_with_unscored_pairs_are_left_out_and_counted():
    tables = some_tables(5)
    tables[0] = opened(tables[0], 1)
    correction = Correction(labelled(50, 0.9), tables, bootstrap=Bootstrap(50))
    for found in (correction.mrecall(tables, 4), correction.precision(tables, 4)):
        assert (found.scored, found.asked) == (4, 5)
    assert correction.mrecall(tables, 1).scored == 5  # the open pair is at rank 2


def test_where_no_question_is_judged_down_to_the_depth_nothing_is_said():
    tables = [opened(t, 0) for t in some_tables(5)]
    correction = Correction(labelled(50, 0.9), tables, bootstrap=Bootstrap(50))
    for found in (correction.mrecall(tables, 4), correction.precision(tables, 4)):
        assert (found.value, found.low, found.scored, found.asked) == (None, None, 0, 5)


def test_precision_needs_documents_with_all_their_labels():
    pairs = tuple(pair(f"q{n}", "", "0", n % 2 == 0, True, None) for n in range(40))
    correction = Correction(Joined("support", "j", pairs), some_tables(), bootstrap=Bootstrap(10))
    found = correction.precision(some_tables(), 4)
    assert (found.value, found.asked) == (None, 30)
    assert correction.row()["documents"] == 0


def test_labels_of_too_few_questions_correct_nothing():
    tables = some_tables()
    for count in (1, FEWEST - 1, FEWEST):
        correction = Correction(labelled(count, 0.9), tables, bootstrap=Bootstrap(100))
        for found in (correction.mrecall(tables, 4), correction.precision(tables, 4)):
            assert (found.value is None) == (count < FEWEST)
            assert (found.low is None) == (count < FEWEST)


def test_a_shift_widens_the_interval():
    tables = some_tables(60)
    pairs = labelled(60, 0.9)
    widths = []
    for shift in (0.0, 0.7, 1.4):
        found = Correction(pairs, tables, shift=shift).precision(tables, 4)
        widths.append(found.high - found.low)
    assert widths[0] * 1.5 < widths[1] < widths[2]
    for shift in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="shift"):
            Correction(pairs, tables, shift=shift)


def test_a_change_of_questions_is_covered():
    """What failed on BERDS: people's yes on other questions is .4, on the labelled ones .26.

    The judge says the same of all. Questions differ by as much as they did there, by a standard
    deviation of .25; an interval that takes the pairs for independent is a third as wide.
    """
    rng = np.random.default_rng(11)
    held = 0
    for seed in range(25):
        shares = rng.beta(0.8, 2.2, 30)  # of yes in a question: mean .27, deviation .22
        truth = rng.random((30, 9)) < shares[:, None]
        pairs = tuple(
            pair(f"l{q}", f"d{d}", "0", bool(truth[q, d]), False, 0.3)
            for q in range(15)
            for d in range(9)
        )
        tables = [table(f"q{q}", np.full((5, 1), 0.3)) for q in range(15, 30)]
        people = truth[15:, :5].mean()
        found = Correction(
            Joined("support", "j", pairs), tables, bootstrap=Bootstrap(200, seed)
        ).precision(tables, 5)
        held += found.low <= people <= found.high
    assert held >= 22


# --- some of the measured questions are labelled


def test_questions_that_are_labelled_themselves_are_powered_by_predictions():
    """By hand: 8 of 12 questions are labelled. People .5, the judge .25 on these, 1 on the rest.

    Their covariance is 8/7 x (.25 - .5 x .25) = 1/7; the judge's values vary by 12/11 x .5 x .5
    = 3/11. So it counts 1/7 / (3/11 x (1 + 8/4)) = 11/63, and the mean is .5 + 11/63 x .75.
    """
    people = np.array([1, 1, 1, 1, 0, 0, 0, 0, np.nan, np.nan, np.nan, np.nan])
    judged = np.array([1, 1, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1], dtype=float)
    value, low, high = powered(people, judged, 1.0)
    assert value == pytest.approx(0.5 + 11 / 63 * 0.75)
    assert 0 < low < value < high < 1
    # All are labelled: the judge has nothing to add, and the mean is people's.
    assert powered(people[:8], judged[:8], 1.0)[0] == 0.5
    # People say no eight times: they may still say yes to a third of the others.
    value, low, high = powered(np.array([0.0] * 8 + [np.nan] * 40), np.zeros(48), 1.0)
    assert (value, low) == (0, 0)
    assert 0.25 < high < 0.65


@given(
    data=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=3),
    weight=st.sampled_from([1.0, 0.2]),
)
def test_powered_means_are_shares_within_their_interval(data, weight):
    people = np.array([y if known else np.nan for y, _, known in data])
    people[:2] = [y for y, _, _ in data[:2]]
    value, low, high = powered(people, np.array([f for _, f, _ in data]), weight)
    assert 0 <= low <= value <= high <= 1


def test_labels_of_measured_questions_go_before_a_curve():
    """They are used where they reach down to the depth: that assumes nothing of the judge."""
    rng = np.random.default_rng(2)
    judged, true = _world(rng, 60, 5)
    pairs = _labels(judged[:20], true[:20])
    correction = Correction(pairs, judged, bootstrap=Bootstrap(100))
    for corrected, measure in ((correction.mrecall, mrecall), (correction.precision, precision)):
        found = corrected(judged, 5)
        assert (found.method, found.labelled) == ("prediction-powered", 20)
        people = np.array([measure(t, 5).value for t in true[:20]] + [np.nan] * 40)
        theirs = np.array([measure(t, 5).value for t in judged])
        weight = 1.0 if measure is mrecall else 0.2
        assert (found.value, found.low, found.high) == powered(people, theirs, weight)
    # Of 7 questions they are too few, and a label missing at rank 5 leaves those above.
    few = Correction(_labels(judged[:7], true[:7]), judged, bootstrap=Bootstrap(100)).mrecall(
        judged, 5
    )
    assert few.value is None
    short = Joined("support", "j", tuple(p for p in pairs.pairs if p.verdict.doc_id != "d4"))
    assert Correction(short, judged).mrecall(judged, 5).method == "calibrated"
    assert Correction(short, judged).mrecall(judged, 4).method == "prediction-powered"


def _world(
    rng: np.random.Generator, topics: int, documents: int, name: str = "q"
) -> tuple[list[Table], list[Table]]:
    """Return topics as judged and as they are: errors fall together within a perspective."""
    judged, true = [], []
    for topic in range(topics):
        seen = rng.normal(-1.7, 1.5, (documents, 2))
        unseen = rng.normal(0, 1, 2)
        yes = rng.random((documents, 2)) < 1 / (1 + np.exp(-(seen + unseen)))
        probability = 1 / (1 + np.exp(-(1.3 * seen + 0.3)))
        judged.append(table(f"{name}{topic}", probability))
        true.append(table(f"{name}{topic}", probability, yes))
    return judged, true


def _labels(judged: list[Table], true: list[Table]) -> Joined:
    return Joined(
        "support", "j",
        tuple(
            pair(
                a.topic, a.documents[i], a.perspectives[j], bool(b.yes[i, j]), bool(a.yes[i, j]),
                float(a.probability[i, j]),
            )
            for a, b in zip(judged, true, strict=True)
            for i in range(len(a.documents))
            for j in range(2)
        ),
    )  # fmt: skip


def test_the_interval_holds_the_truth_where_the_judge_does_not():
    """A judge that misses what it cannot see: true MRecall .48, judged .35 (measured once)."""
    truth, repeats = 0.480, 12
    covered = 0
    values, plain = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        tables, _ = _world(rng, 80, 5)
        pairs = _labels(*_world(rng, 20, 9, "l"))
        found = Correction(pairs, tables, bootstrap=Bootstrap(100, seed)).mrecall(tables, 5)
        covered += found.low <= truth <= found.high
        values.append(found.value)
        plain.append(np.mean([mrecall(t, 5).value for t in tables]))
    assert abs(np.mean(plain) - truth) > 0.1
    assert abs(np.mean(values) - truth) < 0.04
    assert covered >= 11


# --- reading

ANSWER = {"task": "support", "value": True, "unscored": None, "judge": "j", "probability": 0.9}


def write(path, *rows):
    path.write_text("".join(json.dumps({**ANSWER, **row}) + "\n" for row in rows))
    return path


def test_labels_stand_beside_the_answers_or_in_a_file_of_their_own(tmp_path):
    where = {"question_id": "q", "doc_id": "d", "perspective_id": "a"}
    unscored = {"value": None, "unscored": "timeout", "probability": None}
    answers = write(
        tmp_path / "answers.jsonl",
        {"id": "1", "label": 0, **where},
        {"id": "2", "label": "yes", **unscored},
        {"id": "3"},
        {"id": "4", "label": True, "group": "g", "text_id": "t"},
    )
    found = join_labels(tmp_path)
    assert (found.judge, found.task) == ("j", "support")
    assert [one.verdict.id for one in found.pairs] == ["1", "2", "4"]
    assert [one.gold.yes for one in found.pairs] == [False, True, True]
    assert [place_of(one) for one in found.pairs] == [
        ("q", "d", "a"),
        ("2", "", ""),
        ("g", "t", ""),
    ]
    row = Correction(found, []).row()
    assert (row["pairs"], row["unscored"], row["yes"]) == (2, 1, 1)
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "3", "value": "no"}\n{"id": "9", "value": "no"}\n')
    (one,) = join_labels(answers, labels).pairs
    assert (place_of(one), one.gold.yes) == (("3", "", ""), False)


def test_what_is_not_labelled_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    with pytest.raises(InputError, match="no answer has a label"):
        join_labels(write(path, {"id": "1"}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: label: found 'maybe'"):
        join_labels(write(path, {"id": "1", "label": "maybe"}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: value: found 0\.5"):
        join_labels(write(path, {"id": "1", "label": True, "value": 0.5}))
    two = {"id": "1", "label": True}, {"id": "2", "label": True, "judge": "k"}
    with pytest.raises(InputError, match="several judges"):
        join_labels(write(path, *two))
    assert join_labels(path, judge="k").judge == "k"
    with pytest.raises(InputError, match="answered by 'j', the verdicts are of 'k'"):
        Correction(labelled(3, 1.0), [], bootstrap=Bootstrap(0)).check_judge("k")
