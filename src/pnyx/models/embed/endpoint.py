"""An embedding model behind any address with an OpenAI-compatible `/embeddings`.

A response is accepted only if it has one finite vector of the expected length for each text.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pnyx.core.errors import ModelError, printable, shorten
from pnyx.models.chat.types import CallFailed
from pnyx.models.http.dialect import refused_parameter
from pnyx.models.http.endpoint import Endpoint
from pnyx.models.http.flow import run_all, run_blocking
from pnyx.models.http.responses import RefusedRequest, Retryable, is_too_long
from pnyx.models.http.transport import MAX_BODY_BYTES, HttpResponse, HttpTransport, NoResponse

_BATCH, _BATCH_CHARACTERS = 64, 200_000
_LONGEST = 32_768
"""Maximum number of characters sent of a text: the windows of today's models are smaller."""
_BLANK = "."
"""Sent instead of a blank text, which many servers refuse; its vector has no meaning anyway."""
_ITS_WORDING = {400, 413, 422}
"""Status codes with which servers refuse a request for its size or its parameters."""

Vectors = NDArray[np.float32]


class EmbeddingEndpoint(Endpoint):
    """Embeds texts by requests to an endpoint; equal texts of a call are sent once.

    A text that is too long is halved until it is accepted, and so is a batch that is refused; later
    batches are as small. It may be used from several threads. Its name is `endpoint:MODEL`.
    """

    path, longest, usual_concurrency = "/embeddings", MAX_BODY_BYTES, 8
    _batch = _BATCH
    _parameters: Mapping[str, Any] = MappingProxyType({"encoding_format": "base64"})
    _dimensions: int | None = None

    @property
    def name(self) -> str:
        """Identifies the vectors, regardless of where the model is served."""
        return f"endpoint:{self.model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector, from the first answer; sends a request if there was none."""
        if self._dimensions is None:
            self.encode([_BLANK])
        assert self._dimensions is not None  # noqa: S101 - set by every answer that is believed
        return self._dimensions

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Embed texts; see `pnyx.models.embed.embedder.Embedder`."""
        unique = {text: i for i, text in enumerate(dict.fromkeys(texts))}
        if not unique:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        sent = [printable(text[:_LONGEST]) if text.strip() else _BLANK for text in unique]
        rows: list[Vectors | None] = [None] * len(sent)
        run_blocking(lambda: self._ask_all(sent, rows))
        vectors = np.stack([row for row in rows if row is not None])
        return np.ascontiguousarray(vectors[[unique[text] for text in texts]])

    async def _ask_all(self, texts: list[str], rows: list[Vectors | None]) -> None:
        async def work(batch: range) -> None:
            rows[batch.start : batch.stop] = await self._ask(wire, texts[batch.start : batch.stop])

        async with self.connected() as wire:
            await run_all(self._batches(texts), work, workers=self.limiter.ceiling)

    def _batches(self, texts: list[str]) -> Iterator[range]:
        """Yield consecutive batches of as many texts as are currently accepted."""
        start = 0
        while start < len(texts):
            stop, characters = start, 0
            while stop < len(texts) and stop - start < self._batch:
                characters += len(texts[stop])
                if characters > _BATCH_CHARACTERS and stop > start:
                    break
                stop += 1
            yield range(start, stop)
            start = stop

    async def _ask(self, wire: HttpTransport, texts: list[str]) -> list[Vectors]:
        """Return a vector for each text, with smaller batches or a shorter text if needed."""
        sent = self._parameters
        outcome = await self._exchanged(wire, texts, sent)
        if not isinstance(outcome, RefusedRequest):
            return outcome
        if outcome.status not in _ITS_WORDING:
            if outcome.status in (403, 404, 405):
                raise ModelError(self._sorter.hopeless(outcome.status, outcome.body))
            raise self._failed(self._sorter.rejected(outcome, too_long=False))
        if (name := refused_parameter(outcome.body, sent)) is not None:
            self._parameters = {k: v for k, v in self._parameters.items() if k != name}
            return await self._ask(wire, texts)
        if len(texts) > 1:
            half = len(texts) // 2
            first = await self._ask(wire, texts[:half])
            if not is_too_long(outcome.body):
                self._batch = min(self._batch, half)
            return first + await self._ask(wire, texts[half:])
        if is_too_long(outcome.body) and len(texts[0]) > 1:
            return await self._ask(wire, [texts[0][: len(texts[0]) // 2]])
        if self._parameters and self._dimensions is None:
            # Old servers say only "Bad Request"; the plainest request is tried last.
            self._parameters = {}
            return await self._ask(wire, texts)
        raise self._failed(self._sorter.rejected(outcome, too_long=is_too_long(outcome.body)))

    async def _exchanged(
        self, wire: HttpTransport, texts: list[str], parameters: Mapping[str, Any]
    ) -> list[Vectors] | RefusedRequest:
        body = {"model": self.model, "input": texts, **parameters}
        raw = json.dumps(body, separators=(",", ":")).encode()

        async def attempt() -> list[Vectors] | CallFailed | Retryable | RefusedRequest:
            async with self.limiter.slot() as slot:
                outcome = self._sort(await wire.post(raw), len(texts))
                self._learn(slot, outcome)
                return outcome

        outcome, attempts = await self._patiently(attempt)
        if isinstance(outcome, CallFailed):
            raise self._failed(outcome)
        if isinstance(outcome, Retryable):
            no = "cannot be reached" if outcome.kind == "unreachable" else "returns no vectors"
            why = f"{outcome.failed.reason} ({attempts} attempts)"
            raise ModelError(f"{self.base_url} {no}: {why}")
        return outcome

    def _sort(
        self, answer: HttpResponse | NoResponse, count: int
    ) -> list[Vectors] | CallFailed | Retryable | RefusedRequest:
        if isinstance(answer, NoResponse) or answer.status != 200:
            if isinstance(answer, HttpResponse) and answer.status == 413:
                return RefusedRequest(413, answer.text or "too large")
            return self._sorter.trouble(answer)
        try:
            value = json.loads(answer.body)
        except (ValueError, RecursionError):
            excerpt = self._sorter.safe(answer.text)
            return Retryable(CallFailed(f"not_json: {excerpt!r}"), "body", overloaded=False)
        return self._believed(_raw_vectors(value, count, self._sorter.safe))

    def _believed(self, vectors: list[NDArray[np.float64]] | str) -> list[Vectors] | CallFailed:
        if isinstance(vectors, str):
            return CallFailed(f"malformed: {self._sorter.safe(vectors)}")
        with self._lock:
            expected = self._dimensions or len(vectors[0])
            for vector in vectors:
                if len(vector) != expected:
                    return CallFailed(
                        f"malformed: a vector has {len(vector)} numbers, expected {expected}"
                    )
                if not np.isfinite(vector).all() or not vector.any():
                    return CallFailed("malformed: a vector is not finite, or all zero")
            self._dimensions = expected
        # The largest entry is scaled to 1 first, so that squares neither overflow nor underflow.
        scaled = (vector / np.abs(vector).max() for vector in vectors)
        return [(vector / np.linalg.norm(vector)).astype(np.float32) for vector in scaled]

    def _failed(self, failed: CallFailed) -> ModelError:
        return ModelError(f"{self.base_url} returns no vectors: {failed.reason}")


def _raw_vectors(
    value: object, count: int, safe: Callable[[str], str]
) -> list[NDArray[np.float64]] | str:
    """Read the response of an embeddings endpoint, or return the problem, with `safe` quotes."""
    data = value.get("data") if isinstance(value, dict) else None
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        return f"found {shorten(safe(json.dumps(value)), 100)}, expected a list of embeddings"
    if len(data) != count:
        return f"{len(data)} embeddings for {count} texts"
    places = [row.get("index", i) for i, row in enumerate(data)]
    if any(type(position) is not int for position in places) or sorted(places) != list(
        range(count)
    ):
        return "the embeddings' indexes are not those of the texts"
    vectors = [_numbers(data[i].get("embedding")) for i in np.argsort(places).tolist()]
    good = [vector for vector in vectors if vector is not None]
    return good if len(good) == count else "an embedding is not a list of numbers"


def _numbers(value: object) -> NDArray[np.float64] | None:
    """Read floats in JSON, or little-endian float32 in base64."""
    try:
        if isinstance(value, str):
            numbers = np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4")
            with np.errstate(invalid="ignore"):  # the caller refuses values that are not finite
                return numbers.astype(np.float64) if len(numbers) else None
        if isinstance(value, list) and value and all(type(x) in (int, float) for x in value):
            return np.array(value, dtype=np.float64)
    except (ValueError, OverflowError, binascii.Error):
        return None  # not numbers: the caller refuses the reply
    return None
