"""The kinds of student that `pnyx annotate distil` trains with PyTorch (`pnyx.students`)."""

from __future__ import annotations

from typing import Any, Final

from pnyx.judging.students.student import StudentKind
from pnyx_train.combined_trainer import CombinedTrainer
from pnyx_train.late_trainer import LateTrainer
from pnyx_train.lora import load
from pnyx_train.lora_trainer import LoraTrainer


def _combined(**options: Any) -> CombinedTrainer:
    return CombinedTrainer(LateTrainer(**options))


COMBINED: Final = StudentKind(_combined)
LATE: Final = StudentKind(LateTrainer)
LORA: Final = StudentKind(LoraTrainer, load)
