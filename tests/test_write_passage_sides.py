"""How likely a passage argues yes, no or neither: the regression by hand, then the packaged one."""

from __future__ import annotations

import json
import math
from importlib import resources
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pnyx.cases import passage_sides
from pnyx.cases.passage_sides import (
    FEATURES,
    RANKED,
    PassageSides,
    PassageStances,
    SideChances,
    chances_of,
    features_of,
    network_digest,
    relevance_of,
    side_chance,
    side_inputs,
)
from pnyx.cases.plan import Plan
from pnyx.core.records import SIDES, Document, Question
from pnyx.judging.answers import Judged, Unscored
from pnyx.judging.base import ask_async
from pnyx.judging.stances import ask_stance
from pnyx.models.http.flow import run_blocking
from pnyx.search.build import build_index

QUESTION = Question("q", "Should voting be compulsory?")
chances = st.floats(0.0, 1.0)


def test_the_inputs_of_a_side_are_log_odds_of_both_statements() -> None:
    probabilities = np.array([[[0.5, 0.25, 0.25], [0.2, 0.3, 0.5]]])
    (pro, con), *_ = features_of(np.log(probabilities), np.array([0.4]))
    assert len(pro) == len(FEATURES)
    third, quarter = math.log(0.25 / 0.75), math.log(0.2 / 0.8)
    neither = (third + 0.0) / 2  # of 0.25 and of 0.5
    opposed = math.log(0.3 / 0.7)
    assert pro == pytest.approx([0.0, quarter, third, opposed, neither, 0.4, 0.4, neither])
    assert con == pytest.approx([quarter, 0.0, opposed, third, neither, 0.4, 0.4, neither])


def test_thirty_documents_describe_a_ranking() -> None:
    assert RANKED == Plan().retrieve == 30  # as many as an argument reads, docs/explain/decisions


def test_the_ranking_is_described_by_its_first_documents() -> None:
    count = RANKED + 1
    classes = np.log(np.full((count, 2, 3), 1 / 3))
    classes[-1] = np.log([[0.01, 0.01, 0.98]] * 2)
    cosines = np.append(np.full(RANKED, 0.3), 0.9)
    table = features_of(classes, cosines)
    assert set(table[:, :, FEATURES.index("highest cosine")].ravel()) == {0.3}
    third = math.log((1 / 3) / (2 / 3))
    assert table[:, :, FEATURES.index("neither in the ranking")] == pytest.approx(third)
    # The document at the last of these places counts.
    cosines[RANKED - 1] = 0.5
    assert features_of(classes, cosines)[0, 0, FEATURES.index("highest cosine")] == 0.5


@given(st.lists(st.tuples(*[st.floats(-900, 900)] * 2), min_size=1, max_size=5))
def test_probabilities_of_both_sides_and_neither_sum_to_one(
    odds: list[tuple[float, float]],
) -> None:
    found = chances_of(np.array(odds))
    assert ((found >= 0) & (found.sum(axis=1, keepdims=True) <= 1 + 1e-9)).all()
    for (pro, con), (p, q) in zip(odds, found, strict=True):
        assert (p > q) <= (pro > con)


def test_two_equal_sides_share_what_neither_leaves() -> None:
    assert chances_of(np.array([[0.0, 0.0]]))[0] == pytest.approx([1 / 3, 1 / 3])


def test_a_side_is_described_by_its_three_likeliest_passages() -> None:
    found = side_inputs([0.5, 0.2, 0.9, 0.1])
    assert found == pytest.approx([math.log(9), (math.log(9) + 0.0 + math.log(0.25)) / 3])
    least = math.log(0.001 / 0.999)
    assert side_inputs([0.5]) == pytest.approx([0.0, 2 * least / 3])
    assert side_inputs([1.0])[0] == pytest.approx(math.log(0.999 / 0.001))


@given(st.lists(chances, min_size=1, max_size=6))
def test_a_likelier_passage_never_makes_a_side_less_likely(known: list[float]) -> None:
    found = side_chance(known)
    assert found is not None
    assert 0.0 <= found <= 1.0
    assert side_chance([*known, max(known)]) >= found - 1e-6  # type: ignore[operator]


def test_without_passages_nobody_can_say_whether_a_side_is_argued() -> None:
    assert side_chance([]) is None


@pytest.mark.parametrize(("pro", "value"), [(0.4, True), (0.3999, False)])
def test_a_passage_argues_a_side_from_one_half(pro: float, value: bool) -> None:
    answer = relevance_of(SideChances(pro, 0.1), "p")
    assert isinstance(answer, Judged)
    assert (answer.value, answer.probability) == (value, pytest.approx(pro + 0.1))
    assert isinstance(relevance_of("no_number: none", "p"), Unscored)


def test_the_stance_is_the_share_of_what_argues_any_side() -> None:
    judge: Any = type("Named", (), {"name": "p", "card": "c"})()
    known: dict[str, SideChances | str] = {
        "a": SideChances(0.45, 0.15),
        "b": SideChances(0.0, 0.0),
        "c": "no_number: none",
        "d": SideChances(0.26, 0.25),
    }
    stances = PassageStances(judge, QUESTION, known)
    asked = [ask_stance("", QUESTION.text, text, side) for text in known for side in SIDES]
    answers = run_blocking(lambda: ask_async(stances, asked))
    assert [getattr(a, "probability", None) for a in answers][:6] == [0.75, 0.25, 0, 0, None, None]
    assert [getattr(a, "value", None) for a in answers] == (
        [True, False, False, False, None, None, True, False]
    )


TEXTS = {
    "yes": "Voting should be compulsory, because a parliament that only half of the people chose "
    "speaks for half of the people. A small fine brings out those who are never asked.",
    "no": "Nobody should be forced to vote. A right that becomes a duty is no right any more, and "
    "people who know nothing of the parties only add noise to the result.",
    "aside": "The library opens at nine in the morning and closes at five in the afternoon.",
}


def test_the_packaged_judgement_knows_both_sides_and_what_is_neither(tmp_path: Any) -> None:
    documents = [Document(name, text) for name, text in TEXTS.items()]
    judge = PassageSides(build_index(documents, tmp_path / "i"))
    yes, no, aside = judge.judge(QUESTION, documents)
    assert isinstance(yes, SideChances)
    assert isinstance(no, SideChances)
    assert isinstance(aside, SideChances)
    assert yes.pro > yes.con
    assert no.con > no.pro
    assert min(yes.argues, no.argues) > 0.5 > aside.argues
    assert judge.judge(QUESTION, []) == []
    # A passage gets the same chances in whatever order the ranking has it.
    assert judge.judge(QUESTION, documents[::-1])[::-1] == [yes, no, aside]


def test_one_question_is_read_at_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Two arguments at once would use each core twice."""
    held = []

    class Reader:
        def classes(self, pairs: list[tuple[str, str]]) -> Any:
            held.append(passage_sides._BUSY.locked())
            return np.zeros((len(pairs), 3))

    monkeypatch.setattr(passage_sides, "_reader", Reader)
    monkeypatch.setattr(passage_sides, "_READINGS", {})
    document = Document("a", TEXTS["yes"])
    PassageSides(build_index([document], tmp_path / "i")).judge(QUESTION, [document])
    assert held == [True]
    assert not passage_sides._BUSY.locked()


def test_a_passage_is_read_once_for_a_question(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    pairs = []
    reader = passage_sides._reader()

    class Spy:
        def classes(self, asked: list[tuple[str, str]]) -> Any:
            pairs.append(len(asked))
            return reader.classes(asked)

    monkeypatch.setattr(passage_sides, "_reader", Spy)
    monkeypatch.setattr(passage_sides, "_READINGS", {})
    documents = [Document(name, text) for name, text in TEXTS.items()]
    judge = PassageSides(build_index(documents, tmp_path / "i"))
    first = judge.judge(QUESTION, documents)
    assert judge.judge(QUESTION, documents) == first
    assert pairs == [2 * len(documents)]
    judge.judge(Question("q", "Should voting be free?"), documents[:1])
    judge.judge(QUESTION, [*documents, Document("more", "Voting is a duty.")])
    assert pairs == [2 * len(documents), 2, 2]
    monkeypatch.setattr(passage_sides, "MOST_READINGS", 2)
    judge.judge(QUESTION, documents)
    assert len(passage_sides._READINGS) == 2
    assert judge.judge(QUESTION, documents) == first  # those that were dropped are read again


def test_the_regression_was_fitted_for_the_packaged_network() -> None:
    weights = resources.files("pnyx.cases").joinpath("weights/passages.json").read_text("utf-8")
    assert json.loads(weights)["network"] == network_digest()


def test_a_long_text_is_judged_by_what_the_network_reads(tmp_path: Any) -> None:
    """The first 256 tokens decide; a text is not cut into pieces whose verdicts are mixed."""
    whole = " ".join([TEXTS["yes"]] * 12)
    documents = [Document("a", whole), Document("b", f"{whole} {TEXTS['no']}")]
    first, longer = PassageSides(build_index(documents, tmp_path / "i")).judge(QUESTION, documents)
    assert isinstance(first, SideChances)
    assert isinstance(longer, SideChances)
    assert longer.pro == pytest.approx(first.pro, abs=0.05)
