"""Detects perspectives: a network in which statements attend to the passage.

Passage and statements form one sequence. A token attends to its own text and the passage, so the
passage sees no statement and is read once for all that are asked about it. To the network's
log-odds of support the closeness of the untrained encoder is added. How it was trained:
docs/decisions/perspective-detector.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.corpora.segment import split_words
from pnyx.errors import InputError, shorten
from pnyx.judge.passages import MAX_WINDOW, read_passage
from pnyx.judge.questions import Support
from pnyx.judge.students.combined import CombinedScorer, standard_of
from pnyx.judge.students.segments import read_tokenizer
from pnyx.models.encoder import Encoder, load_encoder

__all__ = [
    "CLOSENESS",
    "MODEL",
    "MOST_PASSAGE",
    "MOST_STATEMENT",
    "READER",
    "TOKENIZER",
    "Ids",
    "ReaderScorer",
    "closest_sentences",
    "closest_window",
    "load",
    "open_reader",
    "pieces_of",
]

READER, CLOSENESS = "reader", "closeness"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
MOST_PASSAGE, MOST_STATEMENT = 256, 48
"""Tokens, the special ones at both ends included."""

_WORDS, _WHOLE = 100, 128
"""Words: longer texts are cut into passages of 100, on which it was trained."""
_MOST_PIECES = 40
"""Some 4,000 words; what comes after is not read."""
_MOST_CHARACTERS = 32_768

_TOGETHER = 8
"""Statements that are asked about a passage at once."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]


class Ids:
    """Token ids of texts.

    Args:
        tokenizer: of `read_tokenizer`.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str, most: int) -> list[int]:
        """Return at most `most` ids, the special ones at both ends."""
        # The tokenizer takes no lone surrogates.
        plain = text[:_MOST_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(plain).ids
        return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]


class ReaderScorer:
    """What the network says: its log-odds of support.

    Args:
        run: from ids, places in their text and texts (0 passage, from 1 statements), int64
            [1, tokens], and the numbers of the statements, int64 [statements], to the log-odds of
            each, float [statements].
        ids: of texts.
    """

    def __init__(self, run: Callable[[Ints, Ints, Ints, Ints], Floats], ids: Ids) -> None:
        self._run, self._ids = run, ids

    def __call__(self, questions: Sequence[Support]) -> list[float | str]:
        """Return the log-odds of each pair, or why there are none."""
        about: dict[str, list[int]] = {}
        for place, question in enumerate(questions):
            about.setdefault(question.text, []).append(place)
        todo = [
            (text, at[start : start + _TOGETHER])
            for text, at in about.items()
            for start in range(0, len(at), _TOGETHER)
        ]

        def odds(one: tuple[str, list[int]]) -> list[float | str]:
            return self._odds(one[0], [questions[place].statement for place in one[1]])

        found: dict[int, float | str] = {}
        workers = min(os.cpu_count() or 1, len(todo))
        with ThreadPoolExecutor(max(1, workers), thread_name_prefix="pnyx-student") as pool:
            for (_, at), row in zip(todo, pool.map(odds, todo), strict=True):
                found.update(zip(at, row, strict=True))
        return [found[place] for place in range(len(questions))]

    def _odds(self, text: str, statements: Sequence[str]) -> list[float | str]:
        rows = [self._ids(text, MOST_PASSAGE), *(self._ids(s, MOST_STATEMENT) for s in statements)]
        tokens = [token for row in rows for token in row]
        places = [place for row in rows for place in range(len(row))]
        texts = [number for number, row in enumerate(rows) for _ in row]
        asked = np.arange(1, len(rows))
        ids, own, numbers = (np.array([row]) for row in (tokens, places, texts))
        found = self._run(ids, own, numbers, asked)
        return ["no_number: the model gives none" if np.isnan(z) else float(z) for z in found]


def closest_sentences(encoder: Encoder, questions: Sequence[Support]) -> list[float | str]:
    """Return the largest cosine of each statement to one to three sentences, in [-1, 1].

    Almost what `closest_window` returns, in a quarter of the time: sentences are encoded once, and
    their vectors added.

    Args:
        encoder: of texts.
        questions: with words in text and statement.
    """
    sentences = {q.text: read_passage(q.text).sentences or (q.text,) for q in questions}
    texts = dict.fromkeys(sentence for own in sentences.values() for sentence in own)
    names = list(texts | dict.fromkeys(q.statement for q in questions))
    vectors = dict(zip(names, encoder.encode(names), strict=True))
    runs = {t: _runs(np.stack([vectors[s] for s in own])) for t, own in sentences.items()}
    return [float((runs[q.text] @ vectors[q.statement]).max()) for q in questions]


def _runs(rows: Floats) -> Floats:
    """Return the unit vectors of all runs of one, two and three rows."""
    sums = np.cumsum(np.concatenate([np.zeros_like(rows[:1]), rows]), axis=0)
    sizes = range(1, min(MAX_WINDOW, len(rows)) + 1)
    runs = np.concatenate([sums[size:] - sums[:-size] for size in sizes])
    length = np.linalg.norm(runs, axis=1, keepdims=True)
    found: Floats = runs / np.maximum(length, 1e-9)
    return found


def closest_window(encoder: Encoder, questions: Sequence[Support]) -> list[float | str]:
    """Return the largest cosine of each statement to a window of its passage, in [-1, 1].

    Args:
        encoder: of texts.
        questions: with words in text and statement.
    """
    windows = {q.text: read_passage(q.text).windows or (q.text,) for q in questions}
    texts = dict.fromkeys(window for own in windows.values() for window in own)
    names = list(texts | dict.fromkeys(q.statement for q in questions))
    vectors = dict(zip(names, encoder.encode(names), strict=True))
    stacked = {text: np.stack([vectors[window] for window in own]) for text, own in windows.items()}
    return [float((stacked[q.text] @ vectors[q.statement]).max()) for q in questions]


def pieces_of(text: str) -> list[str]:
    """Return what a text is judged by: itself, or passages of 100 words of a longer one."""
    pieces = split_words(text, _WORDS)[:_MOST_PIECES]
    return pieces if len(text.split(maxsplit=_WHOLE)) > _WHOLE else [text]


class _Pieces:
    """Scores a text as its best passage: it supports what one of them supports."""

    def __init__(self, scorer: CombinedScorer) -> None:
        self._scorer = scorer

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judge.students.judge.Scorer`."""
        asked, owners = [], []
        for place, question in enumerate(questions):
            for piece in pieces_of(question.text):
                asked.append(Support(question.id, piece, question.statement))
                owners.append(place)
        best: list[float | str | None] = [None] * len(questions)
        for place, score in zip(owners, self._scorer.score(asked), strict=True):
            best[place] = _better(best[place], score)
        return [score for score in best if score is not None]


def _better(known: float | str | None, score: float | str) -> float | str:
    """Return the higher score; one that is missing is never made up for by another's."""
    if known is None or isinstance(score, str):
        return score
    return known if isinstance(known, str) else max(known, score)


def load(folder: Path, settings: Mapping[str, Any]) -> _Pieces:
    """Load the detector.

    Raises:
        InputError: its files or settings are not what it needs.
    """
    parts = settings.get("parts")
    if not isinstance(parts, dict) or set(parts) != {READER, CLOSENESS}:
        found = ", ".join(map(str, parts)) if isinstance(parts, dict) else parts
        problem = f"parts: found {shorten(found, 80)}, expected {READER}, {CLOSENESS}"
        raise InputError(problem)
    standards = {name: standard_of(name, parts[name]) for name in (READER, CLOSENESS)}
    encoder = load_encoder(str(parts[CLOSENESS]["settings"].get("encoder")))

    def closeness(questions: Sequence[Support]) -> list[float | str]:
        return closest_sentences(encoder, questions)

    reader = open_reader(folder)
    return _Pieces(CombinedScorer([(reader, standards[READER]), (closeness, standards[CLOSENESS])]))


def open_reader(folder: Path) -> ReaderScorer:
    """Load the network alone.

    Raises:
        InputError: its files are not what it needs.
    """
    from pnyx.models.encoder import open_session

    try:
        session = open_session((folder / MODEL).read_bytes())
        ids = Ids(read_tokenizer((folder / TOKENIZER).read_bytes()))
    except Exception as error:  # onnxruntime raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error

    def run(tokens: Ints, places: Ints, texts: Ints, asked: Ints) -> Floats:
        feeds = {"input_ids": tokens, "places": places, "texts": texts, "asked": asked}
        found: Floats = session.run(None, feeds)[0]
        return found

    return ReaderScorer(run, ids)
