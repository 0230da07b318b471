"""Options for judging reports. Light: nothing here loads numpy or a model."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Literal

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName
from pnyx.judging.options import _LLM, JudgeSpec

if TYPE_CHECKING:
    from pnyx.reports.tree.plan import ReportPlan, Weights


class JudgeReportSpec(
    Spec, heading="Reports", rare="documents qrels credit min_grade attest unknown_documents"
):
    """What reports are judged against."""

    nuggets: FileName = file_opt(..., metavar="BANK")
    topics: FileName | None = topics_opt(None)
    index: SourceName | None = file_opt(
        None, metavar="INDEX", default_text="the texts that reports embed, unchecked"
    )
    documents: SourceName | None = file_opt(
        None, "The collection as a corpus, in any format.", metavar="CORPUS"
    )
    unknown_documents: Literal["no", "unscored"] = opt(
        "no",
        "How to treat a citation of a document that is not in the collection, the bank or --qrels: "
        "as neither relevant nor attesting, or as unscored.",
    )
    qrels: FileName | None = file_opt(None)
    min_grade: int = opt(1, "Grade of --qrels from which a document is relevant.", needs="qrels")
    answers: Literal["judge", "lookup"] = opt(
        "judge",
        "How to decide which answers a sentence gives: by the judge, or by a rule (lookup): it has "
        "the answer's words in a row and cites a document that the bank names for it.",
    )
    credit: Literal["attested", "cited", "any"] = opt(
        "attested",
        "Sentences that can give answers: those attested by a relevant citation, those with "
        "citations, or any.",
    )
    attest: Literal["relevant", "all"] = opt(
        "all",
        "Cited documents to ask about whether they attest the sentence. A document that is not "
        "relevant is a penalty either way, and counts as not attesting if it is not asked about.",
    )

    strict: bool = opt(False, restricts=True)

    def check(self) -> None:
        """Reject options that exclude each other or would have no effect."""
        if self.index is not None and self.documents is not None:
            raise OptionError("--index and --documents exclude each other")
        if self.strict and self.index is None and self.documents is None:
            raise OptionError("--strict requires the collection: --index or --documents")
        if self.strict and self.unknown_documents != "no":
            raise OptionError("--strict and --unknown-documents unscored exclude each other")
        self.check_needs()


class WeightSpec(
    Spec,
    heading="Rewards and penalties",
    rare="attested answered confirmed irrelevant unattested unconfirmed uncited",
):
    """The weight of each outcome of the tree, at least 0."""

    attested: float = opt(
        1.0, "Reward: a relevant citation attests its sentence.", "--reward-attested", low=0
    )
    answered: float = opt(1.0, "Reward: an answer is given.", "--reward-answered", low=0)
    confirmed: float = opt(
        1.0, "Reward: a negative statement is confirmed.", "--reward-confirmed", low=0
    )
    irrelevant: float = opt(
        1.0, "Penalty: a cited document is irrelevant.", "--penalty-irrelevant", low=0
    )
    unattested: float = opt(
        1.0,
        "Penalty: a relevant citation does not attest its sentence.",
        "--penalty-unattested",
        low=0,
    )
    unconfirmed: float = opt(
        1.0, "Penalty: a negative statement is not confirmed.", "--penalty-unconfirmed", low=0
    )
    uncited: float = opt(1.0, "Penalty: a citation is missing.", "--penalty-uncited", low=0)

    def weights(self) -> Weights:
        """Return the weights for the tree, in which penalties are below 0."""
        from pnyx.reports.tree.plan import Weights

        usual = Weights()
        return Weights(
            **{
                field.name: math.copysign(getattr(self, field.name), getattr(usual, field.name))
                + 0.0
                for field in fields(Weights)
            }
        )


_SHOWN = (
    "a language model and examples",
    lambda spec: spec.asks_models and spec.examples is not None,
)


class ReportJudgeSpec(JudgeSpec, settings="shots examples"):
    """Who judges reports, how, and at what cost."""

    batch: int = opt(
        60,
        "Sentences, answers or questions about one text per call.",
        within="[1, 100]",
        needs=_LLM,
    )
    shots: int = opt(
        0,
        "Examples shown at each node of the tree (few-shot), half of them yes.",
        within="[0, 100]",
        needs=_SHOWN,
    )
    examples: FileName | None = file_opt(
        None,
        "Answered questions from which shots are taken (docs/recipes/reports.md).",
        needs="shots",
    )


def plan_of(spec: JudgeReportSpec, weights: WeightSpec) -> ReportPlan:
    """Return the plan for judging reports."""
    from pnyx.reports.tree.plan import ReportPlan

    return spec.make(ReportPlan, weights=weights.weights())
