"""The public names of this room, each with its home."""

from .card import make_card
from .checks.bars import DecidedBar, Decision
from .checks.check import Check, check
from .checks.items import CheckItem, CheckItems
from .checks.result import CheckedJudge
from .display.card import card_html, card_markdown
from .display.judges import judges_html
from .drift import Drift, compare_cards
from .judge_choice import ChosenJudge, choose_judge
from .trials.trial_items import Stress, TrialQuestions
from .trials.trials import TRIALS, Trial, pose, sum_up, try_judge

__all__ = [
    "TRIALS",
    "Check",
    "CheckItem",
    "CheckItems",
    "CheckedJudge",
    "ChosenJudge",
    "DecidedBar",
    "Decision",
    "Drift",
    "Stress",
    "Trial",
    "TrialQuestions",
    "card_html",
    "card_markdown",
    "check",
    "choose_judge",
    "compare_cards",
    "judges_html",
    "make_card",
    "pose",
    "sum_up",
    "try_judge",
]
