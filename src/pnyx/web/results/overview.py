"""The first page of results, and the page of each source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pnyx.web.results.boards import bar_of, definitions_of, leaderboard
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.kinds import JUDGEMENTS, SOURCES
from pnyx.web.results.pages import Address, Content, PageRoute, Parts
from pnyx.web.results.reader import KINDS
from pnyx.web.results.records import SourceRow
from pnyx.web.results.routes import page_routes
from pnyx.web.results.summaries import summaries_of
from pnyx.web.results.texts import listed_texts


def _show_first(catalogue: Catalogue, _address: Address) -> Content:
    sources = catalogue.sources()
    read = [source for source in sources if not source.problem]
    total, scored = sum(s.asked for s in read), sum(s.scored for s in read)
    runs = catalogue.runs()
    values = {
        "kind": SOURCES,
        "problems": [source for source in sources if source.problem],
        "summaries": summaries_of(read),
        "boards": [leaderboard(catalogue, s.name) for s in read if s.kind == "retrieval"],
        # Unscored sources come first, then kinds in their order.
        "sources": sorted(read, key=lambda s: (s.asked == s.scored, KINDS.index(s.kind))),
        "has_cost": any(source.dollars is not None for source in read),
        "counts": {
            "runs": len(runs),
            "topics": len(catalogue.topics()),
            "reports": sum(run.reports for run in runs),
            "judgements": total,
        },
        "unscored": total - scored,
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
        "shown_in": [link for page in page_routes() for link in page.of_source(catalogue, source)],
        "first": first,
        "texts": listed_texts(catalogue, first),
    }
    return Content("source", values)


_LABELS: Final = {
    "path": "File", "kind": "Kind", "task": "Task", "judge": "Judge", "finished": "Finished",
    "card": "About the judge", "started": "Started", "pnyx": "Version of Pnyx",
    "seed": "Seed", "prompt": "Prompt", "prompts": "Prompts", "models": "Models",
    "cost": "Cost", "items": "Items",
    "inputs": "Inputs", "plan": "Rules", "settings": "Settings",
}  # fmt: skip
"""Properties of a source, and their labels."""


def _facts(source: SourceRow) -> Iterator[tuple[str, str]]:
    fields = {name: getattr(source, name) for name in ("path", "kind", "task", "judge", "finished")}
    facts: dict[str, Any] = {**source.about, **fields}
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


PAGES: Final = (
    PageRoute("", _show_first, nav="Results"),
    PageRoute("source", _show_source, _sources, least=1, most=1),
)
