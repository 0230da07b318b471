"""The public names of this room, each with its home."""

from .arguing import Plan, argue
from .case import ArguedSide, Case, verdict_rows
from .extractive import ExtractiveWriter
from .generate import LlmWriter

__all__ = [
    "ArguedSide",
    "Case",
    "ExtractiveWriter",
    "LlmWriter",
    "Plan",
    "argue",
    "verdict_rows",
]
