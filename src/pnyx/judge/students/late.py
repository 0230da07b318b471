"""Scores pairs with a fine-tuned encoder by late interaction.

Question, definition and passage are encoded apart, and only their sentences' vectors meet: each
question and each passage is encoded once, however many pairs it is in.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.judge.students.segments import Piece, pieces_of, read_tokenizer

__all__ = ["FEATURES", "MODEL", "TOKENIZER", "LateScorer", "TextVectors", "interact", "load"]

MODEL = "model.onnx"
TOKENIZER = "tokenizer.json"

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
definition in one, and with the sentences (parts) of these."""

_BEST = 3
_REMEMBERED = 4_000
"""Texts whose vectors are kept, some 60 MB."""

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TextVectors:
    """A text as late interaction sees it.

    Attributes:
        pieces: float32 [pieces, dimensions], unit rows: the mean of each piece's tokens.
        sentences: float32 [sentences, dimensions], unit rows: the mean of each sentence's tokens.
    """

    pieces: Floats
    sentences: Floats


def interact(
    passage: TextVectors, question: TextVectors, definition: TextVectors
) -> npt.NDArray[np.float64]:
    """Return the features of a pair, float64 [len(FEATURES)], in [-1, 1]; see `FEATURES`.

    Args:
        passage: that is judged.
        question: alone.
        definition: question and definition in one.
    """
    asked, whole = question.pieces[0], definition.pieces[0]
    parts = np.sort((passage.sentences @ definition.sentences.T).max(axis=0))
    return np.array(
        [
            (passage.pieces @ asked).max(),
            (passage.pieces @ whole).max(),
            (passage.sentences @ asked).max(),
            (passage.sentences @ whole).max(),
            parts.mean(),
            parts[-1],
            parts[-_BEST:].mean(),
        ],
        dtype=np.float64,
    )


class LateScorer:
    """Encodes each text once, and scores pairs by a linear function of how their sentences meet.

    Args:
        run: from token ids, int64 [1, tokens], to hidden states, float32 [1, tokens, dimensions].
        tokenizer: of `read_tokenizer`.
        weights: of `FEATURES`.
        intercept: log-odds where all features are 0.
    """

    def __init__(
        self,
        run: Callable[[npt.NDArray[np.int64]], Floats],
        tokenizer: Any,
        weights: Sequence[float],
        intercept: float,
    ) -> None:
        self._run, self._tokenizer = run, tokenizer
        self._weights, self._intercept = np.asarray(weights, dtype=np.float64), intercept
        self._recent: dict[str, TextVectors] = {}

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judge.students.judge.Scorer`."""
        known = self._encoded(text for q in questions for text in (q.text, *_asked(q)))
        features = np.stack(
            [interact(known[q.text], *(known[text] for text in _asked(q))) for q in questions]
        )
        z = np.einsum("ij,j->i", features, self._weights) + self._intercept
        return [float(p) for p in np.exp(-np.logaddexp(0.0, -z))]

    def _encoded(self, texts: Iterable[str]) -> dict[str, TextVectors]:
        """Return the vectors of texts, each encoded at most once."""
        wanted = list(dict.fromkeys(texts))
        found = {text: self._recent[text] for text in wanted if text in self._recent}
        new = [text for text in wanted if text not in found]
        workers = min(os.cpu_count() or 1, len(new))
        if workers > 1:
            with ThreadPoolExecutor(workers, thread_name_prefix="pnyx-student") as pool:
                vectors = list(pool.map(self._encode, new))
        else:
            vectors = [self._encode(text) for text in new]
        fresh = dict(zip(new, vectors, strict=True))
        if len(self._recent) + len(fresh) > _REMEMBERED:
            self._recent = {}
        self._recent.update(list(fresh.items())[:_REMEMBERED])
        return found | fresh

    def _encode(self, text: str) -> TextVectors:
        wholes, sentences = [], []
        for piece in pieces_of(self._tokenizer, text):
            states = self._run(piece.ids[None, :])[0]
            wholes.append(states.mean(axis=0))
            sentences.append(_means(states, piece))
        return TextVectors(_unit(np.stack(wholes)), _unit(np.concatenate(sentences)))


def _asked(question: Support) -> tuple[str, str]:
    return question.statement, question.sought


def _means(states: Floats, piece: Piece) -> Floats:
    """Return the mean of each sentence's tokens; of the whole piece where it holds no sentence."""
    count = int(piece.sentences.max()) + 1
    if not count:
        whole: Floats = states.mean(axis=0, keepdims=True)
        return whole
    out = np.empty((count, states.shape[1]), dtype=np.float32)
    for number in range(count):
        out[number] = states[piece.sentences == number].mean(axis=0)
    return out


def _unit(rows: Floats) -> Floats:
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, None]
    unit: Floats = (rows / np.maximum(norms, 1e-12)).astype(np.float32)
    return unit


def load(folder: Path, settings: Mapping[str, Any]) -> LateScorer:
    """Load a late-interaction student.

    Raises:
        InputError: its files or numbers are not what it needs.
    """
    from pnyx.models.encoder import open_session

    weights = settings.get("weights")
    given = [*weights, settings.get("intercept")] if isinstance(weights, list) else []
    numbers = [float(n) for n in given if isinstance(n, int | float) and np.isfinite(n)]
    if len(numbers) != len(given) or len(given) != len(FEATURES) + 1:
        raise InputError(f"settings: expected {len(FEATURES)} weights and an intercept")
    try:
        session = open_session((folder / MODEL).read_bytes())
        tokenizer = read_tokenizer((folder / TOKENIZER).read_bytes())
    except Exception as error:  # onnxruntime raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error

    def run(ids: npt.NDArray[np.int64]) -> Floats:
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        states: Floats = session.run(None, feeds)[0]
        return states

    return LateScorer(run, tokenizer, numbers[:-1], numbers[-1])
