"""Notes on a case, one sentence each: its doubts, its labels, and the passages' sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pnyx.cases.case import Case, passages, warning, why_empty
from pnyx.cases.citations import quoted
from pnyx.core.errors import shorten
from pnyx.core.records import Response
from pnyx.display.text import one_line
from pnyx.judging.answers import Answer
from pnyx.search.topics import LabelledTopic
from pnyx.stats.base import Measured


def said_of_placing(case: Case) -> str:
    """Say how the retrieved passages were assigned, in one sentence."""
    parts = [f"{side.considered} on the {side.side} side" for side in case.sides]
    less = sum(len(side.less_sure) for side in case.sides)
    parts += [f"{less} less likely on a side"] if less else []
    parts.append(f"{len(case.undecided)} undecided")
    text = f"Passages were put {', '.join(parts)}"
    if case.passed_over:
        text += f"; {case.passed_over} argue neither side"
    if case.unscored:
        text += f"; for {case.unscored} of them a verdict is missing"
    return text + ". One that argues both sides is counted on each."


def said_of_number(case: Case) -> str:
    """Say how many of the passages read probably argue a side; empty if unknown."""
    number, cited = case.expected_about, {d for s in case.sides for d in s.response.references}
    if number.value is None:
        return ""
    missing = number.read - number.scored
    excluded = f" ({missing} without a verdict not counted)" if missing else ""
    return (
        f"Probably about {number.value:.0f} of the {passages(number.read)} read{excluded} "
        f"{'argues' if number.read == 1 else 'argue'} a side of the question; {len(cited)} cited."
    )


_SHOWN_TOPICS = 5
_NEAR = 0.3
"""Least probability from which a topic with ignored labels is named."""


def doubts(case: Case) -> tuple[str, ...]:
    """Warn of questions left unanswered by a model, and of empty or doubtful sides."""
    lines = list(map(one_line, case.question_notes))
    lines += [case.weighed.doubt] if case.weighed is not None and case.weighed.doubt else []
    for side in case.sides:
        name = f"The case for {one_line(case.names[side.side])}"
        if side.doubtful:
            lines.append(f"{name}: {warning(side)}.")
        elif not side.argued:
            lines.append(f"{name}: not argued. {one_line(why_empty(case, side))}")
    return tuple(lines)


def near_said(topics: Sequence[LabelledTopic]) -> tuple[tuple[str, str], ...]:
    """Return topics that a question may mean, one line each, with their numbers of passages."""
    cleaned = ((one_line(match.topic), passages(count)) for match, count in topics)
    return tuple((topic, count) for topic, count in cleaned if topic)


def asked_back(case: Case) -> tuple[str, ...]:
    """Return the line that asks whether a near topic was meant, if there is one."""
    near = near_said(case.near_topics)
    suggestions = " or ".join(f"“{shorten(topic, 100)}” ({count})" for topic, count in near)
    return (f"Did you mean {suggestions}?",) if near else ()


def label_notes(topics: Sequence[LabelledTopic]) -> tuple[str, ...]:
    """Say which labels of the corpus count and why, then which nearly do; one line each."""
    lines = []
    others = 0
    for match, count in topics:
        topic = f"“{shorten(one_line(match.topic), 100)}” ({passages(count)})"
        if match.used:
            lines.append(f"Labels on {topic} count: the topic {match.reason}.")
        elif match.same + match.opposite >= _NEAR and len(lines) < _SHOWN_TOPICS:
            sure = f"same {match.same:.2f}, opposite {match.opposite:.2f}"
            lines.append(
                f"Labels on {topic} do not count: it is too uncertain whether the topic asks the "
                f"same "
                f"({sure}); --topic names it."
            )
        else:
            others += count
    if others:
        verb = (
            "has a label on another topic, which does"
            if others == 1
            else ("have labels on other topics, which do")
        )
        lines.append(f"{passages(others).capitalize()} {verb} not count.")
    return tuple(lines)


def said_of_precision(
    response: Response,
    support: Mapping[tuple[int, str], Answer],
    measures: Mapping[str, Measured],
) -> str:
    """Return sentence precision, and how much is quoted (excluded from it); empty for neither."""
    verbatim, of = quoted(response, support), len(response.sentences)
    precision = measures.get("sentence_precision")
    if precision is None:
        return "; quoted verbatim" if verbatim else ""
    share = "nothing scored" if precision.value is None else f"{precision.value:.2f}"
    counts = f"{precision.scored} of {precision.asked} scored"
    more = f"; {verbatim} of {of} sentences quoted verbatim" if verbatim else ""
    return f"; sentence precision {share} ({counts}{more})"
