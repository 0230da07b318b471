"""Every kind of row that a table page shows, declared: where it comes from, its columns, facets.

The catalogue reads rows by these declarations, too, and its builder counts the facets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Generic

from pnyx.serve.view.records import (
    DifferenceRow,
    JudgementRow,
    MeasureRow,
    ReportRow,
    Row,
    RunRow,
    SentenceRow,
    SourceRow,
    TopicRow,
)


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """A column of a table page.

    Attributes:
        name: its heading.
        field: the attribute of a row that it shows and is sorted by.
        show: the macro of `table.html.j2` that shows a cell.
        to: what a cell leads to: the first part of an address, then attributes of the row.
        number: whether it is aligned to the right.
    """

    name: str
    field: str
    show: str = "text"
    to: tuple[str, ...] = ()
    number: bool = False

    def address(self, row: object) -> tuple[str, ...]:
        """Return the parts of the address that a row's cell leads to."""
        return (self.to[0], *(str(getattr(row, name)) for name in self.to[1:]))


@dataclass(frozen=True, eq=False)
class Kind(Generic[Row]):
    """A kind of row.

    Attributes:
        name: the first part of its table's address; as a heading, capitalised.
        row: the class of a row, whose fields `select` gives in order.
        base: the table that rows are counted, narrowed and ordered in.
        joins: what names are read from, besides.
        select: field -> the expression that gives it.
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
    select: Mapping[str, str]
    key: str
    order: str
    joins: str = ""
    lead: str = ""
    of: str = ""
    facets: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[ShownColumn, ...] = ()
    csv: str = ""
    listed: str = ""
    indexes: tuple[str, str] = ("", "")
    nav: str = ""

    @property
    def sql(self) -> str:
        """The query of all rows, up to where conditions follow."""
        return f"SELECT {', '.join(self.select.values())} FROM {self.base} {self.joins}"


def _select(alias: str, names: str, **other: str) -> dict[str, str]:
    """Return field -> expression: columns of `alias` but for what is read otherwise."""
    return {name: other.get(name, f"{alias}.{name}") for name in names.split()}


_SCORED = ShownColumn("Judgements", "asked", "scored", number=True)
_OF = {"source": "s.name", "run": "coalesce(r.name, '')", "topic": "coalesce(t.name, '')"}
_COLUMNS = {
    "source": ShownColumn("Source", "source", to=("source", "source")),
    "run": ShownColumn("Run", "run", to=("run", "run")),
    "topic": ShownColumn("Topic", "topic", to=("topic", "topic")),
}


def _joins(alias: str) -> str:
    return (
        f"JOIN source s ON s.id = {alias}.source LEFT JOIN run r ON r.id = {alias}.run "
        f"LEFT JOIN topic t ON t.id = {alias}.topic"
    )


SOURCES: Final = Kind(
    "sources", SourceRow, "source s",
    _select("s", "id name path kind task judge finished scored asked dollars problem about"),
    "s.id", "s.problem = '', s.id",
    columns=(
        ShownColumn("Source", "name", to=("source", "name")),
        ShownColumn("Kind", "kind"),
        ShownColumn("Task", "task"),
        ShownColumn("Judge", "judge", "small"),
        _SCORED,
        ShownColumn("Cost", "dollars", "dollars", number=True),
        ShownColumn("Finished", "finished", "time"),
    ),
)  # fmt: skip

RUNS: Final = Kind(
    "runs", RunRow, "run r", _select("r", "id name reports scored asked"), "r.id",
    "r.scored = r.asked, r.name",
    columns=(
        ShownColumn("Run", "name", to=("run", "name")),
        ShownColumn("Reports", "reports", "count", number=True),
        _SCORED,
    ),
    csv="run=name reports scored asked", nav="Runs",
)  # fmt: skip

TOPICS: Final = Kind(
    "topics", TopicRow, "topic t", _select("t", "id name title reports scored asked"), "t.id",
    "t.scored = t.asked, t.name",
    columns=(
        ShownColumn("Topic", "shown", to=("topic", "name")),
        ShownColumn("Id", "name", "mono"),
        ShownColumn("Reports", "reports", "count", number=True),
        _SCORED,
    ),
    csv="topic=name title reports scored asked", nav="Topics",
)  # fmt: skip

JUDGEMENTS: Final = Kind(
    "judgements", JudgementRow, "judgement j",
    _select("j", "id source n item task dimension value verdict probability doubt unscored judge "
            "run topic doc perspective file place line", **_OF),
    "j.id", "j.doubt, j.source, j.n", _joins("j"),
    "What is unscored stands first, then what the judge was least sure of.", "j",
    {"value": "j.verdict", "task": "j.task", "judge": "j.judge", "dimension": "j.dimension",
     "topic": "j.topic", "run": "j.run"},
    (
        ShownColumn("Item", "item", "item", ("judgement", "source", "n")),
        ShownColumn("Task", "task", "task"),
        ShownColumn("Value", "verdict", "verdict"),
        ShownColumn("P(yes)", "probability", "number", number=True),
        _COLUMNS["topic"],
        ShownColumn("Judge", "judge", "small"),
    ),
    "source n item task dimension value=answer probability unscored judge run topic document=doc "
    "perspective",
    "Judgements, without texts", ("judgement_source", "judgement_list"), "Judgements",
)  # fmt: skip

REPORTS: Final = Kind(
    "reports", ReportRow, "report p",
    _select("p", "id source run topic kind side sentences scored asked missing file place line",
            **_OF),
    "p.id", "p.scored = p.asked, p.source, p.run, p.topic, p.side", _joins("p"),
    "Those with unscored findings stand first.", "p",
    {"kind": "p.kind", "side": "p.side"},
    (
        _COLUMNS["run"],
        _COLUMNS["topic"],
        ShownColumn("Report", "kind", "report"),
        ShownColumn("Side", "side"),
        ShownColumn("Findings", "asked", "scored", number=True),
        _COLUMNS["source"],
    ),
    "source run topic kind side sentences scored asked missing", "Reports, without texts",
)  # fmt: skip

SENTENCES: Final = Kind(
    "sentences", SentenceRow, "sentence n JOIN report p ON p.id = n.report",
    _select("n", "source run topic n state", **_OF) | {"n": "n.n + 1"},
    "(n.report, n.n)", "n.state != 'unscored', n.report, n.n", _joins("p"),
    "What is unscored stands first, then as the reports have them.", "p",
    {"state": "n.state"},
    (
        ShownColumn("Sentence", "n", "sentence", ("sentence", "source", "run", "topic", "n")),
        ShownColumn("Outcome", "state", "outcome"),
        _COLUMNS["run"],
        _COLUMNS["topic"],
        _COLUMNS["source"],
    ),
    "source run topic n state", "Sentences, without texts",
)  # fmt: skip

MEASURES: Final = Kind(
    "measures", MeasureRow, "value v",
    _select("v", "source run topic measure value low high scored asked no_interval", **_OF),
    "v.rowid", "v.value NOT NULL, v.rowid", _joins("v"),
    "What is unscored stands first, then as the sources have them.", "v",
    {"measure": "v.measure"},
    (
        ShownColumn("Measure", "measure"),
        _COLUMNS["run"],
        _COLUMNS["topic"],
        ShownColumn("Value", "value", "measured", number=True),
        ShownColumn("Scored", "scored", "scored", number=True),
        _COLUMNS["source"],
    ),
    "source run topic measure value low high scored asked", "All measures, by run and topic",
)  # fmt: skip

DIFFERENCES: Final = Kind(
    "differences", DifferenceRow, "difference d",
    _select("d", "source run baseline measure difference low high p significant", source="s.name",
            run="r.name", baseline="b.name"),
    "d.rowid", "d.difference NOT NULL, d.rowid",
    "JOIN source s ON s.id = d.source JOIN run r ON r.id = d.run JOIN run b ON b.id = d.baseline",
    "Runs against their baselines, as the sources have them.", "d",
    {"measure": "d.measure"},
    (
        _COLUMNS["run"],
        ShownColumn("Baseline", "baseline", to=("run", "baseline")),
        ShownColumn("Measure", "measure"),
        ShownColumn("Difference", "difference", "difference", number=True),
        ShownColumn("p", "p", "number", number=True),
        _COLUMNS["source"],
    ),
    "source run baseline measure difference low high p significant", "Differences to baselines",
)  # fmt: skip

TABLES: Final = (TOPICS, RUNS, JUDGEMENTS, MEASURES, DIFFERENCES, REPORTS, SENTENCES)
"""The kinds that have a table page; sources stand on the first page."""
