"""The steps of a training, resumable to the same weights; checkpoints are safetensors.

What a step sees, and its dropout, depend on the seed and the step's number alone.
"""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.students.trainer import Report

_CHECKPOINT = "checkpoint.safetensors"
_MOMENTS = ("exp_avg", "exp_avg_sq")
_LONGEST = 1.0
"""Norm to which longer gradients are cut."""
_SECONDS = 60
"""A checkpoint is also written when so long has passed since the last: steps may take minutes."""


def rate_share(step: int, steps: int, warmup: float) -> float:
    """Return the share of the learning rate at a step: it rises during `warmup`, then falls."""
    warm = max(1, math.ceil(warmup * steps))
    return min(1.0, (step + 1) / warm, (steps - step) / max(1, steps - warm + 1))


class Loop:
    """Steps an AdamW optimizer through a training, with a checkpoint after `every` steps."""

    def __init__(
        self,
        optimizer: Any,
        learned: Mapping[str, Any],
        steps: int,
        *,
        warmup: float = 0.1,
        every: int = 50,
        seed: int = 0,
    ) -> None:
        self._optimizer, self._learned, self._steps = optimizer, learned, steps
        self._warmup, self._every, self._seed = warmup, every, seed
        self._rates = [group["lr"] for group in optimizer.param_groups]

    def run(self, backward: Callable[[int], float], work: Path, report: Report) -> float | None:
        """Train from the last checkpoint on; return the last step's loss, None without any.

        `backward`, given the step's number, leaves its gradients and returns its loss.
        """
        path = work / _CHECKPOINT
        done, loss = self._resume(path)
        kept = time.monotonic()
        for step in range(done, self._steps):
            loss = self._step(step, backward)
            done = step + 1
            due = done % self._every == 0 or time.monotonic() - kept > _SECONDS
            if due or done == self._steps:
                self._keep(path, done, loss)
                kept = time.monotonic()
            report(done, self._steps, f"loss {loss:.3f}")
        return loss

    def _step(self, step: int, backward: Callable[[int], float]) -> float:
        import torch

        digest = hashlib.sha256(f"{self._seed} {step}".encode()).digest()
        torch.manual_seed(int.from_bytes(digest[:6], "little"))
        for group, rate in zip(self._optimizer.param_groups, self._rates, strict=True):
            group["lr"] = rate * rate_share(step, self._steps, self._warmup)
        loss = backward(step)
        norm = torch.nn.utils.clip_grad_norm_(self._learned.values(), _LONGEST)
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
                f"is not a checkpoint of this training ({shorten(str(error), 60)}): remove it",
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
