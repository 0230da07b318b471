"""How relevance is asked in DIRAS's other ways: for a probability, and behind examples."""

from __future__ import annotations

import json

import pytest

from chat_server import ChatServer
from pnyx.judging.base import ask
from pnyx.judging.forms import form_of
from pnyx.judging.forms.base import FormCall
from pnyx.judging.llm.json_objects import UnreadableReply
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.prompts import load_prompt
from pnyx.judging.llm.requests import Asking
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.questions import Shot, Support
from pnyx.judging.stances import ask_relevance
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint

QUESTION = ask_relevance("1", "Is tea healthy?", "Tea calms.")
DIRECT = load_prompt("relevance-probability-direct")


def read(prompt, **reply):
    (reading,) = form_of(prompt).read(FormCall(prompt, [QUESTION]), json.dumps(reply))
    assert reading is not None
    return reading


@pytest.mark.parametrize(
    ("answer", "probability", "contradicts"),
    [("yes", 0.9, False), ("no", 0.1, False), ("yes", 0.1, True), ("no", 0.8, True),
     ("yes", 0.5, False), ("no", 0.5, False)],
)  # fmt: skip
def test_a_stated_probability_is_that_of_yes_whatever_the_answer(answer, probability, contradicts):
    reading = read(DIRECT, answer=answer, probability=probability)
    assert (reading.value, reading.stated) == (answer == "yes", probability)
    assert dict(reading.notes) == ({"contradiction": True} if contradicts else {})
    # A confidence is another matter: it is turned where the answer is no.
    reading = read(load_prompt("relevance-direct"), answer=answer, confidence=probability)
    assert reading.stated == pytest.approx(probability if answer == "yes" else 1 - probability)
    assert not reading.notes


def test_one_of_confidence_and_probability_and_only_the_one_asked_for():
    for reply in ({"confidence": 0.9}, {"probability": 1.2}):
        with pytest.raises(UnreadableReply):
            read(DIRECT, answer="yes", **reply)
    assert read(DIRECT, answer="yes", probability=0.6, confidence=1).stated == 0.6


def test_a_contradiction_reaches_the_answer(tmp_path):
    reply = json.dumps({"answer": "yes", "probability": 0.1})
    with ChatServer(reply=reply, logprobs="words") as server, Store(tmp_path / "s") as store:
        model = StoredModel(ChatEndpoint(server.url, "test"), store)
        found = {}
        for how in ("ask", "tok", "both"):
            asking = Asking({"relevance": DIRECT}, probability=how)
            (found[how],) = ask(LlmJudge(model, asking), [QUESTION])
    assert [answer.value for answer in found.values()] == [True] * 3
    assert all(answer.notes["contradiction"] for answer in found.values())
    assert found["ask"].probability == 0.1
    assert found["tok"].probability == pytest.approx(0.75)  # 0.6 for yes, 0.2 for no
    assert found["both"].probability == pytest.approx((0.1 + 0.75) / 2)


@pytest.mark.parametrize("name", ["relevance-examples", "relevance-examples-direct"])
def test_examples_come_first_each_with_its_answer(name):
    shots = (Shot("Tea wakes.", "Does tea wake?", True), Shot("Rain fell.", "Is it dry?", False))
    asked = Support("1", "Tea calms.", "Is tea healthy?", "relevance", guideline="D.", shots=shots)
    prompt = load_prompt(name)
    form = form_of(prompt)
    user = form.request(FormCall(prompt, [asked])).messages[-1].content
    places = [user.index(text) for text in ("Tea wakes.", "? Yes.", "Rain fell.", "? No.", "Tea c")]
    assert places == sorted(places)
    assert "\n\n\n" not in user
    assert user.count("Does the document help to answer the question?") == 3
    without = form.request(FormCall(prompt, [QUESTION])).messages[-1].content
    assert without.startswith("<<<question")
    assert without.count("Does the document help") == 1


@pytest.mark.parametrize(
    ("votes", "value", "partial"),
    [(["partially"], True, True), (["yes", "partially"], True, False), (["no", "no"], False, False),
     (["partially", "Partially ", "yes", "no"], True, True),
     (["partially", "no", "no"], False, False)],
)  # fmt: skip
def test_labels_say_who_found_it_relevant_only_in_part(tmp_path, votes, value, partial):
    path = tmp_path / "labels.jsonl"
    rows = [{"id": "1", "value": vote, "annotator": n} for n, vote in enumerate(votes)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (answer,) = ask(HumanLabels(path), [QUESTION])
    assert (answer.value, bool(answer.notes.get("partial"))) == (value, partial)
