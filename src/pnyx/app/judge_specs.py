"""Specs of language models and judges. Light: nothing here loads numpy or a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from pnyx.app.spec import Spec, opt
from pnyx.errors import OptionError

__all__ = [
    "AskedSpec",
    "AskingSpec",
    "CombiningSpec",
    "JudgeSpec",
    "ModelSpec",
    "SpendingSpec",
    "WriterSpec",
]

_LLM: Final = ("--llm", lambda spec: spec.asks_models)


_NAMES_MODEL: Final = (
    "Language model: http://HOST:PORT/v1#MODEL, openai:MODEL, local (packaged, tiny) or "
    "gguf:PATH. Repeatable: one model at several addresses, or several models."
)


@dataclass(frozen=True, kw_only=True)
class ModelSpec(Spec):
    """Which language model is asked, and where its replies are kept."""

    heading: ClassVar[str] = "Language model"

    llm: tuple[str, ...] = opt(
        (),
        _NAMES_MODEL,
        metavar="SPEC",
        raw=True,
        shown="$PNYX_LLM, else the packaged judge",
    )
    store: str | None = opt(
        None,
        "File that keeps a model's replies.",
        metavar="FILE",
        raw=True,
        rare=True,
        shown="$PNYX_STORE, else the user's data folder",
    )
    concurrency: int = opt(
        32,
        "Requests to a language model at once, at most; fewer while the server asks for it.",
        low=1,
        high=1000,
        rare=True,
    )
    timeout: float = opt(
        120.0, "Timeout of one request, in seconds.", low=0.1, high=3600, rare=True
    )

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that are named, here or in the environment."""
        return self.llm or tuple(os.environ.get("PNYX_LLM", "").split())

    @property
    def asks_models(self) -> bool:
        """Whether a language model answers."""
        return bool(self.models)


@dataclass(frozen=True, kw_only=True)
class CombiningSpec(Spec):
    """Who answers in place of a language model, or beside it."""

    heading: ClassVar[str] = "Judge"

    labels: str | None = opt(None, "Answer from people's labels (JSONL).", metavar="FILE", raw=True)
    lookup: str | None = opt(
        None, "Answer from a former run's answers.", metavar="RESULTS", raw=True
    )
    student: str | None = opt(
        None,
        "relevance: answer by a student of pnyx annotate distil. With --cascade it is asked after "
        "--cheap or, without --cheap, before --llm.",
        metavar="STUDENT",
        raw=True,
    )
    samples: int = opt(
        1,
        "Ask each question this many times, with dimensions and documents in another order.",
        low=1,
        high=100,
        needs=_LLM,
    )
    combine: Literal["auto", "majority", "mean"] = opt(
        "auto",
        "How the answers of --samples, or of several models, are combined.",
        needs=_LLM,
        rare=True,
    )
    calibration: str | None = opt(
        None,
        "Recalibrate probabilities by this file of pnyx calibrate.",
        metavar="FILE",
        raw=True,
        rare=True,
    )
    cascade: str | None = opt(
        None,
        "Ask --cheap first. Where it is not sure, by the thresholds in this file of pnyx calibrate "
        "--error, ask the judge that would answer otherwise.",
        metavar="FILE",
        raw=True,
        rare=True,
    )
    cheap: str | None = opt(
        None,
        "Judge that --cascade asks first: a language model or a student's folder.",
        metavar="SPEC",
        raw=True,
        rare=True,
        shown="--student if there is an --llm, else the packaged judge",
        needs=("--cascade", lambda spec: spec.cascade is not None),
    )


@dataclass(frozen=True, kw_only=True)
class AskingSpec(Spec):
    """How a language model is asked."""

    heading: ClassVar[str] = "Asking"

    prompt: str | None = opt(
        None,
        "Another prompt of the task (pnyx prompt list), or a prompt file (.toml).",
        metavar="NAME",
        raw=True,
        rare=True,
        needs=_LLM,
    )
    probability: Literal["auto", "ask", "tok", "both"] = opt(
        "auto",
        "P(yes): stated by the model (ask), from its token probabilities (tok), their mean (both), "
        "or tok where the endpoint gives them and else ask (auto).",
        rare=True,
        needs=_LLM,
    )
    batch: int = opt(
        1, "support: statements about one text in one call.", low=1, high=100, needs=_LLM
    )
    temperature: float | None = opt(
        None,
        "Sampling temperature.",
        low=0,
        high=2,
        shown="0; 0.7 for --samples where nothing can be reordered",
        rare=True,
        needs=_LLM,
    )
    max_tokens: int | None = opt(
        None,
        "Longest reply.",
        low=1,
        high=1_000_000,
        shown="the prompt's own, and twice that for a second try where one is cut off",
        rare=True,
        needs=_LLM,
    )


@dataclass(frozen=True, kw_only=True)
class SpendingSpec(Spec):
    """What may be spent."""

    heading: ClassVar[str] = "Cost"

    plan: bool = opt(False, "Estimate calls, tokens and dollars, without asking anything.")
    budget: float | None = opt(
        None,
        "Stop before more than this is spent; several models share it evenly. A model without a "
        "packaged price needs --prices.",
        metavar="USD",
        low=0,
        above=True,
        needs=_LLM,
    )
    budget_tokens: int | None = opt(
        None, "Stop before more tokens than this are spent.", low=1, rare=True, needs=_LLM
    )
    prices: str | None = opt(
        None,
        "Prices of models; they override the packaged ones.",
        metavar="FILE",
        raw=True,
        rare=True,
        needs=_LLM,
    )
    offline: bool = opt(
        False,
        "Ask nothing: read stored replies anew. What is not stored is unscored.",
        "--from-store",
        rare=True,
        needs=_LLM,
    )


@dataclass(frozen=True, kw_only=True)
class WriterSpec(ModelSpec):
    """A language model that is asked for something else than verdicts: nothing stands in for it."""

    llm: tuple[str, ...] = opt((), _NAMES_MODEL, metavar="SPEC", raw=True, shown="$PNYX_LLM")


@dataclass(frozen=True, kw_only=True)
class AskedSpec(SpendingSpec, WriterSpec):
    """Such a language model, and what may be spent."""

    def check(self) -> None:
        """Refuse what means nothing where no language model is named.

        Raises:
            OptionError: there is such.
        """
        if self.plan and not self.asks_models:
            raise OptionError("--plan goes with --llm")
        self.check_needs()


@dataclass(frozen=True, kw_only=True)
class JudgeSpec(SpendingSpec, AskingSpec, CombiningSpec, ModelSpec):
    """Who judges, how, and at what cost."""

    @property
    def answered_by(self) -> str:
        """The field that names who answers in place of a language model; empty for none."""
        for name in ("labels", "lookup"):
            if getattr(self, name) is not None:
                return name
        return "student" if self.student_decides else ""

    @property
    def student_decides(self) -> bool:
        """Whether --student has the last word: answers alone, or after --cheap."""
        alone = self.cascade is None or self.cheap is not None
        return self.student is not None and alone

    @property
    def models(self) -> tuple[str, ...]:
        """The language models that are asked: none where others answer."""
        return () if self.answered_by else super().models

    def check(self) -> None:
        """Refuse choices that exclude each other or would change nothing.

        Raises:
            OptionError: there are such.
        """
        sources = ["llm"] if self.llm else []
        sources += [n for n in ("labels", "lookup", "student") if getattr(self, n) is not None]
        if self.student is not None and not self.student_decides and "llm" in sources:
            sources.remove("llm")
        if len(sources) > 1:
            raise OptionError(f"--{sources[0]} and --{sources[1]} exclude each other")
        if self.student is not None and not self.student_decides and not self.models:
            raise OptionError(
                "--cascade with --student needs who is asked first (--cheap) or last (--llm)"
            )
        if self.answered_by in ("labels", "lookup"):
            for name in ("calibration", "cascade"):
                if self.given(name):
                    raise OptionError(f"--{name} and --{self.answered_by} exclude each other")
        if self.cascade is not None and self.cheap is None and not self.models:
            raise OptionError("--cascade goes with --llm or --cheap")
        self.check_needs()
