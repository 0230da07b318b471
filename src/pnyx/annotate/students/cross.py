"""A small cross-encoder: question, definition and passage meet in every layer.

The start decides: from an encoder that has never seen two texts at once it learns slowly, so this
is for a base that has (`--base`), for many labels, or for a GPU (docs/decisions/student.md).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pnyx.annotate.students.base import Example, Report, Trained, need_torch
from pnyx.judge.questions import Support
from pnyx.judge.students.cross import MAX_TOKENS, TYPES
from pnyx.judge.students.late import MODEL, TOKENIZER

__all__ = ["CrossTrainer"]


@dataclass(frozen=True, slots=True)
class CrossTrainer:
    """Trains a cross-encoder.

    Attributes:
        base: the packaged encoder, or a folder with a BERT model.
        frozen: layers from below that stay as they are; the embeddings do, too, if any does.
        epochs: how often each pair is seen.
        batch: pairs a step.
        learning_rate: of the layers; the head learns ten times as fast.
        seed: of order, head and dropout.
    """

    base: str = "minilm-int8"
    frozen: int = 0
    epochs: int = 2
    batch: int = 32
    learning_rate: float = 5e-5
    seed: int = 0

    @property
    def kind(self) -> str:
        """See `Trainer`."""
        return "cross-encoder"

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return "cross-encoder"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`."""
        need_torch()
        from pnyx.annotate.students.bert import check_base

        check_base(self.base, MAX_TOKENS, TYPES)
        return asdict(self)

    def train(
        self,
        examples: Sequence[Example],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - what it learns is of its examples alone
    ) -> Trained:
        """See `Trainer`."""
        need_torch()
        from pnyx.annotate.students.bert import check_base, tokenizer_of
        from pnyx.annotate.students.cross_net import train_net

        check_base(self.base, MAX_TOKENS, TYPES)
        tokenizer = tokenizer_of(self.base)
        loss = train_net(self, examples, tokenizer, work, out / MODEL, report)
        (out / TOKENIZER).write_bytes(tokenizer)
        return Trained({}, {"last_loss": loss})

    def batches(self, count: int) -> Iterator[list[int]]:
        """Yield the places of the examples of each step, an epoch after the other."""
        for epoch in range(self.epochs):
            drawn = list(range(count))
            random.Random(f"{self.seed} {epoch}").shuffle(drawn)
            yield from (drawn[i : i + self.batch] for i in range(0, count, self.batch))
