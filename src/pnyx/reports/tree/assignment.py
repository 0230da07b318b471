"""Comparison of whole reports with nuggets: support, partial_support or not_support (nuggetizer).

The ARGUE tree asks about each sentence; here each report is one text, followed by all nuggets of
the topic, so that a language model answers many in one call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from pnyx.core.errors import InputError, escaped
from pnyx.core.nuggets import Nugget, NuggetBank
from pnyx.core.records import Response
from pnyx.core.restricted_mode import hides_text
from pnyx.formats.reports.judged_report import JudgedAnswer, JudgedNugget, JudgedReport
from pnyx.judging.answers import Answer, Judged
from pnyx.judging.questions import Support
from pnyx.reports.tree.node_questions import ask_answers
from pnyx.reports.tree.own_text import is_own_text

Assignment: TypeAlias = Literal["support", "partial_support", "not_support", "failed"]
"""How far a report supports a nugget; `failed` if this is not known (nuggetizer's words)."""


def text_of(response: Response) -> str:
    """Return the text of a report: its sentences; empty if they have no words."""
    text = " ".join(" ".join(s.text.split()) for s in response.sentences if s.text.strip())
    return text if any(character.isalnum() for character in text) else ""


def by_keys(
    responses: Iterable[Response], banks: Iterable[NuggetBank]
) -> tuple[dict[str, NuggetBank], dict[tuple[str, str], Response]]:
    """Return banks by topic and reports by run and topic; InputError for duplicates."""
    by_topic: dict[str, NuggetBank] = {}
    for bank in banks:
        if bank.topic_id in by_topic:
            topic = escaped(bank.topic_id)
            raise InputError(f"topic {topic!r} has two nugget banks (pnyx nuggets merge)")
        by_topic[bank.topic_id] = bank
    of_run: dict[tuple[str, str], Response] = {}
    for response in responses:
        key = response.run_id, response.topic_id
        if key in of_run:
            run, topic = map(escaped, key)
            raise InputError(f"run {run!r} has two reports on topic {topic!r}")
        of_run[key] = response
    return by_topic, of_run


@dataclass(frozen=True, slots=True)
class Assigning:
    """What to ask about each report, and what is left out."""

    pairs: tuple[tuple[Response, NuggetBank], ...]  # reports that have a bank, each with it
    without_bank: tuple[str, ...]  # topics of reports that have no bank
    without_report: tuple[tuple[str, str], ...]  # (run, topic) for each bank without one

    @classmethod
    def of(cls, responses: Iterable[Response], banks: Iterable[NuggetBank]) -> Assigning:
        """Join reports with banks; InputError for two banks of a topic, or two reports of a run."""
        by_topic, of_run = by_keys(responses, banks)
        without_bank = dict.fromkeys(topic for _, topic in of_run if topic not in by_topic)
        runs = dict.fromkeys(run for run, _ in of_run)
        missing = [(run, t) for run in runs for t in by_topic if (run, t) not in of_run]
        pairs = [(r, by_topic[t]) for (_, t), r in of_run.items() if t in by_topic]
        return cls(tuple(pairs), tuple(without_bank), tuple(missing))

    def questions(self) -> Iterator[Support]:
        """Yield a question for each answer of each nugget, report by report, except empty ones."""
        for response, bank in self.pairs:
            text = text_of(response)
            yield from ask_answers(
                f"{response.run_id}/{response.topic_id}",
                text,
                bank.nuggets if text else (),
                "answers",
                topic_id=response.topic_id,
                run_id=response.run_id,
            )

    def judged(self, answers: Mapping[str, Answer]) -> list[JudgedReport]:
        """Return the judged reports, given answers by question id; one may be `missing`."""
        reports = [_judged(response, bank, answers) for response, bank in self.pairs]
        reports += [JudgedReport(topic, run, missing=True) for run, topic in self.without_report]
        return reports


def _judged(response: Response, bank: NuggetBank, answers: Mapping[str, Answer]) -> JudgedReport:
    prefix = f"{response.run_id}/{response.topic_id}"
    whole = bool(text_of(response))
    known_answers = answers if whole else None
    nuggets = tuple(_nugget(prefix, nugget, known_answers) for nugget in bank.nuggets)
    return JudgedReport(response.topic_id, response.run_id, nuggets=nuggets, whole=whole)


def _nugget(prefix: str, nugget: Nugget, answers: Mapping[str, Answer] | None) -> JudgedNugget:
    """Return a judged nugget; answers None: an empty report, which gives none."""
    judged_answers = []
    for n, expected in enumerate(nugget.expected):
        if answers is None:
            judged_answers.append(JudgedAnswer(expected.text, False))
            continue
        answer = answers[f"{prefix}/{nugget.id}/{n}"]
        scored = isinstance(answer, Judged) or is_own_text(answer)
        value = getattr(answer, "value", False) is True if scored else None
        partial = isinstance(answer, Judged) and bool(answer.notes.get("partial"))
        judged_answers.append(JudgedAnswer(expected.text, value, partial=partial))
    return JudgedNugget.of(nugget, judged_answers)


def assignment_of(nugget: JudgedNugget) -> Assignment | None:
    """Return how far a report supports a nugget (partly if by some of an AND); None if unasked."""
    if not nugget.answers:
        return None
    answered = nugget.answered
    if answered:
        return "support"
    if any(answer.given or answer.partial for answer in nugget.answers):
        return "failed" if answered is None else "partial_support"
    return "failed" if any(answer.given is None for answer in nugget.answers) else "not_support"


def assignment_row(
    report: JudgedReport, bank: NuggetBank, text: str, reasons: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return a report's line of nuggetizer's assign format; without texts in restricted mode."""
    rows = []
    for nugget in report.nuggets:
        assignment = assignment_of(nugget)
        if assignment is None:
            continue
        row = {"text": _stated(nugget), "importance": nugget.importance, "assignment": assignment}
        reason = "" if hides_text() else (reasons or {}).get(nugget.id)
        rows.append(row | ({"reasoning": reason} if reason else {}))
    return {
        "query": bank.title,
        "qid": report.topic_id,
        "answer_text": "" if hides_text() else text,
        "response_length": len(text.split()),
        "run_id": report.run_id,
        "nuggets": rows,
    }


def _stated(nugget: JudgedNugget) -> str:
    """Return a claim, or a question with its answers: the format has one text."""
    if nugget.is_claim:
        return nugget.text
    return f"{nugget.text} {'; '.join(answer.text for answer in nugget.answers)}"
