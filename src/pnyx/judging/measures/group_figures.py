"""Figures by group of answers, without those of groups that are too small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

from pnyx.judging.measures.registry import RANKING_MEASURES
from pnyx.stats.base import Measured

MIN_GROUP_LABELS = 20
"""Minimum number of labelled answers of a group for its figures to be shown.

With 19 independent answers, the 95 % interval (Wilson) of an accuracy of 0.8 is 0.34 wide.
"""

GroupFigures: TypeAlias = Mapping[str, Mapping[str, Measured]]
"""Group -> measure -> its value."""


def small_groups(groups: GroupFigures) -> frozenset[str]:
    """Return the groups with fewer than `MIN_GROUP_LABELS` scored answers."""
    return frozenset(
        group
        for group, figures in groups.items()
        if max(measured.scored for measured in figures.values()) < MIN_GROUP_LABELS
    )


def published_figures(groups: GroupFigures) -> GroupFigures:
    """Return the figures without the values of small groups, but with their counts.

    Ranking measures are kept: the ranking of one question is one observation.
    """
    small = small_groups(groups)
    return {
        group: {
            name: measured
            if group not in small or name in RANKING_MEASURES
            else replace(measured, value=None)
            for name, measured in figures.items()
        }
        for group, figures in groups.items()
    }
