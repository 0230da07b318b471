"""Verdicts, findings and steps of the tree of ARGUE in words, for the pages of `pnyx view`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pnyx.judge.reports.records import Finding, JudgedCitation, Outcome, Step
from pnyx.view.model import STATES, State, StateWording, probability, said_of, state_of

NODES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "relevant": (
        "Is the cited document relevant?",
        "the cited document is relevant",
        "the cited document is not relevant",
        "it is open whether the cited document is relevant",
    ),
    "attests": (
        "Does it attest the sentence?",
        "it attests the sentence",
        "the cited document does not attest it",
        "it is open whether it attests the sentence",
    ),
    "answers": (
        "Does the sentence answer a nugget?",
        "it answers a nugget",
        "it answers no nugget",
        "it is open which nuggets it answers",
    ),
    "negative": (
        "Does it say that something is not known?",
        "it says that something is not known",
        "it does not say that something is not known",
        "it is open whether it says that something is not known",
    ),
    "unanswerable": (
        "Does a nugget without answers confirm that?",
        "a nugget without answers confirms that",
        "no nugget confirms that",
        "it is open whether a nugget confirms that",
    ),
    "needs_citation": (
        "Does it need a citation?",
        "it needs a citation",
        "it needs no citation",
        "it is open whether it needs a citation",
    ),
    "said_before": (
        "Was it said and cited before?",
        "it was said and cited before",
        "nothing before it says and cites it",
        "it is open whether it was said before",
    ),
}
"""Node -> what is asked there, and what a yes, a no and nothing mean."""

OUTCOMES: Final[Mapping[Outcome, State]] = {
    "reward": "yes",
    "penalty": "no",
    "neutral": "uncited",
    "unscored": "unscored",
}
"""Outcome -> the sign that it has."""

MEASURES: Final[Mapping[str, str]] = {
    "f1": "F1",
    "f1_weighted": "F1, weighted",
    "nugget_recall_weighted": "Nugget recall, weighted",
}


def measure_label(name: str) -> str:
    """Return what a measure is called on a page."""
    return MEASURES.get(name) or name.replace("_", " ").strip().capitalize() or "Measure"


@dataclass(frozen=True, slots=True)
class VerdictView:
    """One verdict: its sign, its word, `p = 0.93` or nothing, who gave it and why."""

    state: State
    word: str
    probability: str = ""
    by: str = ""
    why: str = ""

    def given(self, by: str, row: Mapping[str, Any]) -> VerdictView:
        """Return it with who gave it, and the reason that a line of answers states."""
        said, notes = row.get("explanation"), row.get("notes")
        why = said if isinstance(said, str) else ""
        if isinstance(notes, dict) and notes.get("partial") is True:
            why = f"{why} (given in part, which is a no)".strip()
        return replace(self, by=by, why=self.why or why)


def of_finding(finding: Finding, words: tuple[str, str] = ("yes", "no")) -> VerdictView:
    """Return a finding of a judged report as a verdict."""
    if finding.value is None:
        return VerdictView("unscored", "unscored", "", finding.by, finding.why)
    state, word = said_of(finding.value, finding.probability, words)
    return VerdictView(state, word, probability(finding.probability), finding.by, finding.why)


_ORDERS: Final = {"a": "the first is better", "b": "the second is better", "tie": "neither"}


def of_value(
    value: Any,
    chance: float | None,
    unscored: str,
    scale: Any = None,
    words: tuple[str, str] = ("yes", "no"),
) -> VerdictView:
    """Return what a line of answers says as a verdict; `why` only where it is unscored."""
    if value is None:
        return VerdictView("unscored", "unscored", "", "", unscored or "no reason given")
    if isinstance(value, bool):
        return VerdictView(*said_of(value, chance, words), probability(chance))
    if isinstance(value, int | float):
        of = f" of {_bounds(scale)}" if _bounds(scale) else ""
        return VerdictView("uncited", f"{value:g}{of}")
    if isinstance(value, list):
        shown = ", ".join(str(place + 1) for place in value if isinstance(place, int))
        return VerdictView("uncited", f"best first: {shown}")
    return VerdictView("uncited", _ORDERS.get(str(value), str(value)), probability(chance))


def _bounds(scale: Any) -> str:
    if not (isinstance(scale, list) and len(scale) == 2):
        return ""
    if not all(isinstance(end, int | float) and not isinstance(end, bool) for end in scale):
        return ""
    return f"{scale[0]:g} to {scale[1]:g}"


def node_words(passed: str) -> str:
    """Return what a step passed, e.g. `attests=no`, in words."""
    node, _, said = passed.partition("=")
    words = NODES.get(node)
    place = {"yes": 1, "no": 2, "unscored": 3}.get(said)
    return words[place] if words and place else passed


@dataclass(frozen=True, slots=True)
class StepView:
    """One way through the tree in words: `outcome` has its sign in `state`, `weight` its sign."""

    about: str
    words: str
    outcome: str
    state: State
    path: Sequence[str]


def step_view(step: Step, nuggets: Mapping[str, str]) -> StepView:
    """Return a step in words; `nuggets` are the texts of the nuggets by id."""
    words = "; ".join(map(node_words, step.path)) or "nothing could be asked"
    weight = "" if not step.weight else f" {abs(step.weight):g}"
    about = nuggets.get(step.about, step.about)
    return StepView(about, words, f"{step.outcome}{weight}", OUTCOMES[step.outcome], step.path)


def sentence_state(citations: Iterable[JudgedCitation]) -> State:
    """Return what the attestations of a sentence's citations add up to."""
    return state_of(of_finding(one.attests).state for one in citations)


def legend(states: Iterable[State]) -> list[tuple[State, StateWording]]:
    """Return the wording of the states that occur, in the usual order."""
    found = set(states)
    return [(state, STATES[state]) for state in STATES if state in found]
