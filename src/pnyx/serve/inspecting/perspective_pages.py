"""Pages of perspectives: what each source's documents cover, and the matrix of a question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pnyx.corpora import read_perspectives, read_run
from pnyx.measure.core.base import Measured
from pnyx.measure.core.intervals import UNIT, column_means
from pnyx.measure.core.weighted import numbers
from pnyx.measure.perspectives.verdicts import Verdicts, verdicts_of_answers
from pnyx.measure.runs.rankings import Rankings, rankings_of
from pnyx.records import Perspective
from pnyx.restricted import hides_text
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.figures import Figure, Section, files_of
from pnyx.serve.inspecting.matrix import Matrix, matrix_of, matrix_table
from pnyx.serve.inspecting.pages import Kept, Page, Shown
from pnyx.serve.inspecting.records import Filter
from pnyx.serve.rendering import slug
from pnyx.view.plots import Panel, Point, interval_plot
from pnyx.view.tables import Column, Table

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Judgement, Source
    from pnyx.serve.rendering import Links

_DRAWN: Final = 40
"""Topics that the picture shows; the table has all."""

_PAIRS: Final = (
    "FROM judgement j WHERE j.perspective != '' AND j.doc != '' "
    "AND j.task IN ('support', 'perspectives', '')"
)


@lru_cache(maxsize=8)
def perspective_sources(catalogue: Catalogue) -> tuple[Source, ...]:
    """Return the sources that hold verdicts on pairs of document and perspective."""
    ids = {row[0] for row in catalogue.all(f"SELECT DISTINCT j.source {_PAIRS}")}
    return tuple(one for one in catalogue.sources() if one.id in ids)


@lru_cache(maxsize=8)
def _known(catalogue: Catalogue) -> dict[tuple[str, str], Perspective]:
    """Return the perspectives whose texts are among the results, by question and id."""
    found: dict[tuple[str, str], Perspective] = {}
    for source in catalogue.sources():
        path = source.files.get("perspectives") if source.kind == "perspectives" else None
        if path is not None:
            found |= {(one.question_id, one.id): one for one in read_perspectives(path, gold=True)}
    return found


@lru_cache(maxsize=8)
def _rankings(catalogue: Catalogue) -> dict[str, Rankings]:
    """Return the runs whose rankings are among the results, by their source's name."""
    paths = {one.name: one.files.get("run") for one in catalogue.sources()}
    return {name: rankings_of(read_run(path)) for name, path in paths.items() if path is not None}


@dataclass(frozen=True, slots=True)
class _Pool:
    """What was judged of a question: documents in the order of the answers, and verdicts."""

    documents: Sequence[str]
    perspectives: Sequence[Perspective]
    verdicts: Verdicts


@lru_cache(maxsize=64)
def _pool(catalogue: Catalogue, source: Source, topic: str) -> _Pool:
    found = [
        one
        for one in catalogue.all_judgements(Filter(source=source.name, topic=topic))
        if one.perspective and one.doc
    ]
    if not found:
        raise NotThereError("no pairs of this question were judged")
    judge = found[0].judge
    found = [one for one in found if one.judge == judge]
    passages = {one.doc: catalogue.row(one).get("passages") for one in reversed(found)}
    seen: dict[tuple[str, str], int] = {}
    rows = []
    for one in found:
        place = one.doc, one.perspective
        seen[place] = seen.get(place, 0) + 1
        rows.append(_row_of(one, topic, seen[place], passages[one.doc]))
    known = _known(catalogue)
    names = dict.fromkeys(one.perspective for one in found)
    perspectives = [
        known.get((topic, name)) or Perspective(id=name, text=name, question_id=topic)
        for name in names
    ]
    documents = list(dict.fromkeys(one.doc for one in found))
    return _Pool(documents, perspectives, verdicts_of_answers(judge, rows))


def _row_of(one: Judgement, topic: str, passage: int, passages: Any) -> Mapping[str, Any]:
    """Return a judgement as the measures read it."""
    held = {"passage": passage, "passages": passages} if passages else {}
    return {
        **held,
        "id": one.item,
        "task": "support",
        "question_id": topic,
        "doc_id": one.doc,
        "perspective_id": one.perspective,
        "value": one.value,
        "probability": one.probability,
        "unscored": one.unscored or None,
        "judge": one.judge,
    }


@lru_cache(maxsize=512)
def matrix_at(catalogue: Catalogue, source: Source, topic: str, run: str = "") -> Matrix:
    """Return the matrix of a question: documents as a run ranks them, else as they were judged.

    Raises:
        NotThereError: nothing was judged, or the run has nothing of it.
    """
    pool = _pool(catalogue, source, topic)
    documents = list(pool.documents)
    if run:
        judged = set(documents)
        ranked = list(_rankings(catalogue)[run].by_topic.get(topic, ()))
        last = max((n for n, doc in enumerate(ranked, 1) if doc in judged), default=0)
        documents = ranked[:last]  # below, nobody was asked
        if not documents:
            raise NotThereError("nothing that this run found was judged")
    return matrix_of(topic, documents, pool.perspectives, pool.verdicts)


@lru_cache(maxsize=64)
def _topics(catalogue: Catalogue, source: Source) -> tuple[str, ...]:
    sql = (f"SELECT DISTINCT t.name {_PAIRS} AND j.source = ?").replace(
        "judgement j", "judgement j JOIN topic t ON t.id = j.topic"
    )
    return tuple(sorted(row[0] for row in catalogue.all(sql, source.id)))


def _runs(catalogue: Catalogue, source: Source, topic: str) -> list[str]:
    judged = set(_pool(catalogue, source, topic).documents)
    return [
        name
        for name, one in _rankings(catalogue).items()
        if judged.intersection(one.by_topic.get(topic, ()))
    ]


# Pages --------------------------------------------------------------------------------------------


def show(catalogue: Catalogue, _links: Links, parts: Sequence[str], number: int) -> Shown:
    """Show what is covered: the sources, one source, or the matrix of one question."""
    if number != 1:
        raise NotThereError("this list has one page")
    sources = perspective_sources(catalogue)
    if not parts:
        return _overview(catalogue, sources)
    source = catalogue.source(parts[0])
    if source not in sources:
        raise NotThereError("this source has no verdicts on perspectives")
    if len(parts) == 1:
        return _source(catalogue, source)
    topic = catalogue.topic(parts[1]).name
    run = ""
    if len(parts) == 3:
        run = next((n for n in _rankings(catalogue) if slug(n) == slug(parts[2])), "")
        if not run:
            raise NotThereError("no run of this name is among the results")
    return _matrix(catalogue, source, topic, run)


def _overview(catalogue: Catalogue, sources: Sequence[Source]) -> Shown:
    choices = []
    if sources:
        choices = [
            ("Sources", [(o.name, ("perspectives", o.name), False) for o in sources], len(sources))
        ]
    sections: list[Section] = []
    figures = []
    for n, source in enumerate(sources, 1):
        figure = _covered(catalogue, source, f"covered-{n}")
        figures.append(figure)
        sections.append(Section(source.name, (_pairs(source),), [figure]))
    values = {
        "title": "Perspectives",
        "crumbs": [],
        "outcome": None,
        "choices": choices,
        "more": "Question by question",
        "lead": "Which perspectives on each question the documents found support.",
        "sections": sections,
        "base": ("perspectives",),
    }
    return Shown("inspecting/profile.html.j2", values, files_of(figures))


def _pairs(source: Source) -> str:
    judge = f" by {source.judge}" if source.judge else ""
    return f"{source.scored:,} of {source.asked:,} pairs are scored{judge}."


def _source(catalogue: Catalogue, source: Source) -> Shown:
    figure = _covered(catalogue, source, "covered")
    found = [
        (catalogue.topic(one).shown, ("perspectives", source.name, one), False)
        for one in _topics(catalogue, source)
    ]
    values = {
        "title": f"Perspectives: {source.name}",
        "crumbs": [("Perspectives", ("perspectives",))],
        "lead": _pairs(source),
        "outcome": None,
        "choices": [("Which document supports which perspective", found, len(found))],
        "sections": [Section("Covered", (), [figure])],
        "base": ("perspectives", source.name),
        "more": "Question by question",
    }
    return Shown("inspecting/profile.html.j2", values, files_of([figure]))


def _covered(catalogue: Catalogue, source: Source, name: str) -> Figure:
    """Return what is covered of each question, and the means with their intervals over them."""
    found = {one: matrix_at(catalogue, source, one) for one in _topics(catalogue, source)}
    measures = list(dict.fromkeys(m for one in found.values() for m in one.measures))
    names = ["covered", *measures]
    rows = [
        (
            matrix.covered.value,
            *(matrix.measures[m].value if m in matrix.measures else None for m in measures),
        )
        for matrix in found.values()
    ]
    means = column_means(np.stack([numbers(row) for row in rows]), bounds=UNIT)
    columns = [
        Column("question", "name"),
        Column("perspectives", "count"),
        Column("covered", "count"),
        Column("missing", "count"),
        Column("open", "count"),
        Column("documents", "count"),
    ]
    columns += [Column(one, "figure") for one in ("share covered", *measures)]
    table: list[Sequence[Any]] = [
        (
            catalogue.topic(topic).shown,
            len(m.rows),
            m.count("yes"),
            m.count("no"),
            m.count("unscored"),
            len(m.documents),
            *(Measured(x, int(x is not None), 1) for x in row),
        )
        for (topic, m), row in zip(found.items(), rows, strict=True)
    ]
    counts = [sum(int(row[n]) for row in table) for n in range(1, 6)]
    table = [("all", *counts, *means), *table]
    drawn = list(zip(found, rows, strict=True))[:_DRAWN]
    panels = [
        Panel(
            one,
            [
                Point("mean", means[n].value, means[n].low, means[n].high),
                *(Point(catalogue.topic(t).shown, row[n]) for t, row in drawn),
            ],
            bounds=(0.0, 1.0),
        )
        for n, one in enumerate(names)
    ]
    more = f" The picture has the first {_DRAWN}." if len(found) > _DRAWN else ""
    told = (
        f"Of {len(found)} questions; the mean has its 95 % interval over them. A question whose "
        f"value rests on unscored pairs is in no mean.{more}"
    )
    return Figure(name, "Perspectives covered", interval_plot(panels), Table(columns, table), told)


def _matrix(catalogue: Catalogue, source: Source, topic: str, run: str) -> Shown:
    matrix = matrix_at(catalogue, source, topic, run)
    base = ("perspectives", source.name, topic, *([run] if run else []))
    runs = _runs(catalogue, source, topic)
    root = ("perspectives", source.name, topic)
    found = [("as judged", root, not run), *((one, (*root, one), one == run) for one in runs)]
    sides: dict[str, list[Any]] = {}
    for row in matrix.rows:
        sides.setdefault(row.perspective.stance or "", []).append(row)
    known = _known(catalogue)
    texts = (
        {}
        if hides_text()
        else {
            r.perspective.id: r.perspective.text
            for r in matrix.rows
            if (topic, r.perspective.id) in known
        }
    )
    order = f"as {run} ranks them" if run else "in the order in which they were judged"
    values = {
        "title": catalogue.topic(topic).shown,
        "crumbs": [
            ("Perspectives", ("perspectives",)),
            (source.name, ("perspectives", source.name)),
        ],
        "lead": "",
        "outcome": None,
        "sections": [],
        "base": base,
        "matrix": matrix,
        "sides": list(sides.items()),
        "texts": texts,
        "order": f"{len(matrix.documents)}, {order}",
        "choices": found if runs else [],
        "judgements": _addresses_of(catalogue, source, topic),
    }
    made = Kept("text/csv", lambda: [matrix_table(matrix).csv()])
    return Shown("inspecting/matrix.html.j2", values, {"matrix.csv": made})


def _addresses_of(
    catalogue: Catalogue, source: Source, topic: str
) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return (document, perspective) -> the parts of the address of the judgement on it."""
    found = catalogue.all_judgements(Filter(source=source.name, topic=topic))
    # Of several passages the most probable one, which decides.
    ordered = sorted(found, key=lambda one: one.probability or 0.0)
    return {(one.doc, one.perspective): ("judgement", source.name, str(one.n)) for one in ordered}


def addresses(catalogue: Catalogue) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield all of them; none where no perspectives were judged."""
    sources = perspective_sources(catalogue)
    if sources:
        yield (), 1
    for source in sources:
        yield (source.name,), 1
        for topic in _topics(catalogue, source):
            yield (source.name, topic), 1
            for run in _runs(catalogue, source, topic):
                yield (source.name, topic, run), 1


def _of_source(catalogue: Catalogue, source: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    if source in perspective_sources(catalogue):
        yield "Perspectives", ("perspectives", source.name)


PAGES = (Page("perspectives", show, 0, 3, addresses, of_source=_of_source),)
