"""How many requests an endpoint gets at once: the law in virtual time, the gate in real tasks."""

from __future__ import annotations

import heapq
import random
import threading
import time

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pnyx.models.http.flow import Ticket
from pnyx.models.http.limiter import AdaptiveLimiter, Elsewhere, Limit, Slot
from tries import tries

BACKENDS = ["asyncio", "trio"]


def simulate(slots: int, ceiling: int, count: int, spread: float = 0.0, seed: int = 0):
    """Ask `count` questions of a server with `slots` slots that refuses what is beyond them.

    An answer takes 1 on average, a refusal 0.02; what was refused comes back after 0.25 to 0.5.

    Returns:
        The share of the ideal throughput, the refusals, and the limit at the end.
    """
    rng = random.Random(seed)
    law = Limit(ceiling)
    events: list[tuple[float, int, str, int, int]] = []
    now = work = 0.0
    todo, back, under_way, busy, refused, number = count, 0, 0, 0, 0, 0
    while True:
        while (todo or back) and under_way < law.value:
            back, todo = (back - 1, todo) if back else (back, todo - 1)
            under_way += 1
            number += 1
            if busy < slots:
                busy += 1
                takes = rng.uniform(1 - spread, 1 + spread)
                work += takes
                heapq.heappush(events, (now + takes, number, "ok", law.epoch, under_way))
            else:
                refused += 1
                heapq.heappush(events, (now + 0.02, number, "no", law.epoch, under_way))
        if not events:
            break
        now, _, kind, epoch, load = heapq.heappop(events)
        if kind == "back":
            back += 1
            continue
        if kind == "ok":
            law.served(epoch, full=under_way >= law.value)
            busy -= 1
        else:
            law.overloaded(epoch, load)
            number += 1
            heapq.heappush(events, (now + rng.uniform(0.25, 0.5), number, "back", 0, 0))
        under_way -= 1
    return work / (min(slots, ceiling) * now), refused, law.value


@settings(max_examples=tries(40), deadline=None)
@given(
    slots=st.integers(1, 64),
    ceiling=st.sampled_from([32, 64, 128]),
    spread=st.sampled_from([0.0, 0.2, 0.8]),
    seed=st.integers(0, 9),
)
def test_slots_are_used_and_refusals_stay_few(slots, ceiling, spread, seed):
    share, refused, _ = simulate(slots, ceiling, 200 * min(slots, ceiling), spread, seed)
    assert share >= 0.95
    assert refused <= 3 * ceiling


@given(
    st.integers(1, 50),
    st.lists(st.tuples(st.booleans(), st.integers(0, 3), st.integers(0, 60)), max_size=200),
)
def test_the_limit_stays_within_its_bounds_and_falls_once_a_round(ceiling, events):
    law = Limit(ceiling)
    for served, age, load in events:
        before, epoch = law.value, law.epoch
        if served:
            law.served(epoch - age, full=True)
            assert before <= law.value <= ceiling
        else:
            lowered = law.overloaded(epoch - age, load)
            assert lowered == (age == 0)
            assert 1 <= law.value <= before
            assert lowered or law.value == before


def test_slow_start_doubles_up_to_the_ceiling():
    law = Limit(40, first=2)
    rounds = []
    while law.value < 40:
        rounds.append(law.value)
        for _ in range(law.value):
            law.served(law.epoch, full=True)
    assert rounds == [2, 4, 8, 16, 32]


def test_an_untried_limit_does_not_grow():
    law = Limit(40)
    first = law.value
    for _ in range(100):
        law.served(law.epoch, full=False)
    assert law.value == first


def test_a_limit_that_holds_no_more_is_left_behind_and_one_that_is_lifted_is_found():
    law = Limit(64)

    def run(slots: int, rounds: int) -> None:
        for _ in range(rounds):
            epoch, value = law.epoch, law.value
            for load in range(1, value + 1):
                if load <= slots:
                    law.served(epoch, full=True)
                else:
                    law.overloaded(epoch, load)

    run(10, 50)
    assert law.value in (7, 8, 9, 10, 11)
    run(60, 300)
    assert law.value >= 50
    run(3, 50)
    assert law.value <= 4


def test_a_ceiling_is_at_least_one():
    with pytest.raises(ValueError, match="at least 1"):
        AdaptiveLimiter(0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_limit_holds_and_all_start_in_order(backend):
    pace = AdaptiveLimiter(5, first=5)
    asked: list[int] = []
    started: list[int] = []
    most = 0

    async def one(number: int) -> None:
        nonlocal most
        asked.append(number)
        async with pace.slot() as slot:
            started.append(number)
            most = max(most, pace.under_way)
            await anyio.sleep(0.001)
            slot.served()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(50):
                group.start_soon(one, number)

    anyio.run(main, backend=backend)
    assert most == 5
    # Trio shuffles the tasks that it wakes in one step: no more than the slots.
    apart = max(abs(started.index(number) - asked.index(number)) for number in asked)
    assert apart == 0 if backend == "asyncio" else apart <= 5
    assert (pace.under_way, pace.waiting, pace.free) == (0, 0, 5)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(5))
def test_cancellation_loses_no_slot(backend, seed):
    rng = random.Random(seed)
    pace = AdaptiveLimiter(3, first=3)
    done = 0

    async def one() -> None:
        nonlocal done
        with anyio.move_on_after(rng.choice([0.0, 0.002, 0.01, 600])):
            async with pace.slot() as slot:
                await anyio.sleep(rng.random() * 0.004)
                slot.served()
                done += 1

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for number in range(60):
                group.start_soon(one)
                if number == 20:
                    pace.cool(0.02)

    anyio.run(main, backend=backend)
    assert done > 0
    assert (pace.under_way, pace.waiting) == (0, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_cool_downs_extend_and_do_not_add_up(backend):
    pace = AdaptiveLimiter(4, first=4)
    started: list[float] = []
    ends: list[float] = []

    async def one() -> None:
        async with pace.slot():
            started.append(time.monotonic())

    async def main() -> None:
        async with anyio.create_task_group() as group, pace.slot():
            for seconds in (0.05, 0.1, 0.1, 0.02):
                pace.cool(seconds)
                assert pace.cooling <= 0.1  # it does not add up
            ends.append(time.monotonic() + 0.099)
            assert pace.free <= 0
            for _ in range(12):
                group.start_soon(one)
            await anyio.sleep(0.05)
            begin = time.monotonic()
            pace.cool(0.1)  # while others wait already
            assert pace.cooling <= 0.1
            ends.extend((begin, begin + 0.1))

    anyio.run(main, backend=backend)
    first, again, last = ends
    assert len(started) == 12
    assert min(started) >= first
    assert not [at for at in started if again < at < last]
    assert pace.cooling == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_first_in_line_may_leave_while_the_endpoint_cools(backend):
    pace = AdaptiveLimiter(1, first=1)

    async def one(seconds: float) -> bool:
        with anyio.move_on_after(seconds):
            async with pace.slot():
                return True
        return False

    async def main() -> None:
        pace.cool(0.08)
        async with anyio.create_task_group() as group:
            group.start_soon(one, 0.02)
            await anyio.lowlevel.checkpoint()
            assert await one(600)

    anyio.run(main, backend=backend)


def test_event_loops_in_several_threads_share_one_limit():
    pace = AdaptiveLimiter(4, first=4)
    lock = threading.Lock()
    done = most = 0

    async def one() -> None:
        nonlocal done, most
        async with pace.slot() as slot:
            with lock:
                done += 1
                most = max(most, pace.under_way)
            await anyio.sleep(0.002)
            slot.served()

    async def main() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(one)

    threads = [
        threading.Thread(target=anyio.run, args=(main,), kwargs={"backend": backend})
        for backend in BACKENDS * 2
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert done == 200
    assert most == 4
    assert (pace.under_way, pace.waiting) == (0, 0)


def test_an_event_loop_that_died_in_line_holds_nobody_up():
    pace = AdaptiveLimiter(1, first=1)
    turn = []

    async def abandon() -> None:
        turn.append(Ticket(Slot()))
        pace._turns[turn[0]] = None

    anyio.run(abandon)  # its loop is closed, and it never left the line

    async def main() -> None:
        with anyio.fail_after(60):
            async with pace.slot():
                pass

    anyio.run(main)
    assert (pace.under_way, pace.waiting) == (0, 0)


@pytest.mark.parametrize("backend", BACKENDS)
def test_who_waits_may_go_elsewhere_as_soon_as_the_endpoint_cools(backend):
    pace = AdaptiveLimiter(1, first=1)
    left = []

    async def one(number: int) -> None:
        try:
            async with pace.slot(lambda: pace.cooling > 0):
                pass
        except Elsewhere:
            left.append(number)

    async def main() -> None:
        async with pace.slot(), anyio.create_task_group() as group:
            for number in range(5):
                group.start_soon(one, number)
            await anyio.wait_all_tasks_blocked()
            assert pace.waiting == 5
            pace.cool(3600)
        await one(5)

    anyio.run(main, backend=backend)
    assert sorted(left) == [0, 1, 2, 3, 4, 5]
    assert (pace.under_way, pace.waiting) == (0, 0)
