"""Declarations of every kind of row on a table page: its source, columns and facets.

The catalogue also reads rows by these declarations, and its builder counts the facets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Final, Generic

from pnyx.web.results.records import (
    DifferenceRow,
    JudgementRow,
    MeasureValue,
    ReportRow,
    Row,
    RunCounts,
    SentenceRow,
    SourceRow,
    TopicCounts,
)


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of a table page."""

    name: str  # its heading
    field: str  # the attribute that it shows and is sorted by
    show: str = "text"  # the macro of `table.html.j2` that shows a cell
    to: tuple[str, ...] = ()  # first part of an address, then attributes of the row
    number: bool = False  # whether it is aligned to the right

    def address(self, row: object) -> tuple[str, ...]:
        """Return the parts of the address behind a row's cell."""
        return (self.to[0], *(str(getattr(row, name)) for name in self.to[1:]))


@dataclass(frozen=True, eq=False)
class Kind(Generic[Row]):
    """A kind of row.

    Attributes:
        name: the first part of its table's address; as a heading, capitalised.
        row: the class of a row.
        base: the table that rows are counted, narrowed and ordered in.
        joins: what names are read from, besides.
        reads: field of a row -> the expression that gives it, where it is not the column of `base`
            that has its name.
        key: tells rows apart in `base`.
        order: of rows; what is unscored first.
        lead: what the table's page says of that order.
        of: the alias of the table with the source, run and topic of a row; empty where rows are
            of all sources.
        facets: what rows are narrowed by -> its expression in `base`.
        columns: of the page; `csv`: fields of a file, `HEADING=FIELD` where the names differ.
        listed: what the page of files calls it.
        indexes: the index for the whole table of a source, and the one for any other list that
            names no topic or run: SQLite's own choice may be to read all rows.
        nav: what the head of every page calls it; empty where it is not there.
    """

    name: str
    row: type[Row]
    base: str
    key: str
    order: str
    joins: str = ""
    lead: str = ""
    of: str = ""
    reads: Mapping[str, str] = field(default_factory=dict)
    facets: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[ShownColumn, ...] = ()
    csv: str = ""
    listed: str = ""
    indexes: tuple[str, str] = ("", "")
    nav: str = ""

    @cached_property
    def select(self) -> dict[str, str]:
        """Field of a row -> the expression that gives it."""
        alias = self.base.split()[1]
        names = [f.name for f in fields(self.row)]  # type: ignore[arg-type]
        return {name: self.reads.get(name, f"{alias}.{name}") for name in names}

    @cached_property
    def sql(self) -> str:
        """The query of all rows, without conditions."""
        return f"SELECT {', '.join(self.select.values())} FROM {self.base} {self.joins}"


_SCORED = ShownColumn("Judgements", "asked", "scored", number=True)
_REPORTS = ShownColumn("Reports", "reports", "count", number=True)
_SOURCE = ShownColumn("Source", "source", to=("source", "source"))
_RUN = ShownColumn("Run", "run", to=("run", "run"))
_TOPIC = ShownColumn("Topic", "topic", to=("topic", "topic"))
_NAMES = {"source": "s.name", "run": "coalesce(r.name, '')", "topic": "coalesce(t.name, '')"}


def _names_of(alias: str) -> str:
    return (
        f"JOIN source s ON s.id = {alias}.source LEFT JOIN run r ON r.id = {alias}.run "
        f"LEFT JOIN topic t ON t.id = {alias}.topic"
    )


SOURCES: Final = Kind(
    "sources", SourceRow, "source s", "s.id", "s.problem = '', s.id", reads={"files": "'{}'"},
    columns=(
        ShownColumn("Source", "name", to=("source", "name")),
        ShownColumn("Kind", "kind"),
        ShownColumn("Task", "task"),
        ShownColumn("Judge", "judge", "judge"),
        _SCORED,
        ShownColumn("Cost", "dollars", "dollars", number=True),
        ShownColumn("Finished", "finished", "time"),
    ),
)  # fmt: skip

RUNS: Final = Kind(
    "runs", RunCounts, "run r", "r.id", "r.scored = r.asked, r.name",
    columns=(ShownColumn("Run", "name", to=("run", "name")), _REPORTS, _SCORED),
    csv="run=name reports scored asked", nav="Runs",
)  # fmt: skip

TOPICS: Final = Kind(
    "topics", TopicCounts, "topic t", "t.id", "t.scored = t.asked, t.name",
    columns=(ShownColumn("Topic", "shown", to=("topic", "name")), ShownColumn("Id", "name", "mono"),
             _REPORTS, _SCORED),
    csv="topic=name title reports scored asked", nav="Topics",
)  # fmt: skip

JUDGEMENTS: Final = Kind(
    "judgements", JudgementRow, "judgement j", "j.id", "j.doubt, j.source, j.n", _names_of("j"),
    "Unscored judgements come first, then those with the lowest confidence.", "j",
    _NAMES | {"coded": "j.value"},
    facets={"value": "j.verdict", "labelled": "CASE WHEN j.label = '' OR j.doubt < 0 THEN '' "
            "WHEN j.label = j.verdict THEN 'right' ELSE 'wrong' END",
            "threshold": "j.threshold", "judges": "j.judges",
            "task": "j.task", "judge": "j.judge", "dimension": "j.dimension",
            "topic": "j.topic", "run": "j.run"},
    columns=(
        ShownColumn("Item", "item", "item", ("judgement", "source", "n")),
        ShownColumn("Task", "task", "task"),
        ShownColumn("Value", "verdict", "verdict"),
        ShownColumn("Label", "label", "label"),
        ShownColumn("P(yes)", "probability", "number", number=True),
        _TOPIC,
        ShownColumn("Judge", "judge", "judge"),
    ),
    csv="source n item task dimension value=answer label probability unscored judge run topic "
        "document=doc perspective",
    listed="Judgements, without texts", indexes=("judgement_source", "judgement_list"),
    nav="Judgements",
)  # fmt: skip

MEASURES: Final = Kind(
    "measures", MeasureValue, "value v", "v.rowid", "v.value NOT NULL, v.rowid", _names_of("v"),
    "Unscored values come first, then the order of the sources.", "v", _NAMES,
    facets={"measure": "v.measure"},
    columns=(
        ShownColumn("Measure", "measure"), _RUN, _TOPIC,
        ShownColumn("Value", "value", "measured", number=True),
        ShownColumn("Scored", "scored", "scored", number=True), _SOURCE,
    ),
    csv="source run topic measure value low high scored asked",
    listed="All measures, by run and topic",
)  # fmt: skip

DIFFERENCES: Final = Kind(
    "differences", DifferenceRow, "difference d", "d.rowid", "d.difference NOT NULL, d.rowid",
    "JOIN source s ON s.id = d.source JOIN run r ON r.id = d.run JOIN run b ON b.id = d.baseline",
    "Runs against their baselines, in the order of the sources.", "d",
    _NAMES | {"baseline": "b.name"}, facets={"measure": "d.measure"},
    columns=(
        _RUN, ShownColumn("Baseline", "baseline", to=("run", "baseline")),
        ShownColumn("Measure", "measure"),
        ShownColumn("Difference", "difference", "difference", number=True),
        ShownColumn("p", "p", "number", number=True), _SOURCE,
    ),
    csv="source run baseline measure difference low high p significant",
    listed="Differences to baselines",
)  # fmt: skip

REPORTS: Final = Kind(
    "reports", ReportRow, "report p", "p.id",
    "p.scored = p.asked, p.source, p.run, p.topic, p.side", _names_of("p"),
    "Reports with unscored findings come first.", "p", _NAMES,
    facets={"kind": "p.kind", "side": "p.side"},
    columns=(
        _RUN, _TOPIC, ShownColumn("Report", "kind", "report"), ShownColumn("Side", "side"),
        ShownColumn("Findings", "asked", "scored", number=True), _SOURCE,
    ),
    csv="source run topic kind side sentences scored asked missing",
    listed="Reports, without texts",
)  # fmt: skip

SENTENCES: Final = Kind(
    "sentences", SentenceRow, "sentence n JOIN report p ON p.id = n.report", "(n.report, n.n)",
    "n.state != 'unscored', n.report, n.n", _names_of("p"),
    "Unscored sentences come first, then the order of the reports.", "p", _NAMES | {"n": "n.n + 1"},
    facets={"state": "n.state"},
    columns=(
        ShownColumn("Sentence", "n", "sentence", ("sentence", "source", "run", "topic", "n")),
        ShownColumn("Outcome", "state", "outcome"), _RUN, _TOPIC, _SOURCE,
    ),
    csv="source run topic n state", listed="Sentences, without texts",
)  # fmt: skip

TABLES: Final = (TOPICS, RUNS, JUDGEMENTS, MEASURES, DIFFERENCES, REPORTS, SENTENCES)
"""The kinds with a table page; sources are on the first page."""
