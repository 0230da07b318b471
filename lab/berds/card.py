"""The card of the packaged detector of perspectives: description, figures and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detection import BERDS, PAGES

from pnyx.judging.students.student import Student

NOTICE = """all-mpnet-base-v2
Copyright the sentence-transformers authors; licensed under the Apache License, Version 2.0.
https://huggingface.co/sentence-transformers/all-mpnet-base-v2

Changed for Pnyx: cut to its first layers and most frequent tokens, trained to tell whether a
passage supports a statement, weights quantised to 4 bits (lab/training/train_perspectives.py).
Fine-tuned by its authors from microsoft/mpnet-base (MIT licence, Copyright (c) Microsoft
Corporation).
"""

Figures = Mapping[str, Mapping[str, Mapping[str, Any]]]


def line_of(figures: Figures) -> str:
    """Return the card in one line."""

    def shown(where: str) -> str:
        ours, near = (
            ", ".join(f"{name} {figures[where][system][name][0]:.2f}" for name in names)
            for system, names in (
                ("packaged", ("F1", "AUROC", "ECE")),
                ("similarity", ("F1", "AUROC")),
            )
        )
        return f"{ours} (similarity {near})"

    return (
        f"reads the passage with the statement; on 60 unseen Debatewise pages {shown(PAGES)}; on "
        f"274 pairs of BERDS {shown(BERDS)}; both had been looked at with earlier weights"
    )


def rows_of(figures: Figures) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [
        "| pairs | measure | similarity | packaged | difference, 95 % interval |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    names = {PAGES: "Debatewise pages not trained on", BERDS: "BERDS, people's labels"}
    for name, label in names.items():
        near, ours = figures[name]["similarity"], figures[name]["packaged"]
        for measure in ("F1", "AP", "AUROC", "ECE"):
            value, low, high = ours[f"{measure} minus similarity"]
            lines.append(
                f"| {label} | {measure} | {near[measure][0]:.3f} | {ours[measure][0]:.3f} "
                f"| {value:+.3f} [{low:+.3f}, {high:+.3f}] |"
            )
    return lines


def _share(counts: Sequence[int]) -> str:
    return f"{counts[0]} of {counts[1]} passages"


def card_of(student: Student) -> str:
    """Return the card as Markdown."""
    about = student.about
    parts = student.settings["parts"]
    weights = ", ".join(f"{name} {part['weight']:.2f}" for name, part in parts.items())
    return "\n".join(
        [
            "# perspectives",
            "",
            f"- **What**: {student.card}.",
            "- **Task**: does a passage of about 100 words, outright or by implication, speak for "
            f"a statement (BERDS, Appendix A)? Yes from a probability of {student.threshold:.3f}. "
            "Longer texts are cut and support what one of their passages supports.",
            f"- **How**: the first {about['layers']} layers of all-mpnet-base-v2, in which the "
            "statement's tokens read the passage, in four bits with products in eight"
            "; the untrained encoder's similarity is added, both as z-scores, weighed on the "
            f"development pages ({weights}).",
            "- **Learned from** the structure of debates (idebate, Debatewise, "
            " ProCon, Perspectrum, IBM's claims, arguments and key points, and what "
            "GPT-4 wrote to search BERDS's development questions), and from questions in people's "
            f"own words. All twelve layers learned first ({about['teacher_steps']} steps); the "
            f"first {about['layers']} went on, and learned from the twelve too ({about['steps']} "
            "steps, the last half of the time with weights of four bits). "
            "No BERDS label was read for training, curve or threshold, and topics near its "
            "statements were left out.",
            "- **Calibrated** on 56 Debatewise pages that it was not trained on; measured on 60 "
            "others and on BERDS.",
            "- **Chosen** on those 56 pages, and on passages of development debates. The 60 pages "
            "and the 274 BERDS pairs below chose nothing of these weights and were asked once, "
            "after that; both had been looked at with earlier weights.",
            "",
            *rows_of(about["figures"]),
            "",
            "Intervals draw questions or pages anew. The bar of BERDS's paper on all 542 pairs: "
            "F1 52.0 (Mistral-7B as it comes), 62.2 (fine-tuned), 65.6 (GPT-4).",
            "",
            "## Where it fails",
            "",
            "- **Sides.** Of two statements of which a passage supports one, that one gets the "
            f"higher probability in {_share(about['sides'][PAGES])} on Debatewise pages and in "
            f"{_share(about['sides'][BERDS])} of BERDS; chance is half.",
            "- **Negation, mere topic overlap, sarcasm**: see the examples on the page below.",
            "",
            "Base: all-mpnet-base-v2 (Apache-2.0; NOTICE). Figures and failed attempts: "
            "docs/explain/decisions/perspective-detector.md.",
            "",
        ]
    )
