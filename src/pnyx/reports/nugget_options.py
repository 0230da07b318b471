"""Specs of drafts: rubrics, and nugget banks with what is done to them. Light: no model loads."""

from __future__ import annotations

from typing import Literal

from pnyx.core.errors import OptionError
from pnyx.core.spec import Spec, file_opt, opt, out_opt, topics_opt
from pnyx.formats.text_types import FileName, SourceName, Words
from pnyx.judging.options import _LLM, JudgeSpec
from pnyx.quality.options import EditedSpec


class BankSpec(EditedSpec, heading="Output", rare="format"):
    """Where a nugget bank is written."""

    out: FileName | None = out_opt(
        None, "Banks to write, one a line; required without --plan.", metavar="BANK"
    )
    format: Literal["nuggetbank-v3", "ragtime26-nuggets", "nuggetizer"] = opt(
        "nuggetbank-v3", "Format of --out."
    )


class CreateSpec(Spec, heading="Nuggets", rare="level window words allow_text_in_banks"):
    """What nuggets are made of, and which."""

    run: FileName | None = file_opt(
        None, "TREC run: its first --depth documents of a topic are read.", metavar="RUN"
    )
    qrels: FileName | None = file_opt(
        None, "Qrels: only documents of grade --level or more are read; alone, the best first."
    )
    index: SourceName | None = file_opt(None, "Index that holds the documents.", metavar="INDEX")
    topics: FileName | None = topics_opt(None, "Topics, questions or report requests.")
    edited: FileName | None = file_opt(
        None,
        "Banks drafted before, and edited: no documents are read, and only what has no importance "
        "is rated.",
        "--from",
        metavar="BANK",
    )
    style: Literal["questions", "claims"] | None = opt(
        None,
        "Questions with answers (ARGUE), or claims (nuggetizer).",
        default_text="questions; without --llm claims",
    )
    most: int = opt(30, "Maximum nuggets of a topic.", "--most", within="[1, 500]")
    depth: int = opt(50, "Maximum documents of a topic.", low=1)
    level: int = opt(1, "Grade of --qrels from which a document is relevant.", needs="qrels")
    window: int = opt(10, "Passages in one call.", within="[1, 100]", needs=_LLM)
    words: int = opt(400, "Words of a document that a model is shown.", low=20, needs=_LLM)
    rate: bool = opt(True, "Ask the model which nuggets are vital and which okay.")
    allow_text_in_banks: bool = opt(
        False,
        "With --no-text: write nuggets that are or quote sentences of documents all the same; "
        "otherwise those of a model that quote are left out, and without --llm there are none.",
    )

    def check(self) -> None:
        """Refuse choices that exclude each other, and too few."""
        read = [name for name in ("run", "qrels", "index") if getattr(self, name) is not None]
        if self.edited is not None:
            if read:
                raise OptionError(f"--from and --{read[0]} exclude each other")
            return
        if self.index is None or self.topics is None or not {"run", "qrels"} & set(read):
            raise OptionError(
                "expected --index, --topics and --run or --qrels, or, for a draft that was "
                "edited, --from"
            )


class MergeSpec(Spec, heading="Merging", rare="candidates_from run_id"):
    """How banks are merged."""

    report: FileName | None = out_opt(
        None, "Where to list each pair that was looked at, and what came of it (JSONL)."
    )
    candidates_from: float | None = opt(
        None,
        "Cosine from which the judge is asked whether two nuggets, or answers, say the same.",
        within="[-1, 1]",
        default_text="0.7; without --llm 0.9",
    )
    run_id: Words | None = opt(None, "Run id of the merged banks.", default_text="the first bank's")


class NuggetJudgeSpec(JudgeSpec):
    """Who holds nuggets against texts, how, and at what cost."""

    batch: int = opt(
        10, "Nuggets of one text in one call, as in nuggetizer.", within="[1, 100]", needs=_LLM
    )
