"""Detects perspectives with a network in which statements attend to the passage, not vice versa.

docs/explain/decisions/perspective-detector.md describes its training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.core.native import free_memory
from pnyx.judging.passages import MAX_WINDOW, pieces_of, read_passage
from pnyx.judging.questions import Support
from pnyx.judging.students.scorers import CombinedScorer, encodable, open_network, read_parts
from pnyx.models.embed.encoder import Encoder, load_encoder
from pnyx.models.http.flow import in_threads

READER, CLOSENESS = "reader", "closeness"
MOST_PASSAGE, MOST_STATEMENT = 256, 48
"""Tokens, including the special ones at both ends."""

MATRICES = "matrices.safetensors"
"""Contains `NAME.steps`, `.scales` and `.zeros` of each matrix `NAME.weights` of the graph."""

CHANGES = "changes.safetensors"
"""Contains `NAME.left` [rows, rank] and `NAME.right` [rank, columns], half floats, whose product is
added to the matrix of that name in another folder."""

LEVELS = 63
"""Weights are in [-63, 63]: sums of two products then fit in sixteen bits, which processors without
VNNI use."""

_MOST_CHARACTERS = 32_768

_TOGETHER = 16
"""Statements read with a passage at once; each gets the same result as alone."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating[Any]]
Bytes = npt.NDArray[np.uint8]


class Ids:
    """Token ids of texts, by a tokenizer of `read_tokenizer`."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, text: str, most: int) -> list[int]:
        """Return at most `most` ids, the special ones at both ends."""
        ids: list[int] = self._tokenizer.encode(encodable(text[:_MOST_CHARACTERS])).ids
        return ids if len(ids) <= most else [*ids[: most - 1], ids[-1]]


class ReaderScorer:
    """The network's log-odds of support.

    `run` maps token ids of a passage, int64 [tokens], and of statements, int64 [statements,
    MOST_STATEMENT], -1 in empty slots, to float [statements, 3]: log-odds of supports, opposes and
    neither. The result of a statement does not depend on the others.
    """

    def __init__(self, run: Callable[[Ints, Ints], Floats], ids: Ids) -> None:
        self._run, self._ids = run, ids

    def __call__(self, questions: Sequence[Support]) -> list[float | str]:
        """Return the log-odds of support of each pair, or why there are none."""
        classes = self.classes([(question.text, question.statement) for question in questions])
        odds = classes[:, 0] - np.logaddexp(classes[:, 1], classes[:, 2])
        return ["no_number: the model gives none" if np.isnan(z) else float(z) for z in odds]

    def classes(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """Return float64 [pairs, 3], log-odds of supports, opposes and neither.

        A pair is a passage and a statement; NaN if the network gives no number.
        """
        about: dict[str, list[int]] = {}
        for position, (text, _) in enumerate(pairs):
            about.setdefault(text, []).append(position)
        todo = [
            (text, at[start : start + _TOGETHER])
            for text, at in about.items()
            for start in range(0, len(at), _TOGETHER)
        ]

        def read(block: tuple[str, list[int]]) -> Floats:
            return self._classes(block[0], [pairs[position][1] for position in block[1]])

        logits = np.zeros((len(pairs), 3))
        for (_, at), rows in zip(todo, in_threads(read, todo), strict=True):
            logits[at] = rows
        return logits

    def _classes(self, text: str, statements: Sequence[str]) -> Floats:
        rows = np.full((len(statements), MOST_STATEMENT), -1)
        for row, statement in zip(rows, statements, strict=True):
            ids = self._ids(statement, MOST_STATEMENT)
            row[: len(ids)] = ids
        return self._run(np.array(self._ids(text, MOST_PASSAGE)), rows).astype(np.float64)


def closest_sentences(encoder: Encoder, questions: Sequence[Support]) -> list[float | str]:
    """Return the largest cosine of each statement to one to three sentences, in [-1, 1]."""
    sentences = {q.text: read_passage(q.text).sentences or (q.text,) for q in questions}
    texts = dict.fromkeys(
        sentence for text_sentences in sentences.values() for sentence in text_sentences
    )
    names = list(texts | dict.fromkeys(q.statement for q in questions))
    vectors = dict(zip(names, encoder.encode(names), strict=True))
    runs = {t: _runs(np.stack([vectors[s] for s in sentence])) for t, sentence in sentences.items()}
    return [float((runs[q.text] @ vectors[q.statement]).max()) for q in questions]


def _runs(rows: Floats) -> Floats:
    sums = np.cumsum(np.concatenate([np.zeros_like(rows[:1]), rows]), axis=0)
    sizes = range(1, min(MAX_WINDOW, len(rows)) + 1)
    runs = np.concatenate([sums[size:] - sums[:-size] for size in sizes])
    length = np.linalg.norm(runs, axis=1, keepdims=True)
    normalized: Floats = runs / np.maximum(length, 1e-9)
    return normalized


class _Pieces:
    """Scores a text as its best passage: it supports what any of its passages supports."""

    def __init__(self, scorer: CombinedScorer) -> None:
        self._scorer = scorer

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        supports, owners = [], []
        for position, question in enumerate(questions):
            for piece in pieces_of(question.text):
                supports.append(Support("", piece, question.statement))
                owners.append(position)
        best: list[float | str | None] = [None] * len(questions)
        for position, score in zip(owners, self._scorer.score(supports), strict=True):
            best[position] = _better(best[position], score)
        return [score for score in best if score is not None]


def _better(best: float | str | None, score: float | str) -> float | str:
    """Return the higher score; a missing one is never replaced by another's."""
    if best is None or isinstance(score, str):
        return score
    return best if isinstance(best, str) else max(best, score)


def load(folder: Path, settings: Mapping[str, Any]) -> _Pieces:
    """Load the detector; InputError if its files or settings are not valid."""
    parts = read_parts(settings, (READER, CLOSENESS))
    (_, reading), (closeness_settings, closeness) = parts.values()
    close = partial(closest_sentences, load_encoder(str(closeness_settings.get("encoder"))))
    return _Pieces(CombinedScorer([(open_reader(folder), reading), (close, closeness)]))


def open_reader(folder: Path, base: Path | None = None) -> ReaderScorer:
    """Load the network alone; InputError if its files are not valid.

    With a `base`, matrices and tokenizer are from that folder, and `folder` has `CHANGES`.
    """

    def matrices(source: Path) -> dict[str, npt.NDArray[Any]]:
        return read_matrices(source) if base is None else read_matrices(base, source / CHANGES)

    session, tokenizer = open_network(folder, matrices, base or folder)
    free_memory()  # of the unpacked matrices, of which the session has its own copy

    def run(passage: Ints, statements: Ints) -> Floats:
        logits: Floats = session.run(None, {"passage": passage, "statements": statements})[0]
        return logits

    return ReaderScorer(run, Ids(tokenizer))


def unpacked(steps: Bytes, scales: npt.NDArray[np.float32], zeros: Bytes) -> Floats:
    """Return float32 [rows, blocks times block] from four bits each, the lower half first."""
    matrix = _halves(steps).reshape(*scales.shape, -1).astype(np.float32)
    matrix -= _halves(zeros).reshape(*scales.shape, 1)
    matrix *= scales[:, :, None]
    return matrix.reshape(len(scales), -1)


def _halves(packed: Bytes) -> Bytes:
    return np.stack([packed & 15, packed >> 4], axis=-1)


def read_matrices(folder: Path, changes: Path | None = None) -> dict[str, npt.NDArray[Any]]:
    """Return integers and column scales; unpacked by ONNX Runtime they would take 2 GB.

    `changes` is a file like `CHANGES`.
    """
    from safetensors import safe_open
    from safetensors.numpy import load_file

    changed = load_file(changes) if changes else {}
    matrices: dict[str, npt.NDArray[Any]] = {}
    with safe_open(folder / MATRICES, framework="numpy") as stored:
        for name in dict.fromkeys(key.rpartition(".")[0] for key in stored.keys()):  # noqa: SIM118
            parts = (stored.get_tensor(f"{name}.{p}") for p in ("steps", "scales", "zeros"))
            matrix = unpacked(*parts)
            if f"{name}.left" in changed:
                left, right = (changed[f"{name}.{p}"].astype(np.float32) for p in ("left", "right"))
                matrix += left @ right
            matrices[f"{name}.weights"], matrices[f"{name}.columns"] = _whole(matrix)
    return matrices


def _whole(matrix: Floats) -> tuple[npt.NDArray[np.int8], Floats]:
    """Return a matrix, transposed, as integers, and the scale of each of its columns."""
    most = np.abs(matrix).max(axis=1, keepdims=True)
    scale = np.maximum(most, np.float32(1e-12)) / np.float32(LEVELS)
    np.rint(np.divide(matrix, scale, out=matrix), out=matrix)
    return np.ascontiguousarray(matrix.astype(np.int8).T), scale[:, 0]
