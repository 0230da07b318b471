"""Specs of judging reports. Light: nothing here loads numpy or a model."""

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


class JudgeReportSpec(Spec, heading="Reports", rare="min_grade attest unknown_documents"):
    """What reports are judged by."""

    nuggets: FileName = file_opt(
        ..., "Nugget banks, in any format; a folder may hold one a topic.", metavar="BANK"
    )
    topics: FileName | None = topics_opt(
        None, "Judge these topics only: report requests or questions."
    )
    index: SourceName | None = file_opt(
        None,
        "Index of the collection. Its texts are judged, whatever the reports embed.",
        metavar="INDEX",
        default_text="the texts that reports embed, unchecked",
    )
    documents: SourceName | None = file_opt(
        None, "The collection as a corpus, in any format.", metavar="CORPUS"
    )
    unknown_documents: Literal["no", "unscored"] = opt(
        "no",
        "What a citation counts as whose document neither the collection nor the bank or --qrels "
        "hold: not relevant and not attesting, or unscored.",
    )
    qrels: FileName | None = file_opt(
        None, "Which documents are relevant, where the bank does not name them."
    )
    min_grade: int = opt(1, "Grade of --qrels from which a document is relevant.", needs="qrels")
    answers: Literal["judge", "lookup"] = opt(
        "judge",
        "Who tells which answers a sentence gives: the judge, or a rule (lookup): it holds the "
        "answer's words in a row and cites a document that the bank names for it.",
    )
    credit: Literal["attested", "cited", "any"] = opt(
        "attested",
        "Which sentences can give answers: those that a relevant citation attests, those with "
        "citations, or any.",
    )
    attest: Literal["relevant", "all"] = opt(
        "all",
        "Of which cited documents it is asked whether they attest the sentence. One that is not "
        "relevant is a penalty either way, and counts as not attesting where it is not asked.",
    )

    strict: bool = opt(
        False,
        "By the rules of a campaign: a collection must be named, an unknown id is a no, and so is "
        "a sentence that its own text makes unjudgeable; topics are those of --topics, else "
        "--nuggets; runs that cannot be read are left out; no text is written (--text: it may be).",
        restricts=True,
    )

    def check(self) -> None:
        """Refuse choices that exclude each other or would change nothing."""
        if self.index is not None and self.documents is not None:
            raise OptionError("--index and --documents exclude each other")
        if self.strict and self.index is None and self.documents is None:
            raise OptionError("--strict needs the collection: --index or --documents")
        if self.strict and self.unknown_documents != "no":
            raise OptionError("--strict and --unknown-documents unscored exclude each other")
        self.check_needs()


class WeightSpec(
    Spec,
    heading="Rewards and penalties",
    rare="attested answered confirmed irrelevant unattested unconfirmed uncited",
):
    """What each outcome of the tree weighs: magnitudes, from 0."""

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
    uncited: float = opt(1.0, "Penalty: a citation is lacking.", "--penalty-uncited", low=0)

    def weights(self) -> Weights:
        """Return them for the tree, in which penalties are below 0."""
        from pnyx.reports.tree.plan import Weights

        usual = Weights()
        return Weights(
            **{
                field.name: math.copysign(getattr(self, field.name), getattr(usual, field.name))
                + 0.0
                for field in fields(Weights)
            }
        )


_SHOWN = ("--llm and --examples", lambda spec: spec.asks_models and spec.examples is not None)


class ReportJudgeSpec(JudgeSpec, rare="shots examples"):
    """Who judges reports, how, and at what cost."""

    batch: int = opt(
        60,
        "Sentences, answers or questions about one text in one call.",
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
        None, "Answered questions from which --shots are taken (docs/reports.md).", needs="shots"
    )


def plan_of(spec: JudgeReportSpec, weights: WeightSpec) -> ReportPlan:
    """Return how reports are judged."""
    from pnyx.reports.tree.plan import ReportPlan

    return spec.make(ReportPlan, weights=weights.weights())
