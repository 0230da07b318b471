"""Trains the adapter of a causal language model by transformers' Trainer, with its checkpoints.

Its optimizer and random states are read with `weights_only`: numbers and nothing that runs.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import shutil
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_callback import PrinterCallback

from pnyx.errors import InputError, PnyxError, shorten
from pnyx.students.lora import left_padded
from pnyx.students.train.base import Report

if TYPE_CHECKING:
    from pnyx.students.train.lora import LoraTrainer

_IGNORED = -100
_SECONDS = 60
"""A checkpoint is also written when so long has passed since the last: steps may take minutes."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A prompt and the reply to learn, as tokens."""

    prompt: list[int]
    reply: list[int]


def collate(lessons: Sequence[Lesson], pad: int) -> dict[str, Any]:
    """Return a batch with logits only where a reply stands: prompts' would fill the memory."""
    rows = [[*lesson.prompt, *lesson.reply] for lesson in lessons]
    width = 1 + max(len(lesson.reply) for lesson in lessons)
    labels = [[_IGNORED] * (width - len(le.reply)) + le.reply for le in lessons]
    batch = left_padded(rows, pad, "cpu")
    return {**batch, "labels": torch.tensor(labels), "logits_to_keep": width}


class _Progress(TrainerCallback):  # type: ignore[misc]
    """Reports each step, ends a training that has no numbers any more, and times checkpoints."""

    def __init__(self, report: Report) -> None:
        self._report, self.begun, self._kept = report, False, time.monotonic()

    def on_step_begin(self, *_: Any, **__: Any) -> None:
        self.begun = True

    def on_step_end(self, _: Any, __: Any, control: Any, **___: Any) -> None:
        if time.monotonic() - self._kept > _SECONDS:
            control.should_save = True

    def on_save(self, *_: Any, **__: Any) -> None:
        self._kept = time.monotonic()

    def on_log(self, _: Any, state: Any, __: Any, *, logs: dict[str, float], **___: Any) -> None:
        if "loss" not in logs:  # the summary at the end
            return
        if not all(math.isfinite(logs.get(name, 0.0)) for name in ("loss", "grad_norm")):
            raise PnyxError(
                f"step {state.global_step}: the loss or its gradient is no number; a lower "
                "learning rate may help"
            )
        self._report(state.global_step, state.max_steps, f"loss {logs['loss']:.3f}")


def fit_adapter(
    model: Any, lessons: Sequence[Lesson], plan: LoraTrainer, pad: int, work: Path, report: Report
) -> tuple[int, float | None]:
    """Train from the last checkpoint in `work` on; return the steps and the last one's loss."""
    progress = _Progress(report)
    trainer = Trainer(
        model=model,
        args=_arguments(model, plan, len(lessons), work),
        train_dataset=list(lessons),
        data_collator=lambda batch: collate(batch, pad),
        callbacks=[progress],
    )
    trainer.remove_callback(PrinterCallback)
    last = _last_checkpoint(work)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # deprecations between the libraries
            trainer.train(resume_from_checkpoint=last and str(last))
    except PnyxError:
        raise
    except Exception as error:  # of a full disk or memory, or of a file that is no checkpoint
        if last is None or progress.begun:
            step, why = trainer.state.global_step, shorten(" ".join(str(error).split()), 200)
            raise PnyxError(f"the training failed after step {step}: {why}") from error
        problem = f"is no checkpoint of this training ({shorten(str(error), 60)}): remove it"
        raise InputError(problem, path=last) from error
    losses = [row["loss"] for row in trainer.state.log_history if "loss" in row]
    return trainer.state.global_step, losses[-1] if losses else None


def _arguments(model: Any, plan: LoraTrainer, count: int, work: Path) -> TrainingArguments:
    cuda = model.device.type == "cuda"
    together = math.gcd(plan.batch, plan.device_batch)
    steps = plan.epochs * math.ceil(count / plan.batch)
    arguments = TrainingArguments(
        output_dir=str(work),
        seed=plan.seed,
        num_train_epochs=plan.epochs,
        per_device_train_batch_size=together,
        gradient_accumulation_steps=plan.batch // together,
        learning_rate=plan.learning_rate,
        lr_scheduler_type="constant_with_warmup",
        warmup_steps=int(plan.warmup * steps),
        adam_beta2=plan.beta2,
        weight_decay=plan.weight_decay,
        max_grad_norm=plan.max_grad_norm,
        save_steps=plan.checkpoint_steps,
        save_total_limit=1,
        logging_steps=1,
        logging_nan_inf_filter=False,
        report_to="none",
        disable_tqdm=True,
        remove_unused_columns=False,
        use_cpu=not cuda,
        dataloader_pin_memory=cuda,
    )
    if cuda:
        arguments._n_gpu = min(arguments.n_gpu, 1)  # where the model lies
    return arguments


def _last_checkpoint(work: Path) -> Path | None:
    """Return the last checkpoint that was written to its end; those after it are removed."""
    found = [path for path in work.glob("checkpoint-*") if path.name[11:].isdecimal()]
    for path in sorted(found, key=lambda path: -int(path.name[11:])):
        if _whole(path):
            return path
        shutil.rmtree(path, ignore_errors=True)  # the Trainer would keep it for a newer one
    return None


def _whole(folder: Path) -> bool:
    try:
        json.loads((folder / "trainer_state.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return True


@contextlib.contextmanager
def own_randomness() -> Iterator[None]:
    """Leave the caller's random numbers as they are: the Trainer seeds all there are."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng():
        yield
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
