"""The quality profile of rated texts: means by dimension, of all, a side, a topic or a text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pnyx.judge.dimensions import dimensions_of
from pnyx.measure.core.base import BOOTSTRAP, Bootstrap, Measured
from pnyx.measure.core.intervals import cluster_mean
from pnyx.measure.core.weighted import numbers
from pnyx.serve.inspecting.figures import Figure
from pnyx.view.profile import profile_order, profile_plot
from pnyx.view.tables import Column, Table


@dataclass(frozen=True, slots=True)
class Rated:
    """A rating: of which text and topic, on what dimension; no value where it is unscored."""

    item: str
    topic: str
    dimension: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Group:
    """Texts and their profile: dimension -> mean, with its interval over topics, else over texts.

    A mean has no interval where there is but one topic or text. `texts` and `topics` are counted.
    """

    name: str
    means: Mapping[str, Measured]
    texts: int
    topics: int

    @property
    def over(self) -> str:
        """What intervals are drawn over: `topics` or `texts`; empty for none."""
        if not any(one.low is not None for one in self.means.values()):
            return ""
        return "topics" if self.topics > 1 else "texts"


def profile_of(name: str, ratings: Iterable[Rated], bootstrap: Bootstrap = BOOTSTRAP) -> Group:
    """Return the profile of what was rated; dimensions are in the order of the taxonomy."""
    held = list(ratings)
    topics, items = {one.topic for one in held}, {one.item for one in held}
    by_topic = len(topics) > 1
    columns: dict[str, list[Rated]] = {}
    for one in held:
        columns.setdefault(one.dimension, []).append(one)
    means = {
        dimension: cluster_mean(
            numbers([one.value for one in columns[dimension]]),
            _numbered(one.topic if by_topic else one.item for one in columns[dimension]),
            bootstrap,
        )
        for _, members in profile_order(list(columns))
        for dimension in members
    }
    return Group(name, means, len(items), len(topics))


def _numbered(names: Iterable[str]) -> Any:
    known: dict[str, int] = {}
    return np.array([known.setdefault(name, len(known)) for name in names], dtype=np.intp)


def scale_found(bounds: Iterable[Sequence[float]]) -> tuple[float, float]:
    """Return the scale that ratings are on, from the `scale` of their lines; the usual without one.

    Raises:
        ValueError: there are several.
    """
    found = list(dict.fromkeys((float(low), float(high)) for low, high in bounds))
    for one, other in pairwise(found):
        raise ValueError(f"found scales {one} and {other}, expected one")
    return found[0] if found else (1.0, 3.0)


def profile_figure(
    groups: Sequence[Group], bounds: tuple[float, float], name: str = "profile"
) -> Figure:
    """Return the figure of one group, or of two over each other."""
    known = dimensions_of("quality")
    names = list(dict.fromkeys(d for group in groups for d in group.means))
    several = len(groups) > 1
    columns = [Column("family", "name"), Column("dimension", "name")]
    for group in groups:
        title = f"{group.name}: mean" if several else "mean"
        counted = f"{group.name}: texts" if several else "texts"
        columns += [Column(title, "figure"), Column(counted, "counts")]
    rows: list[Sequence[Any]] = []
    for family, members in profile_order(names):
        for one in members:
            cells = [cell for group in groups for cell in [group.means.get(one)] * 2]
            rows.append((family, known[one].label if one in known else one, *cells))
    drawn = [
        f"{group.texts} texts" + (f" on {group.topics} topics" if group.topics > 1 else "")
        for group in groups
    ]
    over = dict.fromkeys(group.over for group in groups if group.over)
    told = (f"95 % intervals over {' and '.join(over)}. " if over else "No intervals. ") + (
        "; ".join(f"{group.name}: {text}" for group, text in zip(groups, drawn, strict=True))
    )
    picture = profile_plot({group.name: group.means for group in groups}, bounds)
    unscored = sum(m.asked - m.scored for group in groups for m in group.means.values())
    missing = f" {unscored:,} ratings are unscored and in no mean." if unscored else ""
    return Figure(name, "Quality profile", picture, Table(columns, rows), f"{told}.{missing}")
