"""`pnyx measure preference`: comparisons of two texts, by order and against people's labels."""

from __future__ import annotations

import click

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome
from pnyx.cli.params import verb
from pnyx.core.errors import OptionError
from pnyx.core.spec import file_opt
from pnyx.display.tables import Table
from pnyx.display.text import many
from pnyx.judging.measures.options import BootstrapSpec, JudgedSpec
from pnyx.stats.base import plain


class PreferenceSpec(BootstrapSpec, JudgedSpec, heading="Labels"):
    """Whose answers to measure, and on which labels."""

    labels: str | None = file_opt(
        None,
        "People's labels (JSONL): a, b or tie by id. Default: each answer's own field label.",
        metavar="LABELS",
    )


@verb("preference", restricts=True, short_help="Pairs: flips, position bias, agreement.")
@click.argument("answers")
def preference(answers: str, spec: PreferenceSpec) -> Outcome:
    """Measure ANSWERS of pnyx judge preference (answers.jsonl, or its results folder).

    How often does the verdict change when the two texts are swapped? How often does the text that
    is shown first win? With labels: how often does the verdict agree with people, in each order and
    combined (a tie where the two orders differ)? With --labels also Krippendorff's alpha and
    Cohen's kappa of the combined verdict, and the agreement of several people with each other. No
    model is asked. Each figure comes with a 95 % interval from a bootstrap over groups, or over
    pairs without groups. For a table with a column for each order: pnyx check --a-first --b-first.
    Exit status 3: some pairs are unscored.

    \b
    Example:
      pnyx measure preference results
      pnyx measure preference results --labels people.jsonl --json
    """
    from pnyx.audit.checks.pair_answers import read_pairs
    from pnyx.audit.checks.pairs import measure_pairs
    from pnyx.audit.display.check_pairs import pair_parts
    from pnyx.display.trials import rater_parts
    from pnyx.judging.measures.raters import measure_raters
    from pnyx.judging.verdicts import Source, read_verdicts

    if answers == spec.labels == "-":
        raise OptionError("ANSWERS and LABELS cannot both be standard input")
    verdicts: Source = list(read_verdicts("-")) if answers == "-" else answers
    labels: Source | None = spec.labels
    labels = list(read_verdicts("-", "labels")) if labels == "-" else labels
    pairs = read_pairs(verdicts, labels, judge=spec.judge)
    result = measure_pairs(pairs, bootstrap=spec.bootstrap)
    notes = few_warning(result.bootstrap, result.clusters, "group")
    if result.unscored:
        notes.insert(0, f"{many(result.unscored, 'pair')} of {result.pairs} without a verdict")
    one_order = sum(pair.one_order for pair in pairs)
    if one_order:
        notes.insert(
            0, f"{many(one_order, 'pair')} of {result.pairs} asked about in one order only"
        )
    row, parts = result.row(), pair_parts(result)
    if labels is not None:
        rated = measure_raters(verdicts, [labels], judge=spec.judge, bootstrap=spec.bootstrap)
        row["compared"] = plain(list(rated.compared))
        parts += [part if isinstance(part, Table) else [part] for part in
                  rater_parts(row["compared"])]  # fmt: skip
    return Outcome(row, parts, result.unscored, notes)
