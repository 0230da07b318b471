"""Specs that several measures share. Light: nothing here loads numpy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from pnyx.app.spec import Spec, opt
from pnyx.errors import OptionError
from pnyx.measure.base import BOOTSTRAP, Bootstrap

if TYPE_CHECKING:
    from pnyx.measure.gold import Truth

__all__ = ["BootstrapSpec", "ComparingSpec", "TruthSpec"]

_QRELS: Final = ("--qrels", lambda spec: spec.qrels is not None)


@dataclass(frozen=True, kw_only=True)
class BootstrapSpec(Spec):
    """How intervals are drawn."""

    heading: ClassVar[str] = "Intervals"

    draws: int = opt(
        BOOTSTRAP.draws,
        "Bootstrap resamples; 0 for no intervals.",
        low=0,
        high=1_000_000,
        rare=True,
    )
    seed: int = opt(BOOTSTRAP.seed, "Random seed.", low=0, rare=True)

    @property
    def bootstrap(self) -> Bootstrap:
        """What the measures take."""
        return Bootstrap(self.draws, self.seed)


@dataclass(frozen=True, kw_only=True)
class ComparingSpec(BootstrapSpec):
    """How runs are compared with each other."""

    heading: ClassVar[str] = "Comparison"

    baseline: str | None = opt(
        None, "Run that the others are compared with.", metavar="RUN", raw=True
    )
    test: Literal["t", "randomisation"] = opt("t", "Paired test of two runs.")


@dataclass(frozen=True, kw_only=True)
class TruthSpec(Spec):
    """What annotations are held against."""

    heading: ClassVar[str] = "Labels"

    labels: str | None = opt(None, "People's labels (JSONL), by id.", metavar="LABELS", raw=True)
    qrels: str | None = opt(
        None, "TREC or BEIR qrels, in place of --labels.", metavar="QRELS", raw=True
    )
    relevant_from: int = opt(1, "Lowest relevant grade of the qrels.", needs=_QRELS)
    unjudged: Literal["skip", "irrelevant"] = opt(
        "skip", "How to treat pairs missing from the qrels.", needs=_QRELS
    )
    judge: str | None = opt(
        None, "Judge whose annotations are measured, if the file has several.", metavar="NAME"
    )

    def truth(self) -> Truth:
        """Return what the labels or the qrels say.

        Raises:
            InputError: the file cannot be read.
            OptionError: both are given, or neither.
        """
        from pnyx.measure.gold import truth_of_labels, truth_of_qrels

        if (self.labels is None) == (self.qrels is None):
            raise OptionError("give either --labels LABELS or --qrels QRELS")
        self.check_needs()
        if self.labels is not None:
            return truth_of_labels(self.labels)
        unjudged = self.unjudged == "irrelevant"
        return truth_of_qrels(str(self.qrels), least=self.relevant_from, unjudged=unjudged)
