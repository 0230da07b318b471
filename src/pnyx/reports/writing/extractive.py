"""A writer of reports without a language model: it quotes sentences within the limit.

Sentences are chosen one at a time by how well they fit the request, by what they add to those
chosen before, and by the parts of the request that they newly cover; sentences that no longer fit
the limit are skipped. A sentence found in several documents is written once and cites all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from pnyx.cases.case import Draft
from pnyx.cases.limits import Limits
from pnyx.core.records import Citation, Evidence, Sentence
from pnyx.formats import ReportRequest
from pnyx.formats.text.citations import without_notes
from pnyx.formats.text.segment import split_sentences
from pnyx.models.embed.encoder import Encoder, load_encoder
from pnyx.reports.writing.candidates import Gathered
from pnyx.search.quotable import MAX_SENTENCES, flaw, is_quotable, leans

_REFUSED = ("markup", "byline", "appeal")
"""Flaws of sentences that are never quoted."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Quotable sentences of all documents."""

    texts: list[str]  # distinct, in order of documents and of their sentences
    cited: list[list[str]]  # the documents that contain each
    document_numbers: list[int]  # number of its first document
    vectors: Floats  # of the texts [n, d]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractiveReporter:
    """Quotes the best-fitting sentences without repetition; deterministic.

    Args:
        novelty: weight in [0, 1] of what a sentence adds to those chosen before.
        coverage: bonus for covering a part of the request better than any sentence before.
        again: penalty for each sentence already chosen from the same document.
        repeat: minimum cosine, in [0, 1], of two sentences that say the same.
        least: minimum cosine of a sentence to a part of the request.
        source: weight of the worth of a sentence's document relative to how well it fits.
        leaning: penalty for a sentence that depends on the one before it.
    """

    name: ClassVar = "extractive"
    asks: ClassVar = False
    novelty: float = 0.3
    coverage: float = 0.5
    again: float = 0.2
    repeat: float = 0.85
    least: float = 0.3
    source: float = 0.5
    leaning: float = 0.2
    encoder: Encoder | None = None

    async def write(self, request: ReportRequest, gathered: Gathered, limits: Limits) -> Draft:
        """Return the report; it has no sentences if no document has one that fits."""
        import anyio

        del request  # its parts are the facets of the gathered evidence
        return await anyio.to_thread.run_sync(self._write, gathered, limits)

    def _write(self, gathered: Gathered, limits: Limits) -> Draft:
        encoder = self.encoder or load_encoder()
        candidates = _candidates(encoder, gathered.documents)
        if candidates is None:
            return Draft((), quotes=True)
        facets = encoder.encode(list(gathered.facets))
        fit = candidates.vectors @ facets.T
        worth = np.array([gathered.worth[ids[0]] for ids in candidates.cited], dtype=np.float32)
        chosen = self._choose(candidates, fit, worth, limits)
        if not chosen:
            line = f"no sentence fits: the limit is {limits}"
            short = any(limits.fits([text]) for text in candidates.texts)
            return Draft((), () if short else (line,), quotes=True)
        ordered = _in_order(chosen, candidates, fit)
        return Draft(
            tuple(
                Sentence(candidates.texts[i], tuple(map(Citation, candidates.cited[i])))
                for i in ordered
            ),
            quotes=True,
        )

    def _choose(
        self, candidates: _Candidates, fit: Floats, of_source: Floats, limits: Limits
    ) -> list[int]:
        """Return the sentences chosen, in the order of their worth."""
        general, best = fit[:, 0], fit.max(axis=1)
        worth = 0.5 * (general + best) + self.source * of_source
        worth = worth - self.leaning * np.array([leans(text) for text in candidates.texts])
        left = best >= self.least
        covered = np.zeros(fit.shape[1], dtype=np.float32)
        nearest = np.zeros(len(worth), dtype=np.float32)
        document_numbers, taken = (
            np.array(candidates.document_numbers),
            np.zeros(len(worth), dtype=np.float32),
        )
        chosen: list[int] = []
        while left.any():
            adds = np.maximum(fit - covered, 0.0).mean(axis=1)
            gain = (1 - self.novelty) * worth + self.coverage * adds - self.novelty * nearest
            gain = gain - self.again * taken
            i = int(np.argmax(np.where(left, gain, -np.inf)))
            left[i] = False
            if nearest[i] >= self.repeat:
                continue
            if not limits.fits([candidates.texts[j] for j in (*chosen, i)]):
                continue
            chosen.append(i)
            taken += document_numbers == document_numbers[i]
            covered = np.maximum(covered, fit[i])
            nearest = np.maximum(nearest, candidates.vectors @ candidates.vectors[i])
        return chosen


def _candidates(encoder: Encoder, documents: Sequence[Evidence]) -> _Candidates | None:
    cited: dict[str, list[str]] = {}
    first_document: dict[str, int] = {}
    for number, document in enumerate(documents):
        for text in map(without_notes, split_sentences(document.text)[:MAX_SENTENCES]):
            if not is_quotable(text) or text.rstrip().endswith("?") or flaw(text) in _REFUSED:
                continue
            first_document.setdefault(text, number)
            ids = cited.setdefault(text, [])
            if document.id not in ids:
                ids.append(document.id)
    if not cited:
        return None
    texts = list(cited)
    return _Candidates(
        texts, list(cited.values()), [first_document[t] for t in texts], encoder.encode(texts)
    )


def _in_order(chosen: Sequence[int], candidates: _Candidates, fit: Floats) -> list[int]:
    """Return the chosen sentences in reading order: by best-fitting part, then by document."""
    parts = fit[:, 1:] if fit.shape[1] > 1 else fit
    part_of = {i: int(np.argmax(parts[i])) for i in chosen}
    first_of_part: dict[int, int] = {}
    first_of_document: dict[tuple[int, int], int] = {}
    for rank, i in enumerate(chosen):
        first_of_part.setdefault(part_of[i], rank)
        first_of_document.setdefault((part_of[i], candidates.document_numbers[i]), rank)
    return sorted(
        chosen,
        key=lambda i: (
            first_of_part[part_of[i]],
            first_of_document[part_of[i], candidates.document_numbers[i]],
            i,
        ),
    )
