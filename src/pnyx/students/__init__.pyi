"""The public names of this room, each with its home."""

from .files import Student, read_student
from .judge import PackagedJudge, StudentJudge, load_perspective_student, open_student
from .train.combined import CombinedTrainer
from .train.late import LateTrainer
from .train.lora import LoraTrainer
from .train.regression import LexicalTrainer, LogisticTrainer

__all__ = [
    "CombinedTrainer",
    "LateTrainer",
    "LexicalTrainer",
    "LogisticTrainer",
    "LoraTrainer",
    "PackagedJudge",
    "Student",
    "StudentJudge",
    "load_perspective_student",
    "open_student",
    "read_student",
]
