"""Pages of perspectives: coverage by each source's documents, and the matrix of a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from pnyx.core.records import Perspective
from pnyx.core.restricted_mode import hides_text
from pnyx.display.plots import PlotPanel, Point, interval_plot
from pnyx.display.tables import Column, Table
from pnyx.formats import read_run
from pnyx.formats.runs.rankings import Rankings, rankings_of
from pnyx.formats.runs.run_ids import with_document_ids
from pnyx.judging.verdicts import Verdict
from pnyx.perspectives.measures.table import PERSPECTIVE_MEASURES, Bounded, table_of
from pnyx.perspectives.measures.verdicts import Verdicts, verdicts_of_answers
from pnyx.search.measures.table import RunTable
from pnyx.stats.base import Measured
from pnyx.web.rendering import slug
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.figure import Figure, FigureSection, figure_page, link_group
from pnyx.web.results.kinds import JUDGEMENTS
from pnyx.web.results.pages import Address, Content, FigureEntry, PageFile, PageRoute, Parts
from pnyx.web.results.records import JudgementRow, NotFoundError, SourceRow

_DRAWN: Final = 40
"""Maximum topics in the picture; the table has all."""

_DEPTHS: Final = (5, 10, 20)
_MEASURES: Final = ("MRecall", "Precision")
_PAIRS: Final = (
    "FROM judgement j WHERE j.perspective != '' AND j.doc != '' "
    "AND j.task IN ('support', 'perspectives', '')"
)
_STATES: Final = {True: "yes", False: "no", None: "unscored"}


# The matrix ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """A perspective's verdicts by document; `rank` is that of the first supporting document."""

    perspective: Perspective
    verdicts: Sequence[Verdict]
    rank: int | None

    @property
    def open(self) -> int:
        """How many of its pairs are unscored."""
        return sum(verdict.value is None for verdict in self.verdicts)

    @property
    def state(self) -> str:
        """`yes` if a document supports it, `no` if none does, `unscored` if undecided."""
        if self.rank is not None:
            return "yes"
        return "unscored" if self.open else "no"


@dataclass(frozen=True, slots=True)
class Matrix:
    """A question: its documents, best first, and its perspectives."""

    documents: Sequence[str]
    rows: Sequence[MatrixRow]
    measures: Mapping[str, Bounded]

    @property
    def covered(self) -> Measured:
        """The share of perspectives that a document supports, among those decided."""
        settled = [row.state for row in self.rows if row.state != "unscored"]
        share = settled.count("yes") / len(settled) if settled else None
        return Measured(share, len(settled), len(self.rows))

    @property
    def supporting(self) -> list[int]:
        """How many perspectives each document supports."""
        columns = zip(*(row.verdicts for row in self.rows), strict=True)
        return [sum(verdict.value is True for verdict in column) for column in columns]

    def count(self, state: str) -> int:
        """Return how many perspectives are in a state."""
        return sum(row.state == state for row in self.rows)

    def table(self) -> Table:
        """Return a row for each pair, as in the downloaded table."""
        names = "perspective side rank document supports probability unscored".split()
        rows = [
            (row.perspective.id, row.perspective.stance or "", rank, document,
             *_cells(verdict))
            for row in self.rows
            for rank, (document, verdict) in enumerate(
                zip(self.documents, row.verdicts, strict=True), 1
            )
        ]  # fmt: skip
        return Table([Column(name, "name") for name in names], rows)


def _cells(verdict: Verdict) -> tuple[str, float | None, str]:
    if verdict.value is None:
        return "", None, verdict.unscored
    return _STATES[verdict.value], verdict.probability, ""


def _matrix_of(
    topic: str, documents: Sequence[str], perspectives: Sequence[Perspective], verdicts: Verdicts
) -> Matrix:
    table = table_of(topic, documents, perspectives, verdicts)
    rows = []
    for p in perspectives:
        column = [verdicts.of(topic, document, p.id) for document in documents]
        rank = next((rank for rank, v in enumerate(column, 1) if v.value), None)
        rows.append(MatrixRow(p, column, rank))
    depths = [k for k in _DEPTHS if k <= len(documents)] or [len(documents)]
    measures = {}
    for k in filter(None, depths):
        for name in _MEASURES:
            value = (PERSPECTIVE_MEASURES[name] @ k).of(table)
            if value is not None:
                measures[f"{name}@{k}"] = value
    return Matrix(documents, rows, measures)


# What the results hold ----------------------------------------------------------------------------


@lru_cache(maxsize=8)
def _sources(catalogue: Catalogue) -> tuple[SourceRow, ...]:
    """Return the sources that hold verdicts on pairs of document and perspective."""
    return catalogue.sources_in(f"SELECT DISTINCT j.source {_PAIRS}")


@lru_cache(maxsize=8)
def _rankings(catalogue: Catalogue) -> dict[str, Rankings]:
    """Return the runs whose rankings are among the results, by their source's name."""
    paths = {source.name: source.files.get("run") for source in catalogue.sources()}
    return {
        name: rankings_of(with_document_ids(read_run(path), path))
        for name, path in paths.items()
        if path is not None
    }


Pool = tuple[list[str], list[Perspective], Verdicts]
"""What was judged for a question: documents in the order of the answers, and verdicts."""


@lru_cache(maxsize=64)
def _pool(catalogue: Catalogue, source: SourceRow, topic: str) -> Pool:
    chosen = catalogue.every(JUDGEMENTS, source=source.name, topic=topic)
    pairs = [judgement for judgement in chosen if judgement.perspective and judgement.doc]
    if not pairs:
        raise NotFoundError("no pairs of this question were judged")
    judge = pairs[0].judge
    pairs = [judgement for judgement in pairs if judgement.judge == judge]
    passages = {j.doc: catalogue.line(j).get("passages") for j in reversed(pairs)}
    seen: dict[tuple[str, str], int] = {}
    rows = []
    for j in pairs:
        seen[j.doc, j.perspective] = seen.get((j.doc, j.perspective), 0) + 1
        rows.append(_answer(j, topic, seen[j.doc, j.perspective], passages[j.doc]))
    views = catalogue.perspectives
    perspectives = [
        views.get((topic, name)) or Perspective(id=name, text=name, question_id=topic)
        for name in dict.fromkeys(j.perspective for j in pairs)
    ]
    documents = list(dict.fromkeys(j.doc for j in pairs))
    return documents, perspectives, verdicts_of_answers(judge, rows)


def _answer(j: JudgementRow, topic: str, passage: int, passages: Any) -> dict[str, Any]:
    """Return a judgement in the form that the measures read."""
    row = {"id": j.item, "task": "support", "question_id": topic, "doc_id": j.doc,
           "perspective_id": j.perspective, "value": j.value, "probability": j.probability,
           "unscored": j.unscored or None, "judge": j.judge}  # fmt: skip
    return row | ({"passage": passage, "passages": passages} if passages else {})


@lru_cache(maxsize=512)
def _matrix(catalogue: Catalogue, source: SourceRow, topic: str, run: str = "") -> Matrix:
    """Return the matrix of a question: documents as ranked by a run, else as they were judged."""
    documents, perspectives, verdicts = _pool(catalogue, source, topic)
    if run:
        ranked = list(_rankings(catalogue)[run].by_topic.get(topic, ()))
        last = max((n for n, doc in enumerate(ranked, 1) if doc in documents), default=0)
        documents = ranked[:last]  # documents below were not judged
        if not documents:
            raise NotFoundError("no result of this run was judged")
    return _matrix_of(topic, documents, perspectives, verdicts)


@lru_cache(maxsize=64)
def _topics(catalogue: Catalogue, source: SourceRow) -> tuple[str, ...]:
    sql = f"SELECT name FROM topic WHERE id IN (SELECT j.topic {_PAIRS} AND j.source = ?)"
    return tuple(sorted(row[0] for row in catalogue.each(sql, source.id)))


def _runs(catalogue: Catalogue, source: SourceRow, topic: str) -> list[str]:
    judged = set(_pool(catalogue, source, topic)[0])
    return [
        name
        for name, rankings in _rankings(catalogue).items()
        if judged.intersection(rankings.by_topic.get(topic, ()))
    ]


# Pages --------------------------------------------------------------------------------------------


def _show(catalogue: Catalogue, address: Address) -> Content:
    """Show coverage: of all sources, of one source, or the matrix of one question."""
    sources = _sources(catalogue)
    if not address.parts:
        return _show_all(catalogue, sources)
    source = catalogue.source(address.part(0))
    if source not in sources:
        raise NotFoundError("this source has no verdicts on perspectives")
    if len(address.parts) == 1:
        return _show_source(catalogue, source)
    run = ""
    if len(address.parts) == 3:
        wanted = slug(address.part(2))
        run = next((name for name in _rankings(catalogue) if slug(name) == wanted), "")
        if not run:
            raise NotFoundError("no run of this name is among the results")
    return _show_matrix(catalogue, source, catalogue.topic(address.part(1)).name, run)


def _show_all(catalogue: Catalogue, sources: Sequence[SourceRow]) -> Content:
    sections = [
        FigureSection(s.name, (_pairs(s),), [_covered(catalogue, s, f"covered-{n}")])
        for n, s in enumerate(sources, 1)
    ]
    return figure_page(
        "Perspectives",
        ("perspectives",),
        sections,
        lead="Which perspectives on each question the documents found support.",
        choices=link_group("Sources", [(s.name, ("perspectives", s.name)) for s in sources]),
        more="Question by question",
    )


def _pairs(source: SourceRow) -> str:
    judge = f" by {source.judge}" if source.judge else ""
    return f"{source.scored:,} of {source.asked:,} pairs are scored{judge}."


def _show_source(catalogue: Catalogue, source: SourceRow) -> Content:
    base = ("perspectives", source.name)
    topic_links = [(catalogue.topic(t).shown, (*base, t)) for t in _topics(catalogue, source)]
    return figure_page(
        f"Perspectives: {source.name}",
        base,
        [FigureSection("Covered", (), [_covered(catalogue, source, "covered")])],
        lead=_pairs(source),
        crumbs=[("Perspectives", ("perspectives",))],
        choices=link_group("Which document supports which perspective", topic_links),
        more="Question by question",
    )


def _covered(catalogue: Catalogue, source: SourceRow, name: str) -> Figure:
    """Return the coverage of each question, and the means with their intervals over questions."""
    matrices = {topic: _matrix(catalogue, source, topic) for topic in _topics(catalogue, source)}
    titles = {topic: catalogue.topic(topic).shown for topic in matrices}
    measures = list(dict.fromkeys(name for m in matrices.values() for name in m.measures))
    cells: dict[str, dict[str, Measured]] = {}
    for topic, m in matrices.items():
        values = {n: m.measures[n].value if n in m.measures else None for n in measures}
        cells[topic] = {
            n: Measured(value, int(value is not None), 1)
            for n, value in {"covered": m.covered.value, **values}.items()
        }
    means = RunTable({"": cells}).means("", ("covered", *measures))
    counted = ("perspectives", "covered", "missing", "open", "documents")
    columns = [Column("question", "name"), *(Column(head, "count") for head in counted)]
    columns += [Column(head, "figure") for head in ("share covered", *measures)]
    rows: list[Sequence[Any]] = [
        (titles[topic], len(m.rows), *map(m.count, ("yes", "no", "unscored")), len(m.documents),
         *cells[topic].values())
        for topic, m in matrices.items()
    ]  # fmt: skip
    sums = [sum(int(row[n]) for row in rows) for n in range(1, 1 + len(counted))]
    panels = [
        PlotPanel(
            head,
            [
                Point("mean", mean.value, mean.low, mean.high),
                *(Point(titles[topic], cells[topic][head].value)
                  for topic in list(matrices)[:_DRAWN]),
            ],
            bounds=(0.0, 1.0),
        )
        for head, mean in means.items()
    ]  # fmt: skip
    more = f" The picture has the first {_DRAWN}." if len(matrices) > _DRAWN else ""
    caption = (
        f"Of {len(matrices)} questions; the mean has its 95 % interval over them. A question whose "
        f"value depends on unscored pairs is left out of the mean.{more}"
    )
    table = Table(columns, [("all", *sums, *means.values()), *rows])
    return Figure(name, "Perspectives covered", interval_plot(panels), table, caption)


def _show_matrix(catalogue: Catalogue, source: SourceRow, topic: str, run: str) -> Content:
    matrix = _matrix(catalogue, source, topic, run)
    root = ("perspectives", source.name, topic)
    runs = _runs(catalogue, source, topic)
    sides: dict[str, list[MatrixRow]] = {}
    for row in matrix.rows:
        sides.setdefault(row.perspective.stance or "", []).append(row)
    perspectives = {} if hides_text() else catalogue.perspectives
    order = f"as {run} ranks them" if run else "in the order in which they were judged"
    chosen = catalogue.every(JUDGEMENTS, source=source.name, topic=topic)
    # Of several passages, the most probable one decides.
    ordered = sorted(chosen, key=lambda judgement: judgement.probability or 0.0)
    content = figure_page(
        catalogue.topic(topic).shown,
        (*root, *([run] if run else [])),
        [],
        crumbs=[("Perspectives", root[:1]), (source.name, root[:2])],
        template="matrix",
        matrix=matrix,
        sides=list(sides.items()),
        texts={p: perspectives[topic, p].text for t, p in perspectives if t == topic},
        order=f"{len(matrix.documents)}, {order}",
        orders=[("as judged", root, not run), *((r, (*root, r), r == run) for r in runs)],
        judgements={(j.doc, j.perspective): ("judgement", source.name, str(j.n)) for j in ordered},
        states=_STATES,
    )
    files = {"matrix.csv": PageFile("text/csv", lambda: [matrix.table().csv()])}
    return Content(content.template, content.values, files)


def _addresses(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    sources = _sources(catalogue)
    if sources:
        yield (), 1
    for source in sources:
        yield (source.name,), 1
        for topic in _topics(catalogue, source):
            yield (source.name, topic), 1
            for run in _runs(catalogue, source, topic):
                yield (source.name, topic, run), 1


def _of_source(catalogue: Catalogue, source: SourceRow) -> Iterator[tuple[str, Parts]]:
    if source in _sources(catalogue):
        yield "Perspectives", ("perspectives", source.name)


_ENTRY: Final = FigureEntry(
    "Perspectives",
    "Which documents support which perspective, and what is missing.",
    "verdicts of pnyx judge support --perspectives",
)
PAGES: Final = (
    PageRoute("perspectives", _show, _addresses, most=3, of_source=_of_source, entry=_ENTRY),
)
