"""Count texts that are too long for an embedder while they are embedded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pnyx.models.embed.embedder import Embedder


class CutCounter:
    """An embedder that counts the texts whose end it does not read.

    Attributes:
        cut: the number of such texts so far; None if the embedder cannot say.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.cut = 0 if hasattr(embedder, "count_cut") else None

    @property
    def name(self) -> str:
        """See `Embedder`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """See `Embedder`."""
        return self._embedder.dimensions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """See `Embedder`."""
        vectors = self._embedder.encode(texts)
        if self.cut is not None:
            self.cut += self.count_cut(texts)
        return vectors


def cut_line(cut: int | None, max_tokens: int | None) -> str:
    """Return the notice about texts that were not read to the end; empty if there are none."""
    if not cut:
        return ""
    texts = "1 text is" if cut == 1 else f"{cut:,} texts are"
    end = "its end is" if cut == 1 else "their ends are"
    read = f"the {max_tokens} tokens that the encoder reads"
    return f"{texts} longer than {read}: {end} found by words, not by meaning"
