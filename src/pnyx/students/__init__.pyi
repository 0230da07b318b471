"""The public names of this room, each with its home."""

from .combined import CombinedTrainer
from .files import Student, read_student
from .judge import PackagedJudge, StudentJudge, load_perspective_student, open_student
from .late import LateTrainer
from .lexical import LexicalTrainer
from .lora_training import LoraTrainer

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
