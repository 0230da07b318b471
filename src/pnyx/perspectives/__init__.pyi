"""The public names of this room, each with its home."""

from .bench import BenchJudge, BenchSearch, PerspectiveBenchResult, bench_perspectives
from .bench_plan import PerspectiveBench
from .measures.coverage import measure_perspectives, perspective_qrels
from .measures.lean import Leaning, measure_leaning, side_questions
from .measures.mrecall import MRecall
from .measures.results import PerspectiveCoverage
from .measures.table import PerspectiveMeasure
from .measures.verdicts import Verdicts, read_verdicts

__all__ = [
    "BenchJudge",
    "BenchSearch",
    "Leaning",
    "MRecall",
    "PerspectiveBench",
    "PerspectiveBenchResult",
    "PerspectiveCoverage",
    "PerspectiveMeasure",
    "Verdicts",
    "bench_perspectives",
    "measure_leaning",
    "measure_perspectives",
    "perspective_qrels",
    "read_verdicts",
    "side_questions",
]
