"""Options of `pnyx measure RESULTS`; each task uses some of them (doors `MEASURED`)."""

from __future__ import annotations

from pnyx.cli.measure.tables import PlotSpec
from pnyx.core.spec import Spec, opt, out_opt, topics_opt
from pnyx.formats.text_types import FileName
from pnyx.judging.measures.options import BootstrapSpec, TruthSpec


class _RelevanceSpec(Spec, heading="Relevance", rare="at topics"):
    """What to measure of probabilities of relevance."""

    thresholds: bool = opt(
        False,
        "F1, precision and recall by threshold on the probability, and by first k.",
        "--by-threshold",
        replaces=("--thresholds",),
    )
    amount: bool = opt(
        False, "Expected number of relevant documents of each question, without labels."
    )
    at: tuple[float, ...] = opt(
        (),
        "Probabilities that the tables of --by-threshold and --amount show.",
        metavar="P[,P...]",
        within="(0, 1]",
        each=True,
        needs=("--by-threshold or --amount", lambda spec: spec.thresholds or spec.amount),
        default_text="0.1 to 0.9; 0.5, 0.7 and 0.9",
    )
    topics: FileName | None = topics_opt(None, needs="amount")


class MeasureSpec(BootstrapSpec, PlotSpec, _RelevanceSpec, TruthSpec):
    """All options of `pnyx measure RESULTS`."""

    plot: FileName | None = out_opt(None, metavar="FILE.svg")
