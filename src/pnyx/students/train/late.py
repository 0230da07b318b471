"""A small encoder, fine-tuned so that its sentence vectors indicate relevance.

docs/decisions/student.md says what was tried.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from pnyx.students.late import MAX_TOKENS
from pnyx.students.network import TOKENIZER
from pnyx.students.train.base import Course, Example, Trained, Trainer, need_torch


@dataclass(frozen=True, slots=True)
class LateTrainer(Trainer):
    """Trains the upper layers of an encoder.

    Attributes:
        base: the packaged encoder, or a folder with a BERT model.
        frozen: layers from below that stay as they are, by default two thirds of the base's, but
            never all; the embeddings do, too.
        epochs: how often each pair is seen.
        batch: pairs a step, those of a question together.
        together: at most so many pairs of one question in a step.
        learning_rate: of the layers; what stands on them learns ten times as fast.
        order: weight of the loss on the order of a question's documents (RankNet).
        gap: documents whose targets differ by less are in no order.
        seed: of order and dropout.
    """

    kind: ClassVar[str] = "late-interaction"
    base: str = "minilm-int8"
    frozen: int | None = None
    epochs: int = 2
    batch: int = 32
    together: int = 8
    learning_rate: float = 5e-5
    order: float = 1.0
    gap: float = 0.2
    seed: int = 0

    @property
    def what(self) -> str:
        """See `Trainer`."""
        return "late interaction of a fine-tuned encoder"

    def plan(self) -> Mapping[str, Any]:
        """See `Trainer`; `frozen` is the number of layers."""
        need_torch()
        from pnyx.students.train.bert import check_base

        layers = check_base(self.base, MAX_TOKENS).num_hidden_layers
        return {**asdict(self), "frozen": self.frozen_of(layers)}

    def frozen_of(self, layers: int) -> int:
        """Return how many of a base's layers, at least one, stay as they are."""
        if self.frozen is not None:
            return self.frozen
        return min(round(2 * layers / 3), layers - 1)

    def _train(self, course: Course) -> Trained:
        need_torch()
        from pnyx.students.train.bert import check_base, tokenizer_of
        from pnyx.students.train.late_net import train_net

        check_base(self.base, MAX_TOKENS)
        tokenizer = tokenizer_of(self.base)
        weights, intercept, loss = train_net(self, tokenizer, course)
        (course.out / TOKENIZER).write_bytes(tokenizer)
        return Trained({"weights": weights, "intercept": intercept}, {"last_loss": loss})

    def batches(self, examples: Sequence[Example]) -> Iterator[list[int]]:
        """Yield the places of the examples of each step, an epoch after the other."""
        by: dict[str, list[int]] = {}
        for place, example in enumerate(examples):
            by.setdefault(example.group, []).append(place)
        for epoch in range(self.epochs):
            rng = random.Random(f"{self.seed} {epoch}")
            parts = []
            for places in by.values():
                drawn = rng.sample(places, len(places))
                size = math.ceil(len(drawn) / math.ceil(len(drawn) / self.together))
                parts += [drawn[i : i + size] for i in range(0, len(drawn), size)]
            rng.shuffle(parts)
            batch: list[int] = []
            for part in parts:
                batch += part
                if len(batch) >= self.batch:
                    yield batch
                    batch = []
            if batch:
                yield batch
