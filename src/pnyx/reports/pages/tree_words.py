"""Wording for templates: findings, nuggets and steps of the ARGUE tree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pnyx.display.states import STATES, State, StateWording, state_of
from pnyx.formats.reports.judged_report import (
    JudgedAnswer,
    JudgedNugget,
    JudgedReport,
    JudgedSentence,
    NodeAnswer,
    Outcome,
    TreePath,
)
from pnyx.web.results.records import JudgementRow
from pnyx.web.results.words import YES_NO, worded
from pnyx.web.results.words import measure_label as measure_label  # templates call it, too

NODES: Final[Mapping[str, tuple[str, str, str, str]]] = {
    "relevant": ("Is the cited document relevant?", "the cited document is relevant",
        "the cited document is not relevant", "it is open whether the cited document is relevant"),
    "attests": ("Does it attest the sentence?", "it attests the sentence",
        "the cited document does not attest it", "it is open whether it attests the sentence"),
    "answers": ("Does the sentence answer a nugget?", "it answers a nugget", "it answers no nugget",
        "it is open which nuggets it answers"),
    "negative": ("Does it say that something is not known?", "it says that something is not known",
        "it does not say that something is not known",
        "it is open whether it says that something is not known"),
    "unanswerable": ("Does a nugget without answers confirm that?",
        "a nugget without answers confirms that", "no nugget confirms that",
        "it is open whether a nugget confirms that"),
    "needs_citation": ("Does it need a citation?", "it needs a citation", "it needs no citation",
        "it is open whether it needs a citation"),
    "said_before": ("Was it said and cited before?", "it was said and cited before",
        "nothing before it says and cites it", "it is open whether it was said before"),
}  # fmt: skip
"""Node -> its question, and the meaning of a yes, a no and no answer."""

WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "relevant": ("relevant", "not relevant"),
    "attests": ("supported", "not supported"),
}
"""Node -> other words for yes and no, if it has any."""

OUTCOMES: Final[Mapping[Outcome, State]] = {
    "reward": "yes", "penalty": "no", "neutral": "uncited", "unscored": "unscored",
}  # fmt: skip
"""Outcome -> its sign."""

NOT_JUDGED: Final = NodeAnswer(None, why="no judgement of it is given")
"""For a citation of a response whose judgements are not among the results."""

VERBATIM: Final = NodeAnswer(True)
"""For a citation whose passage the sentence quotes word for word: no judge was asked."""


def finding_worded(finding: NodeAnswer, node: str = "") -> tuple[State, str]:
    """Return the sign and the word for the finding at a node."""
    if finding is NOT_JUDGED:
        return "unscored", "not judged"
    if finding is VERBATIM:
        return "quoted", STATES["quoted"].word
    return worded(finding.value, finding.probability, WORDS.get(node, YES_NO))


def finding_of(judgement: JudgementRow, line: Mapping[str, Any]) -> NodeAnswer:
    """Return a judgement and its line as a finding, with the reason that the line states."""
    value, notes = judgement.value, line.get("notes")
    reason = line.get("explanation")
    why = reason if isinstance(reason, str) else ""
    if isinstance(notes, dict) and notes.get("partial") is True:
        why = f"{why} (given in part, which is a no)".strip()
    if value is None:
        why = judgement.unscored or why
    return NodeAnswer(value, judgement.judge, why, judgement.probability)


def sentence_state(sentence: JudgedSentence) -> State:
    """Return the combined state of the attestations of a sentence's citations."""
    return state_of(finding_worded(c.attests, "attests")[0] for c in sentence.citations)


def legend(reports: Iterable[JudgedReport]) -> list[tuple[State, StateWording]]:
    """Return the wording of the states that occur among the sentences, in the usual order."""
    states = {sentence_state(s) for report in reports for s in report.sentences}
    return [(state, STATES[state]) for state in STATES if state in states]


def step_words(step: TreePath) -> str:
    """Return a path through the tree in words."""
    return "; ".join(map(_node_words, step.path)) or "nothing could be asked"


def _node_words(passed: str) -> str:
    node, _, answer = passed.partition("=")
    words, column = NODES.get(node), {"yes": 1, "no": 2, "unscored": 3}.get(answer)
    return words[column] if words and column else passed


def steps_together(sentence: JudgedSentence) -> list[tuple[TreePath, list[tuple[str, int]]]]:
    """Return each path with an outcome once, unscored ones first, with (subject, count)."""
    ways: dict[tuple[Any, ...], tuple[TreePath, Counter[str]]] = {}
    for step in sorted(sentence.steps, key=lambda step: step.outcome != "unscored"):
        _, abouts = ways.setdefault((step.path, step.outcome, step.weight), (step, Counter()))
        abouts[step.about] += 1
    return [(step, list(abouts.items())) for step, abouts in ways.values()]


def step_outcome(step: TreePath) -> str:
    """Return the outcome of a step with its weight."""
    return f"{step.outcome} {abs(step.weight):g}" if step.weight else step.outcome


def step_state(step: TreePath) -> State:
    """Return the sign of a step's outcome."""
    return OUTCOMES[step.outcome]


def nugget_state(nugget: JudgedNugget) -> State:
    """Return whether a nugget is answered; `uncited` if it is known to have no answer."""
    if not nugget.answers:
        return "uncited"
    return {None: "unscored", True: "yes", False: "no"}[nugget.answered]  # type: ignore[return-value]


def nugget_kind(nugget: JudgedNugget) -> str:
    """Return what a nugget asks for."""
    if nugget.is_claim:
        return "claim"
    return "question, all answers" if nugget.aggregator.upper() == "AND" else "question"


def answer_worded(answer: JudgedAnswer) -> tuple[State, str]:
    """Return the sign and the word for a nugget's answer."""
    if answer.given is None:
        return "unscored", "unscored"
    if answer.given:
        return "yes", "answered"
    return "no", "missed, given in part" if answer.partial else "missed"


def nuggets_in_order(report: JudgedReport) -> list[tuple[int, JudgedNugget]]:
    """Return nuggets with their numbers: unscored, missed, then answered; vital ones first."""
    order = {"unscored": 0, "no": 1, "yes": 2, "uncited": 3}
    return sorted(
        enumerate(report.nuggets, 1),
        key=lambda pair: (order[nugget_state(pair[1])], pair[1].importance != "vital", pair[0]),
    )
