"""`pnyx check` of several results: choose one of several judges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pnyx.cli.measure.tables import few_warning
from pnyx.cli.options import Outcome
from pnyx.core.errors import OptionError, escaped
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.runs.sources import run_names
from pnyx.formats.text_types import FileName, Words

if TYPE_CHECKING:
    from pnyx.stats.base import Bootstrap


class ChoosingSpec(Spec, heading="Several results", rare="baseline minimize prices card"):
    """How the judges of several results are compared."""

    baseline: Words | None = opt(None, metavar="NAME", default_text="the most accurate")
    minimize: Literal["dollars", "seconds"] = opt("dollars", "Cost to minimize.")
    prices: FileName | None = file_opt(
        None, "Prices of models (TOML); they override the packaged ones."
    )
    card: tuple[FileName, ...] = file_opt(())


def compare_results(
    results: Sequence[str],
    labels: Sequence[str],
    spec: ChoosingSpec,
    *,
    margin: float | None,
    html: str | None,
    bootstrap: Bootstrap,
) -> Outcome:
    """Compare the judges of results on the items that all were asked, and name the one to take."""
    if len(labels) != 1:
        raise OptionError("several results require one --labels FILE")
    named = dict(zip(run_names(results), results, strict=True))
    if spec.baseline is not None and spec.baseline not in named:
        names = escaped(", ".join(named), 200)
        raise OptionError(f"--baseline {escaped(spec.baseline, 60)}: expected one of {names}")
    from pnyx.audit.card_file import read_card
    from pnyx.audit.checks.comparison import CHOICE_MARGIN
    from pnyx.audit.display.judges import judge_notes, judge_parts, judges_html
    from pnyx.audit.judge_choice import choose_judge
    from pnyx.core.files import write_text
    from pnyx.models.chat.prices import read_prices

    result = choose_judge(
        named,
        labels[0],
        margin=CHOICE_MARGIN if margin is None else margin,
        by=spec.minimize,
        baseline=spec.baseline,
        prices=None if spec.prices is None else read_prices(spec.prices),
        cards=[read_card(path) for path in spec.card],
        bootstrap=bootstrap,
    )
    accuracy = [judge.measures["accuracy"] for judge in result.judges]
    unscored = any(m.scored < m.asked for m in accuracy)
    if html is not None:
        write_text(html, judges_html(result))
    few = few_warning(result.bootstrap, result.clusters, "cluster")
    notes = [*judge_notes(result), *few]
    parts = [] if html == "-" else judge_parts(result)
    return Outcome(result.row(), parts, unscored, notes)
