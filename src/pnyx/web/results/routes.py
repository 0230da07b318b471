"""The route table: every page of results, for the server and for the export; the first pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pnyx.reports.pages import report
from pnyx.web.rendering import Links, Site, render
from pnyx.web.results import boards, compare, figures, judgement, tables
from pnyx.web.results.boards import bar_of, definitions_of, leaderboard
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.gathered import Once
from pnyx.web.results.kinds import JUDGEMENTS, SOURCES
from pnyx.web.results.pages import Address, Content, PageRoute, Parts
from pnyx.web.results.reader import KINDS
from pnyx.web.results.records import NotFoundError, SourceRow
from pnyx.web.results.summaries import summaries_of
from pnyx.web.results.texts import listed_texts


def _show_first(catalogue: Catalogue, _address: Address) -> Content:
    sources = catalogue.sources()
    read = [source for source in sources if not source.problem]
    asked, scored = sum(s.asked for s in read), sum(s.scored for s in read)
    runs = catalogue.runs()
    values = {
        "kind": SOURCES,
        "problems": [source for source in sources if source.problem],
        "summaries": summaries_of(read),
        "boards": [leaderboard(catalogue, s.name) for s in read if s.kind == "retrieval"],
        # What is unscored stands before all, then kinds in their order.
        "sources": sorted(read, key=lambda s: (s.asked == s.scored, KINDS.index(s.kind))),
        "has_cost": any(source.dollars is not None for source in read),
        "counts": {
            "runs": len(runs),
            "topics": len(catalogue.topics()),
            "reports": sum(run.reports for run in runs),
            "judgements": asked,
        },
        "unscored": asked - scored,
    }
    return Content("overview", values)


def _show_source(catalogue: Catalogue, address: Address) -> Content:
    source = catalogue.source(address.part(0))
    measures = catalogue.values(source=source.name)
    first = catalogue.judgements(source=source.name).rows[:10] if source.asked else ()
    values = {
        "kind": JUDGEMENTS,
        "source": source,
        "summaries": summaries_of([source]),
        "facts": list(_facts(source)),
        "values": measures,
        "bar_of": bar_of,
        "definitions": definitions_of(value.measure for value in measures),
        "shown_in": [link for page in PAGES for link in page.of_source(catalogue, source)],
        "first": first,
        "texts": listed_texts(catalogue, first),
    }
    return Content("source", values)


_LABELS: Final = {
    "path": "File", "kind": "Kind", "task": "Task", "judge": "Judge", "finished": "Finished",
    "card": "What is known of the judge", "started": "Started", "pnyx": "Version of Pnyx",
    "seed": "Seed", "prompt": "Prompt", "prompts": "Prompts", "models": "Models",
    "cost": "Cost", "items": "Items",
    "inputs": "Inputs", "plan": "Rules", "settings": "Settings",
}  # fmt: skip
"""What a source may say of itself, and what that is called."""


def _facts(source: SourceRow) -> Iterator[tuple[str, str]]:
    known = {name: getattr(source, name) for name in ("path", "kind", "task", "judge", "finished")}
    facts: dict[str, Any] = {**source.about, **known}
    for name, label in _LABELS.items():
        if facts.get(name) not in (None, "", {}, []):
            yield label, _words(facts[name])


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k}: {_words(v)}" for k, v in value.items() if v not in (None, "", {}))
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _sources(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    for source in catalogue.sources():
        yield (source.name,), 1


# The table ----------------------------------------------------------------------------------------

PAGES: Final = (
    PageRoute("", _show_first, nav="Results"),
    PageRoute("source", _show_source, _sources, least=1, most=1),
    *boards.PAGES,
    *tables.PAGES,
    *report.PAGES,
    *judgement.PAGES,
    *compare.PAGES,
    *figures.PAGES,
)
_RELOAD_SECONDS: Final = 10
_NAV: Final = "Results Leaderboard Topics Runs Judgements Compare Figures Tables".split()
_BY_NAME: Final = {page.name: page for page in PAGES}


def address_of(path: str, sort: str = "") -> Address:
    """Return the address that a path is, as `Links` makes it; NotFoundError: no page has it."""
    name, *parts = path.strip("/").split("/")
    if name not in _BY_NAME:
        raise NotFoundError("there is no such page")
    return _BY_NAME[name].address(tuple(parts), sort)


def show(catalogue: Catalogue, address: Address) -> Content:
    """Return a page; NotFoundError: there is none."""
    return _BY_NAME[address.page].show(catalogue, address)


def addresses(catalogue: Catalogue) -> Iterator[Address]:
    """Yield the address of every page that an export writes."""
    for page in PAGES:
        for parts, pages in page.addresses(catalogue):
            for number in range(1, pages + 1):
                yield Address(page.name, parts, number, is_file=True)


def rendered(
    content: Content, address: Address, site: Site, links: Links, once: Once | None = None
) -> str:
    """Return a page as HTML; with `once` as a part of a file, of whose texts it knows."""
    values = {"here": address.here, **content.values}
    if once is not None:
        values |= {"once": once, "layout": "view/part.html.j2"}
    return render(f"view/{content.template}.html.j2", site, links, **values)


def site_of(paths: Sequence[str], *, served: bool = False, watch: bool = False) -> Site:
    """Return what all pages of these results show; only a server can search.

    With `watch` they load themselves again: of a server when it has read anew, files now and then.
    """
    first = Path(paths[0]).resolve().name
    name = first if len(paths) == 1 else f"{first} and {len(paths) - 1} more"
    pages: Iterable[PageRoute] = sorted(
        (p for p in PAGES if p.nav), key=lambda p: _NAV.index(p.nav)
    )
    nav = [(page.nav, (page.name,) if page.name else ()) for page in pages]
    scripts = ["watch.js"] if watch and served else []
    search = [("Search", ("search",))] if served else []
    return Site(name, [*nav, *search], scripts, reload=_RELOAD_SECONDS if watch else 0)
