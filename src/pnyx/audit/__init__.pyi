"""The public names of this room, each with its home."""

from .perspective_bench import Benched, BenchJudge, BenchSearch, bench_perspectives
from .perspective_plan import PerspectiveBench
from .tuning import Tuned, Tuning, tune

__all__ = [
    "BenchJudge",
    "BenchSearch",
    "Benched",
    "PerspectiveBench",
    "Tuned",
    "Tuning",
    "bench_perspectives",
    "tune",
]
