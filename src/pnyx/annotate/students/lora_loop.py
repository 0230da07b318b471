"""The loop that trains an adapter, resumable to the same weights.

Which pairs a step sees, and its dropout, follow from the seed and the step's number alone, so that
a training that was interrupted and taken up again does what an uninterrupted one does. The loss of
a step is the mean over all tokens that its pairs teach, however the pairs are parted for the
memory's sake.
"""

from __future__ import annotations

import hashlib
import math
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.annotate.students.base import Report
from pnyx.errors import InputError, PnyxError, shorten

__all__ = ["Lesson", "Loop", "Pace"]

_CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_IGNORED = -100
_SECONDS = 120
"""A checkpoint is also written when so long has passed since the last: steps may take minutes."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the reply to learn, as tokens."""

    prompt: list[int]
    reply: list[int]


@dataclass(frozen=True, slots=True)
class Pace:
    """How the loop steps; see `LoraTrainer` for the fields."""

    steps: int
    batch: int
    device_batch: int
    learning_rate: float
    warmup: float
    beta2: float
    max_grad_norm: float
    weight_decay: float
    checkpoint_steps: int
    seed: int

    def rate(self, step: int) -> float:
        """Return the learning rate of a step, counted from 0."""
        warm = math.ceil(self.warmup * self.steps)
        return self.learning_rate * min(1.0, (step + 1) / max(1, warm))

    def drawn(self, step: int, count: int) -> list[int]:
        """Return which of `count` lessons a step sees: each one once an epoch."""
        each = math.ceil(count / self.batch)
        epoch, place = divmod(step, each)
        order = list(range(count))
        random.Random(f"{self.seed} {epoch}").shuffle(order)
        return order[place * self.batch : (place + 1) * self.batch]

    def step_seed(self, step: int) -> int:
        """Return the seed of a step's dropout."""
        digest = hashlib.sha256(f"{self.seed} {step}".encode()).digest()
        return int.from_bytes(digest[:6], "little")


class Loop:
    """Trains the adapter of a model.

    Args:
        model: with its adapter (peft).
        pace: how.
        pad: any token to fill up with.

    Attributes:
        steps: how many there are in all.
    """

    def __init__(self, model: Any, pace: Pace, *, pad: int) -> None:
        import torch

        self._model, self._pace, self._pad = model, pace, pad
        self.steps = pace.steps
        self._learned = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self._optimizer = torch.optim.AdamW(
            self._learned.values(),
            lr=pace.learning_rate,
            betas=(0.9, pace.beta2),
            weight_decay=pace.weight_decay,
        )

    def run(self, lessons: Sequence[Lesson], work: Path, report: Report) -> float | None:
        """Train from the last checkpoint on; return the last step's loss, None where none ran.

        Raises:
            InputError: the checkpoint is damaged.
            PnyxError: the loss is no number, or a checkpoint cannot be written.
        """
        path = work / _CHECKPOINT
        done, loss = self._resume(path)
        self._model.train()
        kept = time.monotonic()
        for step in range(done, self.steps):
            drawn = [lessons[i] for i in self._pace.drawn(step, len(lessons))]
            loss = self._step(step, drawn)
            done = step + 1
            due = done % self._pace.checkpoint_steps == 0 or time.monotonic() - kept > _SECONDS
            if due or done == self.steps:
                self._keep(path, done, loss)
                kept = time.monotonic()
            report(done, self.steps, f"loss {loss:.3f}")
        self._model.eval()
        return loss

    def _step(self, step: int, lessons: Sequence[Lesson]) -> float:
        import torch

        torch.manual_seed(self._pace.step_seed(step))
        for group in self._optimizer.param_groups:
            group["lr"] = self._pace.rate(step)
        taught = sum(len(lesson.reply) for lesson in lessons)
        total = 0.0
        for part in self._parts(lessons):
            loss = self._loss(part) / taught
            total += float(loss.detach())
            loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self._learned.values(), self._pace.max_grad_norm)
        if not math.isfinite(total) or not math.isfinite(float(norm)):
            raise PnyxError(
                f"step {step + 1}: the loss or its gradient is no number; a lower learning rate "
                "may help"
            )
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return total

    def _parts(self, lessons: Sequence[Lesson]) -> Iterator[list[Lesson]]:
        """Yield lessons of like length together, as many as go through the model at once."""
        ordered = sorted(lessons, key=lambda lesson: len(lesson.prompt) + len(lesson.reply))
        for start in range(0, len(ordered), self._pace.device_batch):
            yield ordered[start : start + self._pace.device_batch]

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

    def _keep(self, path: Path, done: int, loss: float) -> None:
        """Write adapter, moments and step in one file, all or nothing."""
        from safetensors.torch import save_file

        tensors = {}
        for name, parameter in self._learned.items():
            state = self._optimizer.state[parameter]
            kept = {"weight": parameter.detach(), **{moment: state[moment] for moment in _MOMENTS}}
            for key, value in kept.items():
                tensors[f"{key}:{name}"] = value.contiguous().cpu()
        temporary = path.with_name(f".{path.name}.new")
        try:
            save_file(tensors, temporary, {"step": str(done), "loss": repr(loss)})
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.replace(path)
        except OSError as error:
            raise PnyxError(f"{path}: cannot be written: {error.strerror}") from error
        finally:
            temporary.unlink(missing_ok=True)

    def _resume(self, path: Path) -> tuple[int, float | None]:
        """Take up a checkpoint, if there is one; return how many steps are done, and their loss."""
        import torch
        from safetensors import SafetensorError, safe_open

        if not path.is_file():
            return 0, None
        try:
            with safe_open(path, "pt") as stored:
                about = stored.metadata() or {}
                done, loss = int(about["step"]), float(about["loss"])
                for name, parameter in self._learned.items():
                    with torch.no_grad():
                        parameter.copy_(stored.get_tensor(f"weight:{name}"))
                    moments = {m: stored.get_tensor(f"{m}:{name}") for m in _MOMENTS}
                    self._optimizer.state[parameter] = {
                        "step": torch.tensor(float(done)),
                        **{m: value.to(parameter.device) for m, value in moments.items()},
                    }
        except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
            raise InputError(
                f"is no checkpoint of this training ({shorten(str(error), 60)}): remove it",
                path=path,
            ) from error
        return done, loss
