"""Embedders of texts: the packaged encoder, or any `/v1/embeddings` endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

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
