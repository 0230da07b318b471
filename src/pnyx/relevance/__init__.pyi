"""The public names of this room, each with its home."""

from .definitions import DraftedDefinition, draft_definitions
from .distillation import Distillation, DistilledStudent, distil
from .grades import write_graded_qrels
from .labelled_pairs import LabelledPair, read_labelled
from .sampling import PairSample, SampledPair, sample_pairs

__all__ = [
    "Distillation",
    "DistilledStudent",
    "DraftedDefinition",
    "LabelledPair",
    "PairSample",
    "SampledPair",
    "distil",
    "draft_definitions",
    "read_labelled",
    "sample_pairs",
    "write_graded_qrels",
]
