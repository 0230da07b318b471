"""Options for drafting and merging nugget banks. Light: no model loads."""

from __future__ import annotations

from typing import Literal

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName, Words
from pnyx.judging.options import _LLM, JudgeSpec
from pnyx.quality.options import EditedSpec


class BankSpec(EditedSpec, heading="Output", rare="format"):
    """Where to write a nugget bank."""

    out: FileName | None = out_opt(None, metavar="BANK")
    format: Literal["nuggetbank-v3", "ragtime26-nuggets", "nuggetizer"] = opt(
        "nuggetbank-v3", "", "--to", replaces=("--format",)
    )


class CreateSpec(Spec, heading="Nuggets", rare="style level window words allow_text_in_banks"):
    """The sources of nuggets, and which nuggets to create."""

    run: FileName | None = file_opt(None, metavar="RUN")
    qrels: FileName | None = file_opt(None)
    index: SourceName | None = file_opt(None, metavar="INDEX")
    topics: FileName | None = topics_opt(None)
    edited: FileName | None = file_opt(
        None,
        "Banks drafted before, and edited: no documents are read, and only nuggets without "
        "importance are rated.",
        "--from",
        metavar="BANK",
    )
    style: Literal["questions", "claims"] | None = opt(
        None,
        "Questions with answers (ARGUE), or claims (nuggetizer).",
        "--nugget-style",
        default_text="questions; without --llm claims",
        replaces=("--style",),
    )
    most: int = opt(30, "", "--most", within="[1, 500]")
    depth: int = opt(50, low=1)
    level: int = opt(1, "Grade of --qrels from which a document is relevant.", needs="qrels")
    window: int = opt(10, within="[1, 100]", needs=_LLM)
    words: int = opt(
        400,
        "Words of a document shown to the model.",
        "--document-words",
        low=20,
        needs=_LLM,
        replaces=("--words",),
    )
    rate: bool = opt(True, "Ask the model which nuggets are vital and which okay.")
    allow_text_in_banks: bool = opt(
        False,
        "With --no-text: write nuggets even if they are or quote sentences of documents; otherwise "
        "a model's nuggets that quote are left out, and without --llm there are none.",
    )

    def check(self) -> None:
        """Reject options that exclude each other, and missing ones."""
        read = [name for name in ("run", "qrels", "index") if getattr(self, name) is not None]
        if self.edited is not None:
            if read:
                raise OptionError(f"--from and --{read[0]} exclude each other")
            return
        if self.index is None or self.topics is None or not {"run", "qrels"} & set(read):
            raise OptionError(
                "expected --index, --topics and --run or --qrels, or --from with an edited draft"
            )


class MergeSpec(Spec, heading="Merging", rare="candidates_from run_id"):
    """How to merge banks."""

    report: FileName | None = out_opt(
        None, "Where to list each pair that was compared, and the outcome (JSONL)."
    )
    candidates_from: float | None = opt(
        None,
        "Minimum cosine of two nuggets, or answers, for asking the judge if they say the same.",
        within="[-1, 1]",
        default_text="0.7; without a language model 0.9",
    )
    run_id: Words | None = opt(None, default_text="the first bank's")


class NuggetJudgeSpec(JudgeSpec):
    """Who compares nuggets with texts, how, and at what cost."""

    batch: int = opt(
        10, "Nuggets for one text per call, as in nuggetizer.", within="[1, 100]", needs=_LLM
    )
