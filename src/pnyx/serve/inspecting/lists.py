"""Lists of judgements: what is unscored first, then what the judge was least sure of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pnyx.serve.inspecting.asking import NotThereError, pages_of
from pnyx.serve.inspecting.building import FACETS
from pnyx.serve.inspecting.pages import Address, Page, Shown
from pnyx.serve.inspecting.records import Facet, Filter, Source

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.rendering import Links

ALL = "all"
"""Stands for all sources."""

EVERY = "every"
"""Stands for a list that is not narrowed, so that the number of a page can follow."""

_MOST_CHIPS = 12
_SHOWN = ("value", "task", "judge", "dimension")
"""Facets that are always offered; a topic or run is, where there are few or one is chosen."""


def _judgements(catalogue: Catalogue, links: Links, parts: Address, number: int) -> Shown:
    name = parts[0] if parts else ALL
    source = None if name == ALL else catalogue.source(name)
    facets = catalogue.facets(source.name if source else "")
    key = parts[1] if len(parts) > 1 else EVERY
    chosen = _chosen(facets, key) if key != EVERY else {}
    wanted = Filter(source.name if source else "", **{f.facet: f.value for f in chosen.values()})
    shown = {
        "source": source,
        "name": name,
        "sources": [one for one in catalogue.sources() if one.asked],
        "listed": catalogue.judgements(wanted, number),
        "filters": _filters(facets, chosen, several=not links.files),
        "chosen": chosen,
        "key": key,
    }
    return Shown("inspecting/judgements.html.j2", shown)


def _chosen(facets: Iterable[Facet], part: str) -> dict[str, Facet]:
    """Return the facets that the part of an address names."""
    known = {one.key: one for one in facets}
    found: dict[str, Facet] = {}
    for key in part.split("."):
        one = known.get(key)
        if one is None or one.facet in found:
            raise NotThereError("this list cannot be narrowed like that")
        found[one.facet] = one
    return found


def _filters(
    facets: Iterable[Facet], chosen: dict[str, Facet], *, several: bool
) -> list[dict[str, object]]:
    """Return what each facet offers: chips with the address that a click on them leads to."""
    by_facet: dict[str, list[Facet]] = {name: [] for name in FACETS}
    for one in facets:
        by_facet[one.facet].append(one)
    shown = []
    for name, own in by_facet.items():
        if len(own) < 2 and name not in chosen:
            continue
        few = own[:_MOST_CHIPS] if name in _SHOWN or len(own) <= _MOST_CHIPS else []
        if name in chosen and chosen[name] not in few:
            few = [chosen[name], *few]
        if few:
            chips = [
                {"facet": one, "on": chosen.get(name) == one, "to": _key(one, chosen, several)}
                for one in few
            ]
            shown.append({"name": name, "chips": chips, "more": len(own) - len(few)})
    return shown


def _key(one: Facet, chosen: dict[str, Facet], several: bool) -> str:
    """Return the part of an address with this facet turned on or, if it is on, off."""
    now = dict(chosen) if several else {k: v for k, v in chosen.items() if v == one}
    if now.get(one.facet) == one:
        del now[one.facet]
    else:
        now[one.facet] = one
    return ".".join(now[name].key for name in FACETS if name in now)


def _addresses(catalogue: Catalogue) -> Iterable[tuple[Address, int]]:
    """Yield every list, whole and narrowed by one facet."""
    names = ["", *(one.name for one in catalogue.sources() if one.asked)]
    for name in names:
        facets = catalogue.facets(name)
        total = sum(one.count for one in facets if one.facet == "value")
        if total:
            yield (name or ALL,), 1
            yield (name or ALL, EVERY), pages_of(total)
            for one in facets:
                yield (name or ALL, one.key), pages_of(one.count)
    yield (), 1


def _of_source(_catalogue: Catalogue, source: Source) -> Iterable[tuple[str, Address]]:
    if source.asked:
        yield "All judgements", ("judgements", source.name)
        if source.scored < source.asked:
            yield "Unscored judgements", ("judgements", source.name, "v-unscored")


PAGES = (
    Page(
        "judgements",
        _judgements,
        most=2,
        addresses=_addresses,
        of_source=_of_source,
        nav="Judgements",
    ),
)
