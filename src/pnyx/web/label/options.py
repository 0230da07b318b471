"""Spec of labelling: who answers which items, and where the labels go. Light."""

from __future__ import annotations

from typing import Literal

from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import FileName, Words


class LabellingSpec(Spec, heading="Labelling", rare="seed scale judge dimensions"):
    """Who answers which items, and where the labels go."""

    out: FileName = out_opt(
        ...,
        "Labels to write (JSONL). What people do is kept in LABELS.journal, so the same command "
        "goes on where it stopped.",
        metavar="LABELS",
    )
    annotators: tuple[Words, ...] = opt(
        (),
        "Who labels: each gets an address of their own, and sees nobody else's answers. Without, "
        "whoever comes gives a name.",
        metavar="NAME[,NAME...]",
        each=True,
    )
    overlap: int | None = opt(
        None,
        "How many annotators answer each item.",
        low=1,
        needs="annotators",
        default_text="all",
    )
    shuffle: bool = opt(False, "Show the items to each annotator in an order of their own.")
    suggest: FileName | None = file_opt(
        None,
        "A judge's answers, shown after one's own, and never before.",
        metavar="ANSWERS",
    )
    judge: Words | None = opt(
        None, "Whose answers are suggested, where there are several judges'.",
        metavar="NAME", needs="suggest",
    )  # fmt: skip
    scale: Literal["3", "5", "boolean"] | None = opt(
        None, "quality: points of the scale, or yes and no.", default_text="3"
    )
    dimensions: FileName | None = file_opt(
        None, "quality: rate on dimensions of your own (docs/judging-quality.md).",
        metavar="FILE.toml",
    )  # fmt: skip
    seed: int = opt(0, "Of orders, of which side comes first, and of who gets which items.")
