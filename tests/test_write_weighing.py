"""What a language model says of the sides of passages: by numbers, and over real HTTP."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from chat_replies import blocks_in, question_reply, sides_reply
from chat_server import ChatServer
from pnyx.cases import passage_sides
from pnyx.cases.model_sides import (
    ModelSides,
    PassageAnswer,
    Weighing,
    _confidence,
    joined_shares,
)
from pnyx.cli import main
from pnyx.core.records import Document, Question, judged_text
from pnyx.formats.bundled_example import load_example
from pnyx.search.build import build_index

pytestmark = pytest.mark.usefixtures("run_once")

QUESTION = "Should zoos be phased out?"

# --- numbers


def test_one_answer_has_its_confidence_and_the_prior_divides_the_rest() -> None:
    # Of the other 0.2, no has 0.3, both 0.1 and neither 0.3 of 0.7 in all.
    shares = joined_shares([PassageAnswer("yes", 0.8)])
    assert shares == pytest.approx((0.8, 0.2 * 0.3 / 0.7, 0.2 * 0.1 / 0.7, 0.2 * 0.3 / 0.7))


def test_where_both_orders_differ_the_more_confident_answer_is_likelier() -> None:
    for confidences, ahead in (((0.9, 0.6), 0), ((0.6, 0.9), 1)):
        pairs = zip(("yes", "no"), confidences, strict=True)
        shares = joined_shares([PassageAnswer(*pair) for pair in pairs])
        assert max(shares) == shares[ahead]
    yes, no, _, _ = joined_shares([PassageAnswer("yes", 0.9), PassageAnswer("no", 0.9)])
    assert yes == pytest.approx(no)


def test_two_equal_answers_are_as_likely_as_one() -> None:
    answer = PassageAnswer("no", 0.9)
    assert joined_shares([answer, answer]) == pytest.approx(joined_shares([answer]))


def test_a_passage_is_asked_about_again_below_a_confidence_of_0_75() -> None:
    model: Any = type("Named", (), {"name": "m"})()
    answers = [
        PassageAnswer("yes", 0.75),
        PassageAnswer("no", 0.74),
        PassageAnswer("both", 0.98),
        PassageAnswer("neither", 0.75),
        "missing: not in the reply",
        "refusal",
    ]
    assert ModelSides(model, Question("q", QUESTION))._unsure(answers) == [1, 2, 4]
    assert ModelSides(model, Question("q", QUESTION), most=True)._unsure(answers) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("weighing", "doubts"),
    [
        (Weighing("m", 1.0, "why", 3, 3), False),
        (Weighing("m", 0.67, "why", 3, 2, unscored=1), True),
        (Weighing("m", 0.0, "why"), True),
    ],
)
def test_what_the_model_did_not_decide_is_among_the_doubts(
    weighing: Weighing, doubts: bool
) -> None:
    assert bool(weighing.doubt) == doubts


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
        side = {first: "pro", second: "con"}.get(text) or sides.get(text[:60], "neither")
        return said({"pro": "first", "con": "second"}.get(side, "neither"))

    return answer


def always_first(text: str, first: str, second: str) -> Mapping[str, float]:
    return said("first")


@pytest.fixture
def plain(index: str, capsys: Any) -> dict[str, Any]:
    """What is argued without a model."""
    return run(capsys, "argue", index, QUESTION, "--json")[1]


@pytest.fixture
def command(index: str, tmp_path: Path) -> list[str]:
    store = str(tmp_path / "s.sqlite")
    return ["argue", index, QUESTION, "--json", "--writer", "extractive", "--store", store]


def in_shape(sides: Answering, edit: Callable[[list[Any]], list[Any]]) -> Callable[[str], str]:
    """Reply to every prompt; `edit` changes the entries of lists of passages."""

    def reply(prompt: str) -> str:
        if '"yes_or_no"' in prompt:
            return json.dumps(question_reply(prompt))
        listed = sides_reply(prompt, sides) or {"passages": []}
        many = len(listed["passages"]) > 3  # not the control
        entries = edit(listed["passages"]) if many else listed["passages"]
        return json.dumps({"passages": entries})

    return reply


def shown_orders(server: ChatServer) -> list[list[str]]:
    """Return the passages of each listwise call, the control left out."""
    prompts = [row["messages"][-1]["content"] for row in server.asked()]
    found = [[text for label, text in blocks_in(p) if label == "passage"] for p in prompts]
    return [passages for passages in found if len(passages) > 3]


def test_a_strong_models_answers_override(
    command: list[str], plain: dict[str, Any], capsys: Any
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
    with ChatServer(sides=knowing(texts)) as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
        orders = shown_orders(server)
    assert code == 0
    for side, own in cited(printed).items():
        assert len(own) >= 2
        assert {turned.get(doc_id) for doc_id in own} == {side}
    weighed = printed["weighed"]
    assert (weighed["weight"], weighed["asked"], weighed["scored"]) == (1.0, 24, 24)
    assert (weighed["again"], len(orders)) == (0, 1)  # it is confident of every answer
    assert "test decided the sides of 24 passages" in printed["judges"]["test+sides"]
    assert "The packaged judge decided" not in errors
    stances = [r for s in printed["sides"] for r in s["verdicts"] if r["task"] != "support"]
    assert {(row["judge"], row["method"]) for row in stances} == {("test+sides", "listwise")}
    assert all(row["asked"] for row in stances)


@pytest.fixture
def networks_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many texts the packaged networks read, each time they are run."""
    counts: list[int] = []
    read = passage_sides._read

    def counted(statements: tuple[str, str], texts: Sequence[str]) -> Any:
        counts.append(len(texts))
        return read(statements, texts)

    monkeypatch.setattr(passage_sides, "_read", counted)
    return counts


def test_the_packaged_networks_are_not_run_where_the_model_answers(
    command: list[str], labels: dict[str, str], networks_read: list[int], capsys: Any
) -> None:
    unsure = in_shape(knowing(labels), lambda rows: [{**row, "confidence": 0.6} for row in rows])
    with ChatServer(reply=unsure) as server:
        plan = run(capsys, *command, "--plan", "--llm", server.spec)[1]
        code, printed, _ = run(capsys, *command, "--llm", server.spec)
    assert plan["models"][0]["calls"] > 0
    assert (code, networks_read) == (0, [])
    assert not any(name.startswith("passages@") for name in printed["judges"])
    assert printed["expected_about"]["read"] == 24  # passages after these are left out


def test_the_packaged_networks_read_the_ranking_for_what_the_model_left_out(
    command: list[str], labels: dict[str, str], networks_read: list[int], capsys: Any
) -> None:
    left = in_shape(knowing(labels), lambda rows: rows[4:])  # and so when asked again about four
    with ChatServer(reply=left) as server:
        code, printed, _ = run(capsys, *command, "--llm", server.spec)
    assert (code, networks_read) == (3, [30])
    assert printed["weighed"]["unscored"] == printed["unscored"] == 4
    assert any(name.startswith("passages@") for name in printed["judges"])


@pytest.mark.parametrize(("confidence", "warned"), [(0.62, True), (0.63, False)])
def test_a_side_is_as_likely_as_its_likeliest_passage(
    command: list[str], confidence: float, warned: bool, capsys: Any
) -> None:
    """Each side has one passage; part of what its answer leaves is for "both"."""
    chosen = {}
    for argument in load_example().arguments:
        if argument.id.startswith("zoos-") and argument.stance in ("pro", "con"):
            chosen.setdefault(argument.stance, judged_text(argument)[:60])
    sides = {text: stance for stance, text in chosen.items()}
    chances = {"first": confidence, "second": confidence, "neither": 0.98}

    def stated(text: str, first: str, second: str) -> Mapping[str, float]:
        word = max(answers := knowing(sides)(text, first, second), key=answers.__getitem__)
        return {word: chances[word]}

    with ChatServer(sides=stated) as server:
        printed = run(capsys, *command, "--llm", server.spec)[1]
    for side in printed["sides"]:
        assert len(side["response"]["references"]) == 1
        assert side["likely"] == pytest.approx(confidence, abs=0.03)
        assert bool(side["warning"]) == warned


def test_passages_are_shown_up_to_120_words_in_one_call_and_again_in_the_opposite_order(
    command: list[str], labels: dict[str, str], capsys: Any
) -> None:
    unsure = in_shape(knowing(labels), lambda rows: [{**row, "confidence": 0.74} for row in rows])
    with ChatServer(reply=unsure) as server:
        printed = run(capsys, *command, "--llm", server.spec)[1]
        first, second = shown_orders(server)
    assert len(first) == 24
    assert second == first[::-1]
    assert printed["weighed"]["again"] == 24
    words = [len(text.removesuffix(" …").split()) for text in first]
    assert 110 < max(words) <= 120  # long words count more: no passage is one of a megabyte


def test_passages_are_divided_evenly(
    command: list[str], labels: dict[str, str], capsys: Any
) -> None:
    with ChatServer(sides=knowing(labels)) as server:
        options = ["--asked", "26", "--retrieve", "40"]
        run(capsys, *command, *options, "--llm", server.spec)
        sizes = [len(passages) for passages in shown_orders(server)]
    assert sorted(sizes[:2]) == [13] * 2


@pytest.mark.parametrize(
    ("stated", "probability"),
    [(None, None), (-0.1, None), (0.0, 0.5), (0.7, 0.7), (1.0, 0.98), (1.5, None), (10.0, None),
     (10.5, 0.5), (70.0, 0.7), (100.0, 0.98), (100.5, None)],
)  # fmt: skip
def test_only_a_stated_confidence_is_a_probability(
    stated: float | None, probability: float | None
) -> None:
    assert _confidence(stated) == probability


@pytest.mark.parametrize(
    ("edit", "scored"),
    [
        (lambda rows: rows[1:], 23),  # asked again about it: the last one is left out then
        pytest.param(
            lambda rows: [*rows, {**rows[0], "side": "both"}, {**rows[0], "id": 99}],
            24,
            marks=pytest.mark.all,
        ),
        pytest.param(
            lambda rows: [{**row, "side": f" {row['side'].upper()}. "} for row in rows],
            24,
            marks=pytest.mark.all,
        ),
        (lambda rows: [{**row, "confidence": 95} for row in rows], 24),
        # Nobody states a probability: as if there were no answer.
        pytest.param(
            lambda rows: [{"id": row["id"], "side": row["side"]} for row in rows],
            0,
            marks=pytest.mark.all,
        ),
        pytest.param(
            lambda rows: [{**row, "id": str(row["id"]), "why": ""} for row in rows],
            24,
            marks=pytest.mark.all,
        ),
    ],
)
def test_how_lists_may_depart_from_what_is_asked(
    command: list[str],
    labels: dict[str, str],
    edit: Callable[[list[Any]], list[Any]],
    scored: int,
    capsys: Any,
) -> None:
    with ChatServer(reply=in_shape(knowing(labels), edit)) as server:
        code, printed, _ = run(capsys, *command, "--llm", server.spec)
    assert printed["weighed"]["scored"] >= scored
    assert scored or printed["weighed"]["scored"] == 0
    assert code == (0 if printed["weighed"]["unscored"] == 0 else 3)


@pytest.mark.parametrize(
    ("entries", "why"), [([], "missing"), ([{"id": 1, "side": "maybe"}] * 9, "schema")]
)
def test_where_the_model_gives_nothing_the_packaged_judgement_is_used_and_it_is_said(
    command: list[str],
    plain: dict[str, Any],
    labels: dict[str, str],
    entries: list[Any],
    why: str,
    capsys: Any,
) -> None:
    with ChatServer(reply=in_shape(knowing(labels), lambda rows: entries)) as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
    assert code == 3
    assert cited(printed) == cited(plain)
    assert (printed["weighed"]["scored"], printed["unscored"]) == (0, 24)
    assert printed["weighed"]["reason"].startswith(why)
    assert "The packaged judge decided the sides, not test" in errors


@pytest.mark.parametrize("word", ["first", "second", "neither"])
def test_a_model_that_does_not_classify_the_claims_decides_nothing(
    command: list[str], plain: dict[str, Any], word: str, capsys: Any
) -> None:
    with ChatServer(sides=lambda text, first, second: said(word)) as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
        calls = asked_by_prompt(server)
    # The same word for both claims is right about one: it is asked in the opposite order, too.
    assert calls["passage-sides"] == (1 if word == "neither" else 2)
    assert code == 0
    assert cited(printed) == cited(plain)
    assert (printed["weighed"]["weight"], printed["weighed"]["asked"]) == (0, 0)
    assert "The packaged judge decided the sides, not test" in errors
    assert "decided the sides, not test" in printed["judges"]["test+sides"]
    stances = [r for s in printed["sides"] for r in s["verdicts"] if r["task"] == "stance"]
    assert {row["judge"] for row in stances} <= set(printed["judges"])


def test_a_slip_in_the_control_is_forgiven_once(
    command: list[str], labels: dict[str, str], capsys: Any
) -> None:
    slips = [True]

    def slipping(text: str, first: str, second: str) -> Mapping[str, float]:
        if text == second and slips:
            slips.pop()
            return said("neither")
        return knowing(labels)(text, first, second)

    with ChatServer(sides=slipping) as server:
        printed = run(capsys, *command, "--llm", server.spec)[1]
    assert printed["weighed"]["weight"] == 1.0


def test_that_the_packaged_judge_decided_is_at_the_top_of_the_page(
    command: list[str], tmp_path: Path, capsys: Any
) -> None:
    page = tmp_path / "r.html"
    with ChatServer(sides=always_first) as server:
        run(capsys, *command, "--llm", server.spec, "--html", str(page))
    text = page.read_text(encoding="utf-8")
    place = text.find("The packaged judge decided the sides, not test")
    assert 0 < place < text.find("<footer")


def test_a_model_that_refuses_is_unscored_and_the_packaged_judgement_is_used(
    command: list[str], plain: dict[str, Any], capsys: Any
) -> None:
    with ChatServer(default="refusal") as server:
        code, printed, errors = run(capsys, *command, "--llm", server.spec)
    assert code == 3
    assert cited(printed) == cited(plain)
    assert printed["unscored"] == 1
    assert printed["weighed"]["weight"] == 0
    assert "test could not read the question (refusal: I cannot help with that.)" in errors


# --- one call reads the question


def reading(**fields: Any) -> Callable[[str], str]:
    claims = {"yes": "Zoos should be phased out.", "no": "Zoos should be kept."}
    whole = {"language": "English", "yes_or_no": True, **claims, "searches": [], **fields}

    def reply(prompt: str) -> str:
        if '"yes_or_no"' in prompt:
            return json.dumps(whole)
        return json.dumps(sides_reply(prompt, always_first) or {"points": []})

    return reply


def settings_of(printed: dict[str, Any]) -> Mapping[str, str]:
    found: Mapping[str, str] = printed["settings"]
    return found


def test_the_claims_are_shown_to_the_model_and_to_the_writer(
    asking: list[str], capsys: Any
) -> None:
    with ChatServer(reply=reading()) as server:
        _, printed, _ = run(capsys, *asking, "--llm", server.spec)
        prompts = dict(named_prompts(server))
    listed = dict(blocks_in(prompts["passage-sides"]))
    assert (listed["yes"], listed["no"]) == ("Zoos should be phased out.", "Zoos should be kept.")
    assert dict(blocks_in(prompts["argue"]))["CLAIM"] in (listed["yes"], listed["no"])
    assert "yes means “Zoos should be phased out.”" in settings_of(printed)["question"]
    assert printed["claims"] == [f"{QUESTION} Yes.", f"{QUESTION} No."]


@pytest.mark.all
def test_claims_of_the_user_override_those_of_the_model(asking: list[str], capsys: Any) -> None:
    own = ["--claims", "Close them.", "Keep them."]
    with ChatServer(reply=reading()) as server:
        _, printed, _ = run(capsys, *asking, *own, "--llm", server.spec)
        prompts = dict(named_prompts(server))
    listed = dict(blocks_in(prompts["passage-sides"]))
    assert (listed["yes"], listed["no"]) == ("Close them.", "Keep them.")
    assert "yes means" not in settings_of(printed)["question"]


@pytest.mark.all
def test_searches_in_other_words_are_fused_with_the_first(asking: list[str], capsys: Any) -> None:
    searches = ["voting is a duty", "fines for those who do not vote", QUESTION, "  ", "x" * 301]
    with ChatServer(reply=reading(searches=searches)) as server:
        _, printed, _ = run(capsys, *asking, "--llm", server.spec)
        shown = shown_orders(server)
    assert shown == []  # it fails the control
    search = settings_of(printed)["search"]
    assert "by question and 2 searches in other words; 30 documents retrieved" in search
    assert "also searched: “voting is a duty”" in settings_of(printed)["question"]


def test_a_question_that_yes_and_no_do_not_answer_is_pointed_out(
    asking: list[str], capsys: Any
) -> None:
    with ChatServer(reply=reading(yes_or_no=False)) as server:
        errors = run(capsys, *asking, "--llm", server.spec)[2]
    assert "test says that yes and no do not answer this question" in errors


@pytest.mark.parametrize(
    "fields", [{"no": "Zoos should be phased out."}, {"yes": " "}, {"no": "x" * 301}]
)
def test_a_question_whose_claims_cannot_be_read_is_used_as_it_is(
    asking: list[str], fields: dict[str, Any], capsys: Any
) -> None:
    with ChatServer(reply=reading(**fields)) as server:
        _, _, errors = run(capsys, *asking, "--llm", server.spec)
        listed = dict(blocks_in(dict(named_prompts(server))["passage-sides"]))
    assert "test could not read the question (claims: expected two different claims)" in errors
    assert listed["yes"] == f"{QUESTION} Yes."


# --- what it would cost, and what it may


@pytest.fixture
def asking(index: str, tmp_path: Path) -> list[str]:
    return ["argue", index, QUESTION, "--json", "--store", str(tmp_path / "s.sqlite")]


@pytest.fixture(scope="module")
def labels() -> dict[str, str]:
    """The authors' sides, by the opening words of a text."""
    return {judged_text(a)[:60]: a.stance or "neither" for a in load_example().arguments}


def named_prompts(server: ChatServer) -> Sequence[tuple[str, str]]:
    """Return the name and the text of each prompt."""
    return [
        (
            row["parameters"]["response_format"]["json_schema"]["name"],
            row["messages"][-1]["content"],
        )
        for row in server.asked()
    ]


def asked_by_prompt(server: ChatServer) -> dict[str, int]:
    names = [name for name, _ in named_prompts(server)]
    return {name: names.count(name) for name in set(names)}


@pytest.mark.parametrize(
    "options",
    [
        pytest.param([], marks=pytest.mark.all),
        pytest.param(["--asked", "40", "--retrieve", "60"], marks=pytest.mark.all),
        ["--points", "1"],
    ],
)
def test_a_plan_asks_nothing_and_is_a_bound(
    asking: list[str], labels: dict[str, str], options: list[str], capsys: Any
) -> None:
    """Every passage unsure: the most that can be asked."""

    def unsure(text: str, first: str, second: str) -> Mapping[str, float]:
        chances = knowing(labels)(text, first, second)
        return {word: 0.7 if p > 0.5 else 0.15 for word, p in chances.items()}

    with ChatServer(sides=unsure) as server:
        code, plan, _ = run(capsys, *asking, *options, "--llm", server.spec, "--plan")
        assert code == 0
        assert server.asked() == []
        printed, errors = run(capsys, *asking, *options, "--llm", server.spec)[1:]
        made, billed = asked_by_prompt(server), server.billed
        again = run(capsys, *asking, *options, "--llm", server.spec, "--plan")[1]
    (model,) = plan["models"]
    assert (made["question"], made["argue"]) == (1, 2)
    assert made["passage-sides"] == 1 + 2 * (2 if options[:1] == ["--asked"] else 1)
    assert sum(made.values()) <= model["calls"]
    assert billed["prompt_tokens"] <= model["prompt_tokens"][1]
    assert billed["completion_tokens"] <= model["completion_tokens"][1]
    cost = f"{sum(made.values())} calls of test, {billed['prompt_tokens']:,} prompt tokens, "
    cost += f"{billed['completion_tokens']:,} completion tokens"
    assert f"pnyx: cost: {cost}\n" in errors
    assert settings_of(printed)["cost"] == cost
    assert again["models"][0]["from_store"] == sum(made.values())


def test_a_run_from_the_store_costs_nothing(
    asking: list[str], labels: dict[str, str], capsys: Any
) -> None:
    with ChatServer(sides=knowing(labels)) as server:
        run(capsys, *asking, "--llm", server.spec)
        count = len(server.asked())
        errors = run(capsys, *asking, "--llm", server.spec)[2]
        assert len(server.asked()) == count
    assert f"cost: 0 calls of test, 0 prompt tokens, 0 completion tokens, {count} replies" in errors


def test_the_cost_is_in_dollars_where_prices_are_known(
    asking: list[str], labels: dict[str, str], tmp_path: Path, capsys: Any
) -> None:
    prices = tmp_path / "prices.toml"
    prices.write_text("[models.test]\ninput = 1.0\noutput = 2.0\n", encoding="utf-8")
    with ChatServer(sides=knowing(labels)) as server:
        errors = run(capsys, *asking, "--llm", server.spec, "--set", f"prices={prices}")[2]
        dollars = server.billed["prompt_tokens"] + 2 * server.billed["completion_tokens"]
    assert f"completion tokens, ${dollars / 1e6:.4f}" in errors


def test_a_plan_without_a_model_costs_nothing(index: str, capsys: Any) -> None:
    code, plan, _ = run(capsys, "argue", index, QUESTION, "--plan", "--json")
    assert (code, plan["models"]) == (0, [])


def test_a_budget_is_kept(asking: list[str], labels: dict[str, str], capsys: Any) -> None:
    with ChatServer(sides=knowing(labels)) as server:
        options = ["--llm", server.spec, "--set", "budget-tokens=1500"]
        code, printed, _ = run(capsys, *asking, *options)
        spent = sum(server.billed[n] for n in ("prompt_tokens", "completion_tokens"))
    assert code == 3
    assert spent <= 1500
    assert printed["unscored"] > 0


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--budget", "1"], "--budget requires a language model"),
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
    with ChatServer(sides=knowing(labels)) as server:
        options = ["--llm", server.spec, "--asked", "5", "--writer", "extractive"]
        printed = run(capsys, *asking, *options)[1]
        assert [len(passages) for passages in shown_orders(server)][:1] == [5]
    assert printed["weighed"]["asked"] == 5


def test_a_log_says_how_far_it_is(
    asking: list[str], labels: dict[str, str], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pnyx.core.progress.LOG_SECONDS", 0.0)
    with ChatServer(sides=knowing(labels)) as server:
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
    command = ["search", index, QUESTION, "--rerank", "--json", "--set", "budget-tokens=50"]
    with ChatServer() as server:
        options = ["--llm", server.spec, "--store", str(tmp_path / "s.sqlite")]
        code = run(capsys, *command, *options)[0]
        assert (code, server.asked()) == (3, [])
