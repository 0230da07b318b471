"""MRecall and Precision with the judge's errors taken into account."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.core.errors import InputError
from pnyx.judging.measures.ground_truth import LabelledVerdicts, join_labels
from pnyx.judging.measures.pairs import Gold, Pair
from pnyx.judging.measures.ppi import prediction_powered
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measure_tables import _correction_notes
from pnyx.perspectives.measures.correction import Corrected, Correction, place_of
from pnyx.perspectives.measures.table import PERSPECTIVE_MEASURES, TopicTable, mrecall
from pnyx.stats.base import Bootstrap


def table(topic: str, probability: np.ndarray, yes: np.ndarray | None = None) -> TopicTable:
    """Return a topic whose pairs are all scored; yes from a probability of one half on."""
    n, m = probability.shape
    documents, perspectives = tuple(f"d{i}" for i in range(n)), tuple(map(str, range(m)))
    said = probability > 0.5 if yes is None else yes
    none = np.zeros((n, m), dtype=bool)
    return TopicTable(topic, documents, perspectives, (None,) * m, said, none, (), probability)


MRECALL, PRECISION = PERSPECTIVE_MEASURES["MRecall"], PERSPECTIVE_MEASURES["Precision"]


def pair(
    question: str, doc: str, view: str, truth: bool, value: bool, probability: float | None = None
) -> Pair:
    said = Verdict("", question, doc, value, probability, judge="j", perspective_id=view)
    return Pair(said, Gold(truth))


def _world(
    rng: np.random.Generator, topics: int, documents: int, name: str = "q"
) -> tuple[list[TopicTable], list[TopicTable]]:
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


def _labels(judged: list[TopicTable], true: list[TopicTable]) -> LabelledVerdicts:
    return LabelledVerdicts(
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


def corrected(
    judged: list[TopicTable], true: list[TopicTable], count: int, draws: int = 100
) -> Correction:
    """Return the correction by people's labels of the first questions."""
    return Correction(_labels(judged[:count], true[:count]), "j", Bootstrap(draws))


def test_labels_of_too_few_measured_questions_correct_nothing():
    judged, true = _world(np.random.default_rng(2), 30, 5)
    for count in (1, 7, 8):
        for measure in (MRECALL, PRECISION):
            found = corrected(judged, true, count).mean(judged, measure @ 5)
            assert (found.value is None) == (found.low is None) == (count < 8)
            assert (found.scored, found.asked, found.labelled) == (30, 30, count)
    elsewhere = _labels(*_world(np.random.default_rng(3), 40, 5, "other"))
    assert Correction(elsewhere, "j").mean(judged, MRECALL @ 5).labelled == 0
    assert corrected(judged, true, 20).mean(judged, PERSPECTIVE_MEASURES["MinCover"] @ 5) is None


@pytest.mark.parametrize(
    ("count", "warning"),
    [
        (7, "warning: not corrected: labels of 7 measured questions, expected at least 8, "),
        (8, "warning: corrected by labels of 8 measured questions: "),
        (29, "warning: corrected by labels of 29 measured questions: "),
        (30, ""),
    ],
)
def test_fewer_than_thirty_labelled_questions_are_warned_of(count: int, warning: str):
    basis = corrected(*_world(np.random.default_rng(2), 30, 5), 20).row()
    run = SimpleNamespace(corrected={"MRecall@5": Corrected(0.5, 30, 30, labelled=count)})
    lines = _correction_notes(SimpleNamespace(correction=basis, runs=[run]))
    assert len(lines) == bool(warning)
    assert all(line.startswith(warning) for line in lines)


def test_a_judge_without_errors_is_hardly_corrected():
    judged, _ = _world(np.random.default_rng(4), 60, 5)
    for measure in (MRECALL, PRECISION):
        found = corrected(judged, judged, 20).mean(judged, measure @ 5)
        plain = np.mean([(measure @ 5).of(t).value for t in judged])
        assert found.value == pytest.approx(plain, abs=0.06)
        assert found.low <= found.value <= found.high


def opened(t: TopicTable, document: int) -> TopicTable:
    """Return a topic with one pair unscored."""
    at = np.zeros_like(t.yes)
    at[document, 0] = True
    probability = np.where(at, np.nan, t.probability)
    return TopicTable(
        t.topic, t.documents, t.perspectives, t.sides, t.yes & ~at, at, ("timeout",), probability
    )


def test_topics_with_unscored_pairs_are_left_out_and_counted():
    judged, true = _world(np.random.default_rng(5), 30, 5)
    some = [*judged[:29], opened(judged[29], 1)]
    found = corrected(judged, true, 20).mean(some, MRECALL @ 5)
    assert (found.scored, found.asked) == (29, 30)
    assert corrected(judged, true, 20).mean(some, MRECALL @ 1).scored == 30  # it is at rank 2
    none = [opened(t, 0) for t in judged]
    found = corrected(judged, true, 20).mean(none, PRECISION @ 5)
    assert (found.value, found.low, found.scored, found.asked) == (None, None, 0, 30)
    assert corrected(judged, true, 20, draws=0).mean(judged, MRECALL @ 5).low is None


def test_shares_by_hand():
    """8 of 12 questions are labelled. People .5, the judge .25 on these, 1 on the rest.

    The mean of the products of their deviations is .25 - .5 x .25 = 1/8; the judge's values vary by
    12/11 x .5 x .5 = 3/11. So it counts 1/8 / (3/11 x (1 + 8/4)) = 11/72, and the mean is .5 +
    11/72 x .75.
    """
    people = np.array([1, 1, 1, 1, 0, 0, 0, 0], dtype=float)
    judged = np.array([1, 1, 0, 0, 0, 0, 0, 0], dtype=float)
    found = prediction_powered(people, judged, np.ones(4), unit=1.0).corrected
    assert found.value == pytest.approx(0.5 + 11 / 72 * 0.75)
    assert 0 < found.low < found.value < found.high < 1
    # All are labelled: the judge has nothing to add, and the mean is people's.
    assert prediction_powered(people, judged, np.empty(0), unit=1.0).corrected.value == 0.5
    # People say no eight times: they may still say yes to a third of the others.
    found = prediction_powered(np.zeros(8), np.zeros(8), np.zeros(40), unit=1.0).corrected
    assert (found.value, found.low) == (0, 0)
    assert 0.25 < found.high < 0.65


@given(
    data=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=4),
    further=st.lists(st.floats(0, 1)),
    unit=st.sampled_from([1.0, 0.2]),
)
def test_means_of_shares_are_shares_within_their_interval(data, further, unit):
    people, judge = np.array(data).T
    found = prediction_powered(people, judge, np.array(further), unit=unit).corrected
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_a_label_missing_at_a_rank_leaves_those_above():
    judged, true = _world(np.random.default_rng(2), 60, 5)
    pairs = _labels(judged[:20], true[:20])
    short = LabelledVerdicts(
        "support", "j", tuple(p for p in pairs.pairs if p.verdict.doc_id != "d4")
    )
    assert Correction(short, "j").mean(judged, MRECALL @ 5).labelled == 0
    assert Correction(short, "j").mean(judged, MRECALL @ 4).labelled == 20
    empty = [*judged, *(table(f"e{n}", np.empty((0, 2))) for n in range(60))]
    half, whole = (Correction(pairs, "j").mean(of, MRECALL @ 5) for of in (empty, judged))
    assert half.value == pytest.approx(whole.value / 2)


def test_the_interval_holds_the_truth_where_the_judge_does_not():
    """A judge that misses what it cannot see: true MRecall .48, judged .35 (measured once)."""
    truth, repeats = 0.480, 20
    covered = 0
    values, plain = [], []
    for seed in range(repeats):
        judged, true = _world(np.random.default_rng(seed), 80, 5)
        found = corrected(judged, true, 20).mean(judged, MRECALL @ 5)
        covered += found.low <= truth <= found.high
        values.append(found.value)
        plain.append(np.mean([mrecall(t, 5).value for t in judged]))
    assert abs(np.mean(plain) - truth) > 0.1
    assert abs(np.mean(values) - truth) < 0.06
    assert covered >= 17


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
    row = Correction(found, "j").row()
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
        Correction(_labels(*_world(np.random.default_rng(0), 3, 2)), "k")


def test_one_label_is_a_kth_of_a_precision_and_all_of_a_recall():
    judged, true = _world(np.random.default_rng(5), 20, 4)
    correction = Correction(_labels(judged[:12], true[:12]), "j")
    for measure, unit, bounds in ((PRECISION, 0.25, None), (MRECALL, None, (0.0, 1.0))):
        values = [[(measure @ 4).of(table).value for table in some]
                  for some in (true[:12], judged[:12], judged[12:])]  # fmt: skip
        expected = prediction_powered(*values, 0.95, unit, bounds).corrected
        mean = correction.mean(judged, measure @ 4)
        assert (mean.value, mean.low, mean.high) == pytest.approx(
            (expected.value, expected.low, expected.high)
        )
        assert (mean.scored, mean.asked, mean.labelled) == (20, 20, 12)
