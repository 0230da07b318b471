"""Judges, the encoder and the quality model in Ray workers."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pnyx.core.errors import ModelError
from pnyx.judging.answers import Answer
from pnyx.judging.base import Emit, Judge, ask, chunks_by_text, refuse_other_kinds
from pnyx.judging.questions import JudgeQuestion
from pnyx.judging.students.surface_quality import QualityModel
from pnyx.models.embed.encoder import load_encoder
from pnyx.models.http.flow import run_all
from pnyx_ray.cluster import RayCluster, ray_cluster

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_LEAST, _CHUNK = 8, 64
"""Minimum and maximum questions per call: the loss with a worker, seconds of work."""


class RemoteJudge:
    """The judge `make(*args)`, created once in each worker; its answers are the same."""

    def __init__(self, cluster: RayCluster, make: Callable[..., Judge], *args: str) -> None:
        judge = make(*args)
        self.name, self.kinds, self.card = judge.name, judge.kinds, judge.card
        self._cluster, self._make, self._args = cluster, make, args

    async def answer(self, questions: Sequence[JudgeQuestion], emit: Emit) -> None:
        """Answer each question through `emit`, those about one text together."""
        import anyio

        refuse_other_kinds(self, questions)
        ordered = sorted(enumerate(questions), key=lambda pair: repr(pair[1].beginning))
        waiting = 2 * self._cluster.count
        size = max(_LEAST, min(_CHUNK, len(ordered) // (4 * waiting)))
        limiter = anyio.CapacityLimiter(waiting)

        async def answered(chunk: Sequence[tuple[int, JudgeQuestion]]) -> None:
            answers = await anyio.to_thread.run_sync(
                self._answers,
                [question for _, question in chunk],
                limiter=limiter,
                abandon_on_cancel=True,
            )
            for (position, _), answer in zip(chunk, answers, strict=True):
                emit(position, answer)

        await run_all(chunks_by_text(ordered, size, _CHUNK), answered, workers=waiting)

    def _answers(self, questions: list[JudgeQuestion]) -> list[Answer]:
        answers: list[Answer] = self._cluster.call(
            _answer, self._make, self._args, self.name, questions
        )
        return answers


@functools.cache
def _made(make: Callable[..., Judge], *args: str) -> Judge:
    return make(*args)


def _answer(
    make: Callable[..., Judge], args: Sequence[str], name: str, questions: list[Any]
) -> list[Answer]:
    """Answer questions in a worker."""
    judge = _made(make, *args)
    if judge.name != name:
        raise ModelError(f"the judge is {judge.name}, expected {name}")
    return [replace(answer, question=None) for answer in ask(judge, questions)]


class RemoteQuality:
    """A `TextQuality` with exactly the values that this process would predict."""

    def __init__(self, cluster: RayCluster) -> None:
        local = QualityModel.load()
        self.name, self.neutral, self._cluster = local.name, local.neutral, cluster

    def score(self, text: str) -> float | None:
        """See `TextQuality`."""
        return self.scores([text])[0]

    def scores(self, texts: Sequence[str]) -> list[float | None]:
        """Return the scores of many texts at once; see `score`."""
        return [value for part in self._cluster.spread(_scores, texts) for value in part]


def _scores(texts: list[str]) -> list[float | None]:
    return list(map(QualityModel.load().score, texts))


class RemoteEmbedder:
    """An `Embedder` that returns exactly the vectors that this process would compute."""

    def __init__(self, cluster: RayCluster) -> None:
        local = load_encoder()
        self.name, self.dimensions, self.max_tokens = local.name, local.dimensions, local.max_tokens
        self.at_once = local.at_once * cluster.count
        self._cluster = cluster

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `pnyx.models.embed.embedder.Embedder`."""
        import numpy as np

        empty = np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([empty, *self._cluster.spread(_encoded, texts)])


def _encoded(texts: list[str]) -> NDArray[np.float32]:
    return load_encoder().encode(texts)


class RayWorkers:
    """What runs in the workers of a cluster; see `pnyx.judging.workers.Workers`."""

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster

    def judge(self, make: Callable[..., Judge], *args: str) -> RemoteJudge:
        """See `Workers`."""
        return RemoteJudge(self._cluster, make, *args)

    def embedder(self) -> RemoteEmbedder:
        """See `Workers`."""
        return RemoteEmbedder(self._cluster)

    def quality(self) -> RemoteQuality:
        """See `Workers`."""
        return RemoteQuality(self._cluster)


@contextlib.contextmanager
def ray_workers(engine: str) -> Iterator[RayWorkers]:
    """Connect to the workers of a cluster; raises what `ray_cluster` raises."""
    with ray_cluster(engine) as cluster:
        yield RayWorkers(cluster)
