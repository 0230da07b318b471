"""Overhead of the endpoint client per call, and how well it uses the slots of a server.

    python lab/judging/endpoint.py [--calls 2000]

`server.py` runs in a separate process on this machine. Overhead: the server answers at once; CPU is
that of the client alone. If installed, the openai SDK (without retries) is measured on the same
requests. Saturation: the server has a fixed number of slots and a fixed latency, and rejects (429)
or queues further calls; the share is calls * latency / (slots * seconds), with the seconds from the
first call to the last reply, including the slow start.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Awaitable, Callable

import anyio
from common import serving

from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import ChatRequest, Message, Reply

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
}


def request(number: int) -> ChatRequest:
    text = "Buses are free since January. " * 30 + str(number)
    return ChatRequest((Message("user", text),), SCHEMA, max_tokens=100)


async def drive(ask: Callable[[int], Awaitable[object]], calls: int, workers: int) -> None:
    numbers = iter(range(calls))

    async def work() -> None:
        for number in numbers:
            await ask(number)

    async with anyio.create_task_group() as group:
        for _ in range(workers):
            group.start_soon(work)


async def timed(
    ask: Callable[[int], Awaitable[object]], calls: int, workers: int
) -> tuple[float, float]:
    """Return wall and CPU seconds of calls after a warm-up."""
    await drive(ask, 4 * workers, workers)
    start, used = time.perf_counter(), time.process_time()
    await drive(ask, calls, workers)
    return time.perf_counter() - start, time.process_time() - used


def asks(endpoint: ChatEndpoint) -> Callable[[int], Awaitable[None]]:
    """Return a function that sends a numbered request to an endpoint."""

    async def ask(number: int) -> None:
        assert isinstance(await endpoint.complete(request(number)), Reply)

    return ask


async def with_pnyx(url: str, calls: int, workers: int) -> tuple[float, float]:
    endpoint = ChatEndpoint(url, "test", concurrency=workers)
    async with endpoint.connected():
        return await timed(asks(endpoint), calls, workers)


async def with_sdk(url: str, calls: int, workers: int) -> tuple[float, float]:
    import openai

    async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(number: int) -> None:
            chat = request(number)
            await client.chat.completions.create(
                model="test",
                messages=[{"role": "user", "content": chat.messages[0].content}],
                max_tokens=100,
                temperature=0,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "answer", "schema": SCHEMA, "strict": True},
                },
            )

        return await timed(ask, calls, workers)


async def saturate(url: str, calls: int, ceiling: int) -> tuple[float, ChatEndpoint]:
    endpoint = ChatEndpoint(url, "test", concurrency=ceiling)
    start = time.perf_counter()
    async with endpoint.connected():
        await drive(asks(endpoint), calls, ceiling)
    return time.perf_counter() - start, endpoint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    clients = {"pnyx": with_pnyx}
    if importlib.util.find_spec("openai"):
        clients["openai SDK"] = with_sdk
    print("| client | under way | calls/s | client CPU ms/call |\n|---|---|---|---|")
    with serving() as server:
        for workers in (8, 32, 128):
            for name, run in clients.items():
                seconds, cpu = anyio.run(run, server.url, calls, workers)
                print(f"| {name} | {workers} | {calls / seconds:.0f} | {cpu / calls * 1e3:.2f} |")
    print("\n| slots | latency s | beyond | ceiling | calls | share of ideal | retries | limit |")
    print("|---|---|---|---|---|---|---|---|")
    for slots, latency, beyond, ceiling in (
        (4, 0.1, "429", 32),
        (20, 0.25, "429", 64),
        (20, 0.25, "queue", 64),
        (32, 0.25, "queue", 32),
        (50, 0.5, "429", 128),
    ):
        count = 100 * slots
        options = ("--slots", str(slots), "--latency", str(latency), "--beyond", beyond)
        with serving(*options) as server:
            seconds, endpoint = anyio.run(saturate, server.url, count, ceiling)
        share = count * latency / (slots * seconds)
        print(
            f"| {slots} | {latency} | {beyond} | {ceiling} | {count} | {share:.1%} "
            f"| {endpoint.retries} | {endpoint.limiter.limit} |"
        )


if __name__ == "__main__":
    main()
