"""Lines that decide, each at its boundary: a change of one of them once went unnoticed."""

from __future__ import annotations

from dataclasses import make_dataclass

import numpy as np
import pytest

import pnyx
from chat_server import ChatServer
from pnyx.audit.trials.falling_scores import _judged
from pnyx.core.errors import PnyxError
from pnyx.core.spec import opt, opts_of
from pnyx.formats.cells import python_literal
from pnyx.formats.reports.judged_report import JudgedCitation, NodeAnswer
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.requests import Asking
from pnyx.judging.measures.trials import Decline
from pnyx.judging.questions import AGAIN, Support
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.pool import _FAILURES, EndpointPool, _Health
from pnyx.reports.tree.opened_sentence import citation_steps
from pnyx.reports.tree.plan import Weights
from pnyx.search.opensearch import schema
from pnyx.search.opensearch.answers import ClusterAnswer
from pnyx.search.opensearch.documents import StoredDocuments
from pnyx.stats.base import Measured

LEAST = 0.25


@pytest.mark.parametrize(
    ("fall", "low", "high", "strictly", "outcome"),
    [
        (0.25, 0.1, 0.4, True, "passed"),
        (0.2499, 0.1, 0.4, True, "unclear"),  # falls, but by less than it must
        (0.13, 0.1, 0.25, True, "unclear"),  # half of it is not enough; it may be 0.25
        (0.13, 0.1, 0.2499, True, "failed"),
        (0.3, 0.0, 0.6, True, "unclear"),
        (0.3, 0.001, 0.6, True, "passed"),
        (0.0, -0.3, 0.3, True, "failed"),
        (0.3, 0.1, 0.5, False, "unclear"),
        (0.3, 0.1, 0.5, None, "unscored"),
        (None, None, None, True, "unscored"),
    ],
)
def test_a_score_must_fall_by_all_that_is_required(fall, low, high, strictly, outcome):
    none, measured = Measured(None, 0, 40), Measured(fall, 40, 40, low, high)
    curve = Decline((0.0, 1.0), (none, none), none, (none,), measured, strictly, 2)
    assert _judged(curve, "share", LEAST)[0] == outcome


@pytest.mark.parametrize(
    ("relevant", "attests", "outcome", "same_weights"),
    [
        (None, False, "penalty", True),
        (None, False, "unscored", False),  # it cannot be known which of two penalties it is
        (None, True, "unscored", True),
        (None, None, "unscored", True),
        (True, None, "unscored", True),
        (True, False, "penalty", False),
        (False, None, "penalty", False),
    ],
)
def test_unscored_relevance_is_a_penalty_only_where_either_way_weighs_the_same(
    relevant, attests, outcome, same_weights
):
    weights = Weights(irrelevant=-1.0, unattested=-1.0 if same_weights else -2.0)
    citation = JudgedCitation("d", NodeAnswer(relevant), NodeAnswer(attests))
    (step,) = citation_steps([citation], weights)
    assert step.outcome == outcome
    assert (step.weight is None) is (outcome == "unscored")


def test_a_question_that_is_asked_again_shares_no_stored_reply(monkeypatch, tmp_path):
    monkeypatch.setenv("PNYX_STORE", str(tmp_path / "store.sqlite"))
    first = Support("a", "Fares were halved.", "Fares fell.")
    again = Support("b", "Fares were halved.", "Fares fell.", extra={AGAIN: 1})
    asking = Asking()
    samples = {asking.request([question]).sample for question in (first, again)}
    assert len(samples) == 2
    with ChatServer() as server:
        judge = LlmJudge(server.spec)
        for _ in range(2):
            pnyx.ask(judge, [first, again])
        assert len(server.answered()) == 2  # neither shares the other's; both are stored


@pytest.mark.parametrize(
    ("within", "allowed", "refused"),
    [
        ("(0, 1)", (1e-9, 0.5, 1 - 1e-9), (0.0, 1.0, -0.1)),
        ("[0, 1]", (0.0, 1.0), (-1e-9, 1.0 + 1e-9)),
        ("(0, 1]", (1e-9, 1.0), (0.0,)),
        ("[0, 1)", (0.0,), (1.0,)),
        ("(0, inf)", (1e-9, 1e300), (0.0, float("inf"), float("nan"))),
    ],
)
def test_a_range_allows_its_ends_only_where_they_are_closed(within, allowed, refused):
    ((_, option),) = opts_of(make_dataclass("Ranged", [("x", float, opt(0.5, "x", within=within))]))
    assert all(option.allows(number) for number in allowed)
    assert not any(option.allows(number) for number in refused)


def test_an_address_rests_at_its_third_failure_and_not_before():
    with ChatServer() as a, ChatServer() as b:
        pool = endpoint_from([a.spec, b.spec])
        assert isinstance(pool, EndpointPool)
        health = _Health(pool.endpoints[0])
    assert _FAILURES == 3
    assert [health.failed() for _ in range(3)] == [False, False, True]
    assert health.wait > 0
    health.served()
    assert health.wait == 0
    assert [health.failed() for _ in range(2)] == [False, False]
    assert health.wait == 0


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_stored_vector_is_of_finite_numbers(odd):
    stored = object.__new__(StoredDocuments)
    stored._features = {"vectors": {"dimensions": 2}}
    good = ClusterAnswer(schema.coded(np.array([0.5, 1.0])), None, "GET /x")
    assert stored._value("vector", good).tolist() == [0.5, 1.0]
    with pytest.raises(PnyxError, match="2 finite numbers"):
        stored._value("vector", ClusterAnswer(schema.coded(np.array([0.5, odd])), None, "GET /x"))


def test_a_literal_of_a_cell_is_read_up_to_a_million_characters():
    longest = 1 << 20
    text = f"[{'1,' * ((longest - 2) // 2)}]"
    assert len(text) == longest
    assert len(python_literal(text)) == (longest - 2) // 2
    assert python_literal(f"{text} ") is None
    assert python_literal(f"'{'a' * longest}'", longest=float("inf")) == "a" * longest
