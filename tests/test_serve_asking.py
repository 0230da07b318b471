"""What the service behind pages and API does with many requests at once."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import pytest
from starlette.requests import Request

from asking_fixture import VOTING, service_of
from pnyx.cases.options import ArgueSpec
from pnyx.core.errors import InputError
from pnyx.models.http.flow import LeftError
from pnyx.search.options import SearchSpec
from pnyx.web.api.rows import search_row
from pnyx.web.ask.choices import chosen, chosen_for
from pnyx.web.ask.job import Job
from pnyx.web.ask.pool import Busy, Pool, SharedResults, while_there


def test_a_full_line_is_refused_and_empties():
    async def main():
        pool, go = Pool("test", workers=1, waiting=1), threading.Event()
        first, second = (asyncio.ensure_future(pool.run(lambda: go.wait(300))) for _ in range(2))
        await asyncio.sleep(0.05)
        with pytest.raises(Busy, match="too many requests"):
            await pool.run(lambda: None)
        second.cancel()  # it did not begin, so its place is free again
        await asyncio.sleep(0.05)
        third = asyncio.ensure_future(pool.run(lambda: "third"))
        go.set()
        assert await first
        assert await third == "third"
        assert await pool.run(lambda: "fourth") == "fourth"
        pool.close()

    asyncio.run(main())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a priority for each thread")
def test_arguments_let_searches_go_first():
    def priority() -> int:
        return os.getpriority(os.PRIO_PROCESS, threading.get_native_id())

    async def main() -> tuple[int, int]:
        return await service._quick.run(priority), await service._slow.run(priority)

    with service_of() as service:
        searches, arguments = asyncio.run(main())
    assert searches == priority()
    assert arguments == min(searches + 10, 19)


def test_work_ends_when_its_client_leaves():
    messages = [{"type": "http.request", "body": b""}, {"type": "http.disconnect"}]

    async def main():
        ended = asyncio.Event()

        async def receive():
            return messages.pop(0)

        async def work():
            try:
                await asyncio.sleep(300)
            finally:
                ended.set()

        with pytest.raises(LeftError):
            await while_there(Request({"type": "http"}, receive), work())
        assert ended.is_set()

    asyncio.run(main())


def test_what_fails_in_a_thread_fails_here():
    async def main():
        pool = Pool("test", workers=1, waiting=0)
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 / 0)
        assert await pool.run(lambda: 1) == 1
        pool.close()

    asyncio.run(main())


def test_results_are_shared_kept_and_forgotten():
    async def main():
        shared, made = SharedResults(2), []

        async def make(key):
            made.append(key)
            await asyncio.sleep(0.02)
            if key == "bad":
                raise InputError("bad")
            return key.upper()

        def ask(key):
            return shared.ask(key, lambda: make(key))

        assert await asyncio.gather(ask("a"), ask("a"), ask("b")) == ["A", "A", "B"]
        assert made == ["a", "b"]
        await ask("a")
        assert await ask("c") == "C"  # b was asked for longest ago
        assert shared.get("b") is None
        assert shared.get("a") == "A"
        for _ in range(2):
            with pytest.raises(InputError):
                await ask("bad")
        assert made == ["a", "b", "c", "bad", "bad"]
        leaving, staying = (asyncio.ensure_future(ask("d")) for _ in range(2))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == "D"  # who stays gets it
        alone = asyncio.ensure_future(ask("e"))
        await asyncio.sleep(0)
        alone.cancel()
        await asyncio.sleep(0.05)
        assert shared.get("e") is None  # and where nobody does, it is dropped

    asyncio.run(main())


def test_steps_are_followed_from_the_first_also_by_who_comes_late():
    async def main():
        gone = []
        job = Job()
        job.tell("found", {"documents": 3})
        for done in range(1, 4):
            job.count(done, 3, 0)
        await asyncio.sleep(0)

        async def follow(most=100):
            seen = []
            steps = job.follow(lambda: gone.append(True))
            async for step in steps:
                seen.append((step.name, dict(step.values)))
                if len(seen) == most:
                    break
            await steps.aclose()
            return seen

        early = asyncio.ensure_future(follow())
        await asyncio.sleep(0)
        job.tell("sides", {"pro": 1})
        await asyncio.sleep(0.01)
        late = asyncio.ensure_future(follow())
        await asyncio.sleep(0.01)
        job.end(None, InputError("over"))
        for one in (early, late):
            with pytest.raises(InputError, match="over"):
                await one
        assert gone == []

        job = Job()
        job.tell("found", {"documents": 3})
        await asyncio.sleep(0)
        assert await follow(most=1) == [("found", {"documents": 3})]
        assert gone == [True]
        with pytest.raises(LeftError):
            job.tell("sides", {})

    asyncio.run(main())


def test_the_servers_choices_hold_unless_a_request_chooses():
    base = SearchSpec(model="bm25", k1=2.0)
    assert chosen(base, {}) == base
    assert chosen(base, {"k1": "0.9"}) == SearchSpec(model="bm25", k1=0.9)
    argue, search = chosen_for(
        ArgueSpec(points=2), SearchSpec(stance="pro"), {"stance": "con", "search": {"mu": 5}}
    )
    assert (argue.points, argue.stance) == (2, "con")
    assert (search.stance, search.mu) == (None, 5.0)


def test_searches_at_once_are_those_one_by_one():
    asked = [f"{VOTING} {word}" for word in "tea law fine duty turnout young rich poor".split()]

    async def main(service):
        alone = [await service.search(one, k=3) for one in asked]
        service._searches = SharedResults(100)
        together = await asyncio.gather(*(service.search(one, k=3) for one in asked))
        assert list(map(search_row, together)) == list(map(search_row, alone))
        assert await service.search(asked[0], k=3) is together[0]

    with service_of() as service:
        asyncio.run(main(service))
