"""Specs of language models and judges. Nothing here imports numpy or loads a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from pnyx.core.errors import OptionError, shorten
from pnyx.core.spec import Spec, file_opt, opt
from pnyx.formats.text_types import (
    Address,
    FileName,
    JudgeName,
    LanguageModelName,
    RequestFields,
)

if TYPE_CHECKING:
    from pnyx.judging.judge_kinds import JudgeKind, JudgeNames

JudgeSpecT = TypeVar("JudgeSpecT", bound="JudgeSpec")

_LLM: Final = ("a language model", lambda spec: spec.asks_models)


class ConnectionSpec(
    Spec,
    heading="Language model",
    rare="store concurrency",
    settings="timeout wait request",
):
    """How language models are reached, and where their replies are stored."""

    store: FileName | None = file_opt(None, default_text="$PNYX_STORE, else the user's data folder")
    concurrency: int = opt(32, within="[1, 1000]")
    timeout: float = opt(120.0, "Timeout of one request, in seconds.", within="[0.1, 3600]")
    wait: float = opt(
        300.0,
        "Seconds to wait for a server that says that it is still loading its model.",
        within="[0, 86400]",
    )
    request: RequestFields | None = file_opt(
        None,
        """Fields to add to each request: JSON ('{"reasoning_effort": "low"}'), or a file of it.""",
        metavar="JSON",
    )

    @property
    def fields(self) -> dict[str, Any]:
        """The fields added to each request to a language model."""
        from pnyx.models.request_fields import read_request_fields

        return {} if self.request is None else read_request_fields(self.request)

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that are asked."""
        return ()

    @property
    def asks_models(self) -> bool:
        """Whether a language model answers."""
        return bool(self.models)


class ModelSpec(ConnectionSpec, heading="Language model"):
    """The language model, and where its replies are stored."""

    llm: tuple[LanguageModelName, ...] = file_opt(
        (), metavar="SPEC", default_text="$PNYX_LLM, else the packaged judge"
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The language models named here or in the environment."""
        return self.llm or tuple(os.environ.get("PNYX_LLM", "").split())


class CombiningSpec(
    Spec, heading="Judge", settings="samples combine calibration threshold cascade cheap"
):
    """Who answers, and how the answers are combined, recalibrated, and made a yes or no."""

    judge: tuple[JudgeName, ...] = file_opt(
        (),
        metavar="SPEC",
        default_text="$PNYX_LLM, else packaged",
        takes_settings=True,
        replaces=("--llm", "--labels", "--lookup", "--student"),
    )
    samples: int = opt(
        1,
        "Answers per question, with dimensions and documents reordered.",
        within="[1, 100]",
        needs=_LLM,
    )
    combine: Literal["auto", "majority", "mean"] = opt(
        "auto", "How the answers of samples, or of several models, are combined.", needs=_LLM
    )
    calibration: FileName | None = file_opt(
        None, "Recalibrate probabilities by this file of pnyx judge calibrate."
    )
    threshold: float | None = opt(
        None,
        "relevance, support, nugget, stance: minimum probability of a yes.",
        within="(0, 1)",
        default_text="the judge's own, 0.5 for a language model",
    )
    cascade: FileName | None = file_opt(
        None,
        "Ask cheap first, and the judge if cheap is uncertain by the thresholds in this file of "
        "pnyx judge calibrate --error.",
    )
    cheap: LanguageModelName | None = file_opt(
        None,
        "Judge that a cascade asks first: a language model or a student's folder.",
        metavar="SPEC",
        default_text="the packaged judge",
        needs="cascade",
    )


class AskingSpec(
    Spec,
    heading="Asking",
    settings="prompt probability expected_scores batch temperature max_tokens",
):
    """How a language model is asked."""

    prompt: FileName | None = file_opt(
        None,
        "Prompt of the task (pnyx prompt), or a prompt file (.toml).",
        metavar="NAME",
        needs=_LLM,
    )
    probability: Literal["auto", "ask", "tok", "both"] = opt(
        "auto",
        "P(yes): stated by the model (ask), from token probabilities (tok), their mean (both), "
        "or tok if available and else ask (auto).",
        needs=_LLM,
    )
    expected_scores: bool = opt(
        False,
        "quality, rag --judge-format g-eval: score by the mean of the scale's points by token "
        "probabilities (G-Eval); without these a text is unscored.",
        needs=_LLM,
    )
    batch: int = opt(
        1, "support, nugget: statements about one text in one call.", within="[1, 100]", needs=_LLM
    )
    temperature: float | None = opt(
        None,
        "Sampling temperature.",
        within="[0, 2]",
        needs=_LLM,
        default_text="0; 0.7 for samples if nothing can be reordered",
    )
    max_tokens: int | None = opt(
        None,
        "Maximum length of a reply.",
        within="[1, 1000000]",
        needs=_LLM,
        default_text="the prompt's; doubled for a retry if it is cut off",
    )


class SpendingSpec(Spec, heading="Cost", rare="offline", settings="budget_tokens prices"):
    """The limits on spending."""

    plan: bool = opt(False, "Estimate calls, tokens and dollars, without asking anything.")
    budget: float | None = opt(
        None,
        "Stop before more is spent; models share it evenly.",
        metavar="USD",
        within="(0, inf)",
        needs=_LLM,
    )
    budget_tokens: int | None = opt(
        None, "Stop before more tokens than this are spent.", low=1, needs=_LLM
    )
    prices: FileName | None = file_opt(
        None, "Prices of models; they override the packaged ones.", needs=_LLM
    )
    offline: bool = opt(False, "", "--from-store", needs=_LLM)


_NOUNS: Final[Mapping[str, str]] = {
    "packaged": "the packaged judge",
    "model": "a language model",
    "labels": "people's labels",
    "results": "earlier results",
    "student": "a student",
    "plugin": "a plugin's judge",
}


class PaidModelSpec(SpendingSpec, ModelSpec):
    """The language model, if any, and the limits on spending."""

    def check(self) -> None:
        """Refuse options that have no effect without a language model."""
        self.check_needs()


class WriterSpec(ModelSpec):
    """A required language model for other tasks than verdicts."""

    llm: tuple[LanguageModelName, ...] = file_opt((), metavar="SPEC", default_text="$PNYX_LLM")


class AskedSpec(SpendingSpec, WriterSpec):
    """Such a language model, and the limits on spending."""

    def check(self) -> None:
        """Refuse options that have no effect without a language model."""
        if self.plan and not self.asks_models:
            raise OptionError("--plan requires a language model (--llm)")
        self.check_needs()


class JudgeSpec(
    SpendingSpec, AskingSpec, CombiningSpec, ConnectionSpec, heading="Judge", settings="engine"
):
    """The judge, how it is asked, and its cost."""

    engine: Address | None = opt(
        None,
        "Where the packaged judge and students work: ray (each core of this machine), or a cluster "
        "at ray://HOST:10001 or HOST:PORT.",
        metavar="ENGINE",
    )

    @cached_property
    def names(self) -> JudgeNames:
        """The names in `judge`, by their kind."""
        from pnyx.judging.judge_kinds import read_names

        return read_names(self.judge)

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that are asked; empty if others answer."""
        return self.names.models

    @property
    def answered_by(self) -> str:
        """Who answers instead of a language model or the packaged judge; empty for these."""
        kind = self.names.kind
        return "" if kind in ("model", "packaged") else kind

    def check(self, *refused: JudgeKind) -> None:
        """Refuse options that exclude each other or have no effect, and kinds of judges."""
        kind = self.names.kind
        if kind in refused:
            name = shorten(self.judge[0], 60)
            raise OptionError(f"--judge: {name} ({_NOUNS[kind]}) cannot answer here")
        if self.threshold is not None and self.cascade is not None:
            raise OptionError("threshold and cascade exclude each other")
        if kind in ("labels", "results"):
            for name in ("calibration", "cascade", "threshold"):
                if self.given(name):
                    raise OptionError(f"{self.flag(name)} does not apply to {_NOUNS[kind]}")
        if self.engine is not None and self.answered_by not in ("", "student"):
            raise OptionError(f"{self.flag('engine')} does not apply to {_NOUNS[kind]}")
        if self.cascade is not None and self.cheap is None and not self.models:
            raise OptionError(f"{self.flag('cascade')} requires a language model, or cheap=SPEC")
        self.check_needs()
