"""Scores pairs by late interaction: texts are encoded separately, and their sentences compared.

A small encoder is fine-tuned so that its sentence vectors indicate relevance
(docs/explain/decisions/student.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from pnyx.core.errors import InputError, shorten
from pnyx.formats.fields import number
from pnyx.judging.passages import read_passage
from pnyx.judging.questions import Support
from pnyx.judging.students.scorers import (
    LinearScorer,
    encodable,
    open_network,
)
from pnyx.models.http.flow import in_threads, wanted

FEATURES = (
    "passage-question",
    "passage-definition",
    "sentence-question",
    "sentence-definition",
    "sentence-part, mean",
    "sentence-part, best",
    "sentence-part, best 3",
)
"""Cosines of the passage, or of its closest sentence, with the question, with question and
definition together, and with their sentences (parts)."""

MAX_TOKENS = 320
"""Tokens of a piece; longer texts have several pieces."""

_MAX_PIECES = 8
"""About 1,500 words; the rest is not read."""
_MAX_CHARACTERS = 32_768
_SHORTEST = 4
"""Words: shorter sentences (headings, list numbers) are joined with the next one."""
_BEST = 3
_REMEMBERED = 4_000
"""Number of texts whose vectors are cached, about 60 MB."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


class Piece(NamedTuple):
    """A run of token ids and the number of each one's sentence, from 0; -1 for the special ones."""

    ids: Ints
    sentences: Ints


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each sentence of a text, short ones joined with the next."""
    spans: list[tuple[int, int]] = []
    end, start, words = 0, 0, 0
    for sentence in read_passage(text).sentences:
        end = text.index(sentence, end)
        if not words:
            start = end
        end += len(sentence)
        words += len(sentence.split())
        if words >= _SHORTEST:
            spans.append((start, end))
            words = 0
    if words and spans:
        spans[-1] = (spans[-1][0], end)
    elif words:
        spans.append((start, end))
    return spans or [(0, len(text))]


def pieces_of(tokenizer: Any, text: str) -> list[Piece]:
    """Cut a text into pieces of at most `MAX_TOKENS` tokens, at sentences where possible."""
    text = text[:_MAX_CHARACTERS]
    encoded = tokenizer.encode(encodable(text))
    ends = [end for _, end in sentence_spans(text)]
    ids = np.array(encoded.ids, dtype=np.int64)
    special = np.array(encoded.special_tokens_mask, dtype=bool)
    starts = np.array([start for start, _ in encoded.offsets], dtype=np.int64)
    inner = ids[~special]
    owners = np.minimum(np.searchsorted(ends, starts[~special], side="right"), len(ends) - 1)
    pieces = []
    for begin, end in _cuts(owners, MAX_TOKENS - 2)[:_MAX_PIECES]:
        body = np.concatenate([ids[:1], inner[begin:end], ids[-1:]])
        _, numbers = np.unique(owners[begin:end], return_inverse=True)
        pieces.append(Piece(body, np.concatenate([[-1], numbers, [-1]]).astype(np.int64)))
    return pieces


def _cuts(owners: Ints, most: int) -> list[tuple[int, int]]:
    """Return start and end of each run of whole sentences; a longer sentence is cut."""
    cuts: list[tuple[int, int]] = []
    begin = 0
    while begin < len(owners):
        end = min(begin + most, len(owners))
        if end < len(owners):
            whole = int(np.searchsorted(owners[begin:end], owners[end], side="left")) + begin
            end = whole if whole > begin else end
        cuts.append((begin, end))
        begin = end
    return cuts or [(0, 0)]


@dataclass(frozen=True, slots=True)
class TextVectors:
    """Unit rows, float32 [.., dimensions]: the mean of each piece's or sentence's tokens."""

    pieces: Floats
    sentences: Floats


def interact(
    passage: TextVectors, question: TextVectors, definition: TextVectors
) -> npt.NDArray[np.float64]:
    """Return the features of a pair, float64 [len(FEATURES)], in [-1, 1]; see `FEATURES`."""
    query, whole = question.pieces[0], definition.pieces[0]
    parts = np.sort((passage.sentences @ definition.sentences.T).max(axis=0))
    return np.array(
        [
            (passage.pieces @ query).max(),
            (passage.pieces @ whole).max(),
            (passage.sentences @ query).max(),
            (passage.sentences @ whole).max(),
            parts.mean(),
            parts[-1],
            parts[-_BEST:].mean(),
        ],
        dtype=np.float64,
    )


class LateScorer(LinearScorer):
    """Encodes each text once; `run` maps ids, int64 [1, tokens], to float32 [1, tokens, d]."""

    def __init__(
        self,
        run: Callable[[Ints], Floats],
        tokenizer: Any,
        weights: Sequence[float],
        intercept: float,
    ) -> None:
        super().__init__(self._interactions, weights, intercept)
        self._run, self._tokenizer = run, tokenizer
        self._recent: dict[str, TextVectors] = {}

    def _interactions(self, questions: Sequence[Support]) -> npt.NDArray[np.float64]:
        texts = [texts_of_question(question) for question in questions]
        vectors = self._encoded(text for pair_texts in texts for text in pair_texts)
        return np.stack([interact(*(vectors[text] for text in pair_texts)) for pair_texts in texts])

    def _encoded(self, texts: Iterable[str]) -> dict[str, TextVectors]:
        wanted = list(dict.fromkeys(texts))
        cached = {text: self._recent[text] for text in wanted if text in self._recent}
        new = [text for text in wanted if text not in cached]
        fresh = dict(zip(new, in_threads(self._encode, new), strict=True))
        if len(self._recent) + len(fresh) > _REMEMBERED:
            self._recent = {}
        self._recent.update(list(fresh.items())[:_REMEMBERED])
        return cached | fresh

    def _encode(self, text: str) -> TextVectors:
        wholes, sentences = [], []
        for piece in pieces_of(self._tokenizer, text):
            wanted()()
            states = self._run(piece.ids[None, :])[0]
            wholes.append(states.mean(axis=0))
            sentences.append(_means(states, piece))
        return TextVectors(_unit(np.stack(wholes)), _unit(np.concatenate(sentences)))


def texts_of_question(question: Support) -> tuple[str, str, str]:
    """Return passage, question, and question with definition."""
    return question.text, question.statement, question.sought


def _means(states: Floats, piece: Piece) -> Floats:
    """Return the mean of each sentence's tokens; of the whole piece if it has no sentence."""
    count = int(piece.sentences.max()) + 1
    if not count:
        whole: Floats = states.mean(axis=0, keepdims=True)
        return whole
    out = np.empty((count, states.shape[1]), dtype=np.float32)
    for sentence in range(count):
        out[sentence] = states[piece.sentences == sentence].mean(axis=0)
    return out


def _unit(rows: Floats) -> Floats:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = (rows / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit


def load(folder: Path, settings: Mapping[str, Any]) -> LateScorer:
    """Load a late-interaction student."""
    weights = settings.get("weights")
    coefficients = [*weights, settings.get("intercept")] if isinstance(weights, list) else []
    if len(coefficients) != len(FEATURES) + 1:
        raise InputError(f"settings: expected {len(FEATURES)} weights and an intercept")
    numbers = [float(number(n, "settings: weights and intercept")) for n in coefficients]
    session, tokenizer = open_network(folder)

    def run(ids: Ints) -> Floats:
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        states: Floats = session.run(None, feeds)[0]
        return states

    highest = max(tokenizer.get_vocab().values(), default=0)
    try:  # the maximum number of tokens, with the highest id
        run(np.full((1, MAX_TOKENS), highest))
    except Exception as error:  # onnxruntime raises classes of its own
        raise InputError(f"the model cannot be run: {shorten(str(error), 80)}") from error
    return LateScorer(run, tokenizer, numbers[:-1], numbers[-1])
