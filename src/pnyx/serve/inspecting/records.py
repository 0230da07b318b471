"""What a catalogue gives to pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    """One page of a list.

    Attributes:
        items: those on this page.
        total: how many there are on all pages.
        page: its number, from 1.
        pages: how many pages there are, at least 1.
        first: the place of the first item in the list, from 1.
    """

    items: Sequence[T]
    total: int
    page: int = 1
    pages: int = 1
    first: int = 1


@dataclass(frozen=True, slots=True)
class Source:
    """One thing that was given: a results folder, or a file.

    Attributes:
        name: unique; one part of addresses.
        kind: a name in `reading.KINDS`, e.g. `results`, `reports`, `measures`.
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
class Run:
    """A system; the same in all sources that name it.

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
class Topic:
    """A topic or question; `title` is its text, empty where no source says it.

    `reports`, `scored` and `asked` are as of a run.
    """

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
class Judgement:
    """What a judge said of one item, without its texts (`Catalogue.row` has the whole line).

    Attributes:
        source: name of the source; with `n`, the line's number among its lines, an address.
        value: as in the file; None where it is unscored.
        verdict: its class: `unscored`, `yes`, `no`, `a`, `b`, `tie`, `score`, `order`.
        probability: of yes, in [0, 1]; None where there is none.
        confidence: the probability of the value given; None where there is none.
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
    value: Any
    verdict: str
    probability: float | None
    confidence: float | None
    unscored: str
    judge: str
    run: str
    topic: str
    doc: str
    perspective: str
    file: int
    place: int
    line: int


@dataclass(frozen=True, slots=True)
class ReportAt:
    """Where a report is.

    Attributes:
        kind: `judged` (a line of reports.jsonl) or `response` (as a run's file has it).
        side: `pro` or `con` of an argued one; empty otherwise.
        scored: how many of its `asked` findings have a value.
        missing: the run has no report on the topic.
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
    missing: bool
    file: int
    place: int
    line: int

    @property
    def address(self) -> tuple[str, ...]:
        """The parts of its page's address."""
        side = (self.side,) if self.side else ()
        return ("report", self.source, self.run, self.topic, *side)


@dataclass(frozen=True, slots=True)
class SentenceAt:
    """A sentence of a report; `n` from 0, `state` in `reward penalty neutral unscored`, or empty.

    A sentence with one unscored step is `unscored`, else with one penalty `penalty`, and so on.
    """

    report: ReportAt
    n: int
    state: str = ""


@dataclass(frozen=True, slots=True)
class Linked:
    """A judgement that a finding about a sentence rests on; `about` is a document or a nugget."""

    judgement: Judgement
    sentence: int
    node: str
    about: str


@dataclass(frozen=True, slots=True)
class Value:
    """A measure, by name, and what it rests on; `run` or `topic` is empty where it is of none."""

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
class Difference:
    """A run's difference to a baseline; `p` is corrected as the measures' file says."""

    run: str
    baseline: str
    measure: str
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    significant: bool | None


@dataclass(frozen=True, slots=True)
class BoardRow:
    """A run on a leaderboard: measure -> value over all topics."""

    run: str
    values: Mapping[str, Value]
    differences: Mapping[str, Difference]


@dataclass(frozen=True, slots=True)
class Board:
    """A leaderboard: the runs of one source by one or more measures, in the order asked for."""

    source: Source
    measures: Sequence[str]
    rows: Listed[BoardRow]
    sorted_by: str

    def values(self, most: int) -> list[Value | None]:
        """Return what its first rows show."""
        return [row.values.get(m) for row in self.rows.items[:most] for m in self.measures]


@dataclass(frozen=True, slots=True)
class Facet:
    """A way to narrow a list of judgements, and how many there are in the whole of its source.

    `facet` is `value`, `task`, `judge`, `dimension`, `topic` or `run`; `key` is its part of an
    address.
    """

    facet: str
    value: str
    key: str
    count: int


@dataclass(frozen=True, slots=True)
class Filter:
    """What judgements to list: the values of facets, each empty for any."""

    source: str = ""
    value: str = ""
    task: str = ""
    judge: str = ""
    dimension: str = ""
    topic: str = ""
    run: str = ""
