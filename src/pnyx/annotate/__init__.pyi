"""The public names of this room, each with its home."""

from .definitions import DraftedDefinition, draft_definitions
from .distillation import Distillation, Distilled, distil
from .grades import write_graded_qrels
from .labelled import LabelledPair, read_labelled
from .reviewing import Disagreement, draw_disagreements, read_review, write_review
from .sampling import PairSample, SampledPair, sample_pairs

__all__ = [
    "Disagreement",
    "Distillation",
    "Distilled",
    "DraftedDefinition",
    "LabelledPair",
    "PairSample",
    "SampledPair",
    "distil",
    "draft_definitions",
    "draw_disagreements",
    "read_labelled",
    "read_review",
    "sample_pairs",
    "write_graded_qrels",
    "write_review",
]
