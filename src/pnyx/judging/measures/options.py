"""Specs shared by several measures. Nothing here imports numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import FileName, Words
from pnyx.stats.base import BOOTSTRAP, TEST, Bootstrap

if TYPE_CHECKING:
    from pnyx.judging.measures.ground_truth import LabelledVerdicts, Truth


class BootstrapSpec(Spec, heading="Intervals", rare="draws seed"):
    """How intervals are drawn."""

    draws: int = opt(
        BOOTSTRAP.draws, "Bootstrap resamples; 0 for no intervals.", within="[0, 1000000]"
    )
    seed: int = opt(BOOTSTRAP.seed, low=0)

    @property
    def bootstrap(self) -> Bootstrap:
        """The bootstrap settings for the measures."""
        return Bootstrap(self.draws, self.seed)


class ComparingSpec(BootstrapSpec, heading="Comparison", rare="test"):
    """How runs are compared with each other."""

    baseline: FileName | None = file_opt(None, metavar="RUN")
    test: Literal["t", "randomisation"] = opt(TEST)


class JudgedSpec(Spec):
    """The judge whose verdicts are measured."""

    by: Words | None = opt(None, metavar="NAME")


class TruthSpec(JudgedSpec, heading="Labels", rare="relevant_from unjudged"):
    """The labels that annotations are compared with."""

    labels: FileName | None = file_opt(None, metavar="LABELS")
    qrels: FileName | None = file_opt(None, metavar="QRELS")
    relevant_from: int = opt(1, "Lowest relevant grade of the qrels.", needs="qrels")
    unjudged: Literal["skip", "irrelevant"] = opt("skip", needs="qrels")

    def truth(self) -> Truth:
        """Return the lookup of labels or qrels; OptionError if both are given, or neither."""
        from pnyx.judging.measures.ground_truth import truth_of_labels, truth_of_qrels

        if (self.labels is None) == (self.qrels is None):
            raise OptionError("give either --labels LABELS or --qrels QRELS")
        self.check_needs()
        if self.labels is not None:
            return truth_of_labels(self.labels)
        unjudged = self.unjudged == "irrelevant"
        return truth_of_qrels(str(self.qrels), least=self.relevant_from, unjudged=unjudged)


class SidesSpec(Spec, heading="Perspectives"):
    """How the sides of perspectives are determined."""

    sides: Literal["stance", "order"] = opt(
        "stance",
        "Which perspective supports the question: by its stance, or the first of two (BERDS).",
    )


class CorrectionSpec(Spec, heading="Correction", rare="labelled gold"):
    """How measures are corrected for the judge's own errors."""

    labelled: FileName | None = file_opt(
        None,
        "Correct for the judge's errors: its answers to labelled pairs (`label`, or --gold) of "
        "some measured questions, picked at random.",
        metavar="ANSWERS",
    )
    gold: FileName | None = file_opt(
        None, "People's labels of --labelled (JSONL), by id.", metavar="LABELS", needs="labelled"
    )

    def joined(self, judge: str | None = None) -> LabelledVerdicts | None:
        """Return the labelled answers, if there are any."""
        from pnyx.judging.measures.ground_truth import join_labels

        if self.labelled is None:
            return None
        return join_labels(self.labelled, self.gold, "support", judge=judge)
