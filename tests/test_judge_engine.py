"""The engine against a server that misbehaves: what each trouble costs, and what comes of it."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import replace

import anyio
import pytest

from chat_server import ChatServer, patience
from pnyx.core.errors import ModelError
from pnyx.judging.answers import Judged, Unscored, answer_rows, tally
from pnyx.judging.base import ask
from pnyx.judging.llm.judge import LlmJudge
from pnyx.judging.llm.requests import Asking
from pnyx.judging.questions import Preference, Ranking, Rating, Support
from pnyx.judging.store.completions import StoredModel
from pnyx.judging.store.store import Store
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import ChatRequest, Message
from pnyx.models.http.responses import RetryPolicy

HASTY = RetryPolicy(timeout=60, attempts=2, first_wait=0.01, longest_wait=2.5)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "store.sqlite") as opened:
        yield opened


def judge_on(
    server: ChatServer,
    store: Store,
    concurrency: int = 4,
    retry: RetryPolicy = HASTY,
    **asking,
) -> LlmJudge:
    endpoint = ChatEndpoint(server.url, "test", retry=retry)
    return LlmJudge(StoredModel(endpoint, store, concurrency), Asking(**asking))


def support(text: str, statement: str = "Buses got cheaper.", **fields: str) -> Support:
    return Support(fields.pop("id", statement), text, statement, **fields)


def batch(text: str, count: int) -> list[Support]:
    return [support(text, f"Statement number {n}.") for n in range(count)]


def reason(answer) -> str | None:
    return answer.reason.partition(":")[0] if isinstance(answer, Unscored) else None


# --- one question a call


@pytest.mark.parametrize(
    ("trouble", "unscored", "requests", "repaired"),
    [
        ("ok", None, 1, None),
        ("fenced", None, 1, None),
        ("thinking", None, 1, None),
        ("429_once", None, 2, None),
        ("429_after_once", None, 2, None),
        pytest.param(*("429_date_once", None, 2, None), marks=pytest.mark.all),
        ("500_once", None, 2, None),
        ("503_once", None, 2, None),
        ("busy_once", None, 2, None),
        pytest.param(*("hang_once", None, 2, None), marks=pytest.mark.all),
        pytest.param(*("drip_once", None, 2, None), marks=pytest.mark.all),
        ("reset_once", None, 2, None),
        ("cut_body_once", None, 2, None),
        ("html_once", None, 2, None),
        ("no_choices_once", None, 2, None),
        ("truncated_json_once", None, 2, True),
        ("wrong_schema_once", None, 2, True),
        ("out_of_range_once", None, 2, True),
        ("prose_once", None, 2, True),
        ("truncated_json", "schema", 2, False),
        ("wrong_schema", "schema", 2, False),
        ("out_of_range", "schema", 2, False),
        ("prose", "schema", 2, False),
        ("refusal", "refusal", 1, None),
        ("length", "length", 2, None),
        ("length_once", None, 2, None),
        ("content_filter", "content_filter", 1, None),
        ("empty", "empty", 2, None),
        ("no_content", "empty", 2, None),
        ("too_long", "too_long", 1, None),
        ("400", "rejected", 1, None),
        ("429", "rate_limit", 2, None),
        ("500", "server_error", 2, None),
        ("503", "server_error", 2, None),
        pytest.param(*("hang", "timeout", 2, None), marks=pytest.mark.all),
        pytest.param(*("drip", "timeout", 2, None), marks=pytest.mark.all),
        ("reset", "connection", 2, None),
        ("cut_body", "not_json", 2, None),
        ("html", "not_json", 2, None),
        ("no_choices", "malformed", 2, None),
    ],
)
def test_each_trouble_has_its_outcome_and_its_price(trouble, unscored, requests, repaired, store):
    with ChatServer() as server:
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY)
        judge = LlmJudge(StoredModel(endpoint, store, 4), Asking())
        (fine,) = ask(judge, [support("First.")])
        endpoint.retry = replace(HASTY, timeout=patience(trouble))
        (answer,) = ask(judge, [support(f"[[{trouble}]]")])
    assert isinstance(fine, Judged)
    assert reason(answer) == unscored
    assert len(server.asked()) == 1 + requests
    assert answer.notes.get("repaired") is repaired


def test_a_repair_turn_shows_the_reply_and_what_it_lacks(store):
    with ChatServer() as server:
        (answer,) = ask(judge_on(server, store), [support("[[prose_once]]")])
        first, second = server.asked()
    assert isinstance(answer, Judged)
    assert answer.notes == {"repaired": True}
    assert first["parameters"] == second["parameters"]
    stored = {row.request.messages for row in store.rows()}
    (long,) = [messages for messages in stored if len(messages) == 4]
    assert long[2].content == "Yes, with a confidence of 0.9, I would say."
    assert "could not be read" in long[3].content


@pytest.mark.all
def test_a_fixed_number_of_slots_is_found_and_kept_to(store):
    questions = [support(f"Text {n}.") for n in range(60)]
    with ChatServer(slots=3, queue=False, delay=0.01) as server:
        endpoint = ChatEndpoint(server.url, "test", retry=RetryPolicy(first_wait=0.02))
        answers = ask(LlmJudge(StoredModel(endpoint, store, 32)), questions)
    assert all(isinstance(answer, Judged) for answer in answers)
    assert server.busiest <= 3
    assert max(Counter(server.answered()).values()) == 1
    assert len(server.answered()) == 60


def test_a_server_that_queues_is_asked_each_question_once(store):
    questions = [support(f"Text {n}.") for n in range(40)]
    with ChatServer(slots=2, delay=0.005) as server:
        answers = ask(judge_on(server, store, 16), questions)
    assert all(isinstance(answer, Judged) for answer in answers)
    assert len(server.asked()) == 40
    assert server.busiest == 2


@pytest.mark.parametrize("formats", [("json_object",), ()])
def test_without_json_schema_the_same_questions_are_answered(store, formats):
    questions = [*batch("Text.", 5), support("Other.", "Single.")]
    with ChatServer(formats=formats) as server:
        judge = judge_on(server, store, 1, batch=3)
        answers = ask(judge, questions)
        calls = sum(1 for row in server.log if row["event"] == "answered")
    assert all(isinstance(answer, Judged) for answer in answers)
    assert calls == 3
    assert judge.model.endpoint.response_format == (formats[0] if formats else "text")


def test_usage_is_counted_with_what_was_cached(store):
    questions = [support(f"Text {n}.") for n in range(4)]
    with ChatServer() as server:
        judge = judge_on(server, store, 1)
        ask(judge, questions)
    assert judge.model.counts.tokens["cached_tokens"] == server.billed["cached_tokens"] == 750
    assert judge.model.counts.tokens["prompt_tokens"] == server.billed["prompt_tokens"]


# --- several questions a call


def calls(server: ChatServer) -> list[int]:
    """Return how many questions each request asked."""
    sizes = []
    for row in server.asked():
        schema = row["parameters"]["response_format"]["json_schema"]["schema"]
        keyed = all(name.isdigit() for name in schema["properties"])
        sizes.append(len(schema["properties"]) if keyed else 1)
    return sizes


def test_questions_about_one_text_share_calls(store):
    questions = [*batch("One.", 7), *batch("Two.", 2), support("Two.", "S.", guideline="G")]
    with ChatServer() as server:
        answers = ask(judge_on(server, store, 1, batch=4), questions)
        assert calls(server) == [4, 3, 2, 1]
    assert [answer.notes.get("batch") for answer in answers] == [4] * 4 + [3] * 3 + [2] * 2 + [None]
    assert all(isinstance(answer, Judged) for answer in answers)


@pytest.mark.parametrize("trouble", ["length", "too_long"])
@pytest.mark.parametrize(
    ("limit", "sizes"),
    [(8, [8]), (4, [8, 4, 4]), (2, [8, 4, 2, 2, 4, 2, 2]), (3, [8, 4, 2, 2, 4, 2, 2])],
)
def test_what_is_too_much_is_split_until_it_fits(store, trouble, limit, sizes):
    questions = batch(f"[[{trouble}_over_{limit}]]", 8)
    with ChatServer() as server:
        answers = ask(judge_on(server, store, 1, batch=8), questions)
        assert calls(server) == [
            size
            for size in sizes
            for _ in range(2 if trouble == "length" and size > limit else 1)  # with more room
        ]
    assert all(isinstance(answer, Judged) for answer in answers)
    assert {answer.notes["batch"] for answer in answers} == {min(sizes)}


@pytest.mark.parametrize("trouble", ["length", "too_long"])
def test_what_is_too_much_by_itself_ends_unscored_one_by_one(store, trouble):
    with ChatServer() as server:
        answers = ask(judge_on(server, store, 1, batch=4), batch(f"[[{trouble}]]", 4))
        times = 2 if trouble == "length" else 1
        assert calls(server) == [n for n in [4, 2, 1, 1, 2, 1, 1] for _ in range(times)]
    assert [reason(answer) for answer in answers] == [trouble] * 4


def test_what_a_batch_leaves_out_is_asked_again_alone(store):
    with ChatServer() as server:
        answers = ask(judge_on(server, store, 1, batch=3), batch("[[missing]]", 3))
        assert calls(server) == [3, 1]
    assert [answer.notes.get("batch") for answer in answers] == [3, 3, None]
    assert all(isinstance(answer, Judged) for answer in answers)


@pytest.mark.parametrize("trouble", ["extra", "repeated", "truncated_json"])
def test_a_batch_that_cannot_be_read_is_repaired_or_split(store, trouble):
    with ChatServer() as server:
        repaired = ask(judge_on(server, store, 1, batch=3), batch(f"[[{trouble}_once]]", 3))
        assert calls(server) == [3, 3]
        asked = len(server.asked())
        many = batch(f"[[{trouble}_over_1]] for ever", 3)
        split = ask(judge_on(server, store, 1, batch=3), many)
        assert calls(server)[asked:] == [3, 3, 1, 2, 2, 1, 1]
    assert [answer.notes for answer in repaired] == [{"repaired": True, "batch": 3}] * 3
    assert all(isinstance(answer, Judged) for answer in split)


def test_a_batch_answers_what_its_own_reply_says_whatever_the_order(store):
    """Each statement's answer is read at its own number, in a sample's order too."""
    questions = batch("Text.", 6)
    with ChatServer() as server:
        for sample in (0, 1, 2):
            answers = ask(judge_on(server, store, 1, batch=6, sample=sample), questions)
            raw = json.loads(answers[0].raw)
            shown = _shown(server, store, sample)
            assert sorted(shown) == sorted(question.statement for question in questions)
            for question, answer in zip(questions, answers, strict=True):
                said = raw[str(shown.index(question.statement) + 1)]
                assert answer.value is (said["answer"] == "yes")
    orders = [_shown(server, store, sample) for sample in (0, 1, 2)]
    assert orders[0] == [question.statement for question in questions]
    assert orders[1] != orders[0] != orders[2] != orders[1]


def _shown(server, store, sample) -> list[str]:
    (row,) = [row for row in store.rows() if row.request.sample == sample]
    return re.findall(r"^(Statement number \d\.)$", row.request.messages[1].content, re.MULTILINE)


# --- ratings, preferences, rankings

DIMENSIONS = ("clarity", "cogency", "reasonableness")


def rating(text: str) -> Rating:
    return Rating("r", text, DIMENSIONS, (1, 3))


def test_a_rating_without_a_dimension_keeps_the_others(store):
    with ChatServer() as server:
        (answer,) = ask(judge_on(server, store), [rating("[[missing]]")])
        assert len(server.asked()) == 1
    assert [type(score) for score in answer.value] == [int, int, type(None)]
    assert answer.notes["dimensions"] == {"reasonableness": "missing: not in the reply"}


@pytest.mark.parametrize("trouble", ["extra", "repeated"])
def test_a_rating_that_says_too_much_is_repaired_or_unscored(store, trouble):
    with ChatServer() as server:
        judge = judge_on(server, store)
        (good,) = ask(judge, [rating(f"[[{trouble}_once]]")])
        (bad,) = ask(judge, [rating(f"[[{trouble}]]")])
        assert len(server.asked()) == 4
    assert good.notes["repaired"] is True
    if trouble == "repeated":
        assert reason(bad) == "schema"
    else:  # a score on what was not asked for: the others are kept, and that is said
        assert None not in bad.value
        assert bad.notes["lenient"] == ["dimensions"]


def test_one_bad_dimension_costs_no_other(store):
    """Also after the repair turn: what is good in the reply is kept, the rest unscored."""
    scores = {"clarity": 1, "cogency": "high", "reasonableness": 3.0}
    reply = {name: {"reason": "", "score": score} for name, score in scores.items()}
    with ChatServer(reply=f"Sure! {json.dumps(reply)} Anything else?") as server:
        (answer,) = ask(judge_on(server, store), [rating("Text.")])
        assert len(server.asked()) == 2
    assert answer.value == [1, None, 3]
    assert answer.notes["dimensions"]["cogency"].startswith("schema: ")
    assert answer.notes["lenient"] == ["dimensions", "number", "prose"]
    rows = answer_rows(answer.question, answer)
    assert tally(rows)["read_leniently"] == 3


def test_a_rating_in_another_order_is_read_back_in_its_own(store):
    scores = {"clarity": 1, "cogency": 2, "reasonableness": 3}
    reply = {name: {"reason": "", "score": score} for name, score in scores.items()}
    with ChatServer(reply=json.dumps(reply)) as server:
        for sample in range(4):
            (answer,) = ask(judge_on(server, store, sample=sample), [rating("Text.")])
            assert answer.value == [1, 2, 3]
        orders = [
            tuple(row["parameters"]["response_format"]["json_schema"]["schema"]["properties"])
            for row in server.asked()
        ]
    assert orders[0] == DIMENSIONS
    assert len(set(orders)) > 1


def test_a_preference_that_follows_the_position_is_a_tie(store):
    with ChatServer() as server:
        judge = judge_on(server, store)
        (position,) = ask(judge, [Preference("1", "[[first]] Yes.", "No.", "Is it?")])
        assert len(server.asked()) == 2
        (failed,) = ask(judge, [Preference("2", "[[refusal]] Yes.", "No.", "Is it?")])
        assert len(server.asked()) == 3
    assert position.value == "tie"
    assert position.notes == {"orders": ["a", "b"]}
    assert reason(failed) == "refusal"


@pytest.mark.parametrize(
    ("trouble", "note"), [("missing", "missing"), ("repeated", "repeated"), ("extra", "invented")]
)
def test_a_ranking_names_each_text_at_most_once_whatever_the_reply_lacks(store, trouble, note):
    texts = tuple(f"Text {n}." for n in range(6))
    questions = [
        Ranking("1", f"[[{trouble}]] Which?", texts),
        Ranking("2", f"[[{trouble}]] Which?", texts),
    ]
    with ChatServer() as server:
        for sample in (0, 1):
            answers = ask(judge_on(server, store, sample=sample), questions)
            for answer in answers:
                left_out = answer.notes.get("missing", [])
                assert bool(left_out) == (trouble == "missing")
                assert sorted([*answer.value, *left_out]) == list(range(6))
                assert list(answer.notes) == [note]
        assert len(server.asked()) == 2


# --- probability by token


@pytest.mark.parametrize("style", ["words", "fused", "letters", "bytes"])
@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        # by hand: the sum over the spellings of yes, as a share of that and the sum for no
        ({"yes": 0.6, "no": 0.2, "maybe": 0.1}, 0.6 / 0.8),
        ({"Yes": 0.3, "yes": 0.2, " YES": 0.1, "No": 0.15, "no": 0.05}, 0.6 / 0.8),
        ({"no": 0.9, "No": 0.05, "y": 0.01}, 0.01 / 0.96),
        # of the one that is not listed: no more than the least likely alternative has
        ({"yes": 0.9, "maybe": 0.06, "perhaps": 0.02}, 0.9 / 0.92),
        ({"no": 0.9, "maybe": 0.06, "perhaps": 0.02}, 0.02 / 0.92),
        # ... and no more than all that is not listed
        ({"yes": 0.97}, 0.97 / 1.0),
        ({"no": 0.8, "not": 0.15}, 0.05 / 0.85),
        # neither: nothing is known
        ({"maybe": 0.6, "yesterday": 0.2, "nobody": 0.1}, None),
    ],
)
def test_the_probability_by_token_is_the_one_worked_out_by_hand(store, style, spellings, expected):
    with ChatServer(logprobs=style, spellings=spellings) as server:
        question = support("Ünïcode — 東京 “quoted”.")
        (auto,) = ask(judge_on(server, store, retry=RetryPolicy()), [question])
        (token,) = ask(judge_on(server, store, retry=RetryPolicy(), probability="tok"), [question])
        (both,) = ask(judge_on(server, store, retry=RetryPolicy(), probability="both"), [question])
        assert len(server.asked()) == 1, "one reply serves all three"
        (stated,) = ask(judge_on(server, store, retry=RetryPolicy(), probability="ask"), [question])
        assert "logprobs" not in server.asked()[-1]["parameters"]
    assert stated.provenance.method == "stated"
    if expected is None:
        assert reason(token) == "logprobs"
        assert auto.provenance.method == both.provenance.method == "stated"
        return
    assert token.probability == pytest.approx(expected, abs=1e-6)
    assert token.provenance.method == auto.provenance.method == "token"
    assert auto.probability == token.probability
    assert both.provenance.method == "token+stated"
    said = both.notes["probabilities"]
    assert said["token"] == token.probability
    assert both.probability == pytest.approx((said["token"] + said["stated"]) / 2, abs=1e-6)


def test_in_a_batch_each_answer_has_its_own_token(store):
    with ChatServer(logprobs="words") as server:
        answers = ask(judge_on(server, store, batch=4, probability="tok"), batch("Text.", 4))
        assert len(server.asked()) == 1
    assert [answer.probability for answer in answers] == [0.75] * 4


@pytest.mark.parametrize(
    "options", [{}, {"rejects": ("logprobs",)}, {"rejects": ("top_logprobs",)}]
)
def test_without_logprobs_a_probability_by_token_is_unscored_and_never_a_number(store, options):
    with ChatServer(logprobs="words" if options else None, **options) as server:
        judge = judge_on(server, store, probability="tok")
        answers = ask(judge, [support("One."), support("Two.")])
        (auto,) = ask(judge_on(server, store), [support("One.")])
    assert [reason(answer) for answer in answers] == ["logprobs", "logprobs"]
    assert auto.provenance.method == "stated"
    assert 0 <= auto.probability <= 1


def test_hopeless_odds_are_still_a_probability(store):
    spellings = {"yes": math.exp(-0.0000001), "no": math.exp(-700)}
    with ChatServer(logprobs="words", spellings=spellings) as server:
        (answer,) = ask(judge_on(server, store, probability="tok"), [support("T.")])
    assert 0 < answer.probability < 1


def test_questions_that_fail_at_the_end_of_a_run_do_not_make_the_endpoint_a_dead_one():
    """Each of them was under way as another was answered: that is no endpoint that is down."""
    retry = RetryPolicy(attempts=4, first_wait=0.05)
    outcomes: list[object] = []

    async def main(url: str) -> None:
        endpoint = ChatEndpoint(url, "test", retry=retry)

        async def complete(text: str) -> None:
            outcomes.append(await endpoint.complete(ChatRequest((Message("user", text),))))

        async with anyio.create_task_group() as group:
            for number in range(25):
                group.start_soon(complete, f"[[503]] {number}")
            await anyio.sleep(0.02)
            group.start_soon(complete, "Fine.")

    with ChatServer() as server:
        anyio.run(main, server.url)
    assert Counter(type(outcome).__name__ for outcome in outcomes) == {"CallFailed": 25, "Reply": 1}


# --- the endpoint, or just these questions?


def test_many_questions_that_always_fail_do_not_pass_for_an_outage(store):
    """As in a rerun, in which only what failed before is asked: the run still ends complete."""
    questions = [support(f"[[500]] {n}", id=str(n)) for n in range(30)]
    questions += [support(f"[[html]] {n}", id=f"h{n}") for n in range(30)]
    with ChatServer() as server:
        answers = ask(judge_on(server, store), questions)
    assert Counter(map(reason, answers)) == {"server_error": 30, "not_json": 30}


@pytest.mark.parametrize(
    ("trouble", "message"), [("500", "has answered none of the last"), ("html", "does not answer")]
)
def test_an_endpoint_that_answers_nothing_ends_the_run_with_one_line(trouble, message, store):
    questions = [support(f"Text {n}.", id=str(n)) for n in range(200)]
    with (
        ChatServer(default=trouble) as server,
        pytest.raises(ModelError, match=message) as error,
    ):
        ask(judge_on(server, store), questions)
    assert "\n" not in str(error.value)
    assert len(server.asked()) < 200


def test_one_refused_statement_does_not_cost_the_others_of_its_batch(store):
    questions = batch("Fares fell.", 4)
    questions[2] = support("Fares fell.", "[[refusal]]")
    with ChatServer() as server:
        answers = ask(judge_on(server, store, batch=4), questions)
    assert [reason(answer) for answer in answers] == [None, None, "refusal", None]
