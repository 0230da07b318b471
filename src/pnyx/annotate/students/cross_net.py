"""The network of the cross-encoder, in torch; imported only where it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from pnyx.annotate.students.base import Example, Report
from pnyx.annotate.students.bert import Bert, export_int8, load_bert, optimizer_of
from pnyx.annotate.students.loop import Loop, Pace
from pnyx.judge.students.cross import ids_of_pair
from pnyx.judge.students.segments import read_tokenizer

if TYPE_CHECKING:
    from pnyx.annotate.students.cross import CrossTrainer

__all__ = ["CrossNet", "train_net"]

_TOGETHER = 8
"""Pairs run at once; the gradients of a step add up over several such runs."""


class CrossNet(nn.Module):  # type: ignore[misc]
    """Encoder and a linear head on the mean of its last states.

    Args:
        bert: the encoder.
    """

    def __init__(self, bert: Bert) -> None:
        super().__init__()
        self.bert = bert
        self.head = nn.Linear(bert.shape.hidden_size, 1)

    def forward(
        self, input_ids: torch.Tensor, attention_mask: torch.Tensor, types: torch.Tensor
    ) -> torch.Tensor:
        """Return log-odds of yes, float32 [batch]."""
        states = self.bert(input_ids, attention_mask, types)
        weights = attention_mask.to(states.dtype).unsqueeze(-1)
        z: torch.Tensor = self.head((states * weights).sum(1) / weights.sum(1))[:, 0]
        return z


def train_net(
    trainer: CrossTrainer,
    examples: Sequence[Example],
    tokenizer: bytes,
    work: Path,
    out: Path,
    report: Report,
) -> float | None:
    """Train, export the model to `out`, return the last loss."""
    torch.manual_seed(trainer.seed)
    bert = load_bert(trainer.base)
    if trainer.frozen:
        bert.freeze(trainer.frozen)
    net = CrossNet(bert)
    steps = list(trainer.batches(len(examples)))
    learned = {name: p for name, p in net.named_parameters() if p.requires_grad}
    optimizer = optimizer_of(learned, trainer.learning_rate)
    pace = Pace(
        len(steps), 0.1, decay=True, max_grad_norm=1.0, checkpoint_steps=50, seed=trainer.seed
    )
    reader = read_tokenizer(tokenizer)

    def backward(step: int) -> float:
        drawn = [examples[place] for place in steps[step]]
        read = sorted(
            ((*ids_of_pair(reader, e.question), e.target) for e in drawn), key=lambda x: len(x[0])
        )
        total = 0.0
        for start in range(0, len(read), _TOGETHER):
            block = read[start : start + _TOGETHER]
            width = len(block[-1][0])
            ids, types, mask = (torch.zeros((len(block), width), dtype=torch.long) for _ in "123")
            for row, (one, kinds, _) in enumerate(block):
                ids[row, : len(one)] = torch.from_numpy(one)
                types[row, : len(one)] = torch.from_numpy(kinds)
                mask[row, : len(one)] = 1
            target = torch.tensor([target for _, _, target in block])
            z = net(ids, mask, types)
            loss = nn.functional.binary_cross_entropy_with_logits(z, target, reduction="sum")
            (loss / len(read)).backward()
            total += float(loss.detach()) / len(read)
        return total

    net.train()
    loss = Loop(optimizer, learned, pace).run(backward, work, report)
    ids = torch.randint(1000, 2000, (2, 12))
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "types": ids % 2}
    export_int8(net, inputs, out)
    return loss
