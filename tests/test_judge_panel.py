"""Several judges as one, and one judge several times: real judges, real HTTP."""

from __future__ import annotations

import json
from contextlib import ExitStack

import anyio
import pytest

from chat_server import ChatServer
from pnyx.core.errors import InputError, ModelError
from pnyx.judging.answers import Judged, Provenance, Unscored
from pnyx.judging.base import Judge, ask
from pnyx.judging.encoder import EncoderJudge
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.lookup import HumanLabels
from pnyx.judging.panel import Panel, Repeats
from pnyx.judging.questions import Preference, Rating, Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.http.responses import RetryPolicy

HASTY = RetryPolicy(timeout=60, attempts=2, first_wait=0.01)
TEXT = "Fares fell last year, and more people took the bus."
SUPPORTED = Support("yes", TEXT, "Fares fell last year.")
FOREIGN = Support("no", TEXT, "Bananas are yellow.")


def labels(folder, name="gold.jsonl", **values) -> HumanLabels:
    path = folder / name
    rows = [{"id": key, "value": value} for key, value in values.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return HumanLabels(path)


def verdict(answer: str, confidence: float) -> str:
    reply = {"reason": f"because {answer}", "evidence": "", "answer": answer}
    return json.dumps(reply | {"confidence": confidence})


class Machines:
    """Language models of one name that each always reply the same, with a store each."""

    def __init__(self, folder, *replies: str | None, **server) -> None:
        self.stack = ExitStack()
        self.servers = [ChatServer(reply=reply, **server) for reply in replies]
        self.stores = [Store(folder / f"{n}.sqlite") for n, _ in enumerate(replies)]
        for opened in (*self.servers, *self.stores):
            self.stack.enter_context(opened)

    def __enter__(self) -> Machines:
        return self

    def __exit__(self, *_: object) -> None:
        self.stack.close()

    def judge(self, sample: int) -> LlmJudge:
        endpoint = ChatEndpoint(self.servers[sample].url, "test", retry=HASTY)
        return LlmJudge(StoredModel(endpoint, self.stores[sample], 4))


def test_the_encoder_and_people_vote(tmp_path):
    encoder = EncoderJudge()
    panel = Panel([encoder, labels(tmp_path, yes=True, no=False)])
    assert isinstance(panel, Judge)
    assert panel.kinds == {Support}
    assert panel.name == f"panel({encoder.name}, labels:gold.jsonl)"
    assert encoder.card in panel.card
    questions = [SUPPORTED, FOREIGN, Support("unlabelled", TEXT, "Fares fell.")]
    alone = ask(encoder, questions)
    yes, no, unlabelled = ask(panel, questions)
    assert (yes.value, no.value) == (True, False)
    assert yes.probability == pytest.approx((1 + alone[0].probability) / 2)
    assert no.probability == pytest.approx(alone[1].probability / 2)
    assert yes.notes["votes"] == [True, True]
    assert yes.evidence == alone[0].evidence
    assert [m["judge"] for m in yes.provenance.details["members"]] == [
        encoder.name,
        "labels:gold.jsonl",
    ]
    assert unlabelled.reason == "panel: 1 of 2 scored (1 no label)"
    assert unlabelled.notes["votes"] == [True, None]


def test_where_they_differ_the_count_decides_and_says_so(tmp_path):
    sceptics = [labels(tmp_path, f"{who}.jsonl", yes=False) for who in ("anna", "ben")]
    panel = Panel([sceptics[0], EncoderJudge(), sceptics[1]])
    (answer,) = ask(panel, [SUPPORTED])
    assert answer.value is False
    assert answer.notes["agreement"] == pytest.approx(2 / 3)
    (tie,) = ask(Panel([sceptics[0], EncoderJudge()]), [SUPPORTED])
    assert tie.reason == "tie: 1 yes, 1 no"
    (mean,) = ask(Panel([sceptics[0], EncoderJudge(), EncoderJudge()], "mean"), [SUPPORTED])
    assert mean.value is True
    assert mean.provenance.judge.startswith("panel-mean(")


def test_several_models_at_once_and_a_lost_vote_is_no_vote(tmp_path):
    replies = verdict("yes", 0.9), verdict("no", 0.6), "I would rather not say."
    with Machines(tmp_path, *replies) as machines:
        panel = Panel([machines.judge(n) for n in range(3)])
        (answer,) = ask(panel, [SUPPORTED])
        assert [len(server.asked()) > 0 for server in machines.servers] == [True] * 3
    assert answer.notes["votes"] == [True, False, None]
    assert answer.value is True
    assert answer.probability == pytest.approx((0.9 + 0.4) / 2)
    assert answer.explanation == "because yes"
    assert answer.raw == ""


def test_a_judge_that_cannot_go_on_stops_the_panel_with_its_own_line(tmp_path):
    questions = [Support(str(n), f"{TEXT} {n}", "Fares fell.") for n in range(6)]
    arrived = []
    with Machines(tmp_path, verdict("yes", 0.9), verdict("yes", 0.8)) as machines:
        machines.servers[1].default, machines.servers[1].delay = "401", 0.3
        judges = [machines.judge(0), machines.judge(1)]
        with pytest.raises(ModelError) as single:
            ask(judges[1], questions)
        with pytest.raises(ModelError) as stopped:
            ask(Panel(judges), questions, lambda *given: arrived.append(given))
        assert str(stopped.value) == str(single.value)
        assert arrived == []
        kept = len(machines.stores[0])
        assert kept > 0
        machines.servers[1].default, machines.servers[1].delay = "ok", 0.0
        answers = ask(Panel(judges), questions)
    assert judges[0].model.counts.from_store == kept
    assert judges[0].model.counts.asked == len(questions)
    assert all(answer.value is True for answer in answers)


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_an_answer_leaves_as_soon_as_its_votes_are_in(backend):
    """The first judge answers its second question only after the panel's first answer is out."""
    pytest.importorskip(backend, reason="trio is not installed")
    seen = []

    async def main():
        out = anyio.Event()

        def emit(position, _):
            seen.append(position)
            out.set()

        panel = Panel([Waiting("first", out), Waiting("second", None)])
        with anyio.fail_after(120):
            await panel.answer([SUPPORTED, FOREIGN], emit)

    anyio.run(main, backend=backend)
    assert seen == [0, 1]


class Waiting:
    """Answers yes; before the second question it waits for an event."""

    kinds = frozenset({Support})
    card = ""

    def __init__(self, name, event) -> None:
        self.name = name
        self.event = event

    async def answer(self, questions, emit):
        for position, _ in enumerate(questions):
            if position and self.event is not None:
                await self.event.wait()
            emit(position, Judged(True, Provenance(self.name, method="fixed")))


class Faulty(Waiting):
    """Answers only the positions it is given, however often."""

    def __init__(self, *positions) -> None:
        super().__init__("faulty", None)
        self.positions = positions

    async def answer(self, questions, emit):
        for position in self.positions:
            emit(position, Unscored("schema", Provenance(self.name, method="fixed")))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    ("positions", "fault"),
    [((0, 0, 1), "faulty answered question 0 twice"), ((1,), "left 1 questions unanswered")],
)
def test_a_judge_that_answers_twice_or_never_is_found_out(positions, fault, order):
    members = [Waiting("good", None), Faulty(*positions)][::order]
    with pytest.raises(RuntimeError, match=fault):
        ask(Panel(members), [SUPPORTED, FOREIGN])


def test_a_fault_of_the_receiver_is_the_receivers():
    def full(*_):
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        ask(Panel([Waiting("good", None)]), [SUPPORTED], full)


def test_a_panel_has_judges_with_a_kind_in_common(tmp_path):
    class Other(Waiting):
        kinds = frozenset({Rating})

    with pytest.raises(InputError, match="at least one"):
        Panel([])
    with pytest.raises(InputError, match="answered by all of one, other"):
        Panel([Waiting("one", None), Other("other", None)])
    with pytest.raises(InputError, match="found 0 samples"):
        Repeats(lambda _: Waiting("one", None), 0)
    people = Panel([labels(tmp_path, "a.jsonl", p="a"), labels(tmp_path, "b.jsonl", p="b")])
    (answer,) = ask(people, [Preference("p", "x", "y", "z")])
    assert answer.value == "tie"


def test_repeats_of_a_language_model(tmp_path):
    made = []
    replies = verdict("yes", 0.9), verdict("no", 0.7), verdict("yes", 0.6)
    with Machines(tmp_path, *replies) as machines:

        def make(sample):
            made.append(sample)
            return machines.judge(sample)

        judge = Repeats(make, 3)
        assert made == [0, 1, 2]
        assert judge.name == "test x3"
        assert Repeats(machines.judge, 2, "mean").name == "test x2 mean"
        answers = ask(judge, [SUPPORTED, FOREIGN])
        served = sum(len(server.asked()) for server in machines.servers)
        assert ask(judge, [SUPPORTED, FOREIGN]) == answers
        assert sum(len(server.asked()) for server in machines.servers) == served
    for answer in answers:
        assert answer.value is True
        assert answer.probability == pytest.approx((0.9 + 0.3 + 0.6) / 3)
        assert answer.notes["votes"] == [True, False, True]
        assert answer.provenance.judge == "test x3"
        assert "asked 3 times" in judge.card
