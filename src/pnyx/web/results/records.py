"""Rows of the catalogue, as pages and templates read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

Row = TypeVar("Row")


class NotFoundError(LookupError):
    """An address names something that the catalogue does not have."""


@dataclass(frozen=True, slots=True)
class RowPage(Generic[Row]):
    """One page of a table: its `rows` of `total` on all `pages`; `number` and `first` from 1."""

    rows: Sequence[Row]
    total: int
    number: int = 1
    pages: int = 1
    first: int = 1


ROWS_A_PAGE: Final = 100
"""Rows on a page of a table."""


def pages_of(total: int) -> int:
    """Return the number of pages for a number of rows."""
    return max(1, -(-total // ROWS_A_PAGE))


def offset_of(number: int, total: int) -> int:
    """Return the number of rows before a page; NotFoundError if the table ends before it."""
    pages = pages_of(total)
    if not 1 <= number <= pages:
        raise NotFoundError(f"this list has {pages} pages")
    return (number - 1) * ROWS_A_PAGE


def page_of(rows: Sequence[Row], total: int, number: int) -> RowPage[Row]:
    """Return a page of a table."""
    return RowPage(rows, total, number, pages_of(total), offset_of(number, total) + 1)


def cut_page(rows: Sequence[Row], number: int) -> RowPage[Row]:
    """Return a page of rows that are all in memory."""
    offset = offset_of(number, len(rows))
    return page_of(rows[offset : offset + ROWS_A_PAGE], len(rows), number)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One given source: a results folder, or a file."""

    id: int
    name: str  # unique; one part of addresses
    path: str
    kind: str  # a name in `reader.KINDS`, e.g. `results`, `measures`
    task: str = ""
    judge: str = ""
    finished: str = ""
    scored: int = 0  # of `asked` judgements have a value
    asked: int = 0
    dollars: float | None = None  # what it cost; None if unknown
    problem: str = ""  # what is wrong, one line
    about: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """A run; the same in all sources that name it."""

    id: int
    name: str
    reports: int = 0  # number of its reports, judged or not
    scored: int = 0  # how many of `asked` judgements have a value
    asked: int = 0


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """A topic; `title` is its text, `request` the full request; empty if no source has it."""

    id: int
    name: str
    title: str = ""
    reports: int = 0
    scored: int = 0
    asked: int = 0
    request: str = ""
    background: str = ""

    @property
    def shown(self) -> str:
        """Its text, or else its id."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """A judge's answer to one item, without its texts (`Catalogue.line` has the whole line)."""

    id: int
    source: str  # with `n`, its line among the source's, an address
    n: int
    item: str
    task: str
    dimension: str
    coded: str | None  # the value as JSON; None if unscored
    verdict: str  # `unscored`, `yes`, `no`, `a`, `b`, `tie`, `score`, `order`
    probability: float | None  # of yes, in [0, 1]
    doubt: float  # sort key of tables: see `schema.sql`
    unscored: str  # why there is no value
    threshold: str  # `near` where the probability is
    label: str  # people's label of the item, as in `verdict`; empty for none
    judges: str  # `disagree` if judges gave different values
    judge: str
    run: str
    topic: str
    doc: str
    perspective: str
    file: int
    place: int
    line: int  # 1-based, of its file

    @property
    def value(self) -> Any:
        """The value as in the file; None if unscored."""
        return None if self.coded is None else json.loads(self.coded)

    @property
    def answer(self) -> Any:
        """The value as a table in a file has it: yes or no in words, an order as one text."""
        value = self.value
        if isinstance(value, bool):
            return "yes" if value else "no"
        return " ".join(map(str, value)) if isinstance(value, list) else value

    @property
    def labelled(self) -> str:
        """Whether the verdict is `right` or `wrong` by people's labels; empty where unknown."""
        if not self.label or self.verdict == "unscored":
            return ""
        return "right" if self.label == self.verdict else "wrong"

    @property
    def confidence(self) -> float | None:
        """The probability of the value given; None where there is none."""
        return self.doubt if 0 <= self.doubt <= 1 else None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """The location of a report."""

    id: int
    source: str
    run: str
    topic: str
    kind: str  # `judged` (of reports.jsonl) or `response`
    side: str  # `pro` or `con` of an argued one
    sentences: int
    scored: int  # how many of `asked` findings have a value
    asked: int
    missing: int  # 1 if the run has no report on the topic
    file: int
    place: int
    line: int

    @property
    def address(self) -> tuple[str, ...]:
        """The parts of its page's address."""
        side = (self.side,) if self.side else ()
        return ("report", self.source, self.run, self.topic, *side)

    def sentence(self, n: int) -> tuple[str, ...]:
        """Return the parts of the address of its n-th sentence."""
        return ("sentence", self.source, self.run, self.topic, str(n))


@dataclass(frozen=True, slots=True)
class SentenceRow:
    """A sentence of a report; `n` from 1, `state` in `reward penalty neutral unscored`, or empty.

    A sentence with one unscored step is `unscored`, else with one penalty `penalty`, and so on.
    """

    source: str
    run: str
    topic: str
    n: int
    state: str


@dataclass(frozen=True, slots=True)
class MeasureValue:
    """A measure and its counts; `run` or `topic` is empty if it does not belong to one."""

    source: str
    run: str
    topic: str
    measure: str
    value: float | None
    low: float | None
    high: float | None
    scored: int | None
    asked: int | None
    no_interval: str = ""


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A run's difference to a baseline; `p` is corrected as stated in the measures file."""

    source: str
    run: str
    baseline: str
    measure: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: int | None


@dataclass(frozen=True, slots=True)
class FacetValue:
    """A facet value of a table, and its number of rows in the source."""

    facet: str  # a name in the table's `Kind.facets`
    value: str
    key: str  # its part of an address
    count: int


@dataclass(frozen=True, slots=True)
class LinkedJudgement:
    """A judgement behind a finding about a sentence; `about` is a document or empty."""

    judgement: JudgementRow
    sentence: int
    node: str
    about: str
