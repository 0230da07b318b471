"""Prices, estimates, and the budget that is never exceeded: in virtual time and over HTTP."""

from __future__ import annotations

import json
import math
import random
import threading
from dataclasses import replace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_server import ChatServer, Handler, patience
from pnyx.core.errors import InputError, ModelError
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import (
    BudgetReached,
    Ledger,
    bound_of,
    check_budget,
    estimate,
    prompt_bytes,
)
from pnyx.models.chat.prices import Price, price_of, read_prices
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.http.responses import RetryPolicy
from tries import tries

HASTY = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=0.1)
SCHEMA = {"type": "object", "properties": {"answer": {"enum": ["yes", "no"]}}}


def request(text: str = "hello", max_tokens: int = 50) -> ChatRequest:
    return ChatRequest((Message("user", text),), SCHEMA, max_tokens=max_tokens)


# --- prices


def test_packaged_prices_are_dollars_for_a_million_tokens():
    price = price_of("gpt-4o-mini")
    assert price is not None
    assert 0 < price.cached_input <= price.input < price.output
    assert price_of("gpt-4o-mini-2024-07-18") == price
    assert math.isclose(price.cost(1_000_000, 0), price.input)
    assert math.isclose(price.cost(1_000_000, 0, 1_000_000), price.cached_input)
    assert math.isclose(price.cost(0, 1_000_000), price.output)


def test_an_unknown_price_is_none_and_never_zero():
    assert price_of("my-own-model") is None
    ledger = Ledger(None)
    assert ledger.cost is None
    assert ledger.row()["cost_usd"] is None
    assert estimate([request()], None).cost_usd is None
    check_budget(None, "my-own-model", None)
    with pytest.raises(InputError, match="--set prices") as caught:
        check_budget(1.0, "my-own-model", None)
    assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="needs a price"):
        Ledger(None, budget_usd=1.0)


def test_a_price_file_adds_and_overrides(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text(
        '[models]\n"gpt-4o" = { input = 1, cached_input = 0.5, output = 2 }\n'
        '[models."my/own"]\ninput = 0.1\noutput = 0.2\n'
    )
    prices = read_prices(path)
    assert price_of("gpt-4o", prices) == Price(1, 0.5, 2)
    assert price_of("gpt-4o-2024-05-13", prices) == Price(1, 0.5, 2)  # a file comes first
    assert price_of("my/own", prices) == Price(0.1, 0.1, 0.2)
    assert price_of("gpt-4o-mini", prices) == price_of("gpt-4o-mini")


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[models\n", 1, "not valid TOML"),
        ("\n\n[models]\n= 3\n", 4, "not valid TOML"),
        ("", None, "found no prices"),
        ("[models]\n", None, "found no prices"),
        ('[models]\n"a" = { input = 1 }\n', 2, "output is missing"),
        ('[models]\n"a" = { input = -1, output = 1 }\n', 2, "input is -1"),
        ('[models]\n"a" = { input = nan, output = 1 }\n', 2, "input is nan"),
        ('[models]\n"a" = { input = true, output = 1 }\n', 2, "input is True"),
        ('[models]\n"a" = { input = "1", output = 1 }\n', 2, "input is"),
        ('[models]\n"a" = { input = 1, output = 1, per = 2 }\n', 2, "'per'"),
        ('[models]\n"a" = 3\n', 2, "expected a table"),
    ],
)
def test_a_bad_price_file_is_one_line_with_its_place(tmp_path, text, line, words):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=words) as caught:
        read_prices(path)
    assert caught.value.line == line
    assert "\n" not in str(caught.value)


# --- bounds and estimates


@given(st.text(max_size=60), st.integers(1, 5))
def test_the_bound_covers_every_byte(text, turns):
    asked = ChatRequest(tuple(Message("user", text) for _ in range(turns)), max_tokens=7)
    assert prompt_bytes(asked) >= turns * len(text)
    assert bound_of(asked).prompt > prompt_bytes(asked)
    assert bound_of(asked).completion == 7


def test_an_estimate_is_a_range_that_past_replies_narrow():
    asked = [request("word " * 100) for _ in range(10)]
    price = Price(1.0, 0.5, 2.0)
    wide = estimate(asked, price)
    assert wide.requests == 10
    size = prompt_bytes(asked[0])
    past = [
        (size, {"prompt_tokens": 130 + i % 3, "completion_tokens": 20 + i % 5}) for i in range(40)
    ]
    close = estimate(asked, price, past)
    assert wide.prompt_tokens[0] <= close.prompt_tokens[0]
    assert close.prompt_tokens[1] <= wide.prompt_tokens[1]
    assert close.prompt_tokens[0] <= 1310 <= close.prompt_tokens[1] + 10
    assert close.completion_tokens == (200, 240)
    assert wide.cost_usd[0] <= close.cost_usd[0] <= close.cost_usd[1] <= wide.cost_usd[1]
    assert estimate([], price).cost_usd == (0.0, 0.0)
    assert estimate(asked, price, past[:4]) == wide


def test_an_estimate_has_at_least_two_and_a_half_letters_of_either_case_in_a_token():
    """Of the 400 letters, 1 / 2.5 are tokens at most; digits may be one each."""
    texts = ("word " * 100, "WORD " * 100, "1234 " * 100)
    small, capital, digits = (estimate([request(text)]).prompt_tokens[1] for text in texts)
    assert (capital - small, digits - small) == (0, 400 - 160)


# --- the ledger alone


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
@pytest.mark.parametrize("seed", range(6))
def test_reservations_keep_any_course_of_events_below_the_budget(backend, seed):
    rng = random.Random(seed)
    price = Price(3.0, 1.0, 7.0)
    budget = rng.choice([0, 500, 5_000, 20_000])
    usd = rng.choice([None, 0.03])
    ledger = Ledger(price, budget_tokens=budget, budget_usd=usd)
    billed = refused = 0
    dollars = 0.0

    async def one() -> None:
        nonlocal billed, refused, dollars
        asked = request("x" * rng.randrange(200), max_tokens=rng.randrange(1, 100))
        bound = bound_of(asked)
        with anyio.move_on_after(rng.choice([0.001, 0.004, 600])):
            try:
                ledger.check(asked)
                async with ledger.admit(asked) as ticket:
                    prompt = rng.randint(1, bound.prompt)
                    completion = rng.randint(1, bound.completion)
                    fate = rng.choice(["reply", "silent", "lost", "refused", "error"])
                    if fate not in ("refused", "error"):
                        billed += prompt + completion
                        dollars += price.cost(prompt, completion)
                    await anyio.sleep(rng.random() * 0.003)
                    if fate == "reply":
                        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
                        ticket.settle(usage)
                    elif fate == "silent":
                        ticket.settle({})
                    elif fate == "lost":
                        ticket.lose()
                    elif fate == "error":
                        raise RuntimeError
            except BudgetReached:
                refused += 1
            except RuntimeError:
                pass

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(150):
                group.start_soon(one)

    anyio.run(main, backend=backend)
    assert billed <= budget
    assert usd is None or dollars <= usd
    assert ledger.prompt_tokens + ledger.completion_tokens + ledger.assumed_tokens <= budget
    assert ledger.cost <= ledger.cost_at_most
    assert refused > 0
    assert (ledger._reserved.tokens(), ledger.waiting) == (0, 0)


def test_what_does_not_fit_waits_for_what_is_under_way_and_goes_on_if_that_was_cheap():
    asked = request()
    need = sum((bound_of(asked).prompt, bound_of(asked).completion))
    ledger = Ledger(budget_tokens=need + 10)
    order = []

    async def one(name: str, used: int) -> None:
        try:
            async with ledger.admit(asked) as ticket:
                order.append(name)
                await anyio.sleep(0.01)
                ticket.settle({"prompt_tokens": used, "completion_tokens": 0})
        except BudgetReached:
            order.append(f"{name} refused")

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for name, used in (("a", 4), ("b", 5), ("c", 100), ("d", 1), ("e", 1)):
                group.start_soon(one, name, used)

    anyio.run(main)
    assert order == ["a", "b", "c", "d refused", "e refused"]
    assert ledger.prompt_tokens == 109


def test_several_threads_share_one_ledger():
    asked = request()
    need = sum((bound_of(asked).prompt, bound_of(asked).completion))
    ledger = Ledger(budget_tokens=5 * need)
    done = []

    async def one() -> None:
        async with ledger.admit(asked) as ticket:
            await anyio.sleep(0.001)
            ticket.settle({"prompt_tokens": 1, "completion_tokens": 1})
            done.append(1)

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(one)

    threads = [threading.Thread(target=anyio.run, args=(main,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert len(done) == 200
    assert ledger.row()["prompt_tokens"] == ledger.requests == 200


def test_totals_are_the_servers():
    ledger = Ledger(Price(1.0, 0.25, 2.0))

    async def main() -> None:
        async with ledger.admit(request()) as ticket:
            ticket.settle(
                {
                    "prompt_tokens": 1000,
                    "completion_tokens": 100,
                    "cached_tokens": 400,
                    "reasoning_tokens": 60,
                }
            )
        async with ledger.admit(request()) as ticket:
            ticket.settle({"prompt_tokens": 10, "completion_tokens": 1, "cached_tokens": 999})
        with anyio.move_on_after(0.01):
            async with ledger.admit(request()):
                await anyio.sleep_forever()  # cancelled: may have been billed

    anyio.run(main)
    row = ledger.row()
    assert row["requests"] == 2
    assert row["cached_tokens"] == 410
    assert row["reasoning_tokens"] == 60
    assert row["uncertain"] == 1
    bound = bound_of(request())
    assert row["assumed_tokens"] == bound.prompt + bound.completion
    assert math.isclose(row["cost_usd"], (600 + 410 * 0.25 + 101 * 2) / 1e6)
    assert row["cost_usd_at_most"] > row["cost_usd"]


# --- over HTTP


class Greedy(Handler):
    """Bills the most that the request allows, also for what it then loses on the way."""

    def completion(self, text: str | None, **message: Any) -> dict[str, Any]:
        value = super().completion(text, **message)
        prompt = len(json.dumps(self.body["messages"])) + 100
        used = {"prompt_tokens": prompt, "completion_tokens": self.body["max_tokens"]}
        self.server.record("billed", tokens=sum(used.values()))
        value["usage"] = used
        return value


@settings(max_examples=tries(8), deadline=None)
@given(
    budget=st.sampled_from([0, 400, 3000, 5000]),
    script=st.lists(
        st.sampled_from(
            ["ok", "429", "500", "reset", "cut_body", "empty", "no_choices", "length", "400"]
        ),
        max_size=20,
    ),
)
def test_the_servers_own_count_stays_below_the_budget(budget, script):
    with ChatServer(["ok", *script]) as server:
        server.RequestHandlerClass = Greedy
        ledger = Ledger(budget_tokens=budget)
        endpoint = ChatEndpoint(server.url, "test", retry=HASTY, ledger=ledger)
        outcomes: list[Reply | CallFailed] = []

        async def one(text: str) -> None:
            outcomes.append(await endpoint.complete(request(text)))

        async def main() -> None:
            async with endpoint.connected(), anyio.create_task_group() as group:
                await one("first")
                for number in range(40):
                    group.start_soon(one, f"{number} " + "word " * (number % 7))

        anyio.run(main)
        billed = sum(row["tokens"] for row in server.log if row["event"] == "billed")
    assert len(outcomes) == 41
    assert billed <= budget
    assert any(o.reason.startswith("budget: ") for o in outcomes if isinstance(o, CallFailed))
    replies = [o for o in outcomes if isinstance(o, Reply)]
    assert ledger.requests == len(replies)
    counted = sum(r.usage["prompt_tokens"] + r.usage["completion_tokens"] for r in replies)
    assert ledger.prompt_tokens + ledger.completion_tokens == counted
    assert billed <= counted + ledger.assumed_tokens <= budget
    if budget >= 3000 and not script:
        assert billed >= budget * 0.8


def test_a_budget_needs_a_limit_on_the_reply():
    with ChatServer(rejects=["max_tokens", "max_completion_tokens"]) as server:
        asked = ChatEndpoint(server.url, "test", ledger=Ledger(budget_tokens=9999))
        with pytest.raises(ModelError, match="a budget cannot be enforced"):
            anyio.run(asked.complete, request())
        free = ChatEndpoint(server.url, "test", ledger=Ledger())
        assert isinstance(anyio.run(free.complete, request()), Reply)


@pytest.mark.all
@pytest.mark.parametrize(
    ("trouble", "uncertain"),
    [("429", 0), ("500", 0), ("400", 0), ("empty", 1), ("reset", 3), ("cut_body", 3), ("hang", 3)],
)
def test_what_may_have_been_billed_keeps_its_bound(trouble, uncertain):
    with ChatServer(["ok"], default=trouble) as server:
        ledger = Ledger()
        retry = replace(HASTY, timeout=patience(trouble))
        endpoint = ChatEndpoint(server.url, "test", retry=retry, ledger=ledger)

        async def main() -> None:
            assert isinstance(await endpoint.complete(request("first")), Reply)
            assert isinstance(await endpoint.complete(request("second")), CallFailed)

        anyio.run(main)
    assert ledger.uncertain == uncertain
    bound = bound_of(request("second"))
    assert ledger.assumed_tokens == uncertain * (bound.prompt + bound.completion)
    assert ledger.requests == 1
