"""A report judged with the tree of ARGUE: findings, paths of sentences, nuggets.

`row()` returns a JSON object, a line of `reports.jsonl`, and `report_of_row` reads it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias, get_args

from pnyx.core.errors import shorten
from pnyx.core.nuggets import Nugget
from pnyx.core.restricted_mode import hides_text, textless

_NAMED = frozenset(
    "relevant answers unscored_answers by path outcome about importance aggregator "
    "differing".split()
)
"""Fields that contain names or fixed choices."""

COLLECTION = "collection"
"""Judge of a finding that a cited document is unknown: its id is not in the collection."""

RULE = "rule"
"""Judge of findings that need no judge."""

Outcome: TypeAlias = Literal["reward", "penalty", "neutral", "unscored"]

OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

NO_TEXT = "no_text"
"""Note of a report whose texts were left out (`--no-text`): its words cannot be counted."""


ANSWERED_ONLY = "Which nuggets it misses is not known: only those that it answers are listed."
"""Note of a report whose recall cannot be computed."""


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The finding at a node: yes, no, or unscored."""

    value: bool | None  # None if unscored
    by: str = ""  # the judge's name, `lookup`, `rule` or `collection`
    why: str = ""  # the reason given, or why it is unscored
    probability: float | None = None  # of yes, in [0, 1]
    id: str = ""  # of its lines in `answers.jsonl`, or their prefix


@dataclass(frozen=True, slots=True)
class JudgedCitation:
    """A citation: is the document relevant, and does it attest the sentence?"""

    doc_id: str
    relevant: NodeAnswer
    attests: NodeAnswer

    @property
    def unknown(self) -> bool:
        """Whether there is a collection without the document."""
        return self.attests.by == COLLECTION


@dataclass(frozen=True, slots=True)
class TreePath:
    """A path through the tree: nodes passed, as `node=yes`, `no` or `unscored`, and its outcome."""

    path: tuple[str, ...]
    outcome: Outcome
    weight: float | None  # of the reward (> 0) or penalty (< 0)
    about: str = ""  # the document or nugget; empty for the sentence


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence of a report.

    Attributes:
        citations: each cited document once, in order.
        findings: node -> finding about the sentence itself; only nodes that were passed.
        answers: (nugget id, position of the answer) pairs that it gives.
        steps: every path through the tree, citations first.
        unscored_answers: such pairs for which this is unscored.
        quoted: whether it occurs verbatim in each document that it cites, ignoring case,
            punctuation and white space: such a document attests it without a judge.
        repeats: position of the sentence that it repeats (`repetition.REPETITION_RULE`).
    """

    text: str
    citations: tuple[JudgedCitation, ...] = ()
    findings: Mapping[str, NodeAnswer] = field(default_factory=dict, hash=False)
    answers: tuple[tuple[str, int], ...] = ()
    steps: tuple[TreePath, ...] = ()
    unscored_answers: tuple[tuple[str, int], ...] = ()
    quoted: bool = False
    repeats: int | None = None

    @property
    def blank(self) -> bool:
        """Whether it has neither words nor citations; from findings, as its text may be missing."""
        negative = self.findings.get("negative")
        needs = self.findings.get("needs_citation")
        return (
            not self.citations
            and negative is not None
            and needs is not None
            and (negative.by, needs.by, needs.value) == (RULE, RULE, False)
        )

    @property
    def attested(self) -> bool | None:
        """Whether each of its citations attests it; False without any, None if unscored."""
        if not self.citations:
            return False
        return all_of(citation.attests.value for citation in self.citations)


@dataclass(frozen=True, slots=True)
class JudgedAnswer:
    """An answer of a nugget, and the positions of the sentences that give it."""

    text: str
    given: bool | None  # None: no sentence gives it, but at least one is unscored
    sentences: tuple[int, ...] = ()
    partial: bool = False  # given in part only (nuggetizer's `partial_support`)


@dataclass(frozen=True, slots=True)
class JudgedNugget:
    """A nugget of the topic's bank, and how the whole report answers it."""

    id: str
    text: str
    importance: str = ""
    aggregator: str = ""
    is_claim: bool = False
    answers: tuple[JudgedAnswer, ...] = ()

    @classmethod
    def of(cls, nugget: Nugget, answers: Iterable[JudgedAnswer]) -> JudgedNugget:
        """Return a nugget of a bank with its judged answers, in their order."""
        details = nugget.id, nugget.text, nugget.importance, nugget.aggregator, nugget.is_claim
        return cls(*details, tuple(answers))

    @property
    def answered(self) -> bool | None:
        """Whether the report gives all answers of an AND, one of any other; None if unscored."""
        if not self.answers:
            return None
        together = all_of if self.aggregator.upper() == "AND" else any_of
        return together(answer.given for answer in self.answers)


@dataclass(frozen=True, slots=True, repr=False)
class JudgedReport:
    """A report of one run on one topic, judged.

    `relevant` are the documents that attest an answer of the bank, for citation recall. `missing`
    says that the run has no report on this topic; it then has no sentences. `differing` are the
    cited documents whose text in the report differs from the collection, each with the share of
    the words of that text that are also in the collection's, in [0, 1]. `whole` says that it was
    compared with nuggets as one text: its sentences were not judged, and none are here.
    """

    topic_id: str
    run_id: str
    sentences: tuple[JudgedSentence, ...] = ()
    nuggets: tuple[JudgedNugget, ...] = ()
    relevant: tuple[str, ...] = ()
    missing: bool = False
    notes: tuple[str, ...] = ()
    differing: tuple[tuple[str, float], ...] = ()
    whole: bool = False

    def __repr__(self) -> str:
        parts = f"{len(self.sentences)} sentences, {len(self.nuggets)} nuggets"
        return f"JudgedReport({shorten(self.topic_id)!r}, {shorten(self.run_id)!r}: {parts})"

    @property
    def empty(self) -> bool:
        """Whether it exists but is empty: it has no sentence with words or citations."""
        return not (self.missing or self.whole) and all(s.blank for s in self.sentences)

    def row(self) -> dict[str, Any]:
        """Return it as a JSON object; in restricted mode without texts, with the note `no_text`."""
        row = asdict(self)
        if not self.whole:
            del row["whole"]
        for sentence in row["sentences"]:
            if sentence["repeats"] is None:
                del sentence["repeats"]
        return {**textless(row, _NAMED), "notes": [NO_TEXT]} if hides_text() else row


def all_of(values: Iterable[bool | None]) -> bool | None:
    """Return whether all are true: None if none is false and some are unscored."""
    truths = list(values)
    return False if False in truths else None if None in truths else True


def any_of(values: Iterable[bool | None]) -> bool | None:
    """Return whether one is true: None if none is and some are unscored."""
    truths = list(values)
    return True if True in truths else None if None in truths else False


@cache
def report_adapter() -> Any:
    """Return the validator of a judged report, built late as pydantic loads slowly."""
    from pydantic import TypeAdapter

    return TypeAdapter(JudgedReport)


def report_of_row(row: Mapping[str, Any]) -> JudgedReport:
    """Return the report from the object made by `row()`; ValueError for any other object."""
    report: JudgedReport = report_adapter().validate_python(row)
    return report
