"""Trains students of late interaction: the upper layers of a small encoder.

See docs/explain/decisions/student.md; `pnyx.judging.students.late` scores with them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from pnyx.judging.questions import Support
from pnyx.judging.students.late import MAX_TOKENS, Piece, pieces_of, texts_of_question
from pnyx.judging.students.scorers import MODEL, TOKENIZER, read_tokenizer
from pnyx.judging.students.trainer import Report, Trained, Trainer, TrainingExample
from pnyx_train.libraries import require_libraries


@dataclass(frozen=True, slots=True)
class LateTrainer(Trainer):
    """Trains the upper layers of an encoder.

    Attributes:
        base: the packaged encoder, or a folder with a BERT model.
        frozen: number of lowest layers that are not trained, by default two thirds of the base's,
            but never all; the embeddings are also frozen.
        epochs: how often each pair is seen.
        batch: pairs per step, those of a question together.
        together: maximum number of pairs of one question in a step.
        learning_rate: of the layers; the head learns ten times as fast.
        order: weight of the loss on the order of a question's documents (RankNet).
        gap: documents whose targets differ by less have no order.
        seed: random seed of the order and dropout.
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
        require_libraries()
        from pnyx_train.late_net import check_base

        layers = check_base(self.base, MAX_TOKENS).num_hidden_layers
        return {**asdict(self), "frozen": self.frozen_of(layers)}

    def frozen_of(self, layers: int) -> int:
        """Return how many of a base's layers, at least one, are frozen."""
        if self.frozen is not None:
            return self.frozen
        return min(round(2 * layers / 3), layers - 1)

    def train(
        self,
        examples: Sequence[TrainingExample],
        work: Path,
        out: Path,
        report: Report,
        unseen: Sequence[Support] = (),  # noqa: ARG002 - for other kinds
    ) -> Trained:
        """See `Trainer`."""
        require_libraries()
        from pnyx_train.late_net import (
            LateNet,
            TrainingBatch,
            check_base,
            export_int8,
            load_bert,
            tokenizer_of,
            train_net,
        )

        layers = check_base(self.base, MAX_TOKENS).num_hidden_layers
        tokenizer = tokenizer_of(self.base)
        reader, pieces = read_tokenizer(tokenizer), dict[str, list[Piece]]()
        groups = {name: i for i, name in enumerate(dict.fromkeys(e.group for e in examples))}
        owners = [groups[example.group] for example in examples]

        def lesson(step: Sequence[int]) -> TrainingBatch:
            places: dict[str, int] = {}
            pairs = []
            for example in map(examples.__getitem__, step):
                p, q, d = (
                    places.setdefault(text, len(places))
                    for text in texts_of_question(example.question)
                )
                pairs.append((p, q, d))
            for text in places.keys() - pieces.keys():
                pieces[text] = pieces_of(reader, text)
            targets = [examples[i].target for i in step]
            return TrainingBatch(
                [pieces[t] for t in places], pairs, [owners[i] for i in step], targets
            )

        def make() -> LateNet:
            bert, frozen = load_bert(self.base), self.frozen_of(layers)
            return LateNet(bert, len(groups), frozen=frozen, order=self.order, gap=self.gap)

        steps = list(self.batches(examples))
        rate, seed = self.learning_rate, self.seed
        net, loss = train_net(make, steps, lesson, work, report, rate=rate, seed=seed)
        export_int8(net.bert, out / MODEL)
        (out / TOKENIZER).write_bytes(tokenizer)
        weights, intercept, intercepts = (
            part.detach().tolist() for part in (net.weights, net.intercept, net.own)
        )
        mean = intercept + sum(intercepts[owner] for owner in owners) / len(owners)
        return Trained({"weights": weights, "intercept": mean}, {"last_loss": loss})

    def batches(self, examples: Sequence[TrainingExample]) -> Iterator[list[int]]:
        """Yield the positions of the examples of each step, epoch by epoch."""
        by: dict[str, list[int]] = {}
        for position, example in enumerate(examples):
            by.setdefault(example.group, []).append(position)
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
