"""Pages of quality profiles: of a source, of its sides, topics or texts, or of two sources."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pnyx.core.records import SIDES
from pnyx.display.profile import profile_order, profile_plot
from pnyx.display.tables import Column, Table
from pnyx.judging.dimensions import dimensions_of, scale_of
from pnyx.stats.base import Measured
from pnyx.stats.intervals import cluster_mean
from pnyx.stats.weighted_measures import numbers
from pnyx.web.rendering import slug
from pnyx.web.results.catalogue import Catalogue
from pnyx.web.results.figure import Figure, FigureSection, LinkGroup, figure_page, link_group
from pnyx.web.results.pages import Address, Content, FigureEntry, PageRoute, Parts
from pnyx.web.results.records import NotFoundError, SourceRow

_MOST_CHIPS: Final = 60
Bounds = tuple[float, float]


class TextRating(NamedTuple):
    """A rating of a text; `value` is None if it is unscored."""

    item: str
    topic: str
    dimension: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Profile:
    """Mean ratings by dimension, with intervals over topics, or over texts of a single topic."""

    name: str
    means: Mapping[str, Measured]
    texts: int
    topics: int

    @property
    def over(self) -> str:
        """What the intervals are computed over: `topics` or `texts`; empty if there are none."""
        if not any(mean.low is not None for mean in self.means.values()):
            return ""
        return "topics" if self.topics > 1 else "texts"


@lru_cache(maxsize=8)
def _sources(catalogue: Catalogue) -> tuple[SourceRow, ...]:
    return catalogue.sources_in("SELECT DISTINCT source FROM judgement WHERE dimension != ''")


@lru_cache(maxsize=8)
def _ratings(catalogue: Catalogue, source: SourceRow) -> tuple[TextRating, ...]:
    sql = (
        "SELECT j.item, coalesce(t.name, ''), j.dimension, j.value FROM judgement j LEFT JOIN "
        "topic t ON t.id = j.topic WHERE j.source = ? AND j.dimension != '' ORDER BY j.n"
    )
    return tuple(TextRating(i, t, d, _number(v)) for i, t, d, v in catalogue.each(sql, source.id))


def _number(coded: str | None) -> float | None:
    value = None if coded is None else json.loads(coded)
    return float(value) if isinstance(value, int | float) else None


@lru_cache(maxsize=8)
def _first_line(catalogue: Catalogue, source: SourceRow) -> tuple[dict[str, Any], str]:
    """Return the line of the first rating, and its task."""
    sql = "SELECT n, task FROM judgement WHERE source = ? AND dimension != ''"
    n, task = catalogue.first(sql, source.id)
    return catalogue.line(catalogue.judgement(source.name, n)), task


@lru_cache(maxsize=8)
def _sides(catalogue: Catalogue, source: SourceRow) -> dict[str, str]:
    """Return the side of each text whose line states one."""
    if _side(_first_line(catalogue, source)[0]) is None:
        return {}
    sides = ((str(line.get("id")), _side(line)) for _, line in catalogue.lines(source.name))
    return {item: side for item, side in sides if side}


def _side(line: Mapping[str, Any]) -> str | None:
    return next((line[key] for key in ("stance", "side") if line.get(key) in SIDES), None)


def _side_names(catalogue: Catalogue, source: SourceRow) -> list[str]:
    return sorted(set(_sides(catalogue, source).values()), reverse=True)


def _bounds(catalogue: Catalogue, sources: Sequence[SourceRow]) -> Bounds:
    """Return the rating scale: as stated in the first lines, else the default of their tasks."""
    ends: list[float] = []
    for source in sources:
        line, task = _first_line(catalogue, source)
        stated, usual = line.get("scale"), scale_of(task, (1.0, 3.0)).bounds
        ends += map(float, stated if _is_scale(stated) else usual)  # type: ignore[arg-type]
        ends += [r.value for r in _ratings(catalogue, source) if r.value is not None]
    return min(ends), max(ends)


def _is_scale(stated: Any) -> bool:
    if not (isinstance(stated, list) and len(stated) == 2):
        return False
    return all(isinstance(x, int | float) for x in stated) and stated[0] < stated[1]


@lru_cache(maxsize=256)
def _profile(catalogue: Catalogue, source: SourceRow, part: str = "", name: str = "") -> Profile:
    """Return the profile of a source, or of one of its sides, topics or texts."""
    ratings: Iterable[TextRating] = _ratings(catalogue, source)
    if part == "side":
        sides = _sides(catalogue, source)
        ratings = [rating for rating in ratings if sides.get(rating.item) == name]
    elif part:
        of = 1 if part == "topic" else 0
        ratings = [rating for rating in ratings if slug(str(rating[of])) == slug(name)]
        name = str(ratings[0][of]) if ratings else name
    if not ratings:
        raise NotFoundError("there are no ratings under this name")
    return profile_of(name or source.name, ratings)


def profile_of(name: str, ratings: Iterable[TextRating]) -> Profile:
    """Return the profile of some ratings; dimensions are in the order of the taxonomy."""
    by_dimension: dict[str, list[TextRating]] = {}
    for rating in ratings:
        by_dimension.setdefault(rating.dimension, []).append(rating)
    every = [rating for column in by_dimension.values() for rating in column]
    topics, texts = len({r.topic for r in every}), len({r.item for r in every})
    means = {
        dimension: cluster_mean(
            numbers([r.value for r in by_dimension[dimension]]),
            _numbered(r.topic if topics > 1 else r.item for r in by_dimension[dimension]),
        )
        for _, members in profile_order(list(by_dimension))
        for dimension in members
    }
    return Profile(name, means, texts, topics)


def _numbered(names: Iterable[str]) -> list[int]:
    numbers_by_name: dict[str, int] = {}
    return [numbers_by_name.setdefault(name, len(numbers_by_name)) for name in names]


def _figure(profiles: Sequence[Profile], bounds: Bounds) -> Figure:
    """Return the figure of one profile, or of two overlaid."""
    dimensions = dimensions_of("quality")
    several = len(profiles) > 1
    columns = [Column("family", "name"), Column("dimension", "name")]
    for p in profiles:
        head = f"{p.name}: " if several else ""
        columns += [Column(f"{head}mean", "figure"), Column(f"{head}texts", "counts")]
    names = list(dict.fromkeys(dimension for p in profiles for dimension in p.means))
    rows = [
        (family, dimensions[name].label if name in dimensions else name,
         *(cell for p in profiles for cell in [p.means.get(name)] * 2))
        for family, members in profile_order(names)
        for name in members
    ]  # fmt: skip
    over = " and ".join(dict.fromkeys(p.over for p in profiles if p.over))
    counts = "; ".join(
        f"{p.name}: {p.texts} texts" + (f" on {p.topics} topics" if p.topics > 1 else "")
        for p in profiles
    )
    caption = f"95 % intervals over {over}. {counts}." if over else f"No intervals. {counts}."
    unscored = sum(mean.asked - mean.scored for p in profiles for mean in p.means.values())
    caption += f" {unscored:,} unscored ratings are excluded from the means." if unscored else ""
    picture = profile_plot({p.name: p.means for p in profiles}, bounds)
    return Figure("profile", "Quality profile", picture, Table(columns, rows), caption)


# Pages --------------------------------------------------------------------------------------------


def _show(catalogue: Catalogue, address: Address) -> Content:
    """Show the profiles of all sources, of one source, of a part of one, or of two sources."""
    sources = _sources(catalogue)
    if not address.parts:
        return _show_all(catalogue, sources)
    source = _rated(catalogue, address.part(0))
    if len(address.parts) == 1:
        return _show_source(catalogue, source)
    part, name = address.part(1), address.part(2)
    choices: list[LinkGroup] = []
    if part == "with" and _rated(catalogue, name) != source:
        compared = [source, _rated(catalogue, name)]
        profiles = [_profile(catalogue, s) for s in compared]
        title = " and ".join(s.name for s in compared)
    elif part in ("side", "topic", "text") and name:
        compared, whole = [source], _profile(catalogue, source)
        profile = _profile(catalogue, source, part, name)
        profiles = [profile, Profile("all texts", whole.means, whole.texts, whole.topics)]
        title = catalogue.topic(profile.name).shown if part == "topic" else profile.name
        choices = _texts(catalogue, source, profile.name) if part == "topic" else []
    else:
        raise NotFoundError("there is no such page")
    crumbs = [("Quality", ("quality",)), (source.name, ("quality", source.name))]
    return _page(title, crumbs, profiles, _bounds(catalogue, compared), address.here, choices)


def _rated(catalogue: Catalogue, name: str) -> SourceRow:
    source = catalogue.source(name)
    if source not in _sources(catalogue):
        raise NotFoundError("this source has no ratings")
    return source


def _show_all(catalogue: Catalogue, sources: Sequence[SourceRow]) -> Content:
    if not sources:
        return figure_page("Quality profile", ("quality",), [])
    first = sources[:2]
    pairs = [
        (f"{source.name} and {other.name}", ("quality", source.name, "with", other.name))
        for n, source in enumerate(sources)
        for other in sources[n + 1 :]
    ]
    choices = [
        *link_group("Sources", [(s.name, ("quality", s.name)) for s in sources], _MOST_CHIPS),
        *link_group("Two overlaid", pairs, _MOST_CHIPS),
    ]
    profiles = [_profile(catalogue, source) for source in first]
    bounds = _bounds(catalogue, first)
    return _page("Quality profile", [], profiles, bounds, ("quality",), choices)


def _show_source(catalogue: Catalogue, source: SourceRow) -> Content:
    base = ("quality", source.name)
    sides = [(side, (*base, "side", side)) for side in _side_names(catalogue, source)]
    choices = link_group("By side", sides, _MOST_CHIPS)
    topics = _names(catalogue, source, "topic")
    if len(topics) > 1:
        topic_links = [(catalogue.topic(name).shown, (*base, "topic", name)) for name in topics]
        choices += link_group("By topic", topic_links)
    else:
        choices += _texts(catalogue, source, topics[0] if topics else "")
    title, bounds = f"Quality profile: {source.name}", _bounds(catalogue, [source])
    profiles = [_profile(catalogue, source)]
    return _page(title, [("Quality", ("quality",))], profiles, bounds, base, choices)


def _names(catalogue: Catalogue, source: SourceRow, part: str) -> list[str]:
    of = 1 if part == "topic" else 0
    return [name for name in dict.fromkeys(str(r[of]) for r in _ratings(catalogue, source)) if name]


def _texts(catalogue: Catalogue, source: SourceRow, topic: str) -> list[LinkGroup]:
    items = dict.fromkeys(r.item for r in _ratings(catalogue, source) if r.topic == topic)
    return link_group("By text", [(item, ("quality", source.name, "text", item)) for item in items])


def _page(
    title: str,
    crumbs: Sequence[tuple[str, Parts]],
    profiles: Sequence[Profile],
    bounds: Bounds,
    base: Parts,
    choices: Sequence[LinkGroup],
) -> Content:
    many = "Two profiles overlaid: " if len(profiles) > 1 else ""
    lead = (
        f"{many}means of the ratings on the scale from {bounds[0]:g} to {bounds[1]:g}, in the "
        "families of Wachsmuth et al. (2017)."
    )
    sections = [FigureSection("Profile", (), [_figure(profiles, bounds)])]
    more = "Profiles of parts"
    return figure_page(title, base, sections, lead=lead, crumbs=crumbs, choices=choices, more=more)


def _addresses(catalogue: Catalogue) -> Iterator[tuple[Parts, int]]:
    sources = _sources(catalogue)
    if sources:
        yield (), 1
    for index, source in enumerate(sources):
        yield (source.name,), 1
        for side in _side_names(catalogue, source):
            yield (source.name, "side", side), 1
        for part in ("topic", "text"):
            for name in _names(catalogue, source, part):
                yield (source.name, part, name), 1
        for other in sources[index + 1 :]:
            yield (source.name, "with", other.name), 1


def _of_source(catalogue: Catalogue, source: SourceRow) -> Iterator[tuple[str, Parts]]:
    if source in _sources(catalogue):
        yield "Quality profile", ("quality", source.name)


_ENTRY: Final = FigureEntry(
    "Quality profile",
    "Ratings by dimension, for a judge, side, topic or text.",
    "ratings of pnyx judge quality",
)
PAGES: Final = (
    PageRoute("quality", _show, _addresses, most=3, of_source=_of_source, entry=_ENTRY),
)
