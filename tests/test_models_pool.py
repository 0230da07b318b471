"""Several addresses of one model, asked as one, over real HTTP."""

from __future__ import annotations

import collections

import anyio
import pytest

from chat_server import ChatServer
from pnyx.errors import InputError, ModelError
from pnyx.models.base import ChatModel
from pnyx.models.chat import ChatRequest, Message, Patience, Reply, endpoint_from
from pnyx.models.ledger import Ledger
from pnyx.models.pool import EndpointPool

HASTY = Patience(timeout=2, attempts=3, connect_attempts=2, first_wait=0.01, longest_wait=0.1)


def ask_all(model: ChatModel, count: int, workers: int = 12) -> list[object]:
    outcomes: list[object] = []
    numbers = iter(range(count))

    async def work() -> None:
        for number in numbers:
            asked = ChatRequest((Message("user", f"question {number}"),), max_tokens=20)
            outcomes.append(await model.complete(asked))

    async def main() -> None:
        async with model.connected(), anyio.create_task_group() as group:
            for _ in range(workers):
                group.start_soon(work)

    anyio.run(main)
    return outcomes


def test_all_endpoints_work_and_the_faster_works_more():
    with ChatServer(delay=0.02) as fast, ChatServer(delay=0.2) as slow:
        ledger = Ledger()
        pool = endpoint_from([fast.spec, slow.spec], patience=HASTY, concurrency=6, ledger=ledger)
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
        pool = endpoint_from([good.spec, bad.spec], patience=HASTY)
        lines: list[str] = []
        pool.on_retry = lines.append
        outcomes = ask_all(pool, 40)
    assert all(isinstance(o, Reply) for o in outcomes)
    assert len(good.answered()) == 40
    assert len([line for line in lines if "is left out" in line]) == 1
    assert "key is refused" in lines[-1]
    assert list(pool.left_out) == [bad.url]
    assert pool.concurrency == 32


def test_when_none_is_left_the_run_ends():
    with ChatServer(default="401") as one, ChatServer(default="404") as other:
        pool = endpoint_from([one.spec, other.spec], patience=HASTY)
        asked = ChatRequest((Message("user", "q"),))
        with pytest.raises(ModelError, match="none of 2 endpoints") as caught:
            anyio.run(pool.complete, asked)
    assert "\n" not in str(caught.value)


def test_an_endpoint_that_cools_down_is_passed_over():
    with ChatServer() as one, ChatServer() as other:
        pool = endpoint_from([one.spec, other.spec], patience=HASTY)
        assert isinstance(pool, EndpointPool)
        pool.endpoints[0].pace.cool(30)
        ask_all(pool, 10, workers=2)
    assert collections.Counter(map(len, (one.asked(), other.asked()))) == {0: 1, 10: 1}


def test_different_models_are_refused_and_the_same_address_counts_once():
    with pytest.raises(InputError, match="must serve one model, found a, b"):
        endpoint_from(["http://h/v1#a", "http://i/v1#b"])
    assert repr(endpoint_from(["http://h/v1#a", "http://h/v1#a"])).startswith("ChatEndpoint")
    with pytest.raises(InputError, match="found nothing"):
        endpoint_from([])
