"""Limits of asking a language model: replies, probabilities by token, plans, and giving up."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from chat_server import ChatServer
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.plan import planned_models
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.llm.structured_replies import probability_of_yes
from pnyx.judging.questions import AGAIN, Rating, Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.types import ChatRequest, Message, Reply, Token

VERDICT = {"reason": "", "evidence": "Fares fell", "answer": "yes", "confidence": 0.9}


def stated(verdict: Any) -> float | None:
    """Return the confidence of yes that is read from a reply."""
    prompt = load_prompt("support")
    call = FormCall(prompt, [Support("1", "Fares fell.", "It got cheaper.")])
    (reading,) = form_of(prompt).read(call, json.dumps(verdict))
    return None if reading is None else reading.stated


def test_up_to_three_objects_around_an_answer_are_removed():
    wrapped: dict[str, Any] = VERDICT
    for name in "abc":
        wrapped = {name: wrapped}
        assert stated(wrapped) == 0.9
    with pytest.raises(UnreadableReply):
        stated({"d": wrapped})


@pytest.mark.parametrize(("confidence", "share"), [(10.0001, 0.100001), (100, 1.0), (1, 1.0)])
def test_numbers_above_ten_and_up_to_a_hundred_are_percentages(confidence, share):
    assert stated(VERDICT | {"confidence": confidence}) == pytest.approx(share)


@pytest.mark.parametrize("confidence", [10, 1.0001, 100.001, "101 %", -0.1])
def test_other_numbers_are_not_read_as_a_confidence(confidence):
    with pytest.raises(UnreadableReply):
        stated(VERDICT | {"confidence": confidence})


def by_token(*alternatives: tuple[str, float]) -> float | None:
    """Return the probability of yes of a reply of one token with these alternatives."""
    listed = tuple((text, math.log(p)) for text, p in alternatives)
    reply = Reply("yes", "stop", "m", {}, "text", (Token("yes", listed),))
    return probability_of_yes(reply, (0, 3))


@pytest.mark.parametrize(
    ("alternatives", "probability"),
    [
        ((("yes", 0.6), ("no", 0.2)), 0.75),
        ((("yes", 0.5), (" Yes", 0.1), ("No", 0.2)), 0.75),  # spellings are summed
        ((("yes", 0.999),), 0.999),  # no gets what is left, 0.001
        ((("yes", 0.6), ("maybe", 0.1)), 0.6 / 0.7),  # no is at most as likely as the last listed
        ((("yes", 1.0),), 0.999999),
        ((("yes", 1.0), ("no", 1.2e-6)), 1 / 1.0000012),
        ((("no", 1.0),), 0.000001),
    ],
)
def test_probabilities_by_token_by_hand(alternatives, probability):
    assert by_token(*alternatives) == pytest.approx(probability, rel=1e-9)


def test_without_yes_and_no_there_is_no_probability():
    assert by_token(("maybe", 0.9)) is None


@pytest.mark.parametrize("again", [0, 1, 2])
def test_a_repeated_question_has_sample_numbers_of_its_own(again):
    question = Support("1", "Fares fell.", "It got cheaper.", extra={AGAIN: again} if again else {})
    request = Asking(sample=3).request([question])
    assert (request.sample, request.logprobs) == (3 + 1000 * again, 10)


def test_tokens_are_requested_only_for_what_needs_them():
    question = Support("1", "Fares fell.", "It got cheaper.")
    rating = Rating("1", "Fares fell.", ("clarity",), (1, 3))
    assert Asking(probability="ask").request([question]).logprobs == 0
    assert Asking().request([rating]).logprobs == 0
    assert Asking(expected=True).request([rating]).logprobs == 10
    assert Asking(max_tokens=7).request([question]).max_tokens == 7
    assert Asking(max_tokens=7).most_tokens(ChatRequest((), max_tokens=5)) == 7
    assert Asking().most_tokens(ChatRequest((), max_tokens=5)) == 10


# --- plans


def request(text: str, system: str = "Judge.") -> ChatRequest:
    return ChatRequest((Message("system", system), Message("user", text)), max_tokens=50)


def learnt(stored: int) -> int:
    """Return from how many of so many stored replies a plan learns."""
    reply = Reply("yes", "stop", "m", {"prompt_tokens": 9, "completion_tokens": 3}, "text")
    rows = [SimpleNamespace(request=request(str(n)), reply=reply) for n in range(stored)]
    return learnt_from(rows)


def learnt_from(rows: list[Any]) -> int:
    store = SimpleNamespace(rows=lambda **_: iter(rows), get=lambda _: None)
    model: Any = SimpleNamespace(
        name="m", store=store, missing={"k": request("new")}, key=lambda request: request.hash,
        counts=SimpleNamespace(from_store=0), offline=True,
    )  # fmt: skip
    (planned,) = planned_models([model], {"m": None})
    return planned.learnt_from


@pytest.mark.parametrize(("stored", "used"), [(4, 0), (5, 5), (500, 500), (501, 500)])
def test_a_plan_learns_from_five_to_five_hundred_stored_replies(stored, used):
    assert learnt(stored) == used


@pytest.mark.parametrize(("others", "used"), [(4995, 5), (4996, 0)])
def test_a_plan_looks_at_five_thousand_stored_replies(others, used):
    reply = Reply("yes", "stop", "m", {"prompt_tokens": 9, "completion_tokens": 3}, "text")
    other = SimpleNamespace(request=request("x", "Another prompt."), reply=reply)
    alike = [SimpleNamespace(request=request(str(n)), reply=reply) for n in range(5)]
    assert learnt_from([*[other] * others, *alike]) == used


# --- giving up


def gives_up(useless: int, fresh: int, usable_first: bool = False) -> bool:
    """Return whether a model is given up after so many replies without an answer."""
    with ChatServer() as server, Store(":memory:") as store:
        model = StoredModel(endpoint_from([server.spec]), store)

        async def heed() -> bool:
            running = SimpleNamespace(useless="")
            model._loops.set(running)
            model.counts.asked = fresh
            if usable_first:
                model.heed("yes", None)
            for _ in range(useless):
                model.heed("I think so.", "no answer")
            return bool(running.useless)

        return anyio.run(heed)


@pytest.mark.parametrize(
    ("useless", "fresh", "ends"), [(63, 63, False), (64, 64, True), (64, 8, True), (64, 7, False)]
)
def test_a_model_is_given_up_after_64_useless_replies_of_which_8_are_new(useless, fresh, ends):
    assert gives_up(useless, fresh) is ends
    assert not gives_up(useless, fresh, usable_first=True)
