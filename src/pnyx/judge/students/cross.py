"""Scores pairs with a small cross-encoder: question, definition and passage in one sequence."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pnyx.errors import InputError, shorten
from pnyx.judge.questions import Support
from pnyx.judge.students.late import MODEL, TOKENIZER
from pnyx.judge.students.segments import read_tokenizer

__all__ = ["MAX_TOKENS", "TYPES", "CrossScorer", "ids_of_pair", "load"]

MAX_TOKENS = 512
TYPES = 2
"""Of tokens: 0 asked, 1 passage."""
_MOST_ASKED = 256
"""Tokens of question and definition; the passage gets all others."""
_MAX_CHARACTERS = 16_384

Ints = npt.NDArray[np.int64]


def ids_of_pair(tokenizer: Any, question: Support) -> tuple[Ints, Ints]:
    """Return token ids and types (0 asked, 1 passage), int64 [tokens], at most `MAX_TOKENS`.

    What does not fit is cut off at the end: of the definition what is beyond 256 tokens, of the
    passage the rest.
    """
    asked = question.sought
    first = _encode(tokenizer, asked)[: _MOST_ASKED - 1]
    second = _encode(tokenizer, question.text)[1:-1][: MAX_TOKENS - len(first) - 2]
    end = _encode(tokenizer, "")[-1]
    ids = [*first, *([] if first[-1] == end else [end]), *second, end]
    types = [0] * (len(ids) - len(second) - 1) + [1] * (len(second) + 1)
    return np.array(ids, dtype=np.int64), np.array(types, dtype=np.int64)


def _encode(tokenizer: Any, text: str) -> list[int]:
    # The tokenizer takes no lone surrogates.
    plain = text[:_MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
    ids: list[int] = tokenizer.encode(plain).ids
    return ids


class CrossScorer:
    """Runs each pair through the model.

    Args:
        run: from ids and types, int64 [1, tokens], to the log-odds of yes.
        tokenizer: of `read_tokenizer`.
    """

    def __init__(self, run: Callable[[Ints, Ints], float], tokenizer: Any) -> None:
        self._run, self._tokenizer = run, tokenizer

    def score(self, questions: Sequence[Support]) -> list[float | str]:
        """See `pnyx.judge.students.judge.Scorer`."""
        workers = min(os.cpu_count() or 1, len(questions))
        with ThreadPoolExecutor(max(1, workers), thread_name_prefix="pnyx-student") as pool:
            return list(pool.map(self._score, questions))

    def _score(self, question: Support) -> float | str:
        ids, types = ids_of_pair(self._tokenizer, question)
        z = self._run(ids[None, :], types[None, :])
        return "no_number: the model gives none" if np.isnan(z) else _logistic(z)


def _logistic(z: float) -> float:
    return float(np.exp(-np.logaddexp(0.0, -z)))


def load(folder: Path, settings: Mapping[str, Any]) -> CrossScorer:  # noqa: ARG001
    """Load a cross-encoder.

    Raises:
        InputError: its files are not what it needs.
    """
    from pnyx.models.encoder import open_session

    try:
        session = open_session((folder / MODEL).read_bytes())
        tokenizer = read_tokenizer((folder / TOKENIZER).read_bytes())
        highest = max(tokenizer.get_vocab().values())
    except Exception as error:  # onnxruntime raises classes of its own
        raise InputError(f"the model cannot be loaded: {shorten(str(error), 80)}") from error

    def run(ids: Ints, types: Ints) -> float:
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "types": types}
        return float(session.run(None, feeds)[0][0])

    try:  # as many tokens as there can be, and any
        run(np.full((1, MAX_TOKENS), highest), np.full((1, MAX_TOKENS), TYPES - 1))
    except Exception as error:
        raise InputError(f"the model cannot be run: {shorten(str(error), 80)}") from error
    return CrossScorer(run, tokenizer)
