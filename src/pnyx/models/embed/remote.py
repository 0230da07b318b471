"""The packaged encoder in Ray workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pnyx.models.embed.encoder import load_encoder
from pnyx.models.ray import RayWorkers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class RemoteEmbedder:
    """An `Embedder` that returns exactly the vectors that this process would compute."""

    def __init__(self, workers: RayWorkers) -> None:
        local = load_encoder()
        self.name, self.dimensions, self.max_tokens = local.name, local.dimensions, local.max_tokens
        self.at_once = local.at_once * workers.count
        self._workers = workers

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `pnyx.models.embed.embedder.Embedder`."""
        import numpy as np

        empty = np.zeros((0, self.dimensions), dtype=np.float32)
        return np.concatenate([empty, *self._workers.spread(_encoded, texts)])


def _encoded(texts: list[str]) -> NDArray[np.float32]:
    return load_encoder().encode(texts)
