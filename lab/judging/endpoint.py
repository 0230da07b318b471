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
import contextlib
import importlib.util
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio

from pnyx.models.chat.endpoint import ChatEndpoint
from pnyx.models.chat.types import ChatRequest, Message, Reply

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
}


@contextlib.contextmanager
def server(*options: str) -> Iterator[str]:
    """Run `server.py` and yield its address."""
    command = [sys.executable, str(Path(__file__).with_name("server.py")), *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


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


async def with_pnyx(url: str, calls: int, workers: int) -> tuple[float, float]:
    endpoint = ChatEndpoint(url, "test", concurrency=workers)

    async def ask(number: int) -> None:
        assert isinstance(await endpoint.complete(request(number)), Reply)

    async with endpoint.connected():
        await drive(ask, 4 * workers, workers)
        start, used = time.perf_counter(), time.process_time()
        await drive(ask, calls, workers)
        return time.perf_counter() - start, time.process_time() - used


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

        await drive(ask, 4 * workers, workers)
        start, used = time.perf_counter(), time.process_time()
        await drive(ask, calls, workers)
        return time.perf_counter() - start, time.process_time() - used


async def saturate(url: str, calls: int, ceiling: int) -> tuple[float, ChatEndpoint]:
    endpoint = ChatEndpoint(url, "test", concurrency=ceiling)

    async def ask(number: int) -> None:
        assert isinstance(await endpoint.complete(request(number)), Reply)

    start = time.perf_counter()
    async with endpoint.connected():
        await drive(ask, calls, ceiling)
    return time.perf_counter() - start, endpoint


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000)
    calls = parser.parse_args().calls
    clients = {"pnyx": with_pnyx}
    if importlib.util.find_spec("openai"):
        clients["openai SDK"] = with_sdk
    print("| client | under way | calls/s | client CPU ms/call |\n|---|---|---|---|")
    with server() as url:
        for workers in (8, 32, 128):
            for name, run in clients.items():
                seconds, cpu = anyio.run(run, url, calls, workers)
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
        with server(*options) as url:
            seconds, endpoint = anyio.run(saturate, url, count, ceiling)
        share = count * latency / (slots * seconds)
        print(
            f"| {slots} | {latency} | {beyond} | {ceiling} | {count} | {share:.1%} "
            f"| {endpoint.retries} | {endpoint.limiter.limit} |"
        )


if __name__ == "__main__":
    main()
