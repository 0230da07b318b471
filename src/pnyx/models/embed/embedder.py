"""Embedders of texts, packaged or at an endpoint, and a count of the texts that they cut."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from pnyx.core.errors import InputError, shorten

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pnyx.models.http.responses import RetryPolicy


PACKAGED = "minilm-int8"
"""Name of the packaged encoder."""

_FORMS = f"{PACKAGED} (the packaged one) or http://HOST:PORT/v1#MODEL"


class Embedder(Protocol):
    """An embedder; the dot product of two vectors is the cosine similarity of the texts."""

    @property
    def name(self) -> str:
        """Identifies the vectors: embedders with the same name return the same vectors."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts, possibly none; text beyond the model's window is ignored.

        Returns:
            Float32 [n, dimensions], row i for `texts[i]`, each of Euclidean length 1.

        Raises:
            ModelError: the model cannot be used.
        """


def embedder_from(spec: str | None = None, *, retry: RetryPolicy | None = None) -> Embedder:
    """Make an embedder from the name of an embedder; no request is sent yet.

    Args:
        spec: None or `minilm-int8` for the packaged encoder; `http://HOST:PORT/v1#MODEL` (or https)
            for a server with `/embeddings` like OpenAI's, whose key is read from PNYX_API_KEY.
        retry: time limits and retries of an endpoint.

    Raises:
        InputError: unknown form, or an invalid key.
    """
    if spec is None or spec == PACKAGED:
        from pnyx.models.embed.encoder import load_encoder

        return load_encoder()
    from pnyx.models.http.addresses import read_key, read_spec, shown_address

    named = read_spec(spec)
    if named is None:
        excerpt = shorten(shown_address(spec))
        raise InputError(f"embedder: found {excerpt!r}, expected {_FORMS}")
    from pnyx.models.embed.endpoint import EmbeddingEndpoint

    key = read_key("PNYX_API_KEY")
    return EmbeddingEndpoint(*named, key, retry=retry)


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
