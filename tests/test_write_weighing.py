"""How much a language model counts in telling sides: by numbers, and over real HTTP."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from chat_server import ChatServer
from pnyx.cli import main
from pnyx.corpora.bundled import load_example
from pnyx.judge.answers import Judged, Provenance, Unscored
from pnyx.judge.statements import statements
from pnyx.records import Document, judged_text
from pnyx.search.build import build_index
from pnyx.write.weighing import Control, SideOdds, choice_of, weigh

pytestmark = pytest.mark.usefixtures("run_once")

QUESTION = "Should zoos be phased out?"
PRO, CON = statements(QUESTION)
BY = Provenance("m")


# --- numbers


def choice(first: float, second: float) -> SideOdds:
    return SideOdds((first, second), (-3.0, -3.0))


TOLD = Control(choice(4, 4), choice(-4, -4))


def test_a_choice_is_what_both_orders_say() -> None:
    chances = [{"a": 0.8, "b": 0.1, "tie": 0.1}, {"a": 0.3, "b": 0.5, "tie": 0.2}]
    found = choice_of(Judged("tie", BY, notes={"chances": chances}))
    assert found is not None
    assert found.odds == pytest.approx((math.log(0.85 / 0.15), math.log(0.4 / 0.6)))
    assert found.neither == pytest.approx((math.log(0.1 / 0.9), math.log(0.2 / 0.8)))
    assert found.side == pytest.approx((math.log(17 / 3) + math.log(2 / 3)) / 2)


def test_without_probabilities_words_count() -> None:
    found = choice_of(Judged("tie", BY, notes={"orders": ["a", "tie"]}))
    assert found is not None
    assert found.odds == pytest.approx((math.log(0.9625 / 0.0375), 0.0))
    assert choice_of(Unscored("refusal: no", BY)) is None
    assert choice_of(Judged("a", BY)) is None  # asked in one order alone


def test_a_certain_answer_is_held() -> None:
    chances = {"a": 1.0, "b": 1e-6, "tie": 1e-6}
    found = choice_of(Judged("a", BY, notes={"chances": [chances, chances]}))
    assert found == SideOdds((4.0, 4.0), (-4.0, -4.0))


@pytest.mark.parametrize(
    ("control", "texts", "weight"),
    [
        # Tells all apart; the second order is 1 lower throughout: a preference for the first.
        (TOLD, [choice(3, 2), choice(-2, -3)], 1.0),
        # All on one side: that the claims are told apart says that it can be so.
        (TOLD, [choice(4, 4)] * 5, 1.0),
        # Always the first, always yes, no reply but half of the time.
        (Control(choice(4, -4), choice(4, -4)), [choice(4, -4)] * 5, 0.0),
        (Control(choice(4, 4), choice(4, 4)), [choice(4, 4)] * 5, 0.0),
        (Control(None, choice(-4, -4)), [], 0.0),
        # The claims the wrong way round.
        (Control(choice(-4, -4), choice(4, 4)), [choice(-3, -3), choice(3, 3)], 0.0),
        # Knows the claims, and of other texts only what comes first or the opposite of it.
        (TOLD, [choice(4, -4), choice(-4, 4)] * 4, 0.0),
    ],
)
def test_the_weight_of_a_model(control: Control, texts: list[SideOdds], weight: float) -> None:
    found = weigh("m", control, texts)
    assert found.weight == pytest.approx(weight, abs=0.01)
    assert (found.asked, found.scored) == (len(texts), len(texts))
    assert ("The packaged judge told the sides, not m" in found.said) == (weight == 0)


def test_the_reliability_is_that_of_two_halves() -> None:
    # By hand: odds (2, 1), (-2, 0), (1, -1) and the claims' (4, 4), (-4, -4); both means are 0.2
    # and 0, so the products sum to 2 + 0 - 1 + 16 + 16 = 33 and the squares to 40.8 + 34 = 74.8.
    found = weigh("m", TOLD, [choice(2, 1), choice(-2, 0), choice(1, -1)])
    agreement = 2 * 33 / 74.8
    assert found.reliability == pytest.approx(2 * agreement / (1 + agreement), abs=1e-4)
    assert found.weight == found.reliability


def test_an_unanswered_text_is_counted_as_such() -> None:
    found = weigh("m", TOLD, [choice(3, 3), None])
    assert (found.asked, found.scored) == (2, 1)


def test_neither_counts_for_relevance_only_where_it_is_said_rightly() -> None:
    neither, claim = SideOdds((0, 0), (3, 3)), choice(4, 4)
    assert Control(claim, claim, neither).says_neither
    assert not Control(claim, claim, SideOdds((0, 0), (3, -1))).says_neither
    assert not Control(claim, neither, neither).says_neither
    assert not Control(claim, claim).says_neither


# --- a model, over HTTP

Answering = Callable[[str, str, str], Mapping[str, float]]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The bundled example without labels."""
    path = tmp_path_factory.mktemp("weighing") / "plain.index"
    plain = (Document(a.id, judged_text(a)) for a in load_example().arguments)
    build_index(plain, path, features=("quality", "vectors"))
    return str(path)


def run(capsys: Any, *arguments: str) -> tuple[int, dict[str, Any], str]:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    captured = capsys.readouterr()
    assert isinstance(stopped.value.code, int)
    return stopped.value.code, json.loads(captured.out), captured.err


def cited(printed: dict[str, Any]) -> dict[str, set[str]]:
    return {
        side["stance"]: {row["doc_id"] for row in side["verdicts"] if row["task"] == "support"}
        for side in printed["sides"]
    }


def said(word: str) -> Mapping[str, float]:
    return {one: 0.96 if one == word else 0.02 for one in ("first", "second", "neither")}


def knowing(sides: Mapping[str, str]) -> Answering:
    """A strong model: knows the side of each text by its opening words."""

    def answer(text: str, first: str, second: str) -> Mapping[str, float]:
        side = {PRO: "pro", CON: "con"}.get(text) or sides.get(text[:60], "neither")
        return said({"pro": "first", "con": "second"}.get(side, "neither") if first == PRO
                    else {"pro": "second", "con": "first"}.get(side, "neither"))  # fmt: skip

    return answer


def always_first(text: str, first: str, second: str) -> Mapping[str, float]:
    return said("first")


def always_yes(text: str, first: str, second: str) -> Mapping[str, float]:
    return said("first" if first == PRO else "second")


@pytest.fixture
def plain(index: str, capsys: Any) -> dict[str, Any]:
    """What is argued without a model."""
    return run(capsys, "argue", index, QUESTION, "--json")[1]


@pytest.fixture
def command(index: str, tmp_path: Path) -> list[str]:
    store = str(tmp_path / "s.sqlite")
    return ["argue", index, QUESTION, "--json", "--writer", "extractive", "--store", store]


@pytest.mark.parametrize("logprobs", ["words", None])
def test_a_strong_models_answers_override(
    command: list[str], plain: dict[str, Any], logprobs: str | None, capsys: Any
) -> None:
    """All the other way round than the authors have it, and one passage off topic."""
    before = cited(plain)
    off = min(before["pro"] | before["con"])
    other = {"pro": "con", "con": "pro"}
    turned = {
        a.id: other[a.stance]
        for a in load_example().arguments
        if a.id.startswith("zoos-") and a.id != off and a.stance in other
    }
    texts = {judged_text(a)[:60]: turned.get(a.id, "neither") for a in load_example().arguments}
    with ChatServer(sides=knowing(texts), logprobs=logprobs) as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
    assert code == 0
    found = cited(printed)
    for side, own in found.items():
        assert len(own) >= 2
        # a word without probabilities is no surer than .98, and the packaged judge may be
        kept = own & turned.keys() if logprobs is None else own
        assert {turned.get(doc_id) for doc_id in kept} == {side}
    assert printed["weighed"]["weight"] > 0.9
    assert "The packaged judge told the sides" not in errors
    assert "test told the sides, with weight" in errors
    stances = [r for s in printed["sides"] for r in s["verdicts"] if r["task"] == "stance"]
    assert {row["judge"] for row in stances} == {"test+sides"}


@pytest.mark.parametrize("model", [always_first, always_yes])
def test_a_model_without_information_is_found_out(
    command: list[str], plain: dict[str, Any], model: Answering, capsys: Any
) -> None:
    with ChatServer(sides=model, logprobs="words") as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
        assert len(server.asked()) == 4  # the claims, in both orders, and nothing else
    assert code == 0
    assert cited(printed) == cited(plain)
    assert printed["weighed"]["weight"] == 0
    assert printed["weighed"]["apart"] == pytest.approx(0.0)
    assert "The packaged judge told the sides, not test" in errors
    assert "told the sides, not test" in printed["judges"]["test+sides"]
    stances = [r for s in printed["sides"] for r in s["verdicts"] if r["task"] == "stance"]
    assert {row["judge"] for row in stances} <= set(printed["judges"])


def test_that_the_packaged_judge_decided_stands_at_the_top_of_the_page(
    command: list[str], tmp_path: Path, capsys: Any
) -> None:
    page = tmp_path / "r.html"
    with ChatServer(sides=always_first) as server:
        run(capsys, *command, "--llm", server.spec, "--html", str(page))
    text = page.read_text(encoding="utf-8")
    place = text.find("The packaged judge told the sides, not test")
    assert 0 < place < text.find("<footer")


def test_a_model_that_refuses_leaves_sides_unscored(command: list[str], capsys: Any) -> None:
    with ChatServer(default="refusal") as server:
        code, printed, _ = run(capsys, *command, "--llm", server.spec)
    assert code == 3
    assert printed["unscored"] > 0
    assert printed["weighed"]["weight"] == 0


# --- what it would cost, and what it may


@pytest.fixture
def asking(index: str, tmp_path: Path) -> list[str]:
    return ["argue", index, QUESTION, "--json", "--store", str(tmp_path / "s.sqlite")]


@pytest.fixture(scope="module")
def labels() -> dict[str, str]:
    """The authors' sides, by the opening words of a text."""
    return {judged_text(a)[:60]: a.stance or "neither" for a in load_example().arguments}


def asked_by_prompt(server: ChatServer) -> dict[str, int]:
    names = [row["parameters"]["response_format"]["json_schema"]["name"] for row in server.asked()]
    return {name: names.count(name) for name in set(names)}


def test_a_plan_asks_nothing_and_foresees_what_is_asked(
    asking: list[str], labels: dict[str, str], capsys: Any
) -> None:
    with ChatServer(sides=knowing(labels), logprobs="words") as server:
        code, plan, _ = run(capsys, *asking, "--llm", server.spec, "--plan")
        assert code == 0
        assert server.asked() == []
        run(capsys, *asking, "--llm", server.spec)
        made = asked_by_prompt(server)
        (model,) = plan["models"]
        # Claims and what is aside, then texts, in both orders; two sides; citations as written.
        assert made["sides"] % 2 == 0
        assert made["sides"] > 6
        assert made["argue"] == 2
        assert model["calls"] >= made["sides"] + made["argue"]
        assert model["calls"] <= 2 * sum(made.values()) + 20
        assert model["prompt_tokens"][0] > 0
        again = run(capsys, *asking, "--llm", server.spec, "--plan")[1]
    assert again["models"][0]["calls"] == 0
    assert again["models"][0]["from_store"] == sum(made.values())


def test_a_plan_without_a_model_costs_nothing(index: str, capsys: Any) -> None:
    code, plan, _ = run(capsys, "argue", index, QUESTION, "--plan", "--json")
    assert (code, plan["models"]) == (0, [])


def test_a_budget_is_kept(asking: list[str], labels: dict[str, str], capsys: Any) -> None:
    with ChatServer(sides=knowing(labels)) as server:
        options = ["--llm", server.spec, "--budget-tokens", "1500"]
        code, printed, _ = run(capsys, *asking, *options)
        spent = sum(server.billed[n] for n in ("prompt_tokens", "completion_tokens"))
    assert code == 3
    assert spent <= 1500
    assert printed["unscored"] > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "1"], "--budget goes with --llm"),
        (["--asked", "3"], "--asked requires --llm"),
    ],
)
def test_what_means_nothing_without_a_model_is_refused(
    index: str, options: list[str], problem: str, capsys: Any
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["argue", index, QUESTION, *options])
    assert stopped.value.code == 2
    assert problem in capsys.readouterr().err


def test_the_most_that_is_asked_is_kept(
    asking: list[str], labels: dict[str, str], capsys: Any
) -> None:
    with ChatServer(sides=knowing(labels), logprobs="words") as server:
        options = ["--llm", server.spec, "--asked", "3", "--writer", "extractive"]
        printed = run(capsys, *asking, *options)[1]
        assert asked_by_prompt(server) == {"sides": 2 * (3 + 3)}
    assert printed["weighed"]["asked"] == 3


def test_a_log_says_how_far_it_is(
    asking: list[str], labels: dict[str, str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.progress.LOG_SECONDS", 0.0)
    with ChatServer(sides=knowing(labels), logprobs="words") as server:
        errors = run(capsys, *asking, "--llm", server.spec)[2]
    assert re.search(r"pnyx: judging .*: \d+ of \d+", errors)
    assert re.search(r"pnyx: writing pro from \d+ passages: test ", errors)


@pytest.mark.parametrize("how", [[], ["--pointwise"], ["--stance", "pro"]])
def test_a_plan_of_reranking(index: str, tmp_path: Path, how: list[str], capsys: Any) -> None:
    command = ["search", index, QUESTION, "--rerank", *how, "--depth", "12", "--json"]
    command += ["--store", str(tmp_path / "s.sqlite")]
    with ChatServer() as server:
        code, plan, _ = run(capsys, *command, "--llm", server.spec, "--plan")
        assert (code, server.asked()) == (0, [])
        with pytest.raises(SystemExit):
            main([*command, "--llm", server.spec])
        assert plan["models"][0]["calls"] == len(server.asked()) > 0


def test_a_plan_of_reranking_many_topics(index: str, tmp_path: Path, capsys: Any) -> None:
    topics = tmp_path / "topics.jsonl"
    rows = [{"id": str(n), "text": text} for n, text in enumerate((QUESTION, "Is voting a duty?"))]
    topics.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    command = ["search", index, "--topics", str(topics), "--rerank", "--plan", "--json"]
    with ChatServer() as server:
        options = ["--llm", server.spec, "--store", str(tmp_path / "s.sqlite")]
        plan = run(capsys, *command, *options)[1]
        assert server.asked() == []
    assert plan["questions"] == 2
    assert plan["models"][0]["calls"] > 2


def test_a_budget_of_reranking_is_kept(index: str, tmp_path: Path, capsys: Any) -> None:
    command = ["search", index, QUESTION, "--rerank", "--json", "--budget-tokens", "50"]
    with ChatServer() as server:
        options = ["--llm", server.spec, "--store", str(tmp_path / "s.sqlite")]
        code = run(capsys, *command, *options)[0]
        assert (code, server.asked()) == (3, [])
