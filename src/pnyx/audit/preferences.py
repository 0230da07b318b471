"""Measures of answers to the task preference: by order, and against people's labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome
from pnyx.core.errors import count_of
from pnyx.display.tables import Table
from pnyx.stats.base import plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pnyx.cli.measure.options import MeasureSpec
    from pnyx.judging.verdicts import Source, Verdict


def measure_preferences(results: str | Iterator[Verdict], spec: MeasureSpec) -> Outcome:
    """Measure comparisons of two texts in both orders: flips, the first slot, and agreement.

    With labels (else each answer's own field label): agreement in each order and combined, a tie
    where the two orders differ. With a file of labels also Krippendorff's alpha and Cohen's kappa,
    and the agreement of several people. Intervals are from a bootstrap over groups, or over pairs.
    """
    from pnyx.audit.checks.pair_answers import read_pairs
    from pnyx.audit.checks.pairs import measure_pairs
    from pnyx.audit.display.check_pairs import pair_parts
    from pnyx.display.trials import rater_parts
    from pnyx.judging.measures.raters import measure_raters
    from pnyx.judging.verdicts import read_verdicts

    verdicts: Source = results if isinstance(results, str) else list(results)
    labels: Source | None = spec.labels
    labels = list(read_verdicts("-", "labels")) if labels == "-" else labels
    pairs = read_pairs(verdicts, labels, judge=spec.by)
    result = measure_pairs(pairs, bootstrap=spec.bootstrap)
    notes = few_warning(result.bootstrap, result.clusters, "group")
    if result.unscored:
        notes.insert(0, f"{count_of(result.unscored, 'pair')} of {result.pairs} without a verdict")
    one_order = sum(pair.one_order for pair in pairs)
    if one_order:
        notes.insert(
            0, f"{count_of(one_order, 'pair')} of {result.pairs} asked about in one order only"
        )
    row, parts = result.row(), pair_parts(result)
    if labels is not None:
        rated = measure_raters(verdicts, [labels], judge=spec.by, bootstrap=spec.bootstrap)
        row["compared"] = plain(list(rated.compared))
        parts += [part if isinstance(part, Table) else [part] for part in
                  rater_parts(row["compared"])]  # fmt: skip
    return Outcome(row, parts, result.unscored, notes)
