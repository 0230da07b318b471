"""Several addresses of one model, asked as one, over real HTTP."""

from __future__ import annotations

import collections
import time
from typing import Any

import anyio
import pytest

from chat_server import ChatServer
from pnyx.core.errors import InputError, ModelError
from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.ledger import Ledger
from pnyx.models.chat.model import ChatModel
from pnyx.models.chat.open_endpoint import endpoint_from
from pnyx.models.chat.pool import EndpointPool, _Tried
from pnyx.models.chat.types import CallFailed, ChatRequest, Message, Reply
from pnyx.models.http.flow import run_all
from pnyx.models.http.responses import Retryable, RetryPolicy

HASTY = RetryPolicy(timeout=60, attempts=3, connect_attempts=2, first_wait=0.01, longest_wait=0.1)


def ask_all(model: ChatModel, count: int, workers: int = 12) -> list[object]:
    outcomes: list[object] = []

    async def ask(number: int) -> None:
        asked = ChatRequest((Message("user", f"question {number}"),), max_tokens=20)
        outcomes.append(await model.complete(asked))

    async def main() -> None:
        async with model.connected():
            await run_all(range(count), ask, workers=workers)

    anyio.run(main)
    return outcomes


def test_all_endpoints_work_and_the_faster_works_more():
    def late(_: str) -> str:
        """The slow one answers nothing until the other has answered most."""
        while len(fast.answered()) < 60:
            time.sleep(0.005)
        return ""

    with ChatServer() as fast, ChatServer(reply=late) as slow:
        ledger = Ledger()
        pool = endpoint_from([fast.spec, slow.spec], retry=HASTY, concurrency=6, ledger=ledger)
        assert isinstance(pool, EndpointPool)
        assert isinstance(pool, ChatModel)
        assert pool.concurrency == 12
        outcomes = ask_all(pool, 80)
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(fast.asked()) + len(slow.asked()) == 80
    assert len(fast.asked()) > 2 * len(slow.asked()) > 0
    assert ledger.requests == 80
    assert fast.url in pool.address
    assert slow.url in pool.address


def test_an_endpoint_that_cannot_be_used_is_left_out_with_one_line():
    with ChatServer(delay=0.01) as good, ChatServer(default="401") as bad:
        pool = endpoint_from([good.spec, bad.spec], retry=HASTY)
        lines: list[str] = []
        pool.on_retry = lines.append
        outcomes = ask_all(pool, 40)
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(good.answered()) == 40
    assert len([line for line in lines if "is no longer used" in line]) == 1
    assert "key is refused" in lines[-1]
    assert list(pool.left_out) == [bad.url]
    assert pool.concurrency == 32


def test_when_none_is_left_the_run_ends():
    with ChatServer(default="401") as one, ChatServer(default="404") as other:
        pool = endpoint_from([one.spec, other.spec], retry=HASTY)
        asked = ChatRequest((Message("user", "q"),))
        with pytest.raises(ModelError, match="none of 2 endpoints") as caught:
            anyio.run(pool.complete, asked)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_cools_down_is_passed_over():
    with ChatServer() as one, ChatServer() as other:
        pool = endpoint_from([one.spec, other.spec], retry=HASTY)
        assert isinstance(pool, EndpointPool)
        pool.endpoints[0].limiter.cool(30)
        ask_all(pool, 10, workers=2)
    assert collections.Counter(map(len, (one.asked(), other.asked()))) == {0: 1, 10: 1}


def test_different_models_are_refused_and_the_same_address_counts_once():
    with pytest.raises(InputError, match="must serve one model, found a, b"):
        endpoint_from(["http://h/v1#a", "http://i/v1#b"])
    assert repr(endpoint_from(["http://h/v1#a", "http://h/v1#a"])).startswith("ChatEndpoint")
    with pytest.raises(InputError, match="found nothing"):
        endpoint_from([])


# --- an address that fails


def pool_of(*servers: ChatServer, retry: RetryPolicy = HASTY) -> tuple[EndpointPool, list[str]]:
    """Return a pool, and what it says of waits."""
    pool = endpoint_from([server.spec for server in servers], retry=retry)
    assert isinstance(pool, EndpointPool)
    lines: list[str] = []
    pool.on_wait = lines.append
    return pool, lines


@pytest.mark.parametrize(
    "trouble",
    [
        "500",
        "503",
        pytest.param("html", marks=pytest.mark.all),
        pytest.param("reset", marks=pytest.mark.all),
        pytest.param("400", marks=pytest.mark.all),
        pytest.param("too_long", marks=pytest.mark.all),
        pytest.param("no_choices", marks=pytest.mark.all),
    ],
)
def test_what_fails_at_one_address_is_asked_at_the_other(trouble):
    with ChatServer(delay=0.02) as good, ChatServer(default=trouble) as bad:
        pool, _ = pool_of(good, bad)
        outcomes = ask_all(pool, 100)
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(good.answered()) == len(set(good.answered())) == 100
    # It is tried now and then, with one request at a time.
    assert 1 <= len(bad.asked()) <= 60
    # One that refuses even the plainest request refuses everything.
    assert list(pool.left_out) == ([bad.url] if trouble == "400" else [])


def test_an_address_that_only_fails_rests_and_that_is_said_once():
    with ChatServer(delay=0.01) as good, ChatServer(default="500") as bad:
        pool, lines = pool_of(good, bad)
        ask_all(pool, 200)
    assert [bad.url in line and "in a row (server_error: HTTP 500" in line for line in lines] == [
        True
    ]


@pytest.mark.all
def test_an_address_that_recovers_is_used_again():
    with ChatServer(delay=0.02) as good, ChatServer(["500"] * 15, delay=0.01) as ill:
        pool, _ = pool_of(good, ill)
        outcomes = ask_all(pool, 50, workers=20)
        # The first 15 fail. How soon it has rested enough depends on how busy the machine is.
        limit = time.monotonic() + 120
        while len(ill.answered()) <= 10 and time.monotonic() < limit:
            outcomes += ask_all(pool, 50, workers=20)
        assert len(ill.answered()) > 10
    assert all(isinstance(o, Reply) for o in outcomes)


def test_a_request_that_fails_everywhere_is_given_up_with_a_reason_and_alone():
    with ChatServer(delay=0.01) as one, ChatServer(delay=0.01) as other:
        pool, _ = pool_of(one, other)

        async def main() -> list[Reply | CallFailed]:
            outcomes = []

            async def ask(text: str) -> None:
                asked = ChatRequest((Message("user", text),), max_tokens=20)
                outcomes.append(await pool.complete(asked))

            async with pool.connected(), anyio.create_task_group() as group:
                for number in range(60):
                    group.start_soon(ask, "[[500]]" if number == 30 else f"question {number}")
            return outcomes

        failed = [o for o in anyio.run(main) if isinstance(o, CallFailed)]
    assert [f.reason[:22] for f in failed] == ["server_error: HTTP 500"]
    assert failed[0].reason.endswith("(3 attempts)")
    for server in (one, other):
        assert [row["item"] for row in server.asked()].count("500") in (1, 2)


def test_no_more_is_paid_for_than_at_one_address():
    with ChatServer(default="no_choices") as one, ChatServer(default="no_choices") as other:
        pool, _ = pool_of(one, other)
        pool.endpoints[0].replies = pool.endpoints[1].replies = 1  # known as endpoints
        (failed,) = ask_all(pool, 1)
    assert isinstance(failed, CallFailed)
    assert len(one.asked()) + len(other.asked()) == HASTY.attempts


def test_an_address_that_wants_to_be_left_alone_holds_nothing_up():
    retry = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=600)
    with ChatServer(delay=0.01) as good, ChatServer(default="429_forever", delay=0.05) as bad:
        pool, lines = pool_of(good, bad, retry=retry)
        began = time.monotonic()
        # More at once than both take: some wait in line at the address that then cools.
        outcomes = ask_all(pool, 150, workers=100)
        assert time.monotonic() - began < 300
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(bad.asked()) <= 64
    assert len([line for line in lines if "asks for no requests for 1,000,000,000 s" in line]) == 1


@pytest.mark.all
def test_where_all_want_to_be_left_alone_the_wait_is_bounded_told_and_ends_with_a_reason():
    retry = RetryPolicy(timeout=60, attempts=3, first_wait=0.01, longest_wait=0.2, silence=0.1)
    with ChatServer(default="429_forever") as one, ChatServer(default="429_forever") as other:
        pool, lines = pool_of(one, other, retry=retry)
        outcomes = ask_all(pool, 4)
        alone = ChatEndpoint(one.url, "test", retry=retry)
        alone.on_wait = lines.append
        outcomes += ask_all(alone, 2)
    assert all(isinstance(o, CallFailed) for o in outcomes)
    assert {o.reason[:20] for o in outcomes} == {"rate_limit: HTTP 429"}
    asking = [line.partition(" asks for no requests")[0] for line in lines]
    assert {one.url, other.url} <= set(asking)


@pytest.mark.all
def test_where_all_addresses_only_fail_the_run_ends():
    with ChatServer(default="500") as one, ChatServer(default="500") as other:
        pool, _ = pool_of(one, other)
        with pytest.raises(ModelError, match=r"none of 2 endpoints.*has answered none of the last"):
            ask_all(pool, 200, workers=4)


def test_where_nothing_listens_the_run_ends_and_one_such_address_is_passed_over():
    with ChatServer() as gone:
        pass
    with ChatServer() as good:
        pool, _ = pool_of(good, gone)
        assert all(isinstance(o, Reply) for o in ask_all(pool, 50))
    nowhere = endpoint_from(["http://127.0.0.1:9/v1#test", gone.spec], retry=HASTY)
    with pytest.raises(ModelError, match=r"none of 2 endpoints.*cannot be reached"):
        ask_all(nowhere, 1)


# --- which address is asked next, with a clock of the test's own


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("pnyx.models.chat.pool.time.monotonic", lambda: now[0])
    return now


def two_addresses(**policy: Any) -> tuple[EndpointPool, Any, Any]:
    retry = RetryPolicy(first_wait=8.0, longest_wait=30.0, **policy)
    pool = endpoint_from(["http://a.org/v1#m", "http://b.org/v1#m"], retry=retry)
    assert isinstance(pool, EndpointPool)
    first, second = pool._health
    return pool, first, second


def test_an_address_rests_for_longer_each_time_and_is_tried_alone(clock, monkeypatch):
    monkeypatch.setattr("random.uniform", lambda low, high: high)
    _, first, _ = two_addresses()
    assert first.ready()
    assert [first.failed() for _ in range(3)] == [False, False, True]
    assert (first.wait, first.on_trial, first.ready()) == (8.0, True, False)
    assert not first.failed()  # it was asked before it rested
    assert first.wait == 8.0
    for wait in (16.0, 30.0, 30.0):
        clock[0] += first.wait
        assert (first.wait, first.ready()) == (0, True)
        first.endpoint.limiter.under_way = 1
        assert not first.ready()  # on trial, it gets one request at a time
        first.endpoint.limiter.under_way = 0
        assert not first.failed()  # it is said once that it rests
        assert first.wait == wait
    first.served()
    assert (first.failures, first.on_trial, first.wait) == (0, False, 0)
    first.endpoint.limiter.under_way = 1
    assert first.ready()
    first.rest(5.0)
    first.rest(3.0)
    assert (first.wait, first.on_trial) == (5.0, False)


def test_a_waiting_request_goes_to_an_address_that_is_ready(clock):
    pool, first, second = two_addresses()

    def tried(**fields: Any) -> Any:
        return _Tried(before={}, **fields)

    assert not pool._is_better_off(first, tried())  # it need not wait
    first.rest(5.0)
    assert pool._is_better_off(first, tried())
    assert pool._is_better_off(first, tried(times={second: 5}))
    assert not pool._is_better_off(first, tried(times={second: 6}))  # all others were tried
    assert pool._is_better_off(first, tried(times={first: 1, second: 5}))
    assert not pool._is_better_off(first, tried(refused={second: CallFailed("rejected")}))
    pool.left_out[second.endpoint.base_url] = "gone"
    assert not pool._is_better_off(first, tried())
    clock[0] += 5.0
    pool.left_out = {first.endpoint.base_url: "gone"}
    assert pool._is_better_off(first, tried())
    second.rest(1.0)
    assert not pool._is_better_off(first, tried())


def test_a_request_gets_as_many_attempts_as_at_one_address():
    pool, first, second = two_addresses(attempts=4, connect_attempts=2)
    unreachable, late = (Retryable(CallFailed("x"), kind) for kind in ("unreachable", "timeout"))
    assert pool._attempts(_Tried(before={})) == 4
    assert pool._attempts(_Tried(before={}, last={first: unreachable})) == 2
    assert pool._attempts(_Tried(before={}, last={first: unreachable, second: late})) == 4


def test_the_least_tried_address_with_the_most_room_is_next(clock):
    pool, first, second = two_addresses()

    def after(**fields: Any) -> Any:
        return anyio.run(pool._next, _Tried(before={}, **fields))

    second.endpoint.limiter.under_way = 1
    assert after() is first
    first.endpoint.limiter.under_way = 2
    assert after() is second
    assert after(times={second: 1}) is first
    assert after(times={first: 6, second: 1}) is None
    assert after(times={first: 6}) is second
    refused = {first: CallFailed("rejected")}
    assert after(refused=refused) is second
    assert after(refused={**refused, second: CallFailed("rejected")}) is None
    second.rest(9.0)
    assert after(times={first: 6}) is second  # its last chance, though it rests
    assert after() is first
    pool.left_out[first.endpoint.base_url] = "no key"
    pool.left_out[second.endpoint.base_url] = "no model"
    with pytest.raises(ModelError, match="none of 2 endpoints can be used; the last: no model"):
        after()


def test_a_failing_address_is_mentioned_once_while_there_is_another(clock):
    pool, first, second = two_addresses()
    lines: list[str] = []
    pool.on_wait = lines.append
    failed = Retryable(CallFailed("server_error: no"), "http")
    tried = _Tried(before={}, times={first: 1})
    for _ in range(3):
        pool._failed(first, failed, tried)
    assert lines == [
        "http://a.org/v1 has failed 3 times in a row (server_error: no); it is paused, and its "
        "requests go elsewhere"
    ]
    assert (pool.retries, tried.last) == (3, {first: failed})
    pool._leave_out(first.endpoint, ModelError("gone"))
    for _ in range(3):
        pool._failed(second, failed, tried)
    assert len(lines) == 1  # there is no other
    assert pool.usable == (second.endpoint,)
    assert (pool.concurrency, pool.address) == (32, "http://a.org/v1, http://b.org/v1")
