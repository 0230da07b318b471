"""Pages of the quality profile: of a source's texts, of a side, a topic, a text, of two sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from pnyx.judge.dimensions import scale_of
from pnyx.records import SIDES
from pnyx.serve.inspecting.asking import NotThereError
from pnyx.serve.inspecting.figures import Section, files_of
from pnyx.serve.inspecting.pages import Page, Shown
from pnyx.serve.inspecting.profiles import Group, Rated, profile_figure, profile_of
from pnyx.serve.rendering import slug

if TYPE_CHECKING:
    from pnyx.serve.inspecting.catalogue import Catalogue
    from pnyx.serve.inspecting.records import Source
    from pnyx.serve.rendering import Links

_CHIPS: Final = 60
_RATED: Final = (
    "FROM judgement j LEFT JOIN topic t ON t.id = j.topic WHERE j.source = ? AND j.dimension != ''"
)


@lru_cache(maxsize=8)
def rated_sources(catalogue: Catalogue) -> tuple[Source, ...]:
    """Return the sources that hold ratings."""
    ids = {
        row[0]
        for row in catalogue.all("SELECT DISTINCT source FROM judgement WHERE dimension != ''")
    }
    return tuple(one for one in catalogue.sources() if one.id in ids)


@lru_cache(maxsize=8)
def ratings_of(catalogue: Catalogue, source: int) -> tuple[Rated, ...]:
    """Return the ratings of a source."""
    rows = catalogue.all(
        f"SELECT j.item, coalesce(t.name, ''), j.dimension, j.value {_RATED} ORDER BY j.n", source
    )
    return tuple(
        Rated(item, topic, dimension, _number(value)) for item, topic, dimension, value in rows
    )


def _number(value: str | None) -> float | None:
    found = None if value is None else json.loads(value)
    return float(found) if isinstance(found, int | float) else None


@lru_cache(maxsize=8)
def _sides(catalogue: Catalogue, source: int, name: str) -> dict[str, str]:
    """Return the side of each text whose line says one."""
    first = catalogue.all(
        "SELECT n FROM judgement WHERE source = ? AND dimension != '' LIMIT 1", source
    )
    if not first or _side(catalogue.row(catalogue.judgement(name, first[0][0]))) is None:
        return {}
    found = ((str(row.get("id")), _side(row)) for _, row in catalogue.rows(name))
    return {item: side for item, side in found if side}


def _side(row: Any) -> str | None:
    return next((row[key] for key in ("stance", "side") if row.get(key) in SIDES), None)


@lru_cache(maxsize=8)
def bounds_of(catalogue: Catalogue, source: int, name: str) -> tuple[float, float]:
    """Return the scale of a source's ratings: what its first line says, else the task's usual."""
    n, task = catalogue.one(
        "SELECT n, task FROM judgement WHERE source = ? AND dimension != ''", source
    )
    stated = catalogue.row(catalogue.judgement(name, n)).get("scale")
    values = [one.value for one in ratings_of(catalogue, source) if one.value is not None]
    usual = scale_of(task, (1.0, 3.0)).bounds
    low, high = stated if _is_scale(stated) else usual
    return min([float(low), *values]), max([float(high), *values])


def _is_scale(stated: Any) -> TypeGuard[list[float]]:
    if not (isinstance(stated, list) and len(stated) == 2):
        return False
    return all(isinstance(x, int | float) for x in stated) and stated[0] < stated[1]


@lru_cache(maxsize=256)
def group_of(catalogue: Catalogue, source: Source, kind: str = "", name: str = "") -> Group:
    """Return the profile of a source, or of one of its sides, topics or texts."""
    ratings: Iterable[Rated] = ratings_of(catalogue, source.id)
    if kind == "side":
        sides = _sides(catalogue, source.id, source.name)
        ratings = [one for one in ratings if sides.get(one.item) == name]
    elif kind in ("topic", "text"):
        ratings = [
            one for one in ratings if slug(one.topic if kind == "topic" else one.item) == slug(name)
        ]
    held = list(ratings)
    if not held:
        raise NotThereError("nothing of this name was rated")
    shown = name
    if kind in ("topic", "text"):
        shown = held[0].topic if kind == "topic" else held[0].item
    return profile_of(shown if kind else source.name, held)


# Pages --------------------------------------------------------------------------------------------


def show(catalogue: Catalogue, _links: Links, parts: Sequence[str], number: int) -> Shown:
    """Show profiles: of all sources, of one, of a part of one, or of two."""
    if number != 1:
        raise NotThereError("this list has one page")
    if not parts:
        return _overview(catalogue)
    source = catalogue.source(parts[0])
    if source not in rated_sources(catalogue):
        raise NotThereError("nothing in this source was rated")
    if len(parts) == 1:
        return _whole(catalogue, source)
    if len(parts) == 2:
        raise NotThereError("there is no such page")
    kind, name = parts[1:]
    if kind == "with":
        other = catalogue.source(name)
        if other not in rated_sources(catalogue) or other == source:
            raise NotThereError("nothing in this source was rated")
        groups = [group_of(catalogue, source), group_of(catalogue, other)]
        title = f"{source.name} and {other.name}"
        scales = [bounds_of(catalogue, one.id, one.name) for one in (source, other)]
        bounds = min(low for low, _ in scales), max(high for _, high in scales)
    elif kind in ("side", "topic", "text"):
        part = group_of(catalogue, source, kind, name)
        title = catalogue.topic(part.name).shown if kind == "topic" else part.name
        groups = [part, Group("all texts", *_rest(group_of(catalogue, source)))]
        bounds = bounds_of(catalogue, source.id, source.name)
    else:
        raise NotThereError("there is no such page")
    choices = _texts(catalogue, source, groups[0].name) if kind == "topic" else []
    crumbs = [("Quality", ("quality",)), (source.name, ("quality", source.name))]
    return _page(title, crumbs, groups, bounds, ("quality", *parts), choices)


def _rest(group: Group) -> tuple[Any, int, int]:
    return group.means, group.texts, group.topics


def _overview(catalogue: Catalogue) -> Shown:
    sources = rated_sources(catalogue)
    if not sources:
        values: dict[str, Any] = {
            "title": "Quality profile",
            "crumbs": [],
            "lead": "",
            "outcome": None,
            "sections": [],
            "base": ("quality",),
            "choices": [],
            "more": "",
        }
        return Shown("inspecting/profile.html.j2", values)
    first = sources[:2]
    scales = [bounds_of(catalogue, one.id, one.name) for one in first]
    bounds = min(low for low, _ in scales), max(high for _, high in scales)
    groups = [group_of(catalogue, one) for one in first]
    choices = [_chips("Sources", [(one.name, ("quality", one.name)) for one in sources])]
    pairs = [
        (f"{one.name} and {other.name}", ("quality", one.name, "with", other.name))
        for n, one in enumerate(sources)
        for other in sources[n + 1 :]
    ]
    choices += [_chips("Two over each other", pairs)] if pairs else []
    return _page("Quality profile", [], groups, bounds, ("quality",), choices)


def _whole(catalogue: Catalogue, source: Source) -> Shown:
    base = ("quality", source.name)
    choices = []
    sides = sorted(set(_sides(catalogue, source.id, source.name).values()), reverse=True)
    if sides:
        choices.append(_chips("By side", [(one, (*base, "side", one)) for one in sides]))
    topics = _names(catalogue, source, "topic")
    if len(topics) > 1:
        found = [(catalogue.topic(one).shown, (*base, "topic", one)) for one in topics]
        choices.append(_chips("By topic", found, len(found)))
    else:
        choices += _texts(catalogue, source, topics[0] if topics else "")
    bounds = bounds_of(catalogue, source.id, source.name)
    crumbs = [("Quality", ("quality",))]
    title = f"Quality profile: {source.name}"
    return _page(title, crumbs, [group_of(catalogue, source)], bounds, base, choices)


def _names(catalogue: Catalogue, source: Source, kind: str) -> list[str]:
    ratings = ratings_of(catalogue, source.id)
    found = dict.fromkeys(one.topic if kind == "topic" else one.item for one in ratings)
    return [name for name in found if name]


def _texts(catalogue: Catalogue, source: Source, topic: str) -> list[Any]:
    ratings = ratings_of(catalogue, source.id)
    found = dict.fromkeys(one.item for one in ratings if one.topic == topic)
    base = ("quality", source.name, "text")
    return [_chips("By text", [(one, (*base, one)) for one in found], len(found))]


def _chips(label: str, found: Sequence[tuple[str, tuple[str, ...]]], shown: int = _CHIPS) -> Any:
    return label, [(name, to, False) for name, to in found[:shown]], len(found)


def _page(
    title: str,
    crumbs: Sequence[Any],
    groups: Sequence[Group],
    bounds: tuple[float, float],
    base: tuple[str, ...],
    choices: Sequence[Any],
) -> Shown:
    figure = profile_figure(groups, bounds)
    many = "Two profiles over each other: " if len(groups) > 1 else ""
    lead = (
        f"{many}means of the ratings on the scale from {bounds[0]:g} to {bounds[1]:g}, in the "
        "families of Wachsmuth et al. (2017)."
    )
    values: dict[str, Any] = {
        "title": title,
        "crumbs": crumbs,
        "lead": lead,
        "outcome": None,
        "base": base,
        "choices": choices,
        "more": "Profiles of parts",
        "sections": [Section("Profile", (), [figure])],
    }
    return Shown("inspecting/profile.html.j2", values, files_of([figure]))


def addresses(catalogue: Catalogue) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield all of them; none where nothing was rated."""
    sources = rated_sources(catalogue)
    if not sources:
        return
    yield (), 1
    for place, source in enumerate(sources):
        yield (source.name,), 1
        for side in sorted(set(_sides(catalogue, source.id, source.name).values())):
            yield (source.name, "side", side), 1
        for kind in ("topic", "text"):
            for name in _names(catalogue, source, kind):
                yield (source.name, kind, name), 1
        for other in sources[place + 1 :]:
            yield (source.name, "with", other.name), 1


def _of_source(catalogue: Catalogue, source: Source) -> Iterator[tuple[str, tuple[str, ...]]]:
    if source in rated_sources(catalogue):
        yield "Quality profile", ("quality", source.name)


PAGES = (Page("quality", show, 0, 3, addresses, of_source=_of_source),)
