"""Where a judge is sure, with the promise kept; two judges, one asked where the other is unsure."""

import itertools
import json

import anyio
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binom

from chat_server import ChatServer
from pnyx.core.errors import InputError, ModelError
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import ask
from pnyx.judging.calibration.curves import Platt
from pnyx.judging.calibration.recalibration import Recalibration, write_calibration
from pnyx.judging.calibration.selective import (
    CONFIDENCE,
    ConfidenceRegions,
    Region,
    choose_thresholds,
    error_bound,
)
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.panel import Cascade, cascade_from
from pnyx.judging.questions import Preference, Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.stats.distributions import binomial_below
from tries import tries

# --- thresholds


@settings(max_examples=tries(50), deadline=None)
@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_the_bound_is_clopper_and_pearsons(found):
    errors, kept = found
    expected = 1.0 if errors == kept else beta.ppf(CONFIDENCE, errors + 1, kept - errors)
    assert error_bound(errors, kept) == pytest.approx(expected, abs=1e-9)
    for share in (0.01, 0.1, 0.5, 0.99):
        assert binomial_below(errors, kept, share) == pytest.approx(
            binom.cdf(errors, kept, share), rel=1e-6, abs=1e-200
        )


labelled = st.lists(
    st.tuples(st.integers(0, 20).map(lambda n: n / 20), st.booleans(), st.sampled_from("abc")),
    min_size=1,
    max_size=120,
)


def check(sure, p, y):
    """What a choice of thresholds says of itself must be so."""
    p, y = np.array(p), np.array(y)
    low = p <= (-1 if sure.low is None else sure.low)
    high = p >= (2 if sure.high is None else sure.high)
    assert not (low & high).any()
    for region, errors, side in ((low, y, sure.no), (high, ~y, sure.yes)):
        assert side.kept == region.sum()
        assert side.errors == (region & errors).sum()
        assert (side.bound is None) == (side.kept == 0)
        if side.kept:
            assert side.bound <= sure.error
            assert side.bound >= side.errors / side.kept
    assert sure.share == pytest.approx((low | high).mean())
    assert str(sure).isprintable()


@settings(deadline=None)
@given(labelled, st.sampled_from([0.05, 0.2, 0.4, 0.7]), st.booleans())
def test_thresholds_honour_the_bound_on_the_fitted_answers(found, error, grouped):
    p, y, groups = zip(*found, strict=True)
    check(choose_thresholds(p, y, error, groups if grouped else None), p, y)


@pytest.mark.all
def test_every_small_set_of_answers_honours_the_bound():
    kept = 0
    for n in range(1, 8):
        p = [(i + 1) / (n + 1) for i in range(n)]
        for y in itertools.product([False, True], repeat=n):
            for cut in range(n + 1):
                sure = choose_thresholds(p, y, 0.6, verdicts=[i >= cut for i in range(n)])
                check(sure, p, y)
                kept += sure.share > 0
    assert kept > 10


def test_labels_that_the_judge_parts_are_kept_whole_and_too_few_are_not():
    p = [0.1] * 100 + [0.9] * 100
    sure = choose_thresholds(p, [q > 0.5 for q in p], 0.05)
    assert (sure.low, sure.high, sure.share) == (0.1, 0.9, 1.0)
    assert sure.keeps(0.1, verdict=False)
    assert not sure.keeps(0.1, verdict=True)
    assert not sure.keeps(0.2, verdict=False)
    none = choose_thresholds(p[90:110], [q > 0.5 for q in p[90:110]], 0.05)
    assert (none.low, none.high, none.share) == (None, None, 0)
    assert "nothing is kept" in str(none)
    assert not none.keeps(0.0, verdict=False)
    assert not none.keeps(1.0, verdict=True)


def test_groups_that_err_together_widen_the_bound():
    rng = np.random.default_rng(5)
    p = np.sort(rng.uniform(0, 0.4, 300))
    groups = rng.integers(0, 10, 300)
    wrong = groups == 3  # one topic of ten is all wrong
    plain = choose_thresholds(p, wrong, 0.2)
    grouped = choose_thresholds(p, wrong, 0.2, groups.tolist())
    assert plain.no.kept == 300
    assert grouped.no.design_effect > 5
    assert grouped.no.kept < plain.no.kept


def test_verdicts_say_where_no_ends():
    p = np.linspace(0, 1, 200)
    sure = choose_thresholds(p, [False] * 200, 0.1, verdicts=(p >= 0.8).tolist())
    assert 0.6 < sure.low < 0.8
    assert sure.high is None


@pytest.mark.parametrize(
    ("p", "y", "error", "verdicts"),
    [
        ([], [], 0.1, None),
        ([0.5], [True, False], 0.1, None),
        ([1.5], [True], 0.1, None),
        ([0.5], [True], 0.0, None),
        ([0.5], [True], 1.0, None),
        ([0.2, 0.8], [True, True], 0.1, [True, False]),
        ([0.2, 0.2], [True, True], 0.1, [True, False]),
    ],
)
def test_what_cannot_be_chosen_on_is_refused(p, y, error, verdicts):
    with pytest.raises(ValueError):
        choose_thresholds(p, y, error, verdicts=verdicts)


def _exceeded(draw, error, times, seed):
    """Return how often the true error of the kept answers of either verdict is above `error`."""
    rng = np.random.default_rng(seed)
    further, truth = draw(rng, 20_000)
    exceeded, shares = np.zeros(2), []
    for _ in range(times):
        p, chance = draw(rng, 300)
        sure = choose_thresholds(p, rng.random(300) < chance, error)
        shares.append(sure.share)
        if sure.low is not None:
            exceeded[0] += truth[further <= sure.low].mean() > error
        if sure.high is not None:
            exceeded[1] += (1 - truth[further >= sure.high]).mean() > error
    return exceeded / times, float(np.mean(shares))


def _calibrated(rng, n):
    p = 1 / (1 + np.exp(-rng.normal(0, 2, n)))
    return p, p


def _just_too_bad(rng, n):
    """The hardest case: every region of *no* is wrong a little more often than is allowed."""
    return rng.uniform(0, 0.5, n), np.full(n, 0.101)


@pytest.mark.all
def test_the_promise_holds_on_further_answers():
    """250 draws: 5 % promised, and three standard deviations (1.4 % each) of leeway."""
    exceeded, share = _exceeded(_calibrated, 0.2, 250, 11)
    assert exceeded.max() <= 0.091
    assert share > 0.3  # not by keeping nothing
    exceeded, share = _exceeded(_just_too_bad, 0.1, 250, 12)
    assert exceeded[0] <= 0.091
    assert exceeded[0] > 0  # this check can fail


# --- the cascade

TEXT = "Nuclear power is safe compared with coal. Solar is cheaper, though."
STATEMENTS = ["Solar is cheaper.", "Coal is dangerous.", "Bananas are yellow.", "", "Wind is free."]
QUESTIONS = [Support(str(n), TEXT, STATEMENTS[n % 5]) for n in range(100)]


@pytest.fixture(scope="module")
def encoder():
    return EncoderJudge()


@pytest.fixture
def people(tmp_path):
    rows = [{"id": q.id, "value": int(q.id) % 2 == 0} for q in QUESTIONS if q.id != "3"]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return HumanLabels(tmp_path / "labels.jsonl")


SURE = ConfidenceRegions(0.1, 0.01, 0.9, Region(60, 1, 0.08), Region(60, 1, 0.08), 150)


def test_each_is_asked_for_its_part(encoder, people):
    cascade = Cascade(encoder, people, SURE)
    seen = []
    answers = ask(cascade, QUESTIONS, lambda place, _: seen.append(place))
    alone = ask(encoder, QUESTIONS)
    assert sorted(seen) == list(range(100))
    stages = {"cheap": 0, "strong": 0}
    for question, answer, cheap in zip(QUESTIONS, answers, alone, strict=True):
        stage = answer.notes["stage"]
        stages[stage] += 1
        sure = isinstance(cheap, Judged) and not 0.01 < cheap.probability < 0.9
        assert stage == ("cheap" if sure else "strong")
        if stage == "cheap":
            assert answer.value == cheap.value
            assert answer.provenance == cheap.provenance
        elif question.id == "3":
            assert isinstance(answer, Unscored)
        else:
            assert answer.value == (int(question.id) % 2 == 0)
            assert answer.provenance.judge == people.name
    assert min(stages.values()) >= 20


def test_a_cheap_judge_without_probabilities_is_never_sure(encoder, people):
    stages = {a.notes["stage"] for a in ask(Cascade(people, encoder, SURE), QUESTIONS)}
    assert stages == {"strong"}


def test_thresholds_are_of_the_probability_before_recalibration(encoder, people, tmp_path):
    path = tmp_path / "c.json"
    made = Recalibration(
        encoder.name, "support", "calibrated", Platt(0.0, -2.0), 0.01, SURE, about={}
    )
    write_calibration(path, made)  # every answer becomes a yes of .12
    answers = ask(cascade_from(path, encoder, people), QUESTIONS)
    kept = [a for a in answers if a.notes["stage"] == "cheap"]
    assert kept
    assert all(a.value is True and a.notes["uncalibrated"] >= 0.9 for a in kept)
    assert all(a.provenance.judge == f"{encoder.name}+platt@{made.digest[:8]}" for a in kept)


def test_a_calibration_without_thresholds_makes_no_cascade(encoder, people, tmp_path):
    made = Recalibration(encoder.name, "support", "calibrated", Platt(1.0, 0.0), 0.5)
    write_calibration(tmp_path / "c.json", made)
    with pytest.raises(InputError, match="no thresholds for a cascade"):
        cascade_from(tmp_path / "c.json", encoder, people)


def test_its_name_follows_judges_and_thresholds(encoder, people):
    other = ConfidenceRegions(0.1, 0.02, 0.9, Region(60, 1, 0.08), Region(60, 1, 0.08), 150)
    names = {Cascade(*pair, s).name for pair in ((encoder, people), (people, encoder))
             for s in (SURE, other)}  # fmt: skip
    assert len(names) == 4
    assert "keeps 80%" in Cascade(encoder, people, SURE).card


class Slow:
    """Answers in steps, so that a test can see who is at work when."""

    kinds = frozenset({Support})
    card = ""

    def __init__(self, name, step, seen, fail=None, after=None):
        self.name, self.step, self.seen, self.fail, self.after = name, step, seen, fail, after

    async def answer(self, questions, emit):
        self.seen.append((self.name, "asked", len(questions)))
        for start in range(0, len(questions), self.step):
            await anyio.sleep(0.002)
            while self.after and self.after not in self.seen:
                await anyio.sleep(0.002)
            if self.fail:
                raise self.fail
            for place in range(start, min(len(questions), start + self.step)):
                emit(place, Judged(False, Provenance(self.name, method="m"), 0.5))
            self.seen.append((self.name, "answered", start))


def test_the_strong_judge_is_asked_chunk_by_chunk_while_the_cheap_one_works():
    seen = []
    cheap, strong = Slow("cheap", 10, seen), Slow("strong", 10, seen)
    answers = ask(Cascade(cheap, strong, SURE), QUESTIONS)
    assert {a.notes["stage"] for a in answers} == {"strong"}
    assert seen.index(("strong", "answered", 0)) < seen.index(("cheap", "answered", 90))
    assert ("strong", "asked", 10) in seen  # a chunk is asked as one


def test_what_waits_for_a_busy_strong_judge_is_asked_together():
    seen = []
    cheap = Slow("cheap", 1, seen)
    strong = Slow("strong", 100, seen, after=("cheap", "answered", 99))
    ask(Cascade(cheap, strong, SURE), QUESTIONS)
    calls = [event for event in seen if event[:2] == ("strong", "asked")]
    assert sum(count for *_, count in calls) == 100
    assert len(calls) < 10
    under_way = itertools.accumulate(
        {"asked": 1, "answered": -1}[what] for name, what, _ in seen if name == "strong"
    )
    assert max(under_way) == 4


@pytest.mark.parametrize("broken", ["cheap", "strong"])
def test_a_judge_that_cannot_go_on_ends_the_cascade_with_its_own_error(broken):
    error = ModelError("the key is refused")
    judges = [Slow(n, 10, [], error if n == broken else None) for n in ("cheap", "strong")]
    with pytest.raises(ModelError, match="the key is refused"):
        ask(Cascade(*judges, SURE), QUESTIONS)


def test_other_kinds_of_question_are_refused(encoder, people):
    with pytest.raises(TypeError, match="does not answer Preference"):
        ask(Cascade(encoder, people, SURE), [Preference("1", "a", "b", "c")])


def test_the_encoder_first_and_a_language_model_where_it_is_unsure(encoder, tmp_path):
    """Over real HTTP: what stands is never sent."""
    with ChatServer() as server, Store(tmp_path / "store.sqlite") as store:
        model = StoredModel(ChatEndpoint(server.url, "test"), store, 4)
        answers = ask(Cascade(encoder, LlmJudge(model), SURE), QUESTIONS[:5])
        stages = [a.notes["stage"] for a in answers]
        assert stages[0] == stages[2] == "cheap"
        assert stages[1] == stages[3] == "strong"
        assert model.counts.asked == sum(
            s == "strong" and isinstance(a, Judged) for s, a in zip(stages, answers, strict=True)
        )
