"""Rows of the catalogue, as pages and templates read them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

Row = TypeVar("Row")


class NotFoundError(LookupError):
    """An address names what the catalogue does not have."""


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
    """Return on how many pages so many rows stand."""
    return max(1, -(-total // ROWS_A_PAGE))


def offset_of(number: int, total: int) -> int:
    """Return how many rows stand before a page; NotFoundError where the table ends before it."""
    pages = pages_of(total)
    if not 1 <= number <= pages:
        raise NotFoundError(f"this list has {pages} pages")
    return (number - 1) * ROWS_A_PAGE


def page_of(rows: Sequence[Row], total: int, number: int) -> RowPage[Row]:
    """Return a page of a table."""
    return RowPage(rows, total, number, pages_of(total), offset_of(number, total) + 1)


def cut_page(rows: Sequence[Row], number: int) -> RowPage[Row]:
    """Return a page of rows that are all there."""
    offset = offset_of(number, len(rows))
    return page_of(rows[offset : offset + ROWS_A_PAGE], len(rows), number)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """One thing that was given: a results folder, or a file.

    Attributes:
        name: unique; one part of addresses.
        kind: a name in `reader.KINDS`, e.g. `results`, `measures`.
        scored: how many of `asked` judgements have a value.
        dollars: what it cost; None where that is not known.
        problem: what is wrong, one line; it then has nothing else.
        about: the manifest, or what else it says of itself, as JSON values.
        files: format -> the path of its file.
    """

    id: int
    name: str
    path: str
    kind: str
    task: str = ""
    judge: str = ""
    finished: str = ""
    scored: int = 0
    asked: int = 0
    dollars: float | None = None
    problem: str = ""
    about: Mapping[str, Any] = field(default_factory=dict, hash=False, repr=False)
    files: Mapping[str, str] = field(default_factory=dict, hash=False, repr=False)


@dataclass(frozen=True, slots=True)
class RunCounts:
    """A run; the same in all sources that name it.

    Attributes:
        reports: how many there are of it, judged or not.
        scored: how many of the `asked` judgements that name it have a value.
    """

    id: int
    name: str
    reports: int = 0
    scored: int = 0
    asked: int = 0


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """A topic; `title` is its text, empty where no source says it; counts as of a run."""

    id: int
    name: str
    title: str = ""
    reports: int = 0
    scored: int = 0
    asked: int = 0

    @property
    def shown(self) -> str:
        """Its text, else its id."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """What a judge said of one item, without its texts (`Catalogue.line` has the whole line).

    Attributes:
        source: name of the source; with `n`, the line's number among its lines, an address.
        coded: the value as JSON; None where it is unscored.
        verdict: its class: `unscored`, `yes`, `no`, `a`, `b`, `tie`, `score`, `order`.
        probability: of yes, in [0, 1]; None where there is none.
        doubt: what tables are in the order of: see `schema.sql`.
        unscored: why there is no value.
        run, topic, doc, perspective: ids; empty where the line does not say.
        line: 1-based, of its file.
    """

    id: int
    source: str
    n: int
    item: str
    task: str
    dimension: str
    coded: str | None
    verdict: str
    probability: float | None
    doubt: float
    unscored: str
    judge: str
    run: str
    topic: str
    doc: str
    perspective: str
    file: int
    place: int
    line: int

    @property
    def value(self) -> Any:
        """The value as in the file; None where it is unscored."""
        return None if self.coded is None else json.loads(self.coded)

    @property
    def answer(self) -> Any:
        """The value as a table in a file has it: yes or no in words, an order as one text."""
        value = self.value
        if isinstance(value, bool):
            return "yes" if value else "no"
        return " ".join(map(str, value)) if isinstance(value, list) else value

    @property
    def confidence(self) -> float | None:
        """The probability of the value given; None where there is none."""
        return self.doubt if 0 <= self.doubt <= 1 else None


@dataclass(frozen=True, slots=True)
class ReportRow:
    """Where a report is.

    Attributes:
        kind: `judged` (a line of reports.jsonl) or `response` (as a run's file has it).
        side: `pro` or `con` of an argued one; empty otherwise.
        scored: how many of its `asked` findings have a value.
        missing: 1 where the run has no report on the topic.
    """

    id: int
    source: str
    run: str
    topic: str
    kind: str
    side: str
    sentences: int
    scored: int
    asked: int
    missing: int
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
    """A measure and what it rests on; `run` or `topic` is empty where it is of none."""

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
    """A run's difference to a baseline; `p` is corrected as the measures' file says."""

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
    """A way to narrow a table, and how many rows of its source there then are.

    `facet` is a name in the table's `Kind.facets`; `key` is its part of an address.
    """

    facet: str
    value: str
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class LinkedJudgement:
    """A judgement that a finding about a sentence rests on; `about` is a document or nothing."""

    judgement: JudgementRow
    sentence: int
    node: str
    about: str
