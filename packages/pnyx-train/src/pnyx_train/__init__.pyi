"""The public names, each with its home."""

from .combined_trainer import CombinedTrainer
from .late_trainer import LateTrainer
from .lora_trainer import LoraTrainer

__all__ = [
    "CombinedTrainer",
    "LateTrainer",
    "LoraTrainer",
]
