"""The first page: what was read, problems first; and a page for each source."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from pnyx.serve.inspecting.bars import scale_of
from pnyx.serve.inspecting.definitions import definitions_of
from pnyx.serve.inspecting.pages import Address, Page, Shown, pages_of_source
from pnyx.serve.inspecting.reading import KINDS
from pnyx.serve.inspecting.records import Filter, Source

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.rendering import Links


def _overview(catalogue: Catalogue, _links: Links, _parts: Address, _number: int) -> Shown:
    sources = catalogue.sources()
    read = [one for one in sources if not one.problem]
    asked, scored = (sum(getattr(one, name) for one in read) for name in ("asked", "scored"))
    return Shown(
        "inspecting/overview.html.j2",
        {
            "problems": [one for one in sources if one.problem],
            "sources": sorted(read, key=_unscored_first),
            "has_cost": any(one.dollars is not None for one in read),
            "counts": {
                "runs": len(catalogue.runs()),
                "topics": len(catalogue.topics()),
                "reports": sum(one.reports for one in catalogue.runs()),
                "judgements": asked,
            },
            "unscored": asked - scored,
            "boards": catalogue.boards(),
        },
    )


def _unscored_first(source: Source) -> tuple[bool, int]:
    """Sort what is unscored before all, then by kind; else sources keep the order they have."""
    return source.asked == source.scored, KINDS.index(source.kind)


def _source(catalogue: Catalogue, _links: Links, parts: Address, _number: int) -> Shown:
    source = catalogue.source(parts[0])
    values = catalogue.values(source=source.name)
    return Shown(
        "inspecting/source.html.j2",
        {
            "source": source,
            "facts": list(_facts(source)),
            "values": values,
            "bars": {v.measure: scale_of([v]).bar(v) for v in values},
            "definitions": definitions_of(v.measure for v in values),
            "shown_in": pages_of_source(catalogue, source),
            "first": catalogue.judgements(Filter(source.name)).items[:10] if source.asked else (),
        },
    )


_LABELS = {
    "path": "File",
    "kind": "Kind",
    "task": "Task",
    "judge": "Judge",
    "finished": "Finished",
    "card": "What is known of the judge",
    "started": "Started",
    "pnyx": "Version of Pnyx",
    "seed": "Seed",
    "prompt": "Prompt",
    "models": "Models",
    "cost": "Cost",
    "items": "Items",
    "inputs": "Inputs",
    "plan": "Rules",
    "settings": "Settings",
}


def _facts(source: Source) -> Iterable[tuple[str, str]]:
    """Yield what a source says of itself, in words."""
    told: dict[str, Any] = {
        "path": source.path,
        "kind": source.kind,
        "task": source.task,
        "judge": source.judge,
        "finished": source.finished,
    }
    for name, value in source.about.items():
        told.setdefault(name, value)
    for name, label in _LABELS.items():
        value = told.get(name)
        if name == "judge" and isinstance(value, dict):
            value = value.get("name")
        if value not in (None, "", {}, []):
            yield label, _words(value)


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "; ".join(f"{k}: {_words(v)}" for k, v in value.items() if v not in (None, "", {}))
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return str(value)


def _every_source(catalogue: Catalogue) -> Iterable[tuple[Address, int]]:
    for one in catalogue.sources():
        yield (one.name,), 1


PAGES = (
    Page("", _overview, nav="Results"),
    Page("source", _source, least=1, most=1, addresses=_every_source),
)
