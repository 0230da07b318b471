"""What a step of a language model's training sees, and its loss.

The loss of a step is the mean over all tokens that its pairs teach, however the pairs are parted
for the memory's sake.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.annotate.students.base import Report
from pnyx.annotate.students.loop import Loop, Pace

__all__ = ["CausalLoop", "Lesson", "Rate"]

_IGNORED = -100


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the reply to learn, as tokens."""

    prompt: list[int]
    reply: list[int]


@dataclass(frozen=True, slots=True)
class Rate:
    """What a step takes; see `LoraTrainer` for the fields."""

    batch: int
    device_batch: int
    learning_rate: float
    beta2: float
    weight_decay: float
    seed: int

    def drawn(self, step: int, count: int) -> list[int]:
        """Return which of `count` lessons a step sees: each one once an epoch."""
        each = math.ceil(count / self.batch)
        epoch, place = divmod(step, each)
        order = list(range(count))
        random.Random(f"{self.seed} {epoch}").shuffle(order)
        return order[place * self.batch : (place + 1) * self.batch]


class CausalLoop:
    """Trains the adapter of a model.

    Args:
        model: with its adapter (peft).
        pace: of the steps.
        rate: what each takes.
        pad: any token to fill up with.
    """

    def __init__(self, model: Any, pace: Pace, rate: Rate, *, pad: int) -> None:
        import torch

        self._model, self._rate, self._pad = model, rate, pad
        learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
        optimizer = torch.optim.AdamW(
            learned.values(),
            lr=rate.learning_rate,
            betas=(0.9, rate.beta2),
            weight_decay=rate.weight_decay,
        )
        self._loop = Loop(optimizer, learned, pace)

    def run(self, lessons: Sequence[Lesson], work: Path, report: Report) -> float | None:
        """Train from the last checkpoint on; see `Loop.run`."""
        self._model.train()
        loss = self._loop.run(lambda step: self._backward(step, lessons), work, report)
        self._model.eval()
        return loss

    def _backward(self, step: int, lessons: Sequence[Lesson]) -> float:
        drawn = [lessons[i] for i in self._rate.drawn(step, len(lessons))]
        taught = sum(len(lesson.reply) for lesson in drawn)
        total = 0.0
        for part in self._parts(drawn):
            loss = self._loss(part) / taught
            total += float(loss.detach())
            loss.backward()
        return total

    def _parts(self, lessons: Sequence[Lesson]) -> Iterator[list[Lesson]]:
        """Yield lessons of like length together, as many as go through the model at once."""
        ordered = sorted(lessons, key=lambda lesson: len(lesson.prompt) + len(lesson.reply))
        for start in range(0, len(ordered), self._rate.device_batch):
            yield ordered[start : start + self._rate.device_batch]

    def _loss(self, lessons: Sequence[Lesson]) -> Any:
        """Return the sum of the loss over the tokens of the replies.

        Scores of the vocabulary are computed only where a reply stands: over the prompts they
        would take more memory than all else.
        """
        import torch

        width = max(len(lesson.prompt) + len(lesson.reply) for lesson in lessons)
        ids, wanted = [], []
        for lesson in lessons:
            fill = width - len(lesson.prompt) - len(lesson.reply)
            ids.append([*lesson.prompt, *lesson.reply, *[self._pad] * fill])
            wanted.append([_IGNORED] * len(lesson.prompt) + lesson.reply + [_IGNORED] * fill)
        device = self._model.device
        tokens = torch.tensor(ids, device=device)
        targets = torch.tensor(wanted, device=device)[:, 1:]
        places = (targets != _IGNORED).any(dim=0).nonzero()[:, 0]
        # Filled up on the right, where no token looks at what comes after it.
        logits = self._model(input_ids=tokens, use_cache=False, logits_to_keep=places).logits
        return torch.nn.functional.cross_entropy(
            logits.float().flatten(0, 1),
            targets[:, places].flatten(),
            ignore_index=_IGNORED,
            reduction="sum",
        )
