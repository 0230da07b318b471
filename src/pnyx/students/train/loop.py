"""The steps of a training, resumable to the same weights.

What a step sees, and its dropout, follow from the seed and the step's number alone, so a training
that was interrupted and taken up again does what an uninterrupted one does. Checkpoints are
safetensors: nothing in them can execute.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.students.train.base import Report

__all__ = ["Loop", "Pace"]

_CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_SECONDS = 60
"""A checkpoint is also written when so long has passed since the last: steps may take minutes."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How a loop steps.

    Attributes:
        steps: how many in all.
        warmup: share of the steps over which the learning rate rises.
        decay: whether it falls to 0 afterwards, or stays.
        max_grad_norm: longer gradients are cut to it.
        checkpoint_steps: steps from one checkpoint to the next.
        seed: of all that is drawn.
    """

    steps: int
    warmup: float
    decay: bool
    max_grad_norm: float
    checkpoint_steps: int
    seed: int

    def share(self, step: int) -> float:
        """Return the share of the learning rate at a step, counted from 0, in (0, 1]."""
        warm = max(1, math.ceil(self.warmup * self.steps))
        rising = min(1.0, (step + 1) / warm)
        falling = (self.steps - step) / max(1, self.steps - warm + 1) if self.decay else 1.0
        return min(rising, falling)

    def step_seed(self, step: int) -> int:
        """Return the seed of a step's dropout."""
        digest = hashlib.sha256(f"{self.seed} {step}".encode()).digest()
        return int.from_bytes(digest[:6], "little")


class Loop:
    """Steps an AdamW optimizer through a training.

    Args:
        optimizer: torch.optim.AdamW; the rates of its groups are those at full height.
        learned: what it trains, by name.
        pace: how.
    """

    def __init__(self, optimizer: Any, learned: Mapping[str, Any], pace: Pace) -> None:
        self._optimizer, self._learned, self._pace = optimizer, learned, pace
        self._rates = [group["lr"] for group in optimizer.param_groups]

    def run(self, backward: Callable[[int], float], work: Path, report: Report) -> float | None:
        """Train from the last checkpoint on.

        Args:
            backward: given the step's number, leaves its gradients and returns its loss.
            work: where checkpoints lie.
            report: told of progress.

        Returns:
            The last step's loss, None where there is no step.

        Raises:
            InputError: the checkpoint is damaged.
            PnyxError: the loss is no number, or a checkpoint cannot be written.
        """
        path = work / _CHECKPOINT
        done, loss = self._resume(path)
        kept = time.monotonic()
        for step in range(done, self._pace.steps):
            loss = self._step(step, backward)
            done = step + 1
            due = done % self._pace.checkpoint_steps == 0 or time.monotonic() - kept > _SECONDS
            if due or done == self._pace.steps:
                self._keep(path, done, loss)
                kept = time.monotonic()
            report(done, self._pace.steps, f"loss {loss:.3f}")
        return loss

    def _step(self, step: int, backward: Callable[[int], float]) -> float:
        import torch

        torch.manual_seed(self._pace.step_seed(step))
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * self._pace.share(step)
        loss = backward(step)
        norm = torch.nn.utils.clip_grad_norm_(self._learned.values(), self._pace.max_grad_norm)
        if not math.isfinite(loss) or not math.isfinite(float(norm)):
            raise PnyxError(
                f"step {step + 1}: the loss or its gradient is no number; a lower learning rate "
                "may help"
            )
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss

    def _keep(self, path: Path, done: int, loss: float) -> None:
        """Write weights, moments and step in one file, all or nothing."""
        from safetensors.torch import save_file

        tensors = {}
        for name, parameter in self._learned.items():
            state = self._optimizer.state.get(parameter)
            if not state:  # no step has touched it yet
                continue
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
        from safetensors import SafetensorError, safe_open

        if not path.is_file():
            return 0, None
        try:
            with safe_open(path, "pt") as stored:
                about = stored.metadata() or {}
                done, loss = int(about["step"]), float(about["loss"])
                names = set(stored.keys())
                for name, parameter in self._learned.items():
                    if f"weight:{name}" in names:
                        self._take_up(name, parameter, stored, done)
        except (SafetensorError, KeyError, ValueError, RuntimeError) as error:
            raise InputError(
                f"is no checkpoint of this training ({shorten(str(error), 60)}): remove it",
                path=path,
            ) from error
        return done, loss

    def _take_up(self, name: str, parameter: Any, stored: Any, done: int) -> None:
        import torch

        with torch.no_grad():
            parameter.copy_(stored.get_tensor(f"weight:{name}"))
        moments = {moment: stored.get_tensor(f"{moment}:{name}") for moment in _MOMENTS}
        self._optimizer.state[parameter] = {
            "step": torch.tensor(float(done)),
            **{moment: value.to(parameter.device) for moment, value in moments.items()},
        }
