"""Trains networks with transformers' Trainer and its checkpoints.

Optimizer and random states are read with `weights_only`: numbers, and no code.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import shutil
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from transformers import TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from pnyx.core.errors import InputError, PnyxError, shorten
from pnyx.judging.students.trainer import Report
from pnyx_train.libraries import without_notes

_SECONDS = 60
"""Seconds after which another checkpoint is written: steps may take minutes."""


class _Progress(TrainerCallback):  # type: ignore[misc]
    """Reports each step, stops a training without finite numbers, and times checkpoints."""

    def __init__(self, report: Report) -> None:
        self._report, self.begun, self._kept = report, False, time.monotonic()
        self.failure: Exception | None = None  # of the progress callback

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.begun = True

    def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        if time.monotonic() - self._kept > _SECONDS:
            control.should_save = True

    def on_save(self, *_: Any, **__: Any) -> None:
        self._kept = time.monotonic()

    def on_log(self, _: Any, state: Any, __: Any, *, logs: dict[str, float], **___: Any) -> None:
        if "loss" not in logs:  # the final summary
            return
        if not all(math.isfinite(logs.get(name, 0.0)) for name in ("loss", "grad_norm")):
            raise PnyxError(
                f"step {state.global_step}: the loss or its gradient is not a number; a lower "
                "learning rate may help"
            )
        try:
            self._report(state.global_step, state.max_steps, f"loss {logs['loss']:.3f}")
        except Exception as error:
            self.failure = error
            raise


class _InOrder(transformers.Trainer):  # type: ignore[misc]
    """Takes the items of the data in order."""

    def _get_train_sampler(self, *_: Any) -> Any:
        return torch.utils.data.SequentialSampler(self.train_dataset)


def fit(
    model: Any,
    data: Sequence[Any],
    collate: Callable[[list[Any]], dict[str, Any]],
    work: Path,
    report: Report,
    *,
    optimizer: Any = None,
    in_order: bool = False,
    **settings: Any,
) -> tuple[int, float | None]:
    """Train from the last checkpoint in `work`; return the steps and the last loss."""
    progress = _Progress(report)
    trainer = (_InOrder if in_order else transformers.Trainer)(
        model=model,
        args=_arguments(work, next(model.parameters()).device.type == "cuda", settings),
        train_dataset=list(data),
        data_collator=collate,
        callbacks=[progress],
        optimizers=(optimizer, None),
    )
    trainer.remove_callback(PrinterCallback)
    last = _last_checkpoint(work)
    try:
        with without_notes(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations between the libraries
            trainer.train(resume_from_checkpoint=last and str(last))
    except PnyxError:
        raise
    except Exception as error:  # a full disk or memory, or an invalid checkpoint
        if error is progress.failure:
            raise
        if last is None or progress.begun:
            step, why = trainer.state.global_step, shorten(" ".join(str(error).split()), 200)
            raise PnyxError(f"the training failed after step {step}: {why}") from error
        problem = f"is not a checkpoint of this training ({shorten(str(error), 60)}): remove it"
        raise InputError(problem, path=last) from error
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    return trainer.state.global_step, losses[-1] if losses else None


def _arguments(work: Path, cuda: bool, settings: dict[str, Any]) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(work),
        save_total_limit=1,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
        **settings,
    )
    if cuda:
        arguments._n_gpu = min(arguments.n_gpu, 1)  # the device of the model
    return arguments


def _last_checkpoint(work: Path) -> Path | None:
    """Return the last complete checkpoint, and remove those after it."""
    checkpoints = [path for path in work.glob("checkpoint-*") if path.name[11:].isdecimal()]
    for path in sorted(checkpoints, key=lambda path: -int(path.name[11:])):
        with contextlib.suppress(OSError, ValueError, RecursionError):
            json.loads((path / "trainer_state.json").read_bytes())
            return path
        shutil.rmtree(path, ignore_errors=True)  # otherwise the Trainer considers it newer
    return None


@contextlib.contextmanager
def own_randomness(seed: int) -> Iterator[None]:
    """Use a seed for random numbers, and restore the caller's random state."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        yield
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
