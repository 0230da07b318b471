"""Draws steps of a teacher's verdicts (teacher.py): the same passages, its odds as the target."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from reader import Packed, Reader, Words, pack, predict

_TOKENS = 2300
_HELD_OUT = 0.1


@dataclass(frozen=True, slots=True)
class Verdicts:
    """What a teacher said of a passage: the log-odds of support of each statement."""

    text: str
    statements: tuple[str, ...]
    odds: tuple[float, ...]


def read_verdicts(paths: Sequence[Path]) -> list[Verdicts]:
    """Return a teacher's verdicts; a last line that was cut off is left out."""
    lines = [line for path in paths for line in path.read_text("utf-8").splitlines(keepends=True)]
    rows = [json.loads(line) for line in lines if line.endswith("\n")]
    return [Verdicts(r["text"], tuple(r["statements"]), tuple(r["odds"])) for r in rows]


def held_out(rows: Sequence[Verdicts]) -> tuple[list[Verdicts], list[Verdicts]]:
    """Return the rows to train on and those of a tenth of the topics."""
    topics = list(dict.fromkeys(row.statements[0] for row in rows))
    last = set(random.Random(0).sample(topics, round(_HELD_OUT * len(topics))))
    return (
        [row for row in rows if row.statements[0] not in last],
        [row for row in rows if row.statements[0] in last],
    )


def steps(
    rows: Sequence[Verdicts], words: Words, seed: int
) -> Iterator[tuple[Packed, torch.Tensor]]:
    """Yield steps without end, each row once before any comes again; targets float32 [pairs]."""
    tokens = [
        (words.passage(row.text), [words.statement(one) for one in row.statements]) for row in rows
    ]
    size = [len(passage) + sum(map(len, asked)) for passage, asked in tokens]
    rng = random.Random(seed)
    while True:
        # Rows of about one length stand together, but not always the same ones.
        order = sorted(range(len(rows)), key=lambda i: size[i] * rng.uniform(0.8, 1.25))
        blocks: list[list[int]] = [[]]
        for i in order:
            widest = max(size[i], *(size[j] for j in blocks[-1]), 0)
            if blocks[-1] and (len(blocks[-1]) + 1) * widest > _TOKENS:
                blocks.append([])
            blocks[-1].append(i)
        rng.shuffle(blocks)
        for block in blocks:
            odds = [one for i in block for one in rows[i].odds]
            yield pack([tokens[i] for i in block]), torch.sigmoid(torch.tensor(odds))


def agreement(reader: Reader, words: Words, rows: Sequence[Verdicts]) -> float:
    """Return the correlation of the reader's log-odds with the teacher's."""
    pairs = [(row.text, one) for row in rows for one in row.statements]
    odds = [one for row in rows for one in row.odds]
    return float(np.corrcoef(predict(reader, words, pairs), odds)[0, 1])
