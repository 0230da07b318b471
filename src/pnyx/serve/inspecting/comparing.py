"""Two side by side: the page that chooses, and the addresses of all pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice
from typing import TYPE_CHECKING, Final

from pnyx.errors import shorten
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.compare_judges import compare_judges, judges_pages, show_judges
from pnyx.serve.inspecting.compare_runs import show_runs, show_topic
from pnyx.serve.inspecting.pages import Page, Shown

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source
    from pnyx.serve.rendering import Links

MOST_PAIRS: Final = 100
"""Pairs of runs, and of judges, that are listed and exported; a server shows any pair."""


def show_compare(catalogue: Catalogue, _links: Links, parts: tuple[str, ...], number: int) -> Shown:
    """Show what can be compared, two runs, their reports on a topic, or two judges."""
    what, *rest = parts or ("",)
    if not what:
        return _choosing(catalogue)
    if what == "judges" and len(rest) in (2, 3):
        if len(rest) == 3:
            number = int(rest[2]) if rest[2].isascii() and rest[2].isdecimal() else 0
        return show_judges(catalogue, rest[0], rest[1], number)
    if what == "runs" and len(rest) in (2, 3):
        return show_runs(catalogue, *rest)
    if what == "runs" and len(rest) == 4:
        return show_topic(catalogue, *rest)
    raise NotThereError("there is no such comparison")


def _choosing(catalogue: Catalogue) -> Shown:
    runs, judges = pairs_of_runs(catalogue), pairs_of_judges(catalogue)
    values = {
        "run_options": [(one.name, one.name) for one in catalogue.runs()],
        "judge_options": [
            (one.name, f"{one.name}: {shorten(one.judge, 50)}")
            for one in catalogue.sources()
            if one.asked
        ],
        "run_pairs": list(islice(runs, MOST_PAIRS + 1)),
        "judge_pairs": list(islice(judges, MOST_PAIRS + 1)),
        "most": MOST_PAIRS,
    }
    return Shown("inspecting/compare.html.j2", values)


def pairs_of_runs(catalogue: Catalogue) -> Iterator[tuple[str, str]]:
    """Yield the pairs of runs that a source measures or judges both of."""
    groups: dict[int, dict[str, None]] = {}
    sql = (
        "SELECT DISTINCT o.source, r.name FROM (SELECT source, run FROM value WHERE run NOT NULL "
        "UNION SELECT source, run FROM report WHERE kind = 'judged') o JOIN run r ON r.id = o.run "
        "ORDER BY o.source, r.name"
    )
    for source, run in catalogue.all(sql):
        groups.setdefault(source, {})[run] = None
    seen: set[tuple[str, str]] = set()
    for names in groups.values():
        for pair in combinations(names, 2):
            if pair not in seen:
                seen.add(pair)
                yield pair


def pairs_of_judges(catalogue: Catalogue) -> Iterator[tuple[Source, Source]]:
    """Yield the pairs of sources that judged an item both."""
    sql = (
        "SELECT 1 FROM judgement a JOIN judgement b ON b.source = ? AND b.item = a.item "
        "WHERE a.source = ? LIMIT 1"
    )
    judged = [one for one in catalogue.sources() if one.asked]
    for first, second in combinations(judged, 2):
        if catalogue.all(sql, second.id, first.id):
            yield first, second


def prepare(catalogue: Catalogue) -> None:
    """Compare the judges that the page offers: of very many items that takes seconds."""
    for first, second in islice(pairs_of_judges(catalogue), MOST_PAIRS):
        compare_judges(catalogue, first, second)


async def chosen_pair(request: Request) -> Response:
    """Lead to the page of the pair that a form chose."""
    from starlette.responses import RedirectResponse

    from pnyx.serve.application import not_found
    from pnyx.serve.rendering import Links

    asked = request.query_params
    what, first, second = (asked.get(name, "") for name in ("what", "first", "second"))
    if what not in ("runs", "judges") or not first or not second:
        raise not_found("two of a kind are compared: choose both")
    return RedirectResponse(Links().to("compare", what, first, second), 303)


def _every(catalogue: Catalogue) -> Iterator[tuple[Sequence[str], int]]:
    yield (), 1
    for first, second in islice(pairs_of_judges(catalogue), MOST_PAIRS):
        pages = judges_pages(compare_judges(catalogue, first, second))
        yield ("judges", first.name, second.name), pages
    for one, other in islice(pairs_of_runs(catalogue), MOST_PAIRS):
        yield ("runs", one, other), 1
        yield from _topics(catalogue, one, other)


def _topics(catalogue: Catalogue, one: str, other: str) -> Iterator[tuple[Sequence[str], int]]:
    from pnyx.serve.inspecting.compare_runs import runs_sources

    for source in runs_sources(catalogue, one, other):
        own = [
            {at.topic for at in catalogue.reports(source=source.name, run=run, kind="judged")}
            for run in (one, other)
        ]
        yield ("runs", one, other, source.name), 1
        for topic in sorted(own[0] & own[1]):
            yield ("runs", one, other, source.name, topic), 1


PAGES: tuple[Page, ...] = (
    Page("compare", show_compare, most=5, addresses=_every, nav="Compare"),  # type: ignore[arg-type]
)
