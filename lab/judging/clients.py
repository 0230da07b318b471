"""Ask the questions of files through one client, the engine or a peer; measure time and memory.

The benchmarks run it for each client with the interpreter of that client's environment; it imports
only the standard library and the client. Its only argument is JSON:

    client       a name of CLIENTS
    url          of the server's API
    work         JSONL files to ask one after another; the first is the warm-up, not measured
    concurrency  maximum number of concurrent requests
    folder       folder for stores and caches; each file of work gets new ones

The last line of output is JSON. For each measured file it contains `wall` and `cpu` (seconds of
this process with all its threads) and `yes`, the number of questions with the verdict of the
server, read from its JSON; for the process `megabytes`, its largest resident size, and `versions`.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Ask = Callable[[Sequence[Row], Path], int]
TIMEOUT = 120.0


async def bounded(
    rows: Sequence[Row], ask: Callable[[Row], Awaitable[Any]], concurrency: int
) -> int:
    """Ask all questions with a semaphore, and return the number of yes; failures do not count."""
    semaphore = asyncio.Semaphore(concurrency)

    async def one(row: Row) -> Any:
        async with semaphore:
            return await ask(row)

    answers = await asyncio.gather(*map(one, rows), return_exceptions=True)
    failures = [answer for answer in answers if isinstance(answer, BaseException)]
    if len(failures) == len(answers):
        raise failures[0]
    return sum(answer == "yes" for answer in answers)


def pnyx(url: str, concurrency: int) -> Ask:
    """Ask by `pnyx.ask`: schema, strict parsing, adaptive concurrency, a commit for each reply."""
    from pnyx.judging.base import ask
    from pnyx.judging.llm.judge import LlmJudge
    from pnyx.judging.questions import Support
    from pnyx.judging.store.completions import StoredModel
    from pnyx.judging.store.store import Store
    from pnyx.models.chat.endpoint import ChatEndpoint

    def run(rows: Sequence[Row], folder: Path) -> int:
        # A fresh endpoint for each run, so that each ramps up from the start.
        endpoint = ChatEndpoint(url, "test", concurrency=concurrency)
        with Store(folder / "store.sqlite") as store:
            judge = LlmJudge(StoredModel(endpoint, store, concurrency))
            questions = [Support(row["id"], row["text"], row["statement"]) for row in rows]
            return sum(getattr(answer, "value", None) is True for answer in ask(judge, questions))

    return run


def minima(url: str, concurrency: int) -> Ask:
    """Ask by `run_batched` of minima-llm with its cache, then `json.loads`; no rate limit."""
    from minima_llm import BatchConfig, MinimaLlmConfig, MinimaLlmRequest, OpenAIMinimaLlm

    def run(rows: Sequence[Row], folder: Path) -> int:
        config = MinimaLlmConfig(
            base_url=url,
            model="test",
            rpm=0,
            max_outstanding=concurrency,
            timeout_s=TIMEOUT,
            cache_dir=str(folder),
            batch=BatchConfig(num_workers=concurrency, max_failures=None),
        )
        requests = [
            MinimaLlmRequest(
                request_id=row["id"],
                messages=row["messages"],
                temperature=0.0,
                max_tokens=row["max_tokens"],
                extra={"response_format": shape(row)},
            )
            for row in rows
        ]

        async def main() -> list[Any]:
            backend = OpenAIMinimaLlm(config)
            try:
                return await backend.run_batched(requests)
            finally:
                await backend.aclose()

        texts = [getattr(result, "text", "{}") for result in asyncio.run(main())]
        return sum(json.loads(text).get("answer") == "yes" for text in texts)

    return run


def deepeval(url: str, concurrency: int) -> Ask:
    """Ask by `evaluate` of deepeval; its metric asks its `LocalModel` for a pydantic model."""
    from deepeval import evaluate
    from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
    from deepeval.metrics import BaseMetric
    from deepeval.models import LocalModel
    from deepeval.test_case import LLMTestCase

    model = LocalModel(model="test", base_url=url, api_key="none", temperature=0)
    verdict = verdict_model()

    class Supported(BaseMetric):  # type: ignore[misc]
        def __init__(self) -> None:
            self.threshold = 0.5
            self.model = model
            self.evaluation_model = model.get_model_name()
            self.async_mode = True

        async def a_measure(self, test_case: Any, *_: Any, **__: Any) -> float:
            reply, _cost = await model.a_generate(test_case.input, schema=verdict)
            self.score = float(reply.answer == "yes")
            self.reason = reply.reason
            self.success = self.score >= self.threshold
            return self.score

        def measure(self, *_: Any, **__: Any) -> float:
            raise NotImplementedError

        def is_successful(self) -> bool:
            return bool(self.success)

        @property
        def __name__(self) -> str:
            return "Supported"

    def run(rows: Sequence[Row], folder: Path) -> int:
        cases = [LLMTestCase(input=one_text(row), actual_output=row["statement"]) for row in rows]
        with contextlib.chdir(folder):
            result = evaluate(
                cases,
                [Supported()],
                async_config=AsyncConfig(max_concurrent=concurrency),
                display_config=DisplayConfig(
                    show_indicator=False, print_results=False, inspect_after_run=False
                ),
                cache_config=CacheConfig(write_cache=True, use_cache=False),
            )
        scores = [m.score for r in result.test_results for m in r.metrics_data or []]
        return sum(score == 1.0 for score in scores)

    return run


def deepeval_model(url: str, concurrency: int) -> Ask:
    """Ask by deepeval's `LocalModel.a_generate` alone, with a semaphore; stores nothing."""
    from deepeval.models import LocalModel

    model = LocalModel(model="test", base_url=url, api_key="none", temperature=0)
    verdict = verdict_model()

    async def ask(row: Row) -> str:
        reply, _cost = await model.a_generate(one_text(row), schema=verdict)
        return str(reply.answer)

    return lambda rows, _folder: asyncio.run(bounded(rows, ask, concurrency))


def ragas(url: str, concurrency: int) -> Ask:
    """Ask by `llm_factory(...).agenerate` of ragas for a pydantic model, with its disk cache."""
    from openai import AsyncOpenAI
    from ragas.cache import DiskCacheBackend
    from ragas.llms import llm_factory

    verdict = verdict_model()

    def run(rows: Sequence[Row], folder: Path) -> int:
        async def main() -> int:
            async with AsyncOpenAI(base_url=url, api_key="none", timeout=TIMEOUT) as client:
                cache = DiskCacheBackend(str(folder))
                llm = llm_factory("test", client=client, cache=cache, temperature=0.0)

                async def ask(row: Row) -> str:
                    reply: Any = await llm.agenerate(one_text(row), verdict)
                    return str(reply.answer)

                return await bounded(rows, ask, concurrency)

        return asyncio.run(main())

    return run


def openai(url: str, concurrency: int) -> Ask:
    """Ask by the openai SDK with `asyncio.gather`, a semaphore and `json.loads`; stores nothing."""
    from openai import AsyncOpenAI

    async def main(rows: Sequence[Row]) -> int:
        async with AsyncOpenAI(base_url=url, api_key="none", timeout=TIMEOUT) as client:

            async def ask(row: Row) -> str:
                done = await client.chat.completions.create(
                    model="test",
                    messages=row["messages"],
                    temperature=0,
                    max_tokens=row["max_tokens"],
                    response_format=shape(row),
                )
                return str(json.loads(done.choices[0].message.content or "{}")["answer"])

            return await bounded(rows, ask, concurrency)

    return lambda rows, _folder: asyncio.run(main(rows))


def httpx2(url: str, concurrency: int) -> Ask:
    """Ask by httpx2 with `asyncio.gather`, a semaphore and `json.loads`; stores nothing."""
    import httpx2 as library

    async def main(rows: Sequence[Row]) -> int:
        async with library.AsyncClient(timeout=TIMEOUT, trust_env=False) as client:

            async def ask(row: Row) -> str:
                body = {
                    "model": "test",
                    "messages": row["messages"],
                    "temperature": 0,
                    "max_tokens": row["max_tokens"],
                    "response_format": shape(row),
                }
                done = await client.post(url + "/chat/completions", json=body)
                done.raise_for_status()
                return str(json.loads(done.json()["choices"][0]["message"]["content"])["answer"])

            return await bounded(rows, ask, concurrency)

    return lambda rows, _folder: asyncio.run(main(rows))


CLIENTS: dict[str, tuple[Callable[[str, int], Ask], tuple[str, ...]]] = {
    "pnyx": (pnyx, ("pnyx", "httpx2")),
    "minima-llm": (minima, ("minima-llm",)),
    "deepeval": (deepeval, ("deepeval", "openai")),
    "deepeval-model": (deepeval_model, ("deepeval", "openai")),
    "ragas": (ragas, ("ragas", "instructor", "openai")),
    "openai": (openai, ("openai",)),
    "httpx2": (httpx2, ("httpx2",)),
}
"""Name -> the function that asks, and the packages whose versions are reported."""


def shape(row: Row) -> Row:
    described = {"name": "support", "schema": row["schema"], "strict": True}
    return {"type": "json_schema", "json_schema": described}


def one_text(row: Row) -> str:
    """Return the messages as a single text, which some peers require."""
    return "\n\n".join(message["content"] for message in row["messages"])


def verdict_model() -> Any:
    from typing import Literal

    from pydantic import create_model

    fields: dict[str, Any] = {
        "reason": (str, ...),
        "evidence": (str, ...),
        "answer": (Literal["yes", "no"], ...),
        "confidence": (float, ...),
    }
    model = create_model("Verdict", __module__=__name__, **fields)
    globals()["Verdict"] = model  # ragas pickles its cache
    return model


def main() -> None:
    job = json.loads(sys.argv[1])
    client, packages = CLIENTS[job["client"]]
    rows = [
        [json.loads(line) for line in Path(path).read_text().splitlines()] for path in job["work"]
    ]
    measured = []
    talk = io.StringIO()
    with contextlib.redirect_stdout(talk):
        ask = client(job["url"], job["concurrency"])
        for number, part in enumerate(rows):
            folder = Path(job["folder"]) / f"{job['client']}-{number}"
            folder.mkdir()
            wall, cpu = time.perf_counter(), time.process_time()
            yes = ask(part, folder)
            cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
            measured.append({"wall": wall, "cpu": cpu, "yes": yes})
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    versions = {name: version(name) for name in packages}
    print(json.dumps({"runs": measured[1:], "megabytes": megabytes, "versions": versions}))


if __name__ == "__main__":
    main()
