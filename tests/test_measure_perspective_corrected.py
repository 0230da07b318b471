"""MRecall and Precision with the judge's errors taken into account."""

from __future__ import annotations

import json

import numpy as np
import pytest

from pnyx.errors import InputError
from pnyx.measure.perspective_corrected import Correction
from pnyx.measure.perspective_covering import Covering
from pnyx.measure.perspective_labelled import Labelled, LabelledVerdict, read_labelled_verdicts
from pnyx.measure.perspective_table import Table, mrecall, precision


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


def labelled(count: int, right: float, seed: int = 0) -> Labelled:
    """Return pairs of `count` questions, two perspectives and four documents each."""
    rng = np.random.default_rng(seed)
    pairs = []
    for question in range(count):
        for doc in range(4):
            for perspective in range(2):
                value = bool(rng.random() < 0.4)
                truth = value if rng.random() < right else not value
                where = f"q{question}", f"d{doc}", str(perspective)
                pairs.append(LabelledVerdict(*where, truth, value))
    return Labelled("j", tuple(pairs))


def some_tables(count: int = 30, seed: int = 1) -> list[Table]:
    rng = np.random.default_rng(seed)
    return [table(str(n), np.where(rng.random((4, 2)) < 0.3, 0.9, 0.1)) for n in range(count)]


def test_a_judge_without_errors_is_hardly_corrected():
    tables = some_tables()
    correction = Correction(labelled(300, 1.0), tables, 200, 0)
    assert correction.signal == "verdict"  # the labelled pairs have no probabilities
    for corrected, measure in ((correction.mrecall, mrecall), (correction.precision, precision)):
        judged = np.mean([measure(t, 4).value for t in tables])
        found = corrected(tables, 4)
        assert found.value == pytest.approx(judged, abs=0.02)
        assert found.low <= found.value <= found.high
        assert (found.scored, found.asked) == (30, 30)


def test_a_judge_that_guesses_says_nothing_beyond_the_labels():
    """Whatever it answers, a document's chance is the share of labelled documents with a yes."""
    pairs = labelled(200, 0.5)
    share = np.mean(
        [any(a.truth for a in pairs.pairs[n : n + 2]) for n in range(0, len(pairs.pairs), 2)]
    )
    found = Correction(pairs, some_tables(), 0, 0).precision(some_tables(), 4)
    assert found.value == pytest.approx(share, abs=0.05)
    assert (found.low, found.high) == (None, None)


def test_errors_that_fall_together_are_seen_in_the_labelled_pairs():
    def correction(together: bool) -> Correction:
        rng = np.random.default_rng(3)
        pairs = []
        for question in range(300):
            misread = rng.random() < 0.5
            for doc in range(4):
                truth = misread if together else bool(rng.random() < 0.5)
                pairs.append(LabelledVerdict(f"q{question}", f"d{doc}", "0", truth, False, 0.3))
        return Correction(Labelled("j", tuple(pairs)), [], 0, 0)

    # Half of the perspectives misread on all documents, or half of all pairs misread.
    assert correction(True).together == pytest.approx(1, abs=0.05)
    assert correction(False).together == pytest.approx(0, abs=0.05)


def test_without_two_documents_of_a_perspective_only_a_range_is_given():
    pairs = tuple(
        LabelledVerdict(f"q{n}", "d", "0", n % 5 == 0, n % 2 == 0, 0.9 if n % 2 == 0 else 0.2)
        for n in range(60)
    )
    tables = some_tables()
    correction = Correction(Labelled("j", pairs), tables, 100, 0)
    found = correction.mrecall(tables, 4)
    assert correction.together is None
    assert found.value is None
    assert found.low < found.together < found.apart < found.high


def test_topics_with_unscored_pairs_are_left_out_and_counted():
    tables = some_tables(5)
    opened = np.zeros((4, 2), dtype=bool)
    opened[1, 0] = True
    t = tables[0]
    tables[0] = Table(
        t.topic, t.documents, t.perspectives, t.sides, t.yes & ~opened, opened, ("timeout",),
        np.where(opened, np.nan, t.probability),
    )  # fmt: skip
    correction = Correction(labelled(50, 0.9), tables, 50, 0)
    for found in (correction.mrecall(tables, 4), correction.precision(tables, 4)):
        assert (found.scored, found.asked) == (4, 5)
    assert correction.mrecall(tables, 1).scored == 5  # the open pair is at rank 2


def test_precision_needs_documents_with_all_their_labels():
    pairs = tuple(LabelledVerdict("q", "", "0", n % 2 == 0, True, None) for n in range(4))
    correction = Correction(Labelled("j", pairs), some_tables(), 10, 0)
    found = correction.precision(some_tables(), 4)
    assert (found.value, found.scored, found.asked) == (None, 0, 30)
    assert correction.row()["documents"] == 0


def _world(
    rng: np.random.Generator, topics: int, documents: int
) -> tuple[list[Table], list[Table]]:
    """Return topics as judged and as they are: errors fall together within a perspective."""
    judged, true = [], []
    for topic in range(topics):
        seen = rng.normal(-1.7, 1.5, (documents, 2))
        unseen = rng.normal(0, 1, 2)
        yes = rng.random((documents, 2)) < 1 / (1 + np.exp(-(seen + unseen)))
        probability = 1 / (1 + np.exp(-(1.3 * seen + 0.3)))
        judged.append(table(f"q{topic}", probability))
        true.append(table(f"q{topic}", probability, yes))
    return judged, true


def _labels(judged: list[Table], true: list[Table]) -> Labelled:
    return Labelled(
        "j",
        tuple(
            LabelledVerdict(
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
    truth, repeats = 0.480, 20
    covered = 0
    values, plain = [], []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        tables, _ = _world(rng, 80, 5)
        pairs = _labels(*_world(rng, 25, 9))
        found = Correction(pairs, tables, 100, seed).mrecall(tables, 5)
        covered += found.low <= truth <= found.high
        values.append(found.value)
        plain.append(np.mean([mrecall(t, 5).value for t in tables]))
    assert abs(np.mean(plain) - truth) > 0.1
    assert abs(np.mean(values) - truth) < 0.04
    assert covered >= 16


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
    found = read_labelled_verdicts(tmp_path)
    assert found.judge == "j"
    assert found.unscored == 1
    assert found.pairs == (
        LabelledVerdict("q", "d", "a", False, True, 0.9),
        LabelledVerdict("g", "t", "", True, True, 0.9),
    )
    labels = tmp_path / "labels.jsonl"
    labels.write_text('{"id": "3", "value": "no"}\n{"id": "9", "value": "no"}\n')
    found = read_labelled_verdicts(answers, labels)
    assert found.pairs == (LabelledVerdict("3", "", "", False, True, 0.9),)


def test_what_is_not_labelled_is_refused(tmp_path):
    path = tmp_path / "a.jsonl"
    with pytest.raises(InputError, match="holds no scored answer with a label"):
        read_labelled_verdicts(write(path, {"id": "1"}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: label: found 'maybe'"):
        read_labelled_verdicts(write(path, {"id": "1", "label": "maybe"}))
    with pytest.raises(InputError, match=r"a\.jsonl:1: value: found 0\.5"):
        read_labelled_verdicts(write(path, {"id": "1", "label": True, "value": 0.5}))
    two = {"id": "1", "label": True}, {"id": "2", "label": True, "judge": "k"}
    with pytest.raises(InputError, match="several judges"):
        read_labelled_verdicts(write(path, *two))
    assert read_labelled_verdicts(path, judge="k").judge == "k"
    with pytest.raises(InputError, match="answered by 'j', the verdicts are of 'k'"):
        Correction(labelled(3, 1.0), [], 0, 0).check_judge("k")
