"""Diversity measures of ir-measures on verdicts: alpha-nDCG, ERR-IA, subtopic recall and others.

The verdicts become diversity qrels, of which a perspective is a subtopic. There, a pair without a
grade counts as no; so a topic of which some pair within the depth is unscored has no value here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pnyx.errors import InputError
from pnyx.measure.irmeasures import Scorer, parse_measures
from pnyx.measure.perspective_table import Bounded, Table
from pnyx.measure.perspective_verdicts import Verdicts, qrels_of_verdicts
from pnyx.measure.rankings import judgements_of

__all__ = ["diversity_values", "parse_diversity_measures"]


def parse_diversity_measures(names: Sequence[str]) -> dict[str, Any]:
    """Return measures of ir-measures by their notation.

    Raises:
        InputError: one is none, or has no depth.
        MissingExtra: ir-measures is not installed.
    """
    found = parse_measures(names) if names else {}
    for name, measure in found.items():
        if type(measure.params.get("cutoff")) is not int:
            raise InputError(f"--measure {name}: expected a depth, as in {name}@10")
    return found


def diversity_values(
    measures: Mapping[str, Any], tables: Mapping[str, Sequence[Table]], verdicts: Verdicts
) -> dict[str, dict[str, list[Bounded | None]]]:
    """Return run -> measure -> the value of each topic.

    Args:
        measures: what `parse_diversity_measures` returns.
        tables: run -> its topics.
        verdicts: on these pairs, and on others of the same topics: the best possible ranking, which
            alpha-nDCG is measured by, is made of all.

    Raises:
        InputError: ir-measures cannot compute a measure from these verdicts.
    """
    if not measures:
        return {name: {} for name in tables}
    pool = _pool([table for own in tables.values() for table in own], verdicts)
    judged = list(qrels_of_verdicts(verdicts, pool, "skip"))
    if not judged:
        raise InputError("no pair of the runs is scored, which diversity measures need")
    scorer = Scorer(measures, judgements_of(judged))
    found: dict[str, dict[str, list[Bounded | None]]] = {}
    for name, own in tables.items():
        scores = scorer.score({table.topic: table.documents for table in own})
        found[name] = {
            notation: [_bounded(table, scores.get(table.topic), notation, measure) for table in own]
            for notation, measure in measures.items()
        }
    return found


def _pool(tables: Iterable[Table], verdicts: Verdicts) -> dict[tuple[str, str, str], None]:
    """Return all pairs of the topics that are known, each once."""
    known = {table.topic: set(table.perspectives) for table in tables}
    pool = dict.fromkeys(
        place for place in verdicts.pairs if place[2] in known.get(place[0], frozenset())
    )
    for table in tables:
        for document in table.documents:
            for perspective in table.perspectives:
                pool[table.topic, document, perspective] = None
    return pool


def _bounded(
    table: Table, scores: Mapping[str, float | None] | None, notation: str, measure: Any
) -> Bounded:
    if scores is None or table.unscored[: measure.params["cutoff"]].any():
        return Bounded(0.0, None)
    value = scores[notation]
    return Bounded(value, value)
