"""Options of labelling: who answers which items, and where the labels are written."""

from __future__ import annotations

from typing import Literal

from pnyx.core.spec import Spec, file_opt, opt, out_opt
from pnyx.formats.text_types import FileName, Words


class LabellingSpec(Spec, heading="Labelling", rare="seed scale by dimensions"):
    """Who answers which items, and where the labels go."""

    out: FileName = out_opt(..., metavar="LABELS")
    annotators: tuple[Words, ...] = opt(
        (),
        "Annotators: each gets an address of their own, and sees nobody else's answers. Without "
        "this, visitors enter a name.",
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
    shuffle: bool = opt(False, "Show the items to each annotator in a different order.")
    suggest: FileName | None = file_opt(
        None,
        "A judge's answers, shown only after the annotator's own.",
        metavar="ANSWERS",
    )
    by: Words | None = opt(None, metavar="NAME", needs="suggest")  # fmt: skip
    scale: Literal["3", "5", "boolean"] | None = opt(
        None, "quality: points of the scale, or yes and no.", default_text="3"
    )
    dimensions: FileName | None = file_opt(None, metavar="FILE.toml")  # fmt: skip
    seed: int = opt(0)
