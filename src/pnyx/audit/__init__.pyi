"""The public names of this room, each with its home."""

from .card import make_card
from .checks.bars import DecidedBar, Decision
from .checks.check import Check, check
from .checks.checked import CheckedJudge
from .checks.items import CheckItem, CheckItems
from .choosing import ChosenJudge, choose_judge
from .drift import Drift, compare_cards
from .perspective_bench import Benched, BenchJudge, BenchSearch, bench_perspectives
from .perspective_plan import PerspectiveBench
from .stress.posing import Posed, Stress
from .stress.trials import TRIALS, Trial, pose, sum_up, try_judge
from .tuning import Tuned, Tuning, tune

__all__ = [
    "TRIALS",
    "BenchJudge",
    "BenchSearch",
    "Benched",
    "Check",
    "CheckItem",
    "CheckItems",
    "CheckedJudge",
    "ChosenJudge",
    "DecidedBar",
    "Decision",
    "Drift",
    "PerspectiveBench",
    "Posed",
    "Stress",
    "Trial",
    "Tuned",
    "Tuning",
    "bench_perspectives",
    "check",
    "choose_judge",
    "compare_cards",
    "make_card",
    "pose",
    "sum_up",
    "try_judge",
    "tune",
]
