"""The packaged quality model in Ray workers."""

from __future__ import annotations

from collections.abc import Sequence

from pnyx.judging.students.quality.surface import QualityModel
from pnyx.models.ray import RayWorkers


class RemoteQuality:
    """A `TextQuality` with exactly the values that this process would predict."""

    def __init__(self, workers: RayWorkers) -> None:
        local = QualityModel.load()
        self.name, self.neutral, self._workers = local.name, local.neutral, workers

    def score(self, text: str) -> float | None:
        """See `TextQuality`."""
        return self.scores([text])[0]

    def scores(self, texts: Sequence[str]) -> list[float | None]:
        """Return the scores of many texts at once; see `score`."""
        return [value for part in self._workers.spread(_scores, texts) for value in part]


def _scores(texts: list[str]) -> list[float | None]:
    return list(map(QualityModel.load().score, texts))
