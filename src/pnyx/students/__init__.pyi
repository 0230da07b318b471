"""The public names of this room, each with its home."""

from .combined import CombinedTrainer
from .judge import PackagedJudge, load_perspective_student
from .late import LateTrainer
from .lexical import LexicalTrainer
from .lora_training import LoraTrainer
from .student import Student, StudentJudge, open_student, read_student

__all__ = [
    "CombinedTrainer",
    "LateTrainer",
    "LexicalTrainer",
    "LoraTrainer",
    "PackagedJudge",
    "Student",
    "StudentJudge",
    "load_perspective_student",
    "open_student",
    "read_student",
]
